//! Searches with terms on devices: against the constrained search of transformers 4, and glossaries with the embedded model.
#![cfg(feature = "embedded-model")]

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::common::{assert_close, data, device_test, devices, model, read};
use serde_json::Value;
use wordloom::decode::{ConstraintMode, Constraints, DecodeOptions, Hypothesis, Term};
use wordloom::model::files::ModelFiles;
use wordloom::model::read_tokenizer;
use wordloom::text::Direction;
use wordloom::transformer::{GenerateOptions, GenerateRequest, Transformer};
use wordloom::translate::{Glossary, GlossaryError, GlossaryFile};
use wordloom::{Device, Model, TranslateOptions, Translator};

fn list<T: serde::de::DeserializeOwned>(value: &Value) -> T {
    serde_json::from_value(value.clone()).expect("a sound fixture")
}

fn request(case: &Value, config: &wordloom::model::config::ModelConfig) -> GenerateRequest {
    let words: Vec<Vec<Vec<u32>>> = list(&case["words"]);
    let terms = words.into_iter().map(|forms| Term { forms, source: 0..0 }).collect();
    let start = config.tokens.decoder_start.expect("a start");
    let constraints = Constraints {
        terms,
        mode: ConstraintMode::Hard,
        text: 0..0,
        once: false,
        inside_words: Arc::new([]),
    };
    let options = DecodeOptions {
        num_beams: list(&case["num_beams"]),
        max_length: 1 + list::<usize>(&case["max_new_tokens"]),
        length_penalty: list(&case["length_penalty"]),
        renormalize_logits: true,
        constraints: Some(Arc::new(constraints)),
        ..DecodeOptions::new(start, config.tokens.eos.expect("an end"), config.tokens.pad)
    };
    GenerateRequest::new(list(&case["input_ids"]), options)
}

async fn generate(transformer: &Transformer, requests: &[GenerateRequest]) -> Vec<Hypothesis> {
    let found = transformer.generate(requests, GenerateOptions::default()).await.expect("generates");
    found.into_iter().map(|mut found| found.hypotheses.remove(0)).collect()
}

fn has(words: &[Vec<Vec<u32>>], tokens: &[u32]) -> bool {
    words.iter().all(|forms| forms.iter().any(|form| tokens.windows(form.len()).any(|part| part == form)))
}

/// Both searches have every word. The best hypothesis is the same, or ours scores higher; docs/glossary.md says where the
/// algorithms part.
#[device_test]
async fn the_search_against_that_of_transformers_4() {
    let json: Value = serde_json::from_slice(&read(&data("constraints.json"))).expect("sound JSON");
    let cases = json["cases"].as_array().expect("cases");
    let model = model(&data("models/marian_tied"));
    let mut first: Option<Vec<Vec<u32>>> = None;
    for device in devices().await {
        let transformer = Transformer::load(&device, &model, &mut |_| {}).expect("loads");
        let requests: Vec<_> = cases.iter().map(|case| request(case, transformer.config())).collect();
        let found = generate(&transformer, &requests).await;
        let (mut same, mut better) = (0, 0);
        for (case, found) in cases.iter().zip(&found) {
            let words: Vec<Vec<Vec<u32>>> = list(&case["words"]);
            let (sequence, score): (Vec<u32>, f32) = (list(&case["sequence"]), list(&case["score"]));
            assert!(has(&words, &found.tokens), "{:?} lacks one of {words:?}", found.tokens);
            assert!(has(&words, &sequence), "a sound fixture");
            match found.tokens == sequence {
                true => {
                    same += 1;
                    assert_close("score", &[found.score], &[score], (1e-4, 1e-4));
                }
                false => better += usize::from(found.score > score),
            }
        }
        assert!(same + better >= 50, "of {}: {same} the same, {better} better", cases.len());
        let tokens: Vec<Vec<u32>> = found.into_iter().map(|found| found.tokens).collect();
        assert_eq!(first.get_or_insert_with(|| tokens.clone()), &tokens, "the same on every device");
    }
}

fn bind(
    translator: &Translator,
    lines: &str,
    mode: ConstraintMode,
    longest: usize,
) -> Result<Arc<Glossary>, GlossaryError> {
    let file = GlossaryFile::parse("terms.tsv", lines.as_bytes())?;
    let direction = Direction::default();
    Ok(Arc::new(Glossary::new(&file, translator.tokenizer(), &direction, longest, mode)?))
}

