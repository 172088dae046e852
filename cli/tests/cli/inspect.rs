//! `wordloom inspect` and `wordloom devices`

use std::fs;

use serde_json::Value;

use super::{model, run, scratch, text};

#[test]
fn inspect_shows_a_model_s_shape() {
    let output = run(&["inspect", &model("vanilla_preln")], "");
    let shown = output.succeeds();
    for part in ["vanilla_transformer", "d_model 48", "4 heads of 12", "pre-norm", "109,440"] {
        assert!(shown.contains(part), "{part} is not in:\n{shown}");
    }
    assert!(shown.contains("cannot be translated"), "this one has no tokenizer:\n{shown}");
    assert_eq!(run(&["inspect", "--model", &model("vanilla_preln")], "").succeeds(), shown);
    let built_in = run(&["inspect"], "");
    for part in ["built-in:en-de\n", "9,403,360"] {
        assert!(built_in.succeeds().contains(part), "{part} is not in:\n{}", built_in.stdout());
    }
}

#[test]
fn inspect_gives_json() {
    let output = run(&["inspect", "--json", &model("marian_tied")], "");
    let json: Value = serde_json::from_str(output.succeeds()).unwrap();
    assert_eq!(json["model_type"], "marian");
    assert_eq!(json["target_vocabulary"], 645);
    assert_eq!(json["tokenizer"], true);
    assert_eq!(json["languages"], serde_json::json!(["kor"]));
    let tensors = json["tensors"].as_array().unwrap();
    assert!(tensors.iter().any(|tensor| tensor["name"] == "final_logits_bias" && tensor["dtype"] == "F32"));
}

#[test]
fn inspect_counts_in_english() {
    let one_language = run(&["inspect", &model("marian_tied")], "");
    let shown = one_language.succeeds();
    assert!(shown.contains("source.spm, 1 language: kor"), "{shown}");
    let file = scratch("inspect-one").join("config.json");
    let base = fs::read_to_string(super::common::repository("configs/table-3/base.json")).unwrap();
    let config = base.replace("\"nhead\": 8", "\"nhead\": 1");
    let config = config.replace("\"num_encoder_layers\": 6", "\"num_encoder_layers\": 1");
    fs::write(&file, config).unwrap();
    let one_layer = run(&["inspect", "--config", text(&file)], "");
    let shown = one_layer.succeeds();
    for part in ["encoder      1 layer, 1 head of 512,", "decoder      6 layers, 1 head of 512,"] {
        assert!(shown.contains(part), "{part} is not in:\n{shown}");
    }
}

#[test]
fn options_of_a_run_need_one() {
    let small = model("marian_tied");
    run(&["inspect", &small, "--device", "cpu"], "").fails(2, &["--device", "add --run"]);
    run(&["inspect", &small, "--weights", "q8"], "").fails(2, &["--weights", "add --run"]);
    run(&["inspect", &small, "--device", "auto", "--weights", "auto"], "").succeeds();
}

#[test]
fn launches_take_the_options_that_they_heed() {
    let small = model("marian_tied");
    let inspect = |options: &[&str]| run(&[&["inspect", &small], options].concat(), "");
    assert!(inspect(&["--launches", "--weights", "f32", "--beams", "2"]).succeeds().contains("launches"));
    inspect(&["--launches", "--json"]).fails(2, &["--launches", "--json"]);
    inspect(&["--launches", "--run"]).fails(2, &["--launches", "--run"]);
    inspect(&["--launches", "--device", "cpu"]).fails(2, &["--launches", "--device"]);
    inspect(&["--launches", "--beams", "0"]).fails(2, &["--beams is 0; it must be 1 to 16"]);
    inspect(&["--launches", "--beams", "17"]).fails(2, &["--beams is 17"]);
    inspect(&["--launches", "--batch", "0"]).fails(2, &["--batch is 0"]);
    // products of it would not fit 64 bits
    let most = usize::MAX.to_string();
    inspect(&["--launches", "--batch", &most]).fails(2, &["--batch is ", "1 to 1048576"]);
}

#[test]
fn inspect_takes_a_configuration_alone() {
    let base = super::common::repository("configs/table-3/base.json");
    let arguments = ["inspect", "--config", text(&base)];
    let output = run(&arguments, "");
    let shown = output.succeeds();
    for part in [
        "63,082,496",
        "embeddings 18,944,000 + encoder 18,914,304 + decoder 25,224,192",
        "attention 1,048,576 = 4 d_model², feed-forward 2,097,152 = 8 d_model²",
        "random weights, 253.4 MB on a device in f32, ",
        " in f16, ",
    ] {
        assert!(shown.contains(part), "{part} is not in:\n{shown}");
    }
    assert!(!shown.contains("\nrun "), "was not asked for:\n{shown}");
}

#[test]
fn inspect_runs_every_family_with_random_weights() {
    let folders = ["marian_tied", "vanilla_preln", "bart", "m2m_100", "t5_relu_tied", "bert", "gpt2"];
    for folder in folders {
        let config = model(folder) + "/config.json";
        let arguments = ["inspect", "--config", &config, "--seed", "7", "--run", "--device", "cpu", "--json"];
        let output = run(&arguments, "");
        let json: Value = serde_json::from_str(output.succeeds()).unwrap();
        assert_eq!(json["random_weights"], true, "{folder}");
        assert!(json["run"]["forward_seconds"].as_f64().unwrap() > 0.0, "{folder}: {json}");
        assert_eq!(json["run"]["generate_tokens"].is_null(), folder == "bert", "{folder}: {json}");
        let parts = json["parameters_by_part"].as_object().unwrap();
        let sum: u64 = parts.values().map(|count| count.as_u64().unwrap()).sum();
        assert_eq!(json["parameters"], sum, "{folder}");
    }
}

#[test]
fn inspect_says_what_is_wrong_with_a_configuration() {
    let file = scratch("inspect-config").join("own name.json");
    let arguments = ["inspect", "--config", text(&file)];
    run(&arguments, "").fails(1, &["own name.json", "No such file"]);
    fs::write(&file, r#"{"model_type": "bart", "d_model": "wide"}"#).unwrap();
    run(&arguments, "").fails(1, &["own name.json: ", "d_model"]);
    fs::write(&file, r#"{"model_type": "bort"}"#).unwrap();
    run(&arguments, "").fails(1, &["own name.json: ", "bort", "vanilla_transformer"]);
    run(&["inspect", "--seed", "3"], "").fails(2, &["--config"]);
    run(&["inspect", ".", "--config", "c.json"], "").fails(2, &["--config"]);
}

#[test]
fn devices_end_with_the_cpu_and_the_automatic_choice() {
    let output = run(&["devices"], "");
    assert_eq!(output.output.status.code(), Some(0), "{}", output.stderr());
    assert!(output.stdout().contains("CPU (") && output.stdout().contains("--device auto takes"));
    let output = run(&["devices", "--json"], "");
    let json: Value = serde_json::from_str(output.stdout()).unwrap();
    assert!(json["gpus"].is_array() && json["auto"].is_string() && json["cpu"]["threads"].is_u64());
}
