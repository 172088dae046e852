//! `tokenizer.json` against Hugging Face's own library and classes, id by id.
#![cfg(feature = "tokenizers")]

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::{Value, json};
use wordloom::model::files::ModelFiles;
use wordloom::model::read_tokenizer;
use wordloom::text::{TargetRole, Tokenizer};
use wordloom::{ModelError, TextError};

#[derive(Deserialize)]
struct Expected {
    #[serde(default)]
    class: String,
    #[serde(default)]
    config: Value,
    #[serde(default)]
    special: Vec<u32>,
    items: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    text: String,
    source_language: Option<String>,
    ids: Vec<u32>,
    tokens: Vec<String>,
    decoded: String,
}

/// A folder without `tokenizer.json`, or with a configuration that says other than this file.
#[derive(Deserialize)]
struct Older {
    /// From names in the folder to names of test data.
    files: BTreeMap<String, String>,
    contents: BTreeMap<String, Value>,
    length: u32,
    items: Vec<(String, Vec<u32>, String)>,
}

fn read(file: &str) -> Vec<u8> {
    crate::files::read(&crate::files::data("tokenizers").join(file))
}

type File = (&'static str, Cow<'static, [u8]>);

fn json_file(name: &'static str, value: &Value) -> File {
    (name, value.to_string().into_bytes().into())
}

fn open(name: &str, others: &[File]) -> Result<Tokenizer, ModelError> {
    let mut folder = others.to_vec();
    folder.push(("tokenizer.json", read(&format!("{name}.tokenizer.json")).into()));
    read_tokenizer(&ModelFiles::memory("the folder", folder))
}

fn family(model_type: &str) -> File {
    json_file("config.json", &json!({ "model_type": model_type }))
}

fn check(tokenizer: &Tokenizer, items: &[Item]) {
    for item in items {
        let direction = tokenizer.direction(item.source_language.as_deref(), None).unwrap();
        let ids = tokenizer.encode_source(&item.text, &direction).unwrap();
        assert_eq!(ids, item.ids, "{:?}", item.text);
        for (&id, want) in ids.iter().zip(&item.tokens) {
            // the reference has the unknown text
            let token = tokenizer.source_token(id).unwrap();
            assert!(
                token == *want || ["<unk>", "[UNK]"].contains(&&*token),
                "{:?}: {token} {want}",
                item.text
            );
        }
        assert_eq!(tokenizer.decode(&ids, true).unwrap(), item.decoded, "{:?}", item.text);
    }
}

#[test]
fn agrees_with_the_library() {
    for (name, families) in [
        ("bytelevel_bpe_bart", &["bart", "gpt2", "roberta"][..]),
        ("wordpiece_bert", &["bert", "distilbert"]),
        ("unigram_t5", &["t5", "pegasus", "xlm-roberta"]),
    ] {
        let expected: Expected = serde_json::from_slice(&read(&format!("{name}.expected.json"))).unwrap();
        assert!(expected.items.len() >= 500);
        for model_type in families {
            check(&open(name, &[family(model_type)]).unwrap(), &expected.items);
        }
    }
}

#[test]
fn agrees_with_the_classes_that_know_languages() {
    let cases: BTreeMap<String, Expected> = serde_json::from_slice(&read("json.expected.json")).unwrap();
    for ((name, case), count) in cases.iter().zip([25, 52, 202]) {
        let mut config = case.config.clone();
        config["tokenizer_class"] = case.class.clone().into();
        let tokenizer = open(name, &[json_file("tokenizer_config.json", &config)]).unwrap();
        check(&tokenizer, &case.items);
        assert_eq!(tokenizer.languages().len(), count, "{name}");
        let (last, _) = tokenizer.last_tokens()[0];
        let special: Vec<u32> = (0..=last).filter(|&id| tokenizer.is_special(id)).collect();
        assert_eq!(special, case.special, "{name}");
    }
}

