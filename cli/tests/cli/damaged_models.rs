//! Folders with one file missing, truncated, damaged or hostile: each error is one line that names the file.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Map, Value, json};

use super::common::data;
use super::{Run, run, scratch, text};

/// A valid model in a separate folder.
fn sound_model(test: &str) -> PathBuf {
    let folder = scratch(test);
    for entry in fs::read_dir(data("models/marian_tied")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        // a second file of weights would be used in place of a missing one
        let name_text = name.to_string_lossy();
        if !name_text.starts_with("expected") && !name_text.starts_with("model_legacy") {
            fs::copy(&path, folder.join(name)).unwrap();
        }
    }
    folder
}

fn translate(folder: &Path) -> Run {
    run(&["translate", "--device", "cpu", "--beams", "1", "--model", text(folder), "hello"], "")
}

/// Changes one file, checks that the message has all `parts`, and puts the file back.
#[track_caller]
fn check(folder: &Path, file: &str, content: Option<&[u8]>, parts: &[&str]) {
    let path = folder.join(file);
    let sound = fs::read(&path).unwrap();
    match content {
        Some(content) => fs::write(&path, content).unwrap(),
        None => fs::remove_file(&path).unwrap(),
    }
    assert_eq!(translate(folder).fails(1, parts), "", "{file}");
    fs::write(&path, sound).unwrap();
}

#[test]
fn a_missing_file() {
    let folder = sound_model("damaged_missing");
    for file in ["config.json", "model.safetensors", "source.spm", "target.spm", "vocab.json"] {
        check(&folder, file, None, &["damaged_missing: there is no", file]);
    }
    for optional in ["generation_config.json", "tokenizer_config.json"] {
        fs::remove_file(folder.join(optional)).unwrap();
    }
    translate(&folder).succeeds();
}

#[test]
fn a_file_that_is_cut_or_something_else() {
    let folder = sound_model("damaged_content");
    for file in [
        "config.json",
        "generation_config.json",
        "model.safetensors",
        "source.spm",
        "target.spm",
        "tokenizer_config.json",
        "vocab.json",
    ] {
        let sound = fs::read(folder.join(file)).unwrap();
        for content in
            [&b""[..], b"[1, 2]", b"version https://git-lfs.github.com/spec/v1\n", b"\xff\xfe\0\0\0\0\0\0\0"]
        {
            check(&folder, file, Some(content), &[file]);
        }
        for length in [1, sound.len() / 2, sound.len() - 2] {
            check(&folder, file, Some(&sound[..length]), &[file]);
        }
    }
}

#[test]
fn a_configuration_that_no_model_can_have() {
    let folder = sound_model("damaged_config");
    let config: Map<String, Value> =
        serde_json::from_slice(&fs::read(folder.join("config.json")).unwrap()).unwrap();
    let cases = [
        ("model_type", json!(null), "\"model_type\" is missing"),
        ("model_type", json!("llama"), "\"llama\" is not supported; supported: marian"),
        ("d_model", json!("64"), "\"d_model\" is \"64\"; expected a whole number"),
        ("d_model", json!(-64), "\"d_model\" is -64; expected"),
        ("d_model", json!(0), "\"d_model\" is 0; expected"),
        ("d_model", json!(u64::MAX), "\"d_model\" is 18446744073709551615; expected"),
        ("encoder_attention_heads", json!(0), "\"encoder_attention_heads\" is 0"),
        ("decoder_attention_heads", json!(7), "\"decoder_attention_heads\" is 7"),
        ("encoder_layers", json!(1_000_000), "\"encoder_layers\" is 1000000"),
        ("encoder_layers", json!(3), "there is no tensor \"model.encoder.layers.2"),
        ("encoder_layers", json!(1), "encoder.layers.1"),
        ("vocab_size", json!(16_000_000), "is [645, 64], but the configuration calls for [16000000, 64]"),
        ("max_position_embeddings", json!(1_u64 << 40), "\"max_position_embeddings\""),
        ("decoder_start_token_id", json!(645), "\"decoder_start_token_id\" is 645"),
        ("activation_function", json!("magic"), "\"magic\" is not supported"),
    ];
    for (key, value, part) in cases {
        let mut damaged = config.clone();
        damaged.insert(key.to_owned(), value);
        check(&folder, "config.json", Some(Value::from(damaged).to_string().as_bytes()), &[part]);
    }
}

