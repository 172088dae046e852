//! `wordloom study NAME` and `study all`: studies that look into the built-in model, with few of Tatoeba's pairs.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::common::data;
use super::{Run, run, scratch, text};

fn pairs(folder: &Path, count: usize) -> PathBuf {
    let all = fs::read_to_string(data("tatoeba-test.tsv")).unwrap();
    let pairs: String = all.lines().take(count).map(|line| format!("{line}\n")).collect();
    let path = folder.join("pairs.tsv");
    fs::write(&path, pairs).unwrap();
    path
}

fn study(name: &str, folder: &Path, options: &[&str]) -> Run {
    let (pairs, output) = (folder.join("pairs.tsv"), folder.join("report.html"));
    let common = ["study", name, "--pairs", text(&pairs), "--output", text(&output), "--device", "cpu"];
    run(&[&common, options].concat(), "")
}

#[test]
fn a_study_has_claims_numbers_and_figures_and_goes_on() {
    let folder = scratch("study-inside");
    pairs(&folder, 60);
    let figures = folder.join("figures");
    let first = study("scale", &folder, &["--sentences", "20", "--figures", text(&figures)]);
    assert_eq!(first.output.status.code(), Some(0), "{}", first.stderr());
    assert!(first.stderr().contains("scale: seen here: "), "{}", first.stderr());
    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let (html, markdown) = (read("report.html"), read("report.md"));
    for page in [&html, &markdown] {
        for part in
            ["section 3.2.1", "What speaks against it", "heads)", "not seen here", "study scale", "60 pairs"]
        {
            assert!(page.contains(part), "{part}");
        }
    }
    assert!(!html.contains("<script") && markdown.contains("![Random vectors](report-3.svg)"));
    assert!(read("report-1.svg").starts_with("<svg xmlns"));
    for number in 1..=3 {
        let figure = |kind: &str| fs::read(figures.join(format!("report-{number}.{kind}"))).unwrap();
        assert!(figure("png").starts_with(b"\x89PNG") && figure("svg").starts_with(b"<svg xmlns"));
    }
    let json: Value = serde_json::from_str(&read("report.json")).unwrap();
    // 4 + 3 + 3 layers of 8 heads
    assert_eq!((json["data"].as_array().unwrap().len(), read("report.csv").lines().count()), (80, 81));
    for claim in json["claims"].as_array().unwrap() {
        for measured in claim["measured"].as_array().unwrap() {
            assert!(measured["n"].as_u64().unwrap() > 1 && measured["deviation"].is_f64(), "{measured}");
        }
    }

    // the same command measures nothing again, a cut line is forgotten, and other data are refused
    let log = read("report.jsonl");
    let half = &log[..log.len() - 10];
    fs::write(folder.join("report.jsonl"), half).unwrap();
    assert_eq!(study("scale", &folder, &["--sentences", "20"]).output.status.code(), Some(0));
    assert_eq!(read("report.jsonl"), log);
    let other = study("scale", &folder, &["--sentences", "30"]);
    assert_eq!(other.output.status.code(), Some(1));
    assert!(other.stderr().contains("--sentences was 20, and is 30"), "{}", other.stderr());
}

#[test]
fn what_cannot_be_studied_is_said() {
    let folder = scratch("study-refused");
    pairs(&folder, 19);
    let few = study("roles", &folder, &[]);
    assert_eq!(few.output.status.code(), Some(1));
    assert!(few.stderr().contains("19 pairs") && few.stderr().contains("at least 20"), "{}", few.stderr());
    pairs(&folder, 20);
    let model = data("models/bert");
    let encoder = study("pruning", &folder, &["--model", text(&model)]);
    assert_eq!(encoder.output.status.code(), Some(1));
    for part in
        ["\"bert\" model does not translate", "pruning", "it can do scale, symmetry, projections, spectrum"]
    {
        assert!(encoder.stderr().contains(part), "{part}: {}", encoder.stderr());
    }
    let pairs = folder.join("pairs.tsv");
    let named = run(&["study", "scale", "--pairs", text(&pairs), "--output", "page.pdf"], "");
    assert_eq!(named.output.status.code(), Some(2));
    assert!(named.stderr().contains("must end in .html"), "{}", named.stderr());
    for name in ["scale", "all"] {
        let help = run(&["study", name, "--help"], "");
        assert!(help.succeeds().lines().all(|line| line.chars().count() <= 80));
    }
}
