//! SentencePiece models against the C++ library (sentencepiece 0.2.3), id by id, and against damaged files.

use std::path::PathBuf;

use serde::Deserialize;
use wordloom::TextError;
use wordloom::text::SentencePiece;

const MODELS: [&str; 3] = ["unigram_nmt_nfkc", "unigram_nfkc_cf_symbols", "bpe_identity_bytefallback"];

#[derive(Deserialize)]
struct Expected {
    vocab_size: usize,
    items: Vec<Item>,
    decode_only: Vec<DecodeOnly>,
}

#[derive(Deserialize)]
struct Item {
    text: String,
    normalized: String,
    pieces: Vec<String>,
    ids: Vec<u32>,
    decoded: String,
}

#[derive(Deserialize)]
struct DecodeOnly {
    ids: Vec<u32>,
    decoded: String,
}

fn read(file: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/sentencepiece").join(file);
    std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn model(name: &str) -> SentencePiece {
    SentencePiece::from_bytes(name, &read(&format!("{name}.spm"))).unwrap()
}

#[test]
fn agrees_with_the_library() {
    for name in MODELS {
        let expected: Expected = serde_json::from_slice(&read(&format!("{name}.expected.json"))).unwrap();
        let model = model(name);
        assert_eq!(model.vocabulary_size(), expected.vocab_size, "{name}");
        for item in expected.items {
            let text = &item.text;
            assert_eq!(model.normalize(text), item.normalized, "{name}: {text:?}");
            assert_eq!(model.encode_as_pieces(text), item.pieces, "{name}: {text:?}");
            assert_eq!(model.encode(text), item.ids, "{name}: {text:?}");
            assert_eq!(model.decode(&item.ids).unwrap(), item.decoded, "{name}: {text:?}");
        }
        for case in expected.decode_only {
            assert_eq!(model.decode(&case.ids).unwrap(), case.decoded, "{name}: {:?}", case.ids);
        }
    }
}

#[test]
fn takes_linear_time() {
    let texts = [
        "The train leaves at nine, doesn't it? ".repeat(14_000),
        "a".repeat(1 << 19),
        " ".repeat(1 << 19),
        "\u{0301}".repeat(1 << 18),
        "서울<sep>".repeat(1 << 15),
        "ﷺ".repeat(1 << 16),
    ];
    for name in MODELS {
        let model = model(name);
        for text in &texts {
            let ids = model.encode(text);
            assert!(ids.len() <= model.normalize(text).len(), "{name}");
        }
    }
}

#[test]
fn refuses_unknown_ids() {
    let error = model(MODELS[0]).decode(&[5, 800]).unwrap_err();
    assert_eq!(error, TextError::UnknownId { id: 800, size: 800 });
}

#[test]
fn a_file_cut_short_is_an_error() {
    for name in MODELS {
        let bytes = read(&format!("{name}.spm"));
        // every length, with steps through the long table of normalization rules
        let lengths = (0..bytes.len())
            .filter(|length| *length < 2000 || length % 499 == 0 || bytes.len() - length < 300);
        for length in lengths {
            match SentencePiece::from_bytes("cut.spm", &bytes[..length]) {
                Err(TextError::Malformed { file, .. } | TextError::Damaged { file, .. }) => {
                    assert_eq!(file, "cut.spm");
                }
                other => panic!("{name} cut to {length} bytes: {other:?}"),
            }
        }
    }
}

/// Damage must not lead to panics, hangs or huge allocations, even if it is not detected.
#[test]
fn survives_damage() {
    let mut next = crate::random_numbers();
    for name in MODELS {
        let intact = read(&format!("{name}.spm"));
        for _ in 0..150 {
            let mut bytes = intact.clone();
            for _ in 0..=next(20) {
                let place = next(bytes.len());
                bytes[place] = next(256) as u8;
            }
            match SentencePiece::from_bytes("damaged.spm", &bytes) {
                Err(
                    TextError::Malformed { .. } | TextError::Damaged { .. } | TextError::Unsupported { .. },
                ) => {}
                Err(error) => panic!("{error}"),
                Ok(model) => {
                    let ids = model.encode("Ｗo ist  der Bahnhof? 서울 <sep>\u{0}\u{301} ﷺ ①½");
                    model.decode(&ids).unwrap();
                }
            }
        }
    }
}

#[test]
fn errors_name_the_file() {
    let error = SentencePiece::from_bytes("source.spm", b"<html>").unwrap_err();
    assert!(error.to_string().starts_with("source.spm: not a SentencePiece model"), "{error}");
}
