//! `wordloom study NAME` and `study all`: studies that look into the built-in model, with few of Tatoeba's pairs.

use std::collections::BTreeMap;
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

/// A small model with random weights, whose files name the languages of the gold sets.
fn english_to_german(folder: &Path) -> PathBuf {
    let copy = folder.join("marian_tied");
    fs::create_dir_all(&copy).unwrap();
    for entry in fs::read_dir(data("models/marian_tied")).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_file() {
            fs::copy(entry.path(), copy.join(entry.file_name())).unwrap();
        }
    }
    // the tag of the only language that it writes
    let path = copy.join("vocab.json");
    let vocabulary = fs::read_to_string(&path).unwrap().replace(">>kor<<", ">>deu<<");
    fs::write(path, vocabulary).unwrap();
    copy
}

/// Made by `tests/data/make_study_numbers.py` with hooks of torch, SciPy and scikit-learn.
#[test]
fn numbers_of_every_study_are_those_of_torch() {
    let folder = scratch("study-numbers");
    let (pairs, output, model) = (pairs(&folder, 20), folder.join("all"), english_to_german(&folder));
    let options = ["--sentences", "20", "--device", "cpu", "--output", text(&output)];
    let all = run(
        &[&["study", "all", "--model", text(&model), "--pairs", text(&pairs)][..], &options].concat(),
        "",
    );
    assert_eq!(all.output.status.code(), Some(0), "{}", all.stderr());
    let expected = fs::read_to_string(data("study_numbers.json")).unwrap();
    let expected: Vec<Value> = serde_json::from_str(&expected).unwrap();
    let mut studies: BTreeMap<&str, Vec<Value>> = BTreeMap::new();
    for row in &expected {
        let study = row["study"].as_str().unwrap();
        let found = studies.entry(study).or_insert_with(|| {
            let json = fs::read_to_string(output.join(format!("{study}.json"))).expect(study);
            let json: Value = serde_json::from_str(&json).unwrap();
            json["data"].as_array().unwrap().clone()
        });
        let place = row["where"].as_object().unwrap();
        let is_here = |one: &&Value| place.iter().all(|(column, value)| one[column] == *value);
        let found: Vec<&Value> = found.iter().filter(is_here).collect();
        let [found] = found[..] else { panic!("{row}: {} rows", found.len()) };
        for (column, want) in row["numbers"].as_object().unwrap() {
            let want = want.as_f64().unwrap();
            let got = found[column].as_f64().unwrap_or_else(|| panic!("{row}: {found}"));
            assert!((got - want).abs() <= 1e-4 * (1.0 + want.abs()), "{row}: {column} is {got}");
        }
    }
    assert_eq!(studies.len(), 9);
    // the tenth reads texts of 128 tokens and more
    let index = fs::read_to_string(output.join("index.md")).unwrap();
    assert!(index.contains("| spectrum | not possible: ") && index.contains("64 positions"), "{index}");
    // two texts of so few pairs, or shorter ones, are said with the number that is needed
    let order = fs::read_to_string(output.join("order.md")).unwrap();
    assert!(order.contains("12 texts of 8 sentences need 96 pairs"), "{order}");
}

/// 30 pairs are one text of 256 tokens.
#[test]
fn one_text_is_counted_in_the_singular() {
    let folder = scratch("study-one-text");
    pairs(&folder, 30);
    let run = study("spectrum", &folder, &[]);
    assert_eq!(run.output.status.code(), Some(0), "{}", run.stderr());
    let page = fs::read_to_string(folder.join("report.md")).unwrap();
    for part in ["4 texts of n = 128 and 1 text of n = 256", "(n 1 text)"] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

#[test]
fn what_cannot_be_studied_is_said() {
    let folder = scratch("study-refused");
    pairs(&folder, 19);
    let few = study("roles", &folder, &[]);
    assert_eq!(few.output.status.code(), Some(1));
    assert!(few.stderr().contains("19 pairs") && few.stderr().contains("at least 20"), "{}", few.stderr());
    pairs(&folder, 20);
    study("roles", &folder, &["--sentences", "3"]).fails(2, &["--sentences is 3", "at least 20"]);
    // a study that could not begin has no measurements to lose
    let no_device = |sentences: &str| {
        let pairs = folder.join("pairs.tsv");
        let output = folder.join("no-device.html");
        let files = ["study", "scale", "--pairs", text(&pairs), "--output", text(&output)];
        run(&[&files[..], &["--device", "no such GPU", "--sentences", sentences]].concat(), "")
    };
    no_device("20").fails(1, &["no such GPU"]);
    no_device("30").fails(1, &["no such GPU"]);
    let model = data("models/bert");
    let encoder = study("pruning", &folder, &["--model", text(&model)]);
    assert_eq!(encoder.output.status.code(), Some(1));
    for part in
        ["\"bert\" model does not translate", "pruning", "it can do scale, symmetry, projections, spectrum"]
    {
        assert!(encoder.stderr().contains(part), "{part}: {}", encoder.stderr());
    }
    for (name, language) in [("roles", "built-in:de-en"), ("explanation", "built-in:fr-en")] {
        study(name, &folder, &["--model", language]).fails(1, &[language, name, "models from English"]);
    }
    let pairs = folder.join("pairs.tsv");
    let long: String = fs::read_to_string(&pairs)
        .unwrap()
        .lines()
        .map(|line| format!("{}{line}\n", "a ".repeat(64)))
        .collect();
    fs::write(folder.join("long.tsv"), long).unwrap();
    let tied = data("models/marian_tied");
    let long = folder.join("long.tsv");
    let long = run(
        &[
            "study",
            "scale",
            "--model",
            text(&tied),
            "--pairs",
            text(&long),
            "--output",
            text(&folder.join("long.html")),
        ],
        "",
    );
    assert_eq!(long.output.status.code(), Some(1));
    assert!(long.stderr().contains("0 of 20 pairs fit into the model's 64 positions"), "{}", long.stderr());
    let named = run(&["study", "scale", "--pairs", text(&pairs), "--output", "page.pdf"], "");
    assert_eq!(named.output.status.code(), Some(2));
    assert!(named.stderr().contains("must end in .html"), "{}", named.stderr());
    for name in ["scale", "all"] {
        let help = run(&["study", name, "--help"], "");
        assert!(help.succeeds().lines().all(|line| line.chars().count() <= 80));
    }
}
