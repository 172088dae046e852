//! `wordloom tokenize`

use std::fs;

use serde_json::{Value, json};

use super::common::data;
use super::{Run, command, model, run, scratch, text};

fn tokenize(arguments: &[&str], stdin: impl AsRef<[u8]> + Send) -> Run {
    run(&[&["tokenize"], arguments].concat(), stdin)
}

fn lines(run: &Run) -> Vec<Value> {
    run.succeeds().lines().map(|line| serde_json::from_str(line).expect("a line of JSON")).collect()
}

/// The stored texts as lines of JSON.
fn input(values: impl Iterator<Item = Value>) -> String {
    values.map(|value| format!("{value}\n")).collect()
}

#[test]
fn ids_are_those_of_the_model_s_vocabulary() {
    let expected = fs::read_to_string(data("models/marian_tied/expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&expected).unwrap();
    let entries = expected["text"]["entries"].as_array().unwrap();
    let texts = input(entries.iter().map(|entry| entry["text"].clone()));
    let folder = model("marian_tied");
    let ids = lines(&tokenize(&["--model", &folder], &texts));
    let want: Vec<Value> = entries.iter().map(|entry| entry["input_ids"].clone()).collect();
    assert_eq!(ids, want);

    let outputs: Vec<&Value> =
        entries.iter().map(|entry| &entry["greedy"]).filter(|greedy| greedy.is_object()).collect();
    let want: Vec<Value> = outputs.iter().map(|greedy| greedy["text"].clone()).collect();
    let outputs = input(outputs.iter().map(|greedy| greedy["ids"].clone()));
    assert_eq!(lines(&tokenize(&["--model", &folder, "--decode"], &outputs)), want);
}

#[test]
fn a_sentencepiece_model_alone_gives_its_own_ids() {
    let spm = data("sentencepiece/unigram_nmt_nfkc.spm");
    let expected = fs::read_to_string(data("sentencepiece/unigram_nmt_nfkc.expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&expected).unwrap();
    let entries = expected["items"].as_array().unwrap();
    let texts = input(entries.iter().map(|entry| entry["text"].clone()));
    let want: Vec<Value> = entries.iter().map(|entry| entry["ids"].clone()).collect();
    assert_eq!(lines(&tokenize(&["--spm", text(&spm)], &texts)), want);
}

#[test]
fn plain_text_needs_no_json() {
    let json = lines(&tokenize(&[], "\"Good morning.\"\n\"\"\n"));
    assert_eq!(lines(&tokenize(&["--plain"], "Good morning.\r\n\n")), json);
    let ids = format!("{}\n", json[0]);
    assert_eq!(tokenize(&["--decode", "--plain"], &ids).succeeds(), "Good morning.\n");
    assert_eq!(tokenize(&["--decode"], &ids).succeeds(), "\"Good morning.\"\n");
}

#[test]
fn a_tokenizer_needs_no_model_beside_it() {
    let folder = scratch("tokenize_alone");
    for file in ["source.spm", "target.spm", "vocab.json"] {
        fs::copy(data("models/marian_tied").join(file), folder.join(file)).unwrap();
    }
    assert_eq!(lines(&tokenize(&["--model", text(&folder)], "\"a\"")).len(), 1);
}

/// The tokenizer of mBART-50 alone, whose language tokens surround the text.
#[test]
fn a_source_language_is_a_token() {
    let folder = scratch("tokenize_languages");
    let spm = data("tokenizers/fairseq.spm");
    fs::copy(spm, folder.join("sentencepiece.bpe.model")).unwrap();
    fs::write(folder.join("tokenizer_config.json"), r#"{ "tokenizer_class": "MBart50Tokenizer" }"#).unwrap();
    let expected = fs::read_to_string(data("tokenizers/pieces.expected.json")).unwrap();
    let expected: Value = serde_json::from_str(&expected).unwrap();
    let item = expected["mbart50"]["items"].as_array().unwrap().iter();
    let items: Vec<&Value> = item.filter(|item| item["source_language"] == "sl_SI").collect();
    let texts = input(items.iter().map(|item| item["text"].clone()));
    let arguments = ["--model", text(&folder), "--source-lang", "sl_SI"];
    let want: Vec<Value> = items.iter().map(|item| item["ids"].clone()).collect();
    assert_eq!(lines(&tokenize(&arguments, texts)), want);

    let arguments = ["--model", text(&folder), "--source-lang", "sl_SL"];
    tokenize(&arguments, "").fails(2, &["no language \"sl_SL\"", "52 in all", "near it: sl_SI", "inspect"]);
    tokenize(&["--source-lang", "fr"], "").fails(2, &["source language is \"eng\", not \"fr\""]);
    tokenize(&["--model", text(&scratch("tokenize_nothing"))], "").fails(1, &["\"tokenizer.json\""]);
}

#[test]
fn a_megabyte_in_one_line_is_no_trouble() {
    for unit in ["a", " ", "word ", "ß", "\u{0301}"] {
        let line = unit.repeat((1 << 20) / unit.len());
        assert_eq!(lines(&tokenize(&["--plain"], line)).len(), 1);
    }
}

#[test]
fn lines_that_cannot_be_are_named() {
    let cases: [(&[&str], &[u8], &str); 9] = [
        (
            &[],
            b"\"a\"\nplain text\n",
            "line 2: not a JSON string: expected value at column 1; --plain reads plain text",
        ),
        (&[], b"[1, 2]\n", "line 1: not a JSON string"),
        (&[], b"\"open\n", "line 1: not a JSON string: it ends in the middle of a value"),
        (&[], b"\"\\ud800\"\n", "line 1: not a JSON string"),
        (&["--plain"], b"fine\n\xc3\n", "line 2: not UTF-8 at byte 1"),
        (&["--decode"], b"\"text\"\n", "line 1: not a JSON array of token ids"),
        (
            &["--decode"],
            b"[1, -1]\n",
            "line 1: not a JSON array of token ids: there is -1 instead of a whole number",
        ),
        (&["--decode"], b"[99999999]\n", "line 1: token id 99999999 is not in the vocabulary"),
        (&["--decode"], b"[1e99]\n", "line 1: not a JSON array of token ids"),
    ];
    for (arguments, input, part) in cases {
        tokenize(arguments, input).fails(1, &["standard input, ", part]);
    }
    let long = json!("x".repeat(100_000)).to_string(); // quoted in the message, but not whole
    tokenize(&["--decode"], &long).fails(1, &["line 1: not a JSON array of token ids"]);
}

#[test]
fn json_lines_may_begin_with_a_byte_order_mark() {
    let marked = tokenize(&[], "\u{feff}\"Good morning.\"\n");
    assert_eq!(marked.succeeds(), tokenize(&[], "\"Good morning.\"\n").succeeds());
}

#[test]
fn damaged_sentencepiece_models_are_refused() {
    let folder = scratch("tokenize_damaged");
    let sound = fs::read(data("sentencepiece/unigram_nmt_nfkc.spm")).unwrap();
    let path = folder.join("damaged.spm");
    let mut flipped = sound.clone();
    flipped[..4].fill(0xff);
    for bytes in [&[][..], &sound[..100], &sound[..sound.len() - 1], &flipped, b"plain text"] {
        fs::write(&path, bytes).unwrap();
        tokenize(&["--spm", text(&path)], "\"a\"").fails(1, &["damaged.spm"]);
    }
    tokenize(&["--spm", text(&folder.join("missing"))], "").fails(1, &["cannot read", "missing"]);
    tokenize(&["--spm", text(&folder)], "").fails(1, &["cannot read", "tokenize_damaged"]);
}

/// Files that made the library panic, abort or run for minutes: one line that names the file.
#[cfg(feature = "tokenizers")]
#[test]
fn a_hostile_tokenizer_json_is_an_error() {
    let folder = scratch("tokenize_hostile");
    let sound = std::fs::read(data("tokenizers/wordpiece_bert.tokenizer.json")).unwrap();
    let sound: serde_json::Value = serde_json::from_slice(&sound).unwrap();
    let eight_gib = serde_json::json!({ "type": "Precompiled", "precompiled_charsmap": "////////////" });
    let zero = serde_json::json!({ "type": "FixedLength", "length": 0 });
    let template = serde_json::json!({ "type": "TemplateProcessing", "single": [{ "SpecialToken": { "id": "nope", "type_id": 0 } }],
        "pair": [], "special_tokens": {} });
    for (part, value, reason) in [
        ("normalizer", eight_gib, "the normalization rules are damaged"),
        ("pre_tokenizer", zero, "the tokenizers library cannot use this file"),
        ("post_processor", template, "is in the template"),
    ] {
        let mut file = sound.clone();
        file[part] = value;
        std::fs::write(folder.join("tokenizer.json"), file.to_string()).unwrap();
        run(&["tokenize", "--plain", "--model", text(&folder)], "hello\n")
            .fails(1, &["tokenizer.json: ", reason]);
    }
}

/// Rust's runtime would write to `/dev/null`, without an error.
#[cfg(target_os = "linux")]
#[test]
fn a_closed_output_is_an_error() {
    let program = command(&[]).get_program().to_owned();
    let shell = ["-c", "echo Hello | \"$0\" tokenize --plain >&-"];
    let run = std::process::Command::new("sh").args(shell).arg(program).output().expect("runs");
    assert_eq!(run.status.code(), Some(1));
    let message = String::from_utf8_lossy(&run.stderr);
    assert_eq!(message, "error: cannot write standard output: it is closed\n");
}
