//! `wordloom corpus`: the same translations as `translate`, also after the process is killed, and with several workers.
#![cfg(unix)]

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::{Run, command, model, run, scratch, text};

/// A corpus of JSON Lines, and the texts in it.
struct Corpus {
    folder: PathBuf,
    texts: Vec<String>,
}

impl Corpus {
    fn new(test: &str, rows: usize) -> Self {
        let folder = scratch(test);
        // every third text comes again, and no two others are equal
        let of_row =
            |row: usize| format!("some words to translate {}", if row % 3 == 2 { row / 3 } else { row });
        let texts: Vec<String> = (0..rows).map(of_row).collect();
        let row = |(row, text): (usize, &String)| format!("{{\"id\": {row}, \"text\": {text:?}}}\n");
        let lines: String = texts.iter().enumerate().map(row).collect();
        fs::write(folder.join("in.jsonl"), lines).unwrap();
        Self { folder, texts }
    }

    fn arguments(&self, output: &str, options: &[&str]) -> Vec<String> {
        let (input, output) = (self.folder.join("in.jsonl"), self.folder.join(output));
        let model = model("marian_tied");
        let common =
            ["corpus", text(&input), "-o", text(&output), "--model", &model, "-b", "1", "--max-length", "12"];
        let devices: &[&str] = if options.contains(&"--devices") { &[] } else { &["--devices", "cpu"] };
        common.iter().chain(devices).chain(options).map(|&argument| argument.to_owned()).collect()
    }

    fn run(&self, output: &str, options: &[&str]) -> Run {
        let arguments = self.arguments(output, options);
        run(&arguments.iter().map(String::as_str).collect::<Vec<_>>(), "")
    }

    /// The translations of an output in their order; rows are checked.
    fn translations(&self, output: &str) -> Vec<String> {
        let rows: Vec<Value> = parts(&self.folder.join(output))
            .iter()
            .flat_map(|part| {
                let content = fs::read_to_string(part).unwrap();
                content.lines().map(|line| serde_json::from_str(line).unwrap()).collect::<Vec<Value>>()
            })
            .collect();
        assert!(
            rows.iter().map(|row| row["id"].as_u64().unwrap() as usize).eq(0..self.texts.len()),
            "rows of {output}"
        );
        assert!(rows.iter().zip(&self.texts).all(|(row, text)| row["text"] == **text));
        rows.iter().map(|row| row["translation"].as_str().unwrap().to_owned()).collect()
    }

    /// What `translate` says.
    fn expected(&self) -> Vec<String> {
        let model = model("marian_tied");
        let arguments = ["translate", "--device", "cpu", "--model", &model, "-b", "1", "--max-length", "12"];
        let run = run(&arguments, self.texts.join("\n"));
        run.succeeds().lines().map(str::to_owned).collect()
    }
}

fn parts(output: &Path) -> Vec<PathBuf> {
    let mut parts: Vec<PathBuf> = fs::read_dir(output).unwrap().map(|entry| entry.unwrap().path()).collect();
    parts.retain(|path| path.file_name().unwrap().to_string_lossy().starts_with("part-"));
    parts.sort();
    parts
}

#[test]
fn workers_share_the_parts_and_change_nothing() {
    let corpus = Corpus::new("corpus_workers", 100);
    let one = corpus.run("one", &["--rows", "30"]);
    let report = one.succeeds();
    assert!(report.starts_with("100 rows in 4 parts\n") && report.contains("texts by tokens"), "{report}");
    assert_eq!(corpus.translations("one"), corpus.expected());
    corpus.run("two", &["--rows", "7", "--devices", "cpu,cpu"]).succeeds();
    assert_eq!(corpus.translations("two"), corpus.expected());
    let report: Value =
        serde_json::from_slice(&fs::read(corpus.folder.join("one/_corpus/report.json")).unwrap()).unwrap();
    assert_eq!((&report["rows"], &report["parts"]), (&100.into(), &4.into()));
    assert!(report["duplicates"].as_u64().unwrap() > 10, "{report}");
}

