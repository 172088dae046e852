//! `wordloom quantize`

use std::fs;

use serde_json::Value;

use super::{model, run, scratch, text};

#[test]
fn a_folder_in_8_bits_is_a_folder_like_any_other() {
    let out = scratch("quantize").join("small");
    let arguments = ["quantize", "--model", &model("marian_tied"), "--out", text(&out)];
    let output = run(&arguments, "");
    assert_eq!((output.output.status.code(), output.stdout()), (Some(0), ""), "{}", output.stderr());
    assert!(output.stderr().contains("model.safetensors: 0."), "{}", output.stderr());

    let shown = run(&["inspect", "--json", text(&out)], "");
    let json: Value = serde_json::from_str(shown.succeeds()).unwrap();
    let tensors = json["tensors"].as_array().unwrap();
    let shared = tensors.iter().find(|tensor| tensor["name"] == "model.shared.weight").unwrap();
    assert_eq!(shared["dtype"], "I8");
    assert!(run(&["inspect", text(&out)], "").succeeds().contains("(safetensors, F32, I8 with scales)"));

    // numbers in 8 bits are taken as they are
    let translate = |folder: &str, weights: &str| {
        let arguments = ["translate", "--device", "cpu", "--weights", weights, "--model", folder];
        run(&arguments, "Hello, world.\n").succeeds().to_owned()
    };
    assert_eq!(translate(text(&out), "q8"), translate(&model("marian_tied"), "q8"));
    let rounded =
        run(&["translate", "--device", "cpu", "--weights", "f16", "--model", text(&out)], "Hello.\n");
    rounded.succeeds();
    assert!(rounded.stderr().contains("f16 rounds the model's 8-bit weights"), "{}", rounded.stderr());
}

#[test]
fn what_cannot_be_quantized_is_said_in_one_line() {
    let out = scratch("quantize-refused");
    let (small, again) = (out.join("small"), out.join("again"));
    run(&["quantize", "/no/such/model", "--out", text(&small)], "").fails(1, &["/no/such/model"]);
    run(&["quantize", "--out", text(&small)], "").fails(2, &["required", "<MODEL>"]);
    let arguments = ["quantize", &model("gpt2"), "--out", text(&small)];
    assert_eq!(run(&arguments, "").output.status.code(), Some(0));
    run(&arguments, "").fails(1, &["small: there is a model already; choose another folder"]);
    let built_in = ["part of the program", "needs a folder"];
    run(&["quantize", "built-in:en-de", "--out", text(&again)], "").fails(2, &built_in);
    run(&["average", &model("gpt2"), "built-in", "--out", text(&again)], "").fails(2, &built_in);
    run(&["quantize", text(&small), "--out", text(&again)], "").fails(1, &["small", "in 8 bits already"]);
    assert!(!again.join("model.safetensors").exists(), "nothing half done is left");
    run(&["quantize", &model("gpt2")], "").fails(2, &["--out"]);
    fs::write(out.join("file"), "").unwrap();
    run(&["quantize", &model("gpt2"), "--out", text(&out.join("file"))], "").fails(1, &["cannot write"]);
}

/// A folder that has a model, whatever the names of its files: nothing of it is lost.
#[test]
fn a_folder_with_a_model_is_not_written_to() {
    let folder = scratch("quantize-own");
    for entry in fs::read_dir(model("marian_tied")).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let weights = name == "model.safetensors";
        if weights || [".json", ".spm"].iter().any(|end| name.ends_with(end)) && !name.starts_with("model") {
            let name = if weights { "model.fp32.safetensors".to_owned() } else { name };
            fs::copy(&path, folder.join(name)).unwrap();
        }
    }
    let content = || {
        let entries = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path());
        let mut files: Vec<_> = entries.map(|path| (fs::read(&path).unwrap(), path)).collect();
        files.sort();
        files
    };
    let before = content();
    let refused = "there is a model already; choose another folder";
    run(&["quantize", text(&folder), "--out", text(&folder)], "").fails(1, &[refused]);
    run(&["quantize", &model("gpt2"), "--out", text(&folder)], "").fails(1, &[refused]);
    run(&["average", &model("gpt2"), "--out", text(&folder)], "").fails(1, &[refused]);
    assert!(content() == before);
}

#[test]
fn what_is_written_before_a_failure_is_removed() {
    let out = scratch("quantize-half");
    fs::write(out.join("vocab.json"), "mine").unwrap();
    let arguments = ["quantize", &model("marian_tied"), "--out", text(&out)];
    run(&arguments, "").fails(1, &["cannot write", "vocab.json"]);
    assert_eq!(fs::read_to_string(out.join("vocab.json")).unwrap(), "mine");
    assert_eq!(fs::read_dir(&out).unwrap().count(), 1, "nothing else is left");
}

#[test]
fn checkpoints_of_other_models_have_no_mean() {
    let out = scratch("average-others");
    let copy = |name: &str| {
        let folder = out.join(name);
        fs::create_dir_all(&folder).unwrap();
        for file in ["config.json", "model.safetensors", "vocab.json", "source.spm", "target.spm"] {
            fs::copy(std::path::Path::new(&model("marian_tied")).join(file), folder.join(file)).unwrap();
        }
        folder
    };
    let (one, other) = (copy("one"), copy("other"));
    let config = fs::read_to_string(other.join("config.json")).unwrap();
    let mut changed: Value = serde_json::from_str(&config).unwrap();
    (changed["dtype"], changed["transformers_version"]) = ("float16".into(), "5.0".into());
    fs::write(other.join("config.json"), changed.to_string()).unwrap();
    let mean = |to: &str| run(&["average", text(&one), text(&other), "--out", text(&out.join(to))], "");
    assert_eq!(mean("same").output.status.code(), Some(0), "how a file was written does not count");
    changed["activation_function"] = "gelu".into();
    fs::write(other.join("config.json"), changed.to_string()).unwrap();
    mean("none").fails(1, &["other", "has another \"activation_function\" than", "one"]);
    fs::write(other.join("config.json"), &config).unwrap();
    for (folder, content) in [(&one, "{\"a\": 0}"), (&other, "{\"a\": 1}")] {
        fs::write(folder.join("target_vocab.json"), content).unwrap();
    }
    mean("none").fails(1, &["target_vocab.json", "the same ids are other words"]);
    assert!(!out.join("none").exists());
}
