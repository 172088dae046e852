//! The tokenizers of T5, Pegasus, mBART, M2M100 and NLLB against the classes of transformers that run SentencePiece, id by
//! id; their languages; the choice of a folder's tokenizer.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use wordloom::model::files::ModelFiles;
use wordloom::model::read_tokenizer;
use wordloom::text::{TargetRole, Tokenizer};
use wordloom::{ModelError, TextError};

use crate::files::data;

#[derive(Deserialize)]
struct Case {
    class: String,
    model: String,
    config: Value,
    special: Vec<u32>,
    items: Vec<Item>,
    languages: Option<BTreeMap<String, u32>>,
}

#[derive(Deserialize)]
struct Item {
    text: String,
    source_language: Option<String>,
    ids: Vec<u32>,
    tokens: Vec<String>,
    decoded: String,
}

fn read(file: &str) -> Vec<u8> {
    crate::files::read(&data("tokenizers").join(file))
}

fn cases() -> BTreeMap<String, Case> {
    serde_json::from_slice(&read("pieces.expected.json")).unwrap()
}

type File = (&'static str, Cow<'static, [u8]>);

fn json_file(name: &'static str, value: &Value) -> File {
    (name, value.to_string().into_bytes().into())
}

/// A folder with the files of a case, and `tokenizer_config.json` with its class.
fn folder(case: &Case) -> Vec<File> {
    let mut config = case.config.clone();
    config["tokenizer_class"] = case.class.clone().into();
    let spm = match case.class.as_str() {
        "T5Tokenizer" | "PegasusTokenizer" => "spiece.model",
        _ => "sentencepiece.bpe.model",
    };
    let mut folder =
        vec![(spm, read(&format!("{}.spm", case.model)).into()), json_file("tokenizer_config.json", &config)];
    if case.class == "M2M100Tokenizer" {
        folder.push(("vocab.json", read("m2m_100.vocab.json").into()));
    }
    folder
}

fn open(folder: impl IntoIterator<Item = File>) -> Result<Tokenizer, ModelError> {
    read_tokenizer(&ModelFiles::memory("the folder", folder))
}

fn tokenizer(name: &str) -> Tokenizer {
    open(folder(&cases()[name])).unwrap()
}

#[test]
fn agrees_with_transformers() {
    for (name, case) in cases() {
        let tokenizer = open(folder(&case)).unwrap();
        assert!(case.items.len() > 150, "{name}");
        for mut item in case.items {
            if name == "t5" && item.text.ends_with("</s>") {
                // transformers 4 did not repeat T5's end token; transformers 5 does, as for all others
                let end = item.ids[item.ids.len() - 1];
                item.ids.push(end);
                item.tokens.push("</s>".to_owned());
            }
            let place = format!("{name}: {:?}", item.text);
            let direction = tokenizer.direction(item.source_language.as_deref(), None).unwrap();
            let ids = tokenizer.encode_source(&item.text, &direction).unwrap();
            assert_eq!(ids, item.ids, "{place}");
            // a piece outside the vocabulary is `<unk>` on both sides
            let tokens: Vec<Cow<str>> = ids.iter().map(|&id| tokenizer.source_token(id).unwrap()).collect();
            assert_eq!(tokens, item.tokens, "{place}");
            let decoded = tokenizer.decode(&ids, true).unwrap();
            assert_eq!(decoded, item.decoded, "{place}");
        }
        let (last, _) = tokenizer.last_tokens()[1];
        let special: Vec<u32> = (0..=last).filter(|&id| tokenizer.is_special(id)).collect();
        let missing: Vec<&u32> = case.special.iter().filter(|id| !special.contains(id)).collect();
        assert_eq!(missing, Vec::<&u32>::new(), "{name}");
        for (code, id) in case.languages.into_iter().flatten() {
            let target = tokenizer.direction(None, Some(&code)).unwrap().target.unwrap();
            assert_eq!(target.token, Some(id), "{name}: {code}");
        }
    }
}

