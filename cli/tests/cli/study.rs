//! `wordloom study`, with few tokens of some of Tatoeba's pairs.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use serde_json::Value;

use super::common::data;
use super::{Run, command, run, scratch, text};

/// A study in a folder of its own: `pairs.tsv`, and `out`.
struct Study {
    folder: PathBuf,
    tokens: &'static str,
}

impl Study {
    fn new(test: &str, tokens: &'static str) -> Self {
        let folder = scratch(test);
        let all = fs::read_to_string(data("tatoeba-test.tsv")).unwrap();
        let pairs: String = all.lines().take(300).map(|line| format!("{line}\n")).collect();
        fs::write(folder.join("pairs.tsv"), pairs).unwrap();
        Self { folder, tokens }
    }

    fn arguments(&self, options: &[&str]) -> Vec<String> {
        let (pairs, out) = (self.folder.join("pairs.tsv"), self.folder.join("out"));
        let common = ["study", "table3", "--pairs", text(&pairs), "--out", text(&out), "--device", "cpu"];
        let numbers = ["--vocabulary", "400", "--batch-tokens", "256"];
        let tokens: &[&str] = if options.contains(&"--tokens") { &[] } else { &["--tokens", self.tokens] };
        let all = common.iter().chain(&numbers).chain(tokens).chain(options);
        all.map(|&argument| argument.to_owned()).collect()
    }

    fn run(&self, options: &[&str]) -> Run {
        let arguments = self.arguments(options);
        run(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), "")
    }

    #[track_caller]
    fn finishes(&self, options: &[&str]) -> Run {
        let run = self.run(options);
        assert_eq!(run.output.status.code(), Some(0), "{}: {}", run.what, run.stderr());
        assert_eq!(run.stdout(), "");
        run
    }

    #[track_caller]
    fn fails(&self, options: &[&str], code: i32, parts: &[&str]) {
        let run = self.run(options);
        assert_eq!(run.output.status.code(), Some(code), "{}: {}", run.what, run.stderr());
        let line = run.stderr().lines().last().unwrap_or_default();
        for part in parts {
            assert!(line.starts_with("error: ") && line.contains(part), "{}: {part:?}: {line}", run.what);
        }
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join("out").join(name)).unwrap_or_default()
    }

    /// The runs of the log.
    fn runs(&self) -> Vec<Value> {
        let log = self.read("runs.jsonl");
        log.lines().skip(1).map(|line| serde_json::from_str(line).expect("a run")).collect()
    }

    fn names(&self) -> Vec<String> {
        let name = |run: &Value| format!("{} {}", run["row"].as_str().unwrap(), run["seed"]);
        self.runs().iter().map(name).collect()
    }
}