/// Everyday words, and targets that the model does not choose by itself.
const TERMS: &str = "\
he\tderselbe\tdieser\n\
she\tdieselbe\tdiese\n\
I\tmeine Wenigkeit\n\
you\tihr\teuch|Sie\n\
Tom\tThomas\tThomas'\tany\n\
Mary\t=\n\
is\tist\tsind|sei\n\
like\tlieben\tliebe|liebt\n\
want\twünschen\twünscht|wünsche\n\
very\taußerordentlich\n\
car\tKraftwagen\tKraftwagens\n\
house\tGebäude\n\
Wordloom\t=\n";

fn translator(device: &Device) -> Translator {
    Translator::new(device, &Model::embedded().expect("sound")).expect("loads")
}

/// Whether a text has a form as whole words.
fn has_word(text: &str, form: &str) -> bool {
    text.match_indices(form).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + form.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

#[device_test]
async fn hard_terms_are_in_every_translation_and_other_sentences_stay() {
    let pairs = String::from_utf8(read(&data("tatoeba-test.tsv"))).expect("UTF-8");
    let sources: Vec<&str> = pairs.lines().filter_map(|line| line.split('\t').next()).collect();
    let file = GlossaryFile::parse("terms.tsv", TERMS.as_bytes()).expect("sound");
    let translator = translator(&Device::Cpu);
    let glossary = bind(&translator, TERMS, ConstraintMode::Hard, 128).expect("fits");
    let options = TranslateOptions::default().glossary(glossary);
    let words = |text: &str| -> BTreeSet<String> {
        text.split(|c: char| !c.is_alphanumeric()).map(str::to_owned).collect()
    };
    let lower = |text: &str| words(text).into_iter().map(|word| word.to_lowercase()).collect::<BTreeSet<_>>();
    // the sentences with terms, found here by plain words; contractions such as "I'm" begin with one
    let terms_of = |source: &str| -> Vec<usize> {
        let (exact, any) = (words(source), lower(source));
        let is = |entry: &wordloom::translate::GlossaryEntry| match entry.case {
            wordloom::translate::CaseRule::Exact => exact.contains(&entry.source),
            wordloom::translate::CaseRule::Any => any.contains(&entry.source.to_lowercase()),
        };
        (0..file.entries.len()).filter(|&index| is(&file.entries[index])).collect()
    };
    let (with, without): (Vec<&str>, Vec<&str>) =
        sources.iter().take(420).partition(|source| !terms_of(source).is_empty());
    let with = &with[..220];
    let without = &without[..40];
    let found = translator.translate(with, &options).await.expect("translates");
    for (source, translation) in with.iter().zip(&found) {
        for index in terms_of(source) {
            let entry = &file.entries[index];
            let own = [entry.source.clone()];
            let forms = if entry.forms.is_empty() { &own[..] } else { &entry.forms };
            let text = &translation.text;
            let capital = |form: &str| form[..1].to_uppercase() + &form[1..];
            let is = forms.iter().any(|form| has_word(text, form) || has_word(text, &capital(form)));
            assert!(is, "{source:?} became {text:?} without {forms:?}");
        }
    }
    let plain = translator.translate(without, &TranslateOptions::default()).await.expect("translates");
    let beside = translator.translate(without, &options).await.expect("translates");
    for (plain, beside) in plain.iter().zip(&beside) {
        assert_eq!(plain.sentences, beside.sentences, "a sentence without terms is searched as ever");
    }
}

#[device_test]
async fn devices_agree_on_a_translation_with_terms() {
    let sources =
        ["I lost my ticket at the station yesterday.", "Where is the ticket office?", "The cat sleeps."];
    let lines = "ticket\tBillett\tBilletts\nticket office\tSchalter\nstation\tBahnhof\n";
    let mut first = None;
    for device in devices().await {
        let translator = translator(&device);
        for mode in [ConstraintMode::Hard, ConstraintMode::Soft(ConstraintMode::WEIGHT)] {
            let glossary = bind(&translator, lines, mode, 128).expect("fits");
            let options = TranslateOptions::default().glossary(glossary);
            let found = translator.translate(&sources[..], &options).await.expect("translates");
            let texts: Vec<String> = found.into_iter().map(|translation| translation.text).collect();
            if mode == ConstraintMode::Hard {
                let billett = ["Billett", "Billetts"].iter().any(|form| has_word(&texts[0], form));
                assert!(billett && has_word(&texts[0], "Bahnhof"), "{texts:?}");
                assert!(has_word(&texts[1], "Schalter") && !texts[1].contains("Billett"), "{texts:?}");
                assert_eq!(texts[0].matches("Billett").count(), 1, "{texts:?}");
                assert_eq!(first.get_or_insert_with(|| texts.clone()), &texts, "the same on every device");
            }
        }
    }
}

#[test]
fn a_faulty_glossary_is_refused_with_its_line() {
    let message = |bytes: &[u8]| GlossaryFile::parse("terms.tsv", bytes).expect_err("faulty").to_string();
    let cases: [(&[u8], &str); 11] = [
        (b"a\tb\nticket\n", "terms.tsv, line 2: has 1 column; "),
        (b"a\tb\tc\t\te\n", "terms.tsv, line 1: has 5 columns; "),
        (b"\tb\n", "terms.tsv, line 1: the source is empty"),
        (b"a\t \n", "terms.tsv, line 1: the target is empty"),
        (b"a\tb\tc||d\n", "terms.tsv, line 1: the inflection is empty"),
        (b"a\tb\t\tsometimes\n", "terms.tsv, line 1: has the rule \"sometimes\""),
        (b"a\t=\tc\n", "terms.tsv, line 1: a term that stays as it is"),
        (b"a\tb\n\na\tc\n", "terms.tsv, line 3: \"a\" has another translation in line 1"),
        (b"a\tb\nc\0\td\n", "terms.tsv, line 2: has the control character '\\0'"),
        (b"a\tb\nc\t\xff\n", "terms.tsv, line 2: is not UTF-8"),
        (b"# a note\n\n", "terms.tsv: has no terms"),
    ];
    for (bytes, want) in cases {
        let got = message(bytes);
        assert!(got.starts_with(want), "{got}");
    }
    let forms = |bytes: &[u8]| GlossaryFile::parse("t", bytes).expect("right").entries.remove(0).forms;
    assert_eq!(forms(b"ticket = Billett\n"), ["Billett"]);
    assert_eq!(forms(b"x\ty = 2\n"), ["y = 2"]);
    assert_eq!(message(b"a =\n"), "terms.tsv, line 1: the target is empty");
    let many = format!("a\tb\t{}\n", (0..40).map(|n| format!("f{n}")).collect::<Vec<_>>().join("|"));
    assert!(message(many.as_bytes()).contains("has 41 forms; a term may have 32"));
    assert!(
        GlossaryFile::parse("t", b"\xef\xbb\xbfa\tb\r\na\tb\r\n").is_ok_and(|file| file.entries.len() == 1)
    );
}

#[device_test]
async fn a_target_that_the_model_cannot_write_is_refused() {
    // the default model writes every text, byte by byte
    let small = Translator::new(&Device::Cpu, &model(&data("models/marian_tied"))).expect("loads");
    let of = |translator: &Translator, lines: &str, longest| {
        bind(translator, lines, ConstraintMode::Hard, longest).expect_err("faulty").to_string()
    };
    let translator = translator(&Device::Cpu);
    let message = |lines: &str, longest| of(&translator, lines, longest);
    assert!(bind(&translator, "cat\t고양이\n", ConstraintMode::Hard, 128).is_ok());
    assert_eq!(
        of(&small, "a\tb\ncat\t고양이\n", 128),
        "terms.tsv, line 2: this model's vocabulary cannot write \"고양이\""
    );
    let long = format!("cat\t{}\n", "Katze ".repeat(20));
    assert!(message(&long, 12).starts_with("terms.tsv, line 1: \"Katze Katze"), "{}", message(&long, 12));
}

/// A tokenizer of BART's kind puts tokens before and after every text, and the space before a word into its token.
#[test]
fn byte_level_vocabularies_write_terms_inside_a_sentence() {
    let file = |name: &str| read(&data("tokenizers").join(name));
    let folder = [
        ("config.json", br#"{"model_type": "bart"}"#.to_vec()),
        ("vocab.json", file("older.bart-vocab.json")),
        ("merges.txt", file("older.bart-merges.txt")),
    ];
    let tokenizer = read_tokenizer(&ModelFiles::memory("bart", folder)).expect("sound");
    let glossary = GlossaryFile::parse("terms.tsv", "train\tHaus m²\n".as_bytes()).expect("terms");
    let mode = ConstraintMode::Hard;
    Glossary::new(&glossary, &tokenizer, &Direction::default(), 64, mode).expect("any text can be written");
}

#[test]
fn what_a_tokenizer_writes_otherwise_is_refused() {
    let translator = translator(&Device::Cpu);
    let error = bind(&translator, "area\tFläche in m²\n", ConstraintMode::Hard, 64).expect_err("refused");
    let want = "terms.tsv, line 1: this model writes \"Fläche in m²\" as \"Fläche in m2\"; give that";
    assert!(error.to_string().starts_with(want), "{error}");
    bind(&translator, "area\tFläche  in m2\n", ConstraintMode::Hard, 64)
        .expect("white space does not matter");
}