#[test]
fn languages_are_counted_and_resolved() {
    for (name, count, role) in [
        ("mbart", 25, TargetRole::DecoderStart),
        ("mbart50", 52, TargetRole::ForcedBos),
        ("m2m_100", 100, TargetRole::ForcedBos),
        ("nllb", 202, TargetRole::ForcedBos),
    ] {
        let tokenizer = tokenizer(name);
        assert_eq!(tokenizer.languages().len(), count, "{name}");
        let last = *tokenizer.languages().last().unwrap();
        let target = tokenizer.direction(None, Some(last)).unwrap().target.unwrap();
        assert_eq!(target.role, role);
        let language = target.token.unwrap();
        assert!(tokenizer.is_special(language) && tokenizer.target_token(language).unwrap().contains(last));
        assert_eq!(tokenizer.direction(None, None).unwrap().target.unwrap().token, None);
    }
    let m2m = tokenizer("m2m_100");
    assert_eq!(m2m.direction(Some("__en__"), Some("__de__")), m2m.direction(Some("en"), Some("de")));
    for name in ["t5", "pegasus"] {
        let tokenizer = tokenizer(name);
        assert!(tokenizer.languages().is_empty());
        let error = tokenizer.direction(None, Some("de")).unwrap_err();
        assert_eq!(error, TextError::NoLanguages { side: "target" });
    }
}

#[test]
fn unknown_languages_are_told_near_ones() {
    for (name, code, parts) in [
        ("nllb", "engl", ["202", "eng_Latn (English)"]),
        ("nllb", "ZHO_HANS", ["202", "near it: zho_Hans (Chinese), zho_Hant (Chinese)"]),
        ("m2m_100", "__englisch__", ["100", "near it: en (English)"]),
        ("mbart", "qq", ["25", "it has ar_AR, cs_CZ"]),
    ] {
        let error = tokenizer(name).direction(Some(code), None).unwrap_err().to_string();
        for part in parts {
            assert!(error.contains(part), "{part:?} is not in: {error}");
        }
    }
}

#[test]
fn the_source_language_has_a_default() {
    let mut case = cases().remove("mbart50").unwrap();
    let code = |tokenizer: &Tokenizer, text: &str| {
        tokenizer.source_token(tokenizer.encode(text).unwrap()[0]).unwrap().into_owned()
    };
    assert_eq!(code(&open(folder(&case)).unwrap(), "text"), "en_XX");
    case.config["src_lang"] = "de_DE".into();
    assert_eq!(code(&open(folder(&case)).unwrap(), "text"), "de_DE");
    case.config["src_lang"] = "germen".into();
    assert!(matches!(open(folder(&case)).unwrap().encode("text"), Err(TextError::UnknownLanguage { .. })));
}

/// A model of one pair takes its own languages, and says which they are; a group such as `ROMANCE` is not one.
#[test]
fn a_fixed_pair_is_known() {
    let stored = crate::files::repository("models/tatoeba-en-de-q8");
    let folder = |source: &str| {
        let config =
            json!({ "tokenizer_class": "MarianTokenizer", "source_lang": source, "target_lang": "de" });
        let mut folder = vec![json_file("tokenizer_config.json", &config)];
        for name in ["source.spm", "target.spm", "vocab.json"] {
            folder.push((name, crate::files::read(&stored.join(name)).into()));
        }
        open(folder).unwrap()
    };
    let english = folder("eng");
    for (source, target) in [(Some("en"), None), (Some("English"), Some("Deutsch")), (None, Some("deu"))] {
        assert_eq!(english.direction(source, target), english.direction(None, None));
    }
    let only = |side, code: &str, only: &str| {
        Err(TextError::OnlyLanguage { side, code: code.into(), only: only.into() })
    };
    assert_eq!(english.direction(Some("fr"), None), only("source", "fr", "eng"));
    assert_eq!(english.direction(None, Some("French")), only("target", "French", "de"));
    let group = folder("ROMANCE").direction(Some("fr"), None);
    assert_eq!(group, Err(TextError::NoLanguages { side: "source" }));
}