#[test]
fn defaults_that_no_search_can_use() {
    let folder = sound_model("damaged_generation_config");
    let cases = [
        (r#"{"length_penalty": "long"}"#, "\"length_penalty\" is \"long\"; expected a number"),
        (
            r#"{"length_penalty": 1e39}"#,
            "length_penalty is inf; it must be a finite number; --length-penalty",
        ),
        (r#"{"max_length": 1}"#, "max_length is 1; it must be at least 2"),
        (r#"{"max_new_tokens": 0}"#, "max_new_tokens is 0; it must be at least 1"),
        (r#"{"bad_words_ids": [[700]]}"#, "bad_words_ids names token 700"),
        (r#"{"no_repeat_ngram_size": -1}"#, "\"no_repeat_ngram_size\" is -1"),
        (r#"{"do_sample": true, "temperature": 0}"#, "temperature is 0; it must be"),
    ];
    for (content, part) in cases {
        check(
            &folder,
            "generation_config.json",
            Some(content.as_bytes()),
            &["damaged_generation_config", part],
        );
    }
}

/// The length of the header comes first in a safetensors file, in eight bytes.
#[test]
fn a_header_that_lies_about_its_length() {
    let folder = sound_model("damaged_header_length");
    let sound = fs::read(folder.join("model.safetensors")).unwrap();
    for length in [0, 1, 100, sound.len() as u64, 1 << 40, i64::MAX as u64, u64::MAX] {
        let mut damaged = sound.clone();
        damaged[..8].copy_from_slice(&length.to_le_bytes());
        check(
            &folder,
            "model.safetensors",
            Some(&damaged),
            &["model.safetensors: is not a valid checkpoint"],
        );
    }
}

#[test]
fn a_header_that_lies_about_its_tensors() {
    const BIAS: &str = "final_logits_bias"; // the first in the file: [1, 645], bytes 0 to 2580
    let folder = sound_model("damaged_header");
    let sound = fs::read(folder.join("model.safetensors")).unwrap();
    let (length, rest) = sound.split_at(8);
    let (header, data) = rest.split_at(u64::from_le_bytes(length.try_into().unwrap()) as usize);
    let header: Value = serde_json::from_slice(header).unwrap();
    assert_eq!(header[BIAS]["data_offsets"], json!([0, 2580]));
    let cases = [
        ("data_offsets", json!([4, 2584]), "not a valid checkpoint"), // overlaps the next
        ("data_offsets", json!([2580, 0]), "not a valid checkpoint"),
        ("data_offsets", json!([1_u64 << 50, (1_u64 << 50) + 2580]), "not a valid checkpoint"),
        ("data_offsets", json!([-4, 2576]), "not a valid checkpoint"),
        ("data_offsets", json!("0 to 2580"), "not a valid checkpoint"),
        ("shape", json!([u64::MAX, u64::MAX]), "not a valid checkpoint"),
        ("shape", json!([1, 646]), "not a valid checkpoint"), // needs more bytes than it has
        ("shape", json!([645, 1]), "final_logits_bias\" is [645, 1], but the configuration calls for"),
        ("dtype", json!("I32"), "final_logits_bias\" is stored as I32; weights can be F32"),
        ("dtype", json!("F33"), "not a valid checkpoint"),
    ];
    let with_header = |header: &Value| {
        let header = header.to_string();
        [&(header.len() as u64).to_le_bytes(), header.as_bytes(), data].concat()
    };
    for (field, value, part) in cases {
        let mut damaged = header.clone();
        damaged[BIAS][field] = value;
        check(&folder, "model.safetensors", Some(&with_header(&damaged)), &["model.safetensors: ", part]);
    }

    let mut renamed = header;
    let name = "model.encoder.layers.0.fc1.bias";
    let tensor = renamed.as_object_mut().unwrap().remove(name).unwrap();
    renamed["model.encoder.layers.0.fc9.bias"] = tensor;
    let nearest = "the nearest is";
    check(&folder, "model.safetensors", Some(&with_header(&renamed)), &["there is no tensor", name, nearest]);
}

#[test]
fn a_vocabulary_that_is_not_the_model_s() {
    let folder = sound_model("damaged_vocabulary");
    let mut vocabulary: Map<String, Value> =
        serde_json::from_slice(&fs::read(folder.join("vocab.json")).unwrap()).unwrap();
    vocabulary.insert("foreign".to_owned(), json!(645));
    let damaged = Value::from(vocabulary).to_string();
    let parts = ["\"foreign\" with id 645", "645 tokens", "that of another model"];
    check(&folder, "vocab.json", Some(damaged.as_bytes()), &parts);
    let far = damaged.replace("645", "4294967295");
    check(&folder, "vocab.json", Some(far.as_bytes()), &["\"foreign\" with id 4294967295", "645 tokens"]);
    for content in [r#"{"<unk>": -1}"#, r#"{"<unk>": 4294967296}"#, r#"{"<unk>": 1, "a": 1}"#, r#"{"a": 1}"#]
    {
        check(&folder, "vocab.json", Some(content.as_bytes()), &["vocab.json: "]);
    }
}

/// 8 bits would make zeros of the whole row.
#[test]
fn a_weight_that_is_infinite_is_refused_in_8_bits() {
    let folder = sound_model("damaged_weight");
    let path = folder.join("model.safetensors");
    let sound = fs::read(&path).unwrap();
    let header = u64::from_le_bytes(sound[..8].try_into().unwrap()) as usize;
    let listed: Value = serde_json::from_slice(&sound[8..8 + header]).unwrap();
    let name = "model.encoder.layers.0.fc1.weight";
    let first = 8 + header + listed[name]["data_offsets"][0].as_u64().unwrap() as usize;
    for value in [f32::INFINITY, f32::NAN] {
        let mut damaged = sound.clone();
        damaged[first..first + 4].copy_from_slice(&value.to_le_bytes());
        fs::write(&path, damaged).unwrap();
        for weights in ["q8", "w8a8"] {
            let arguments =
                ["translate", "--device", "cpu", "--weights", weights, "--model", text(&folder), "hello"];
            run(&arguments, "").fails(1, &["fc1", &value.to_string(), "q8 cannot hold"]);
        }
    }
}