#[test]
fn older_folders_are_read_as_transformers_reads_them() {
    let cases: Vec<Older> = serde_json::from_slice(&read("older.expected.json")).unwrap();
    assert_eq!(cases.len(), 18);
    for Older { files, contents, length, items } in cases {
        let place = format!("{files:?} {contents:?}");
        let stored = files.iter().map(|(name, file)| (name.clone(), read(file)));
        let written = contents.iter().map(|(name, value)| (name.clone(), value.to_string().into_bytes()));
        let folder = ModelFiles::memory("the folder", stored.chain(written));
        let tokenizer = read_tokenizer(&folder).unwrap_or_else(|error| panic!("{place}: {error}"));
        assert!(files.contains_key(tokenizer.origin()), "{place}");
        assert_eq!(tokenizer.last_tokens()[0].0 + 1, length, "{place}");
        for (text, ids, decoded) in &items {
            assert_eq!(tokenizer.encode(text).unwrap(), *ids, "{place}: {text:?}");
            assert_eq!(tokenizer.decode(ids, true).unwrap(), *decoded, "{place}: {text:?}");
        }
    }
}

#[test]
fn damage_in_older_folders_is_named() {
    let open = |model_type: &str, others: &[(&'static str, &str)]| {
        let others = others.iter().map(|&(name, content)| (name, content.as_bytes().to_vec().into()));
        let folder: Vec<File> = [family(model_type)].into_iter().chain(others).collect();
        read_tokenizer(&ModelFiles::memory("the folder", folder)).map(|_| ()).unwrap_err().to_string()
    };
    let vocab = r#"{"a":0,"b":1,"ab":2,"<s>":3,"</s>":4}"#;
    for (files, reason) in [
        (
            &[("vocab.json", vocab)][..],
            r#"there is no tokenizer ("tokenizer.json", or "vocab.json" and "merges.txt""#,
        ),
        (&[("vocab.json", "{"), ("merges.txt", "")], "vocab.json: "),
        (&[("vocab.json", "[]"), ("merges.txt", "")], "vocab.json: "),
        (
            &[("vocab.json", r#"{"a":-1}"#), ("merges.txt", "")],
            r#"vocab.json: the id of "a" is not a whole number"#,
        ),
        (
            &[("vocab.json", vocab), ("merges.txt", "#version: 0.2\na b\na  b\n")],
            "merges.txt: line 3 is not two tokens",
        ),
        (&[("vocab.json", vocab), ("merges.txt", "b a\n")], r#"merges.txt: it joins "b" and "a""#),
        (
            &[("vocab.json", "{}"), ("merges.txt", ""), ("special_tokens_map.json", "[")],
            "special_tokens_map.json: ",
        ),
    ] {
        let error = open("bart", files);
        assert!(error.contains(reason), "{error}");
    }
    let error = open("bert", &[]);
    assert!(error.contains(r#""tokenizer.json" or "vocab.txt""#), "{error}");
}

#[derive(Deserialize)]
struct Generic {
    file: String,
    model_type: String,
    config: Value,
    items: Vec<(String, Vec<u32>)>,
}

/// Under a generic or unknown class, transformers takes everything from `tokenizer.json`: no family's tokens, no `src_lang`.
#[test]
fn generic_classes_take_the_file_alone() {
    let cases: Vec<Generic> = serde_json::from_slice(&read("generic.expected.json")).unwrap();
    assert_eq!(cases.len(), 16);
    for Generic { file, model_type, config, items } in cases {
        let place = format!("{file}, {}", config["tokenizer_class"]);
        let tokenizer =
            open(&file, &[json_file("tokenizer_config.json", &config), family(&model_type)]).unwrap();
        for (text, ids) in items {
            assert_eq!(tokenizer.encode(&text).unwrap(), ids, "{place}: {text:?}");
        }
        // languages can be chosen nonetheless
        let (count, german, role) = match file.as_str() {
            "mbart" => (25, "de_DE", Some(TargetRole::DecoderStart)),
            "mbart50" => (52, "de_DE", Some(TargetRole::ForcedBos)),
            "nllb" => (202, "deu_Latn", Some(TargetRole::ForcedBos)),
            _ => (0, "", None),
        };
        assert_eq!(tokenizer.languages().len(), count, "{place}");
        if let Some(role) = role {
            let direction = tokenizer.direction(Some(german), Some(german)).unwrap();
            let target = direction.target.unwrap();
            assert_eq!(target.role, role, "{place}");
            let ids = tokenizer.encode_source("Hello", &direction).unwrap();
            let english = tokenizer.encode("Hello").unwrap();
            let changed: Vec<_> = ids.iter().zip(&english).filter(|(one, other)| one != other).collect();
            assert_eq!((changed.len(), *changed[0].0), (1, target.token.unwrap()), "{place}");
        }
    }
}

/// Tags of a Marian vocabulary that only `tokenizer.json` has.
#[test]
fn generic_classes_have_marians_tags() {
    let mut file: Value = serde_json::from_slice(&read("unigram_t5.tokenizer.json")).unwrap();
    let id = file["model"]["vocab"].as_array().unwrap().len();
    let tag = json!({ "id": id, "content": ">>deu<<", "single_word": false, "lstrip": false, "rstrip": false,
        "normalized": false, "special": true });
    file["added_tokens"].as_array_mut().unwrap().push(tag);
    let folder = [
        json_file("tokenizer.json", &file),
        json_file("tokenizer_config.json", &json!({ "tokenizer_class": "TokenizersBackend" })),
        family("marian"),
    ];
    let tokenizer = read_tokenizer(&ModelFiles::memory("the folder", folder)).unwrap();
    assert_eq!(tokenizer.languages(), ["deu"]);
    let direction = tokenizer.direction(None, Some("German")).unwrap();
    let ids = tokenizer.encode_source("Hello", &direction).unwrap();
    assert_eq!(ids, tokenizer.encode(">>deu<< Hello").unwrap());
    assert_eq!(tokenizer.source_token(ids[0]).unwrap(), ">>deu<<");
    let error = tokenizer.encode_source(">>fra<< Hello", &direction).unwrap_err().to_string();
    assert!(error.contains(">>fra<<") && error.contains("deu"), "{error}");
}

/// Truncation and padding in a file are ignored, because they are for training.
#[test]
fn nothing_is_cut_or_padded() {
    let mut file: Value = serde_json::from_slice(&read("wordpiece_bert.tokenizer.json")).unwrap();
    let plain = open("wordpiece_bert", &[]).unwrap();
    file["truncation"] =
        json!({ "direction": "Right", "max_length": 4, "strategy": "LongestFirst", "stride": 0 });
    file["padding"] = json!({ "strategy": { "Fixed": 50 }, "direction": "Right", "pad_to_multiple_of": null,
        "pad_id": 0, "pad_type_id": 0, "pad_token": "[PAD]" });
    let tokenizer =
        read_tokenizer(&ModelFiles::memory("the folder", [json_file("tokenizer.json", &file)])).unwrap();
    let text = "A sentence of more than four tokens.";
    assert_eq!(tokenizer.encode(text).unwrap(), plain.encode(text).unwrap());
}

#[test]
fn spaces_are_cleaned_up_where_asked_and_never_in_bpe() {
    let config = json_file("tokenizer_config.json", &json!({ "clean_up_tokenization_spaces": true }));
    let decode = |name: &str, others: &[File]| {
        let tokenizer = open(name, others).unwrap();
        tokenizer.decode(&tokenizer.encode("Why ? He is here .").unwrap(), true).unwrap()
    };
    assert_eq!(decode("unigram_t5", &[family("t5")]), "Why ? He is here .");
    assert_eq!(decode("unigram_t5", &[family("t5"), config.clone()]), "Why? He is here.");
    assert_eq!(decode("bytelevel_bpe_bart", &[config]), "Why ? He is here .");
}

#[test]
fn sentencepiece_gives_way_where_hugging_face_reads_json() {
    let spm = |name| (name, read("pad_first.spm").into());
    assert_eq!(open("unigram_t5", &[family("t5"), spm("spiece.model")]).unwrap().origin(), "tokenizer.json");
    let folder = [
        family("m2m_100"),
        ("sentencepiece.bpe.model", read("fairseq.spm").into()),
        ("vocab.json", read("m2m_100.vocab.json").into()),
    ];
    assert_eq!(open("unigram_t5", &folder).unwrap().origin(), "sentencepiece.bpe.model");
}

#[test]
fn what_is_wrong_is_named() {
    let open = |bytes: Vec<u8>| {
        let error = read_tokenizer(&ModelFiles::memory("the folder", [("tokenizer.json", bytes)]));
        error.map(|_| ()).unwrap_err().to_string()
    };
    let sound = read("wordpiece_bert.tokenizer.json");
    for bytes in [&b""[..], b"{}", b"[]", b"\xff", &sound[..sound.len() / 2]] {
        let error = open(bytes.to_vec());
        assert!(error.starts_with("the folder: tokenizer.json: "), "{error}");
    }
    let tokenizer = self::open("wordpiece_bert", &[]).unwrap();
    assert_eq!(tokenizer.decode(&[5, 900], true), Err(TextError::UnknownId { id: 900, size: 900 }));
    // a class with languages, and a file without any
    let error = self::open("unigram_t5", &[family("mbart")]).unwrap_err().to_string();
    assert!(error.contains("tokenizer.json: has no token `en_XX`"), "{error}");
}

/// Files that made the library panic, abort or run for minutes.
#[test]
fn hostile_files_are_refused_in_a_line() {
    let changed = |name: &str, part: &str, value: Value| {
        let mut file: Value = serde_json::from_slice(&read(&format!("{name}.tokenizer.json"))).unwrap();
        file[part] = value;
        let folder = ModelFiles::memory("the folder", [json_file("tokenizer.json", &file)]);
        read_tokenizer(&folder)
    };
    let template = json!({ "type": "TemplateProcessing", "single": [{ "SpecialToken": { "id": "nope", "type_id": 0 } }],
        "pair": [], "special_tokens": {} });
    let empty = json!({ "type": "Replace", "pattern": { "String": "" }, "content": "xx" });
    let eight_gib = json!({ "type": "Precompiled", "precompiled_charsmap": "////////////" });
    let long = json!({ "type": "Prepend", "prepend": "x".repeat(1_000_000) });
    for (part, value, reason) in [
        ("post_processor", template, "\"nope\" is in the template"),
        ("normalizer", empty, "an empty pattern"),
        ("normalizer", eight_gib, "the normalization rules are damaged"),
        ("normalizer", long, "\"prepend\" has a string of more than 4096 bytes"),
    ] {
        let error = changed("wordpiece_bert", part, value).map(|_| ()).unwrap_err().to_string();
        assert!(error.starts_with("the folder: tokenizer.json: ") && error.contains(reason), "{error}");
        assert!(error.len() < 300 && !error.contains("download"), "{error}");
    }
    // what is found only when a text is encoded
    let zero = json!({ "type": "FixedLength", "length": 0 });
    let tokenizer = changed("wordpiece_bert", "pre_tokenizer", zero).unwrap();
    let error = tokenizer.encode("text").unwrap_err().to_string();
    assert!(error.starts_with("tokenizer.json: the tokenizers library cannot use this file"), "{error}");
}

/// Damage must not lead to panics or hangs, even if it is not detected.
#[test]
fn survives_damage() {
    let mut next = crate::random_numbers();
    for name in ["bytelevel_bpe_bart", "wordpiece_bert", "mbart50"] {
        let intact = read(&format!("{name}.tokenizer.json"));
        for _ in 0..100 {
            let mut bytes = intact.clone();
            for _ in 0..=next(3) {
                let place = next(bytes.len());
                bytes[place] = b"0129\"{}[],:aZ"[next(13)];
            }
            let folder = ModelFiles::memory("the folder", [("tokenizer.json", bytes)]);
            if let Ok(tokenizer) = read_tokenizer(&folder)
                && let Ok(ids) = tokenizer.encode("Ｗo ist  der Bahnhof? 서울 <s>\u{0}\u{301} ﷺ ①½")
            {
                let _ = tokenizer.decode(&ids, true);
            }
        }
    }
}
