//! ByT5's tokenizer against its class in transformers.

use serde::Deserialize;
use serde_json::{Value, json};
use wordloom::model::files::ModelFiles;
use wordloom::model::read_tokenizer;
use wordloom::text::Tokenizer;

#[derive(Deserialize)]
struct Case {
    config: Value,
    length: u32,
    /// Text, ids, and the text of these ids without special tokens.
    items: Vec<(String, Vec<u32>, String)>,
    /// Ids, their text, and the same without special tokens.
    decoded: Vec<(Vec<u32>, String, String)>,
}

fn cases() -> Vec<Case> {
    let file = crate::files::data("tokenizers").join("bytes.expected.json");
    serde_json::from_slice(&crate::files::read(&file)).unwrap()
}

fn open(config: &Value) -> Tokenizer {
    let mut config = config.clone();
    config["tokenizer_class"] = "ByT5Tokenizer".into();
    let files = [("config.json", json!({ "model_type": "t5" })), ("tokenizer_config.json", config)];
    let files = files.map(|(name, json)| (name, json.to_string().into_bytes()));
    read_tokenizer(&ModelFiles::memory("the folder", files)).unwrap()
}

#[test]
fn agrees_with_transformers() {
    for Case { config, length, items, decoded } in cases() {
        let tokenizer = open(&config);
        assert_eq!(tokenizer.last_tokens().map(|(id, _)| id), [length - 1; 2], "{config}");
        for (text, ids, without) in items {
            assert_eq!(tokenizer.encode(&text).unwrap(), ids, "{text:?}, {config}");
            assert_eq!(tokenizer.decode(&ids, true).unwrap(), without, "{text:?}, {config}");
        }
        for (ids, all, without) in decoded {
            assert_eq!(tokenizer.decode(&ids, false).unwrap(), all, "{ids:?}, {config}");
            assert_eq!(tokenizer.decode(&ids, true).unwrap(), without, "{ids:?}, {config}");
        }
        let error = tokenizer.decode(&[length], true).unwrap_err().to_string();
        assert!(error.contains(&length.to_string()), "{error}");
    }
}

#[test]
fn bytes_have_readable_pieces() {
    let tokenizer = open(&json!({}));
    let pieces: Vec<_> = tokenizer.encode("a é<extra_id_1>\n").unwrap();
    let pieces: Vec<_> = pieces.into_iter().filter_map(|id| tokenizer.source_token(id)).collect();
    assert_eq!(pieces, ["a", "▁", "<0xC3>", "<0xA9>", "<extra_id_1>", "<0x0A>", "</s>"]);
}
