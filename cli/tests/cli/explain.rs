//! `wordloom explain`, and the taps of `wordloom forward`.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::{Run, model, run, scratch, text};

/// The command on a model with random weights.
fn explain(arguments: &[&str]) -> Run {
    let tied = model("marian_tied");
    let known = ["explain", "--model", &tied, "--device", "cpu", "--target", "Der Bahnhof"];
    run(&[&known[..], arguments].concat(), "")
}

#[test]
fn the_terminal_has_every_step_in_80_columns() {
    for kind in ["encoder", "decoder", "cross"] {
        let shown = explain(&["the station", "--token", "#1", "--kind", kind]);
        let shown = shown.succeeds();
        for step in
            ["Embedding and position", "Query", "Keys", "√d_k", "Mask", "Softmax", "W^O", "Feed-forward"]
        {
            assert!(shown.contains(step), "{kind} {step}: {shown}");
        }
        assert_eq!(shown.contains("Logits and probabilities"), kind != "encoder", "{kind}");
        assert!(shown.contains("§3.2.1") && !shown.contains('\u{1b}'), "{shown}");
        for line in shown.lines() {
            assert!(line.chars().count() <= 80, "{kind}: {line}");
        }
    }
}

#[test]
fn json_has_the_numbers() {
    let shown = explain(&[
        "the station",
        "--token",
        "#1",
        "--kind",
        "cross",
        "--layer",
        "0",
        "--head",
        "3",
        "--json",
    ]);
    let json: Value = serde_json::from_str(shown.succeeds()).unwrap();
    assert_eq!(json["head"], serde_json::json!({"kind": "cross", "layer": 0, "head": 3}));
    let steps = json["steps"].as_array().unwrap();
    let softmax = steps.iter().find(|step| step["kind"] == "softmax").unwrap();
    let weights = softmax["numbers"][0]["values"].as_array().unwrap();
    let sum: f64 = weights.iter().map(|weight| weight.as_f64().unwrap()).sum();
    assert!((sum - 1.0).abs() < 1e-5, "{sum}");
    assert_eq!(weights.len(), json["keys"].as_array().unwrap().len());
    assert_eq!(softmax["numbers"][0]["tap"], "decoder.0.cross.weights");
}

#[test]
fn the_page_shows_texts_and_never_runs_them() {
    let file = scratch("explain_page").join("it.html");
    let hostile = "<script>alert(1)</script> & \"quotes\"";
    assert_eq!(explain(&[hostile, "--token", "#0", "-o", text(&file)]).succeeds(), "");
    let page = fs::read_to_string(&file).unwrap();
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt; &amp; &quot;quotes&quot;"));
    assert!(!page.contains("<script") && !page.contains("http://") && !page.contains("https://"));
    assert!(page.contains("default-src 'none'") && page.contains("§3.2.1"));
}

#[test]
fn mistakes_are_told_with_the_way_out() {
    for (arguments, parts) in [
        (&["the station", "--token", "moon"][..], &["moon", "the source", "#0"][..]),
        (&["the station", "--token", "#0", "--layer", "7"], &["encoder.7.0", "0 to 1"]),
        (&["the station", "--token", "#0", "-o", "a.txt"], &["a.txt", ".html"]),
        (&["the station"], &["--token"]),
    ] {
        let told = explain(arguments);
        assert_eq!(told.output.status.code(), Some(2), "{}", told.stderr());
        let last = told.stderr();
        parts.iter().for_each(|part| assert!(last.contains(part), "{part}: {last}"));
    }
}

#[test]
fn forward_lists_its_taps() {
    let listed = run(&["forward", "--taps", "--model", &model("marian_tied")], "");
    let listed = listed.succeeds();
    let line = listed.lines().find(|line| line.starts_with("decoder.1.cross.scores ")).unwrap();
    assert!(line.ends_with("[batch, 4, queries, keys]"), "{line}");
    assert!(listed.lines().count() > 100);
}

#[test]
fn a_trace_with_taps_is_explained_without_the_model() {
    let folder = scratch("explain-trace");
    let (whole, few) = (folder.join("whole.safetensors"), folder.join("few.json"));
    let tied = model("marian_tied");
    let attend = |path: &Path, tap: &str| {
        let known = ["attend", "the station", "--target", "Der Bahnhof", "--model", &tied, "--device", "cpu"];
        run(&[&known[..], &["--tap", tap, "--output", text(path)]].concat(), "").succeeds();
    };
    attend(&whole, "*");
    attend(&few, "encoder.0.self.weights");
    let from = |path: &Path, options: &[&str]| {
        run(&[&["explain", "--trace", text(path), "--token", "#1"][..], options].concat(), "")
    };
    for options in [&[][..], &["--kind", "cross", "--layer", "0", "--head", "3"]] {
        let options = [options, &["--json"]].concat();
        let own = explain(&[&["the station", "--token", "#1"][..], &options].concat());
        let own: Value = serde_json::from_str(own.succeeds()).unwrap();
        let found: Value = serde_json::from_str(from(&whole, &options).succeeds()).unwrap();
        assert_eq!((&found["steps"], &found["keys"]), (&own["steps"], &own["keys"]), "{options:?}");
    }
    // the layer that has taps is the default one
    let found = from(&few, &[]);
    let shown = String::from_utf8_lossy(&found.output.stdout);
    assert!(found.output.status.success() && shown.contains("Softmax"), "{shown}");
    assert!(
        found.stderr().contains("few.json lacks") && found.stderr().contains("--tap '*'"),
        "{}",
        found.stderr()
    );
    let none = from(&few, &["--kind", "cross"]);
    assert_eq!(none.output.status.code(), Some(1));
    assert!(
        none.stderr().contains("no numbers of cross.1.0; `wordloom attend TEXT --tap '*'"),
        "{}",
        none.stderr()
    );
    let both = from(&few, &["the station"]);
    assert_eq!(both.output.status.code(), Some(2));
}
