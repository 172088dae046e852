//! `wordloom quantize`

use std::fs;

use serde_json::Value;

use super::{model, run, scratch, text};

#[test]
fn a_folder_in_8_bits_is_a_folder_like_any_other() {
    let out = scratch("quantize").join("small");
    let arguments = ["quantize", &model("marian_tied"), "--out", text(&out)];
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
