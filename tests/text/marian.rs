//! The Marian tokenizer against Hugging Face transformers, id by id.

use std::path::PathBuf;

use serde::Deserialize;
use wordloom::TextError;
use wordloom::text::{MarianFiles, MarianTokenizer};

const FIXTURE: &str = "tests/data/models/marian_tied";
const DEFAULT_MODEL: &str = "models/tatoeba-en-de";

struct Folder {
    source_spm: Vec<u8>,
    target_spm: Vec<u8>,
    vocab: Vec<u8>,
    config: Vec<u8>,
}

fn read(folder: &str, file: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(folder).join(file);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

impl Folder {
    fn read(folder: &str) -> Self {
        Self {
            source_spm: read(folder, "source.spm"),
            target_spm: read(folder, "target.spm"),
            vocab: read(folder, "vocab.json"),
            config: read(folder, "tokenizer_config.json"),
        }
    }

    fn files(&self) -> MarianFiles<'_> {
        MarianFiles {
            source_spm: &self.source_spm,
            target_spm: &self.target_spm,
            vocab: &self.vocab,
            target_vocab: None,
            config: Some(&self.config),
        }
    }
}

fn tokenizer(folder: &str) -> MarianTokenizer {
    MarianTokenizer::new(Folder::read(folder).files()).unwrap()
}

#[derive(Deserialize)]
struct Expected {
    text: Text,
}

#[derive(Deserialize)]
struct Text {
    entries: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    text: String,
    input_ids: Vec<u32>,
    tokens: Vec<String>,
    greedy: Option<Output>,
    default: Option<Output>,
}

#[derive(Deserialize)]
struct Output {
    ids: Vec<u32>,
    text: String,
}

#[test]
fn agrees_with_transformers() {
    let tokenizer = tokenizer(FIXTURE);
    let expected: Expected = serde_json::from_slice(&read(FIXTURE, "expected.json")).unwrap();
    for entry in expected.text.entries {
        let ids = tokenizer.encode(&entry.text);
        assert_eq!(ids, entry.input_ids, "{:?}", entry.text);
        let token = |id: &u32| tokenizer.source_vocabulary().token(*id).unwrap();
        assert_eq!(ids.iter().map(token).collect::<Vec<_>>(), entry.tokens, "{:?}", entry.text);
        for output in entry.greedy.into_iter().chain(entry.default) {
            assert_eq!(tokenizer.decode(&output.ids, true).unwrap(), output.text, "{:?}", output.ids);
        }
    }
}

#[derive(Deserialize)]
struct Translations {
    cases: Vec<Translation>,
}

#[derive(Deserialize)]
struct Translation {
    source: String,
    source_ids: Vec<u32>,
    greedy_ids: Vec<u32>,
    greedy_text: String,
    beam_ids: Vec<u32>,
    beam_text: String,
}

#[test]
fn agrees_with_the_default_models_results() {
    let tokenizer = tokenizer(DEFAULT_MODEL);
    let expected: Translations = serde_json::from_slice(&read(DEFAULT_MODEL, "expected.json")).unwrap();
    for case in expected.cases {
        assert_eq!(tokenizer.encode(&case.source), case.source_ids, "{}", case.source);
        assert_eq!(tokenizer.encode_source(&case.source).unwrap(), case.source_ids, "{}", case.source);
        for (ids, text) in [(case.greedy_ids, case.greedy_text), (case.beam_ids, case.beam_text)] {
            assert_eq!(tokenizer.decode(&ids, true).unwrap(), text, "{ids:?}");
        }
    }
}

#[test]
fn special_tokens() {
    let tokenizer = tokenizer(FIXTURE);
    assert_eq!((tokenizer.eos_id(), tokenizer.unknown_id(), tokenizer.pad_id()), (0, 1, 644));
    assert_eq!(tokenizer.source_vocabulary().size(), 645);
    assert!(tokenizer.is_special("<pad>") && !tokenizer.is_special("▁the"));
    assert_eq!(tokenizer.decode(&[644, 4, 0], false).unwrap(), "<pad> .</s>");
    let error = tokenizer.decode(&[4, 645], true).unwrap_err();
    assert_eq!(error, TextError::UnknownId { id: 645, size: 645 });
}

#[test]
fn language_tags() {
    let tokenizer = tokenizer(FIXTURE);
    assert_eq!(tokenizer.language_tags(), [">>kor<<"]);
    let korean = tokenizer.source_vocabulary().id(">>kor<<").unwrap();
    assert_eq!(tokenizer.encode_source(">>kor<< Le chat").unwrap(), tokenizer.encode(">>kor<< Le chat"));
    assert_eq!(tokenizer.encode_source(">>kor<<").unwrap(), [korean, tokenizer.eos_id()]);

    let error = tokenizer.encode_source(">>xyz<< Le chat").unwrap_err();
    assert_eq!(error.to_string(), "unknown language tag `>>xyz<<`; this model has >>kor<<");
    assert_eq!(tokenizer.encode(">>xyz<<"), [tokenizer.unknown_id(), tokenizer.eos_id()], "as transformers");

    // quoted text is no tag
    let quoted = tokenizer.encode_source(">> he said << no").unwrap();
    assert!(quoted.len() > tokenizer.encode(">> he said << no").len());
}