#[test]
fn a_killed_run_goes_on() {
    let corpus = Corpus::new("corpus_killed", 3000);
    let begin = |resume: bool| {
        let options: &[&str] = if resume { &["--rows", "100", "--resume"] } else { &["--rows", "100"] };
        let arguments = corpus.arguments("out", options);
        command(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).spawn().unwrap()
    };
    let mut killed = 0;
    for kill in 0..4 {
        let mut child = begin(kill > 0);
        let deadline = Instant::now() + Duration::from_secs(60);
        let wanted = 3 * (kill + 1);
        loop {
            let there = fs::read_dir(corpus.folder.join("out"))
                .map_or(0, |_| parts(&corpus.folder.join("out")).len());
            if there >= wanted || child.try_wait().unwrap().is_some() {
                break;
            }
            assert!(Instant::now() < deadline, "only {there} parts");
            std::thread::sleep(Duration::from_millis(2));
        }
        if child.try_wait().unwrap().is_none() {
            child.kill().unwrap(); // SIGKILL: nothing can be tidied up
            killed += 1;
        }
        child.wait().unwrap();
    }
    assert!(killed > 1, "the runs were too fast to be killed");
    let last = Run { what: "the last run".into(), output: begin(true).wait_with_output().unwrap() };
    assert!(last.succeeds().starts_with("3,000 rows in 30 parts\n"), "{}", last.stdout());
    assert_eq!(corpus.translations("out"), corpus.expected());
    assert!(corpus.folder.join("out/_SUCCESS").exists());
}

#[test]
fn ctrl_c_leaves_what_is_committed() {
    let corpus = Corpus::new("corpus_interrupt", 20_000);
    let arguments = corpus.arguments("out", &["--rows", "100"]);
    let child = command(&arguments.iter().map(String::as_str).collect::<Vec<_>>()).spawn().unwrap();
    let out = corpus.folder.join("out");
    let deadline = Instant::now() + Duration::from_secs(60);
    while fs::read_dir(&out).map_or(0, |_| parts(&out).len()) < 2 {
        assert!(Instant::now() < deadline, "nothing was written");
        std::thread::sleep(Duration::from_millis(5));
    }
    super::interrupt::interrupt(&child);
    let run = Run { what: "interrupted".into(), output: child.wait_with_output().unwrap() };
    assert_eq!(run.output.status.code(), Some(130), "{}", run.stderr());
    assert!(!out.join("_SUCCESS").exists());
}

#[test]
fn a_table_without_names_gets_none() {
    let folder = scratch("corpus_no_header");
    let (input, output) = (folder.join("in.csv"), folder.join("out"));
    fs::write(&input, "1,Good morning.\n2,Good night.\n").unwrap();
    let options =
        ["corpus", text(&input), "-o", text(&output), "--no-header", "--column", "2", "--devices", "cpu"];
    run(&options, "").succeeds();
    let part = fs::read_to_string(&parts(&output)[0]).unwrap();
    assert_eq!(part, "1,Good morning.,Guten Morgen.\n2,Good night.,Gute Nacht!\n");
}

#[test]
fn what_is_wrong_is_said_in_one_line() {
    let corpus = Corpus::new("corpus_wrong", 3);
    let fails = |options: &[&str], code: i32, parts: &[&str]| {
        corpus.run("out", options).fails(code, parts);
        assert!(!corpus.folder.join("out").exists());
    };
    fails(&["--column", "body"], 1, &["has no column \"body\"; it has \"id\", \"text\""]);
    fails(&["--format", "docx"], 2, &["--format", "parquet, jsonl, csv or tsv"]);
    fails(&["--format", "csv"], 1, &["JSON Lines stay JSON Lines"]);
    fails(&["--rows", "0"], 2, &["--rows"]);
    fails(&["--beams", "99"], 2, &["--beams"]);
    fails(&["--devices", "none such"], 1, &["none such"]);
    fails(&["--devices", "cpu,"], 2, &["--devices"]);
    corpus.run("out", &[]).succeeds();
    corpus.run("out", &[]).fails(2, &["holds a run already", "--resume"]);
    corpus
        .run("out", &["--resume", "--quality"])
        .fails(1, &["--quality was not given when ", "was begun, and is given now"]);
}