#[test]
fn the_report_has_the_rows_and_grows() {
    let study = Study::new("study-report", "600");
    let rows = ["--rows", "key-width-4", "--seeds", "1"];
    let first = study.finishes(&rows);
    for part in
        ["0 of 2 runs", "run 1 of 2: base, seed 1: dev loss", "run 2 of 2: key-width-4", "table3.html"]
    {
        assert!(first.stderr().contains(part), "{part}: {}", first.stderr());
    }
    for run in study.runs() {
        assert!(run["tokens"].as_u64().unwrap() >= 600, "{run}");
        assert!(run["dev_loss"].as_f64().unwrap().is_finite() && run["bleu"].is_f64(), "{run}");
    }
    let parameters: Vec<u64> = study.runs().iter().map(|run| run["parameters"].as_u64().unwrap()).collect();
    // queries and keys of 9 attentions: 8 heads, 4 instead of 16 wide; weights and biases
    assert_eq!(parameters[0] - parameters[1], 9 * 2 * 8 * 12 * (128 + 1));
    let (html, markdown, csv) =
        (study.read("table3.html"), study.read("table3.md"), study.read("table3.csv"));
    for page in [&html, &markdown] {
        for part in ["key-width-4", "Table 3 (B)", "not decidable", "2 runs", "What speaks against it"] {
            assert!(page.contains(part), "{part}");
        }
    }
    assert_eq!(csv.lines().count(), 3);
    let json: Value = serde_json::from_str(&study.read("table3.json")).unwrap();
    assert_eq!(json["rows"][1]["metrics"][0]["predicted"], "higher");
    assert!(json["rows"][1]["metrics"][0]["paper"].as_f64().unwrap() > 0.04);

    // the same command trains nothing; more rows and seeds train only what is new
    let log = study.read("runs.jsonl");
    assert!(study.finishes(&rows).stderr().contains("2 of 2 runs are finished"));
    assert_eq!(study.read("runs.jsonl"), log);
    study.finishes(&["--rows", "pre-norm-no-warmup,learned-positions", "--seeds", "1"]);
    assert!(study.read("runs.jsonl").starts_with(&log));
    let names = ["base 1", "key-width-4 1", "learned-positions 1", "pre-norm 1", "pre-norm-no-warmup 1"];
    assert_eq!(study.names(), names);

    // another setting is refused with the difference
    study.fails(
        &["--tokens", "700", "--rows", "base"],
        1,
        &["runs.jsonl", "--tokens was 600, and is 700", "--out"],
    );
    study.fails(
        &["--learning-rate", "1e-3", "--rows", "base"],
        1,
        &["--learning-rate was 0.002, and is 0.001"],
    );
    study.fails(&["--precision", "bf16", "--rows", "base"], 1, &["--precision was f32, and is bf16"]);
    let pairs = study.folder.join("pairs.tsv");
    let all = fs::read_to_string(&pairs).unwrap();
    fs::write(&pairs, all.lines().skip(1).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    study.fails(&rows, 1, &["the dev set was 15 pairs"]);
    let damaged = log.replace("\"heads\":8", "\"heads\":2");
    fs::write(&pairs, all).unwrap();
    fs::write(study.folder.join("out/runs.jsonl"), damaged).unwrap();
    study.fails(&rows, 1, &["line 2", "the row base was", "heads: 2"]);
}

#[test]
fn a_killed_study_goes_on_and_trains_no_run_twice() {
    let study = Study::new("study-kill", "4000");
    let rows = ["--rows", "heads-1,heads-4", "--seeds", "1"];
    let arguments = study.arguments(&rows);
    let mut child = command(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(120);
    let log = || study.read("runs.jsonl");
    while log().lines().count() < 2 || !log().ends_with('\n') {
        assert!(Instant::now() < deadline, "no run was finished");
        std::thread::sleep(Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let before = log();
    let finished = before.matches('\n').count() - 1;
    assert!(finished >= 1);
    // as if the kill had come in the middle of a line
    fs::write(study.folder.join("out/runs.jsonl"), format!("{before}{{\"row\":\"heads")).unwrap();
    let second = study.finishes(&rows);
    assert!(second.stderr().contains(&format!("{finished} of 3 runs are finished")), "{}", second.stderr());
    assert!(!second.stderr().contains("run 1 of 3"), "{}", second.stderr());
    assert!(log().starts_with(&before));
    let names = study.names();
    assert_eq!(names.len(), 3);
    assert_eq!(names.iter().collect::<BTreeSet<_>>().len(), 3, "{names:?}");
}

#[test]
fn bad_options_are_named() {
    let study = Study::new("study-usage", "100");
    study.fails(&["--rows", "heads-3"], 2, &["--rows", "heads-3", "--help"]);
    study.fails(&["--seeds", "0"], 2, &["--seeds is 0", "1 to 10"]);
    study.fails(&["--tokens", "0"], 2, &["--tokens is 0"]);
    study.fails(&["--learning-rate", "-1"], 2, &["--learning-rate is -1"]);
    let pairs = study.folder.join("pairs.tsv");
    let (out, page) = (study.folder.join("out"), study.folder.join("out/page.html"));
    let norms = ["study", "norms", "--pairs", text(&pairs), "--out", text(&out), "--batch-tokens", "0"];
    run(&norms, "").fails(2, &["--batch-tokens is 0"]);
    let files = ["study", "layer-norm", "--pairs", text(&pairs), "--output", text(&page)];
    let layer_norm = |options: &[&str]| run(&[&files[..], options].concat(), "");
    for (option, value) in [
        ("--learning-rate", "NaN"),
        ("--learning-rate", "-1"),
        ("--small-rate", "0"),
        ("--small-rate", "inf"),
        ("--steps", "0"),
        ("--batch-tokens", "0"),
    ] {
        layer_norm(&[option, value]).fails(2, &[&format!("{option} is {value}; it must be")]);
    }
    assert!(!study.folder.join("out").exists());
    for name in ["table3", "norms", "layer-norm"] {
        let help = run(&["study", name, "--help"], "");
        let lines: Vec<&str> = help.succeeds().lines().collect();
        assert!(
            lines.len() <= 40 && lines.iter().all(|line| line.chars().count() <= 80),
            "{name}: {lines:#?}"
        );
    }
}

/// A vocabulary that is too large is refused with one that is possible: the next command takes it.
#[test]
fn a_study_without_runs_takes_other_settings() {
    let study = Study::new("study-no-runs", "100");
    let arguments = |vocabulary: &'static str| {
        let mut arguments = study.arguments(&["--rows", "base", "--seeds", "1"]);
        let place = arguments.iter().position(|argument| argument == "400").unwrap();
        arguments[place] = vocabulary.to_owned();
        arguments
    };
    let run_with = |arguments: &[String]| {
        let run = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), "");
        (run.output.status.code(), run.stderr().to_owned())
    };
    let (code, stderr) = run_with(&arguments("400000"));
    assert!(code == Some(1) && stderr.contains("a vocabulary of 400000 tokens is too large"), "{stderr}");
    let (code, stderr) = run_with(&arguments("400"));
    assert_eq!(code, Some(0), "{stderr}");
    assert_eq!(study.names(), ["base 1"]);
    let (code, stderr) = run_with(&arguments("500"));
    assert!(code == Some(1) && stderr.contains("--vocabulary was 400, and is 500"), "{stderr}");
}

#[test]
fn batch_norm_stands_beside_layer_norm() {
    let study = Study::new("study-norms", "600");
    let mut arguments = study.arguments(&["--rows", "pre-norm-batch-norm", "--seeds", "1"]);
    arguments[1] = "norms".to_owned();
    let run = run(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), "");
    assert_eq!(run.output.status.code(), Some(0), "{}: {}", run.what, run.stderr());
    assert_eq!(study.names(), ["base 1", "pre-norm 1", "pre-norm-batch-norm 1"]);
    let parameters: BTreeSet<u64> =
        study.runs().iter().skip(1).map(|run| run["parameters"].as_u64().unwrap()).collect();
    assert_eq!(parameters.len(), 1, "statistics are no parameters");
    let page = study.read("norms.md");
    for part in ["Batch norm against layer norm", "Shen et al. 2020", "not decidable", "norms.csv"] {
        assert!(page.contains(part), "{part}: {page}");
    }
}