#[test]
fn separate_vocabularies() {
    let folder = Folder::read(FIXTURE);
    let config = br#"{"separate_vocabs": true}"#;
    let files = MarianFiles { config: Some(config), ..folder.files() };
    assert_eq!(MarianTokenizer::new(files).unwrap_err(), TextError::MissingTargetVocabulary);

    let target_vocab = r#"{"</s>": 0, "<unk>": 1, "▁Haus": 2, "▁das": 3, "<pad>": 4}"#;
    let files = MarianFiles { target_vocab: Some(target_vocab.as_bytes()), ..files };
    let tokenizer = MarianTokenizer::new(files).unwrap();
    assert_eq!(tokenizer.decode(&[4, 3, 2, 0], true).unwrap(), "das Haus");
    assert_eq!(tokenizer.encode("the"), [tokenizer.source_vocabulary().id("▁the").unwrap(), 0]);
}

#[test]
fn added_tokens_of_the_configuration() {
    let folder = Folder::read(FIXTURE);
    let config = br#"{"eos_token": {"content": "</s>", "special": true},
        "added_tokens_decoder": {"0": {"content": "</s>", "special": true}, "645": {"content": "[name]"}}}"#;
    let tokenizer = MarianTokenizer::new(MarianFiles { config: Some(config), ..folder.files() }).unwrap();
    assert_eq!(tokenizer.encode("[name]"), [645, 0]);
    assert_eq!(tokenizer.decode(&[645, 0], true).unwrap(), "[name]");

    let config = br#"{"added_tokens_decoder": {"645": {"content": "[name]", "single_word": true}}}"#;
    let error = MarianTokenizer::new(MarianFiles { config: Some(config), ..folder.files() }).unwrap_err();
    assert!(matches!(error, TextError::Unsupported { .. }), "{error}");
}

#[test]
fn damaged_files_are_named() {
    let folder = Folder::read(FIXTURE);
    let files = folder.files();
    let cases: [(MarianFiles, &str); 8] = [
        (MarianFiles { source_spm: b"", ..files }, "source.spm: "),
        (MarianFiles { target_spm: &folder.target_spm[..1000], ..files }, "target.spm: "),
        (MarianFiles { vocab: b"", ..files }, "vocab.json: "),
        (MarianFiles { vocab: br#"{"a": -1}"#, ..files }, "vocab.json: "),
        (MarianFiles { vocab: br#"{"a": 1, "b": 1}"#, ..files }, "vocab.json: two tokens have the same id"),
        (MarianFiles { vocab: br#"{"a": 4294967295}"#, ..files }, "vocab.json: has no token `<unk>`"),
        (MarianFiles { config: Some(b"{"), ..files }, "tokenizer_config.json: "),
        (MarianFiles { config: Some(br#"{"unk_token": 3}"#), ..files }, "tokenizer_config.json: "),
    ];
    for (files, message) in cases {
        let error = MarianTokenizer::new(files).unwrap_err().to_string();
        assert!(error.starts_with(message), "{error}");
    }
}

#[test]
fn odd_text() {
    let tokenizer = tokenizer(FIXTURE);
    assert_eq!(tokenizer.encode(""), [0]);
    assert_eq!(tokenizer.encode(" \u{3000}\n"), [0]);
    assert_eq!(tokenizer.encode("</s></s>"), [0, 0, 0]);
    assert_eq!(tokenizer.decode(&[], true).unwrap(), "");
    let long = "Le petit chat dort. </s ".repeat(40_000);
    assert!(tokenizer.encode(&long).len() > 100_000);
}

/// `tokenizer(text_target=text).input_ids` of transformers 5.23.
#[test]
fn targets_are_cut_by_the_target_s_model() {
    let tied = tokenizer(FIXTURE);
    let cases: [(&str, &[u32]); 4] = [
        ("Der Bahnhof ist dort.", &[2, 1, 2, 1, 2, 1, 2, 1, 4, 0]),
        ("", &[0]),
        (">>fra<< Guten Tag, Welt!", &[1, 2, 1, 2, 1, 26, 2, 1, 122, 0]),
        ("naïve café </s> 日本", &[2, 1, 2, 1, 0, 2, 1, 0]),
    ];
    for (text, ids) in cases {
        assert_eq!(tied.encode_target(text), ids, "{text}");
    }
    let words = tokenizer(DEFAULT_MODEL).encode_target("Wo ist „Straße“ 12,5?");
    assert_eq!(words, [536, 274, 696, 852, 264, 705, 1036, 273, 1789, 5006, 259, 2534, 262, 0]);
}