/// T5's tasks are words before the text.
#[test]
fn tasks_have_prefixes() {
    let case = cases().remove("t5").unwrap();
    let task = |prefix: &str| json!({ "early_stopping": true, "prefix": prefix });
    let config = json!({ "model_type": "t5", "task_specific_params": {
        "summarization": task("summarize: "),
        "translation_en_to_de": task("translate English to German: "),
        "translation_en_to_fr": task("translate English to French: "),
    }});
    let tokenizer = open([folder(&case), vec![json_file("config.json", &config)]].concat()).unwrap();
    assert_eq!(tokenizer.languages(), ["en", "de", "fr"]);
    let encode = |source, target| {
        tokenizer
            .encode_source("The house is wonderful.", &tokenizer.direction(source, target).unwrap())
            .unwrap()
    };
    let plain = tokenizer.encode("translate English to German: The house is wonderful.").unwrap();
    assert_eq!(encode(Some("en"), Some("de")), plain);
    assert_eq!(encode(None, Some("de")), plain, "only one task has this target");
    assert_eq!(encode(None, None), tokenizer.encode("The house is wonderful.").unwrap());
    for (source, target) in [(Some("de"), Some("en")), (Some("en"), None), (None, Some("ro"))] {
        let error = tokenizer.direction(source, target).unwrap_err().to_string();
        assert!(error.contains("en to de, en to fr"), "{error}");
    }
}

/// As pipelines of transformers 4 took it: BART's models for summaries have a space there.
#[test]
fn a_task_without_a_prefix_has_that_of_the_configuration() {
    let case = cases().remove("mbart").unwrap();
    let config = json!({ "model_type": "mbart", "prefix": "sum: ", "task_specific_params": {
        "summarization": { "num_beams": 4 },
        "summarization_xsum": { "prefix": "" },
        "translation_en_to_ro": { "num_beams": 4 },
    }});
    let tokenizer = open([folder(&case), vec![json_file("config.json", &config)]].concat()).unwrap();
    let prefixes = [("summarization", "sum: "), ("summarization_xsum", ""), ("translation_en_to_ro", "")];
    for (task, prefix) in prefixes {
        assert_eq!(tokenizer.task(task).unwrap().prefix, prefix, "{task}");
    }
    assert_eq!(tokenizer.languages().len(), 25, "they stay tokens");
}

#[test]
fn tags_choose_marian_s_target() {
    let names = ["source.spm", "target.spm", "vocab.json", "tokenizer_config.json", "config.json"];
    let folder = names.map(|name| (name, crate::files::read(&data("models/marian_tied").join(name)).into()));
    let tokenizer = open(folder).unwrap();
    assert_eq!(tokenizer.languages(), ["kor"]);
    let korean = tokenizer.encode(">>kor<< Le chat").unwrap();
    for code in ["kor", ">>kor<<"] {
        let direction = tokenizer.direction(None, Some(code)).unwrap();
        assert_eq!(direction.target, None);
        assert_eq!(tokenizer.encode_source("Le chat", &direction).unwrap(), korean);
        assert_eq!(tokenizer.encode_source(">>kor<< Le chat", &direction).unwrap(), korean, "its own tag");
    }
    assert!(matches!(tokenizer.direction(None, Some("fra")), Err(TextError::UnknownLanguage { .. })));
    let error = tokenizer.direction(Some("kor"), None).unwrap_err();
    assert_eq!(error, TextError::NoLanguages { side: "source" });
}

