//! `wordloom cost`

use serde_json::Value;

use super::common::repository;
use super::{model, run, text};

fn config(name: &str) -> String {
    text(&repository("configs/table-3").join(format!("{name}.json"))).to_owned()
}

fn json(arguments: &[&str]) -> Value {
    let run = run(&[&["cost", "--json"], arguments].concat(), "");
    serde_json::from_str(run.succeeds()).unwrap()
}

fn module<'a>(json: &'a Value, name: &str) -> &'a Value {
    let modules = json["modules"].as_array().unwrap();
    modules.iter().find(|module| module["name"] == name).unwrap_or_else(|| panic!("{name}: {json}"))
}

/// Table 2 of the paper: 3.3 · 10¹⁸ and 2.3 · 10¹⁹, from 12 hours and 3.5 days on eight P100.
#[test]
fn the_paper_s_trainings_cost_what_the_paper_says() {
    for (name, hours, expected) in [("base", "12", "3.3e18"), ("big", "84", "2.3e19")] {
        let json = json(&["--config", &config(name), "--hours", hours]);
        let operations = json["training"]["operations_by_rule"].as_f64().unwrap();
        assert_eq!(format!("{operations:.1e}"), expected, "{name}");
        let shown = run(&["cost", "--config", &config(name), "--hours", hours], "");
        let said = format!("{expected} operations = {hours} h × 8 GPUs × 9.5 TFLOPS");
        assert!(shown.succeeds().contains(&said), "{}", shown.stdout());
    }
}

/// The base model by hand: N = 6, D = 512, F = 2048, V = 37,000; n = 10 and m = 7.
#[test]
fn modules_of_the_base_model_are_counted() {
    let json = json(&["--config", &config("base"), "--source", "10", "--target", "7", "--steps", "100"]);
    let (d, f, v, n, m, layers) = (512_u64, 2048, 37_000, 10, 7, 6);
    let weights = 4 * d * d;
    let expected = [
        ("embeddings", v * d, 0),
        ("encoder self-attention, projections", layers * (weights + 6 * d), layers * n * weights),
        ("encoder self-attention, products", 0, layers * 2 * n * n * d),
        ("encoder feed-forward", layers * (2 * d * f + f + 3 * d), layers * n * 2 * d * f),
        ("decoder self-attention, projections", layers * (weights + 6 * d), layers * m * weights),
        ("decoder self-attention, products", 0, layers * 2 * d * (m * (m + 1) / 2)),
        ("cross-attention, projections", layers * (weights + 6 * d), layers * (2 * n + 2 * m) * d * d),
        ("cross-attention, products", 0, layers * 2 * n * m * d),
        ("decoder feed-forward", layers * (2 * d * f + f + 3 * d), layers * m * 2 * d * f),
        ("output projection", 0, m * d * v),
    ];
    assert_eq!(json["modules"].as_array().unwrap().len(), expected.len(), "{json}");
    for (name, parameters, multiplications) in expected {
        let module = module(&json, name);
        assert_eq!(module["parameters"], parameters, "{name}");
        assert_eq!(module["multiplications"].as_f64(), Some(multiplications as f64), "{name}");
    }
    // docs/parameters.md
    assert_eq!(json["parameters"], 63_082_496);
    assert_eq!(json["cache_bytes"]["of_target"], 4 * layers * 2 * d * m);
    assert_eq!(json["cache_bytes"]["of_source"], 4 * layers * 2 * d * n);
    let all: u64 = expected.iter().map(|(.., multiplications)| multiplications).sum();
    // 25,000 tokens of a step are this many pairs
    let arithmetic = 6.0 * all as f64 * (25_000.0 / m as f64) * 100.0;
    let found = json["training"]["operations_by_arithmetic"].as_f64().unwrap();
    assert!((found / arithmetic - 1.0).abs() < 1e-9, "{found}, not {arithmetic}");
}

/// The parameters of the modules are all of the model's, in every family.
#[test]
fn modules_of_every_family_have_all_parameters() {
    let folders = std::fs::read_dir(super::common::data("models")).unwrap();
    let mut count = 0;
    for folder in folders {
        let name = folder.unwrap().file_name().into_string().unwrap();
        let cost = json(&[&model(&name)]);
        let inspect = run(&["inspect", "--json", &model(&name)], "");
        let inspect: Value = serde_json::from_str(inspect.succeeds()).unwrap();
        assert_eq!(cost["parameters"], inspect["parameters"], "{name}");
        let decoder = ["decoder recurrent unit", "decoder self-attention, projections", "decoder, other"];
        let recurrent = cost["modules"].as_array().unwrap().iter().any(|module| module["name"] == decoder[0]);
        assert_eq!(recurrent, name == "firefox", "{name}");
        count += 1;
    }
    assert!(count > 15);
}

#[test]
fn cost_refuses_impossible_sizes() {
    let base = config("base");
    let cost = |options: &[&str]| run(&[&["cost", "--config", &base], options].concat(), "");
    cost(&["--source", "0"]).fails(2, &["--source", "from 1 to 2^40"]);
    cost(&["--source", "1000000"]).fails(2, &["--source is 1000000", "positions for"]);
    cost(&["--hours", "-1"]).fails(2, &["'-1'", "--hours", "a number above 0"]);
    cost(&["--hours", "1e308"]).fails(2, &["--hours", "1e15 at most"]);
    let one = cost(&["--hours", "1", "--gpus", "1"]);
    assert!(one.succeeds().contains("1 h × 1 GPU × 9.5 TFLOPS"), "{}", one.stdout());
    cost(&["--gpus", "4"]).fails(2, &["--hours"]);
    run(&["cost", "--config", "/none/such.json"], "").fails(1, &["/none/such.json"]);
    run(&["cost", &model("gpt2"), "--source", "5"], "").fails(2, &["--source", "no encoder", "--target is"]);
    run(&["cost", &model("bert"), "--target", "5"], "").fails(2, &["--target", "no decoder", "--source is"]);
    assert!(run(&["cost", &model("gpt2"), "--target", "1"], "").succeeds().starts_with("gpt2, 1 token\n"));
}