/// Norms alone, biases and all weights of the built-in model, on swapped pairs.
#[test]
fn norms_are_trained_alone() {
    let study = Study::new("study-layer-norm", "0");
    let pairs = study.folder.join("pairs.tsv");
    let few: String =
        fs::read_to_string(&pairs).unwrap().lines().take(60).map(|line| format!("{line}\n")).collect();
    let (train, dev) = few.split_at(few.match_indices('\n').nth(39).unwrap().0 + 1);
    fs::write(&pairs, train).unwrap();
    let dev_file = study.folder.join("dev.tsv");
    fs::write(&dev_file, dev).unwrap();
    let page = study.folder.join("page.html");
    let common = ["study", "layer-norm", "--swap", "--device", "cpu", "--steps", "2", "--batch-tokens", "64"];
    let files = ["--pairs", text(&pairs), "--dev", text(&dev_file), "--output", text(&page), "--seeds"];
    let with = |seeds: &str| {
        let arguments: Vec<&str> = common.iter().chain(&files).copied().chain([seeds]).collect();
        run(&arguments, "")
    };
    assert_eq!(with("1").output.status.code(), Some(2), "one seed has no spread");
    let first = with("2");
    assert_eq!(first.output.status.code(), Some(0), "{}: {}", first.what, first.stderr());
    let json: Value =
        serde_json::from_str(&fs::read_to_string(page.with_extension("json")).unwrap()).unwrap();
    let of = |kind: &str| -> Vec<&Value> {
        json["data"].as_array().unwrap().iter().filter(|row| row["trained"] == kind).collect()
    };
    // scale and shift of 4 · 2 + 3 · 3 norms of 256
    assert_eq!(of("norms")[0]["parameters"], 17 * 2 * 256);
    assert_eq!(of("biases")[0]["parameters"], 7 * (1024 + 256));
    assert!(of("all")[0]["parameters"].as_u64().unwrap() > 5_000_000);
    let losses: BTreeSet<String> =
        json["data"].as_array().unwrap().iter().map(|row| row["dev_loss"].to_string()).collect();
    assert_eq!(losses.len(), 7, "{losses:?}");
    assert_eq!(json["claims"].as_array().unwrap().len(), 3);
    // the same command trains nothing again
    let log = fs::read_to_string(page.with_extension("jsonl")).unwrap();
    assert_eq!(with("2").output.status.code(), Some(0));
    assert_eq!(fs::read_to_string(page.with_extension("jsonl")).unwrap(), log);
    // too few pairs are said with the number that is needed
    fs::write(&dev_file, dev.lines().take(19).map(|line| format!("{line}\n")).collect::<String>()).unwrap();
    let few = with("2");
    assert!(
        few.stderr().contains("the dev set has 19 pairs") && few.stderr().contains("at least 20"),
        "{}",
        few.stderr()
    );
}