/// The class decides which files are needed; without a class, the model's family decides.
#[test]
fn folders_are_told_apart() {
    let all = cases();
    let spm = |name| folder(&all[name]).remove(0);
    let family = |model_type: &str| json_file("config.json", &json!({ "model_type": model_type }));
    let class = |name: &str| json_file("tokenizer_config.json", &json!({ "tokenizer_class": name }));
    let count = |files: &[File]| open(files.iter().cloned()).unwrap().languages().len();
    assert_eq!(count(&[spm("mbart"), family("mbart")]), 25);
    assert_eq!(count(&[spm("mbart"), family("mbart"), class("MBartTokenizerFast")]), 25);
    assert_eq!(count(&[spm("mbart"), family("mbart"), class("MBart50TokenizerFast")]), 52);
    assert_eq!(count(&[spm("nllb"), family("m2m_100"), class("NllbTokenizerFast")]), 202);
    assert_eq!(count(&[spm("t5"), family("t5"), class("PreTrainedTokenizerFast")]), 0);
    let in_model =
        json_file("config.json", &json!({ "model_type": "mbart", "tokenizer_class": "MBart50Tokenizer" }));
    assert_eq!(count(&[spm("mbart"), in_model]), 52);

    for (files, parts) in [
        (vec![family("t5")], vec!["\"tokenizer.json\" or \"spiece.model\"", "token ids only"]),
        (vec![family("bart")], vec!["\"tokenizer.json\""]),
        (vec![family("marian")], vec!["\"source.spm\", \"target.spm\", \"vocab.json\""]),
        (vec![family("m2m_100")], vec!["\"sentencepiece.bpe.model\" and \"vocab.json\""]),
        (vec![family("m2m_100"), spm("nllb")], vec!["\"vocab.json\""]),
        (vec![family("mbart"), ("sentencepiece.bpe.model", spm("t5").1)], vec!["piece 0 is Some(\"<pad>\")"]),
        (vec![family("pegasus"), ("spiece.model", spm("mbart").1)], vec!["piece 2 is", "<unk>"]),
        (vec![family("t5"), ("spiece.model", b"junk"[..].into())], vec!["the folder: spiece.model"]),
        (
            vec![family("t5"), spm("t5"), ("tokenizer_config.json", b"[]"[..].into())],
            vec!["tokenizer_config.json"],
        ),
        (
            vec![
                family("t5"),
                spm("t5"),
                json_file("tokenizer_config.json", &json!({ "extra_ids": 70_000 })),
            ],
            vec!["tokenizer_config.json: extra_ids is 70000, and can be at most 65536"],
        ),
    ] {
        let error = open(files).map(|_| ()).expect_err(parts[0]).to_string();
        for part in parts {
            assert!(error.contains(part), "{part:?} is not in: {error}");
        }
    }
}

/// A vocabulary of one's own, as `NllbTokenizer(vocab_file=…)` of transformers 4.57 saves it: `<mask>` has the first id after the
/// pieces, and every language the next one.
#[test]
fn a_file_can_move_all_languages() {
    let case = &cases()["nllb"];
    let usual = tokenizer("nllb");
    let languages: Vec<String> = usual.languages().into_iter().map(str::to_owned).collect();
    let id = |tokenizer: &Tokenizer, code: &str| {
        tokenizer.direction(None, Some(code)).unwrap().target.unwrap().token.unwrap()
    };
    let first = id(&usual, &languages[0]);
    let moved = ["<mask>"].into_iter().chain(languages.iter().map(String::as_str));
    let entry = |(id, token): (u32, &str)| (id.to_string(), json!({ "content": token, "special": true }));
    let mut files = folder(case);
    let config = json!({
        "tokenizer_class": case.class,
        "added_tokens_decoder": (first..).zip(moved).map(entry).collect::<serde_json::Map<_, _>>(),
    });
    files[1] = json_file("tokenizer_config.json", &config);
    let tokenizer = open(files).unwrap();
    assert_eq!(tokenizer.languages(), languages);
    for code in &languages {
        assert_eq!(id(&tokenizer, code), id(&usual, code) + 1, "{code}");
    }
    let english = id(&tokenizer, "eng_Latn");
    assert_eq!(tokenizer.encode("Hello.").unwrap()[0], english);
    assert_eq!(tokenizer.source_token(english).unwrap(), "eng_Latn");
    assert_eq!(tokenizer.source_token(first).unwrap(), "<mask>");
}

#[test]
fn special_tokens_can_be_shown() {
    let tokenizer = tokenizer("mbart50");
    let ids = tokenizer.encode("Good morning.").unwrap();
    assert_eq!(tokenizer.decode(&ids, false).unwrap(), "en_XX Good morning.</s>");
    assert!(matches!(tokenizer.decode(&[100_000], true), Err(TextError::UnknownId { id: 100_000, .. })));
}

#[cfg(not(feature = "tokenizers"))]
#[test]
fn a_build_without_the_feature_says_so() {
    let json = || ("tokenizer.json", read("unigram_t5.tokenizer.json").into());
    let family = || json_file("config.json", &json!({ "model_type": "t5" }));
    let error = open([json(), family()]).unwrap_err().to_string();
    assert!(error.contains("feature `tokenizers`"), "{error}");
    let spm = folder(&cases()["t5"]).remove(0);
    assert_eq!(open([json(), family(), spm]).unwrap().origin(), "spiece.model");
}
