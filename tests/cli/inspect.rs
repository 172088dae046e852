//! `wordloom inspect` and `wordloom devices`

use serde_json::Value;

use super::{model, run};

#[test]
fn inspect_shows_a_model_s_shape() {
    let output = run(&["inspect", &model("vanilla_preln")], "");
    let shown = output.succeeds();
    for part in ["vanilla_transformer", "d_model 48", "4 heads of 12", "pre-norm", "109,440"] {
        assert!(shown.contains(part), "{part} is not in:\n{shown}");
    }
    assert!(shown.contains("cannot be translated"), "this one has no tokenizer:\n{shown}");
    assert!(run(&["inspect"], "").succeeds().contains("8,375,360"), "the built-in model");
}

#[test]
fn inspect_gives_json() {
    let output = run(&["inspect", "--json", &model("marian_tied")], "");
    let json: Value = serde_json::from_str(output.succeeds()).unwrap();
    assert_eq!(json["model_type"], "marian");
    assert_eq!(json["target_vocabulary"], 645);
    assert_eq!(json["tokenizer"], true);
    let tensors = json["tensors"].as_array().unwrap();
    assert!(tensors.iter().any(|tensor| tensor["name"] == "final_logits_bias" && tensor["dtype"] == "F32"));
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
