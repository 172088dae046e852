//! BLEU and chrF against sacreBLEU's own numbers.

mod common;

use common::{data, read};
use serde_json::Value;
use wordloom::evaluate::{Bleu, Chrf, EvaluateError, bleu, chrf, tokenize_13a};

fn json(name: &str) -> Value {
    serde_json::from_slice(&read(&data("evaluate").join(name))).expect("sound JSON")
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().expect("a list").iter().map(|line| line.as_str().expect("a string")).collect()
}

#[track_caller]
fn close(ours: f64, theirs: &Value, what: &str) {
    let theirs = theirs.as_f64().expect("a number");
    assert!((ours - theirs).abs() <= 1e-9, "{what}: {ours}, sacreBLEU says {theirs}");
}

fn compare(name: &str, hypotheses: &[&str], references: &[Vec<&str>], expected: &Value) {
    let ours = bleu(hypotheses, references).expect("comparable lines");
    let theirs = &expected["bleu"];
    close(ours.score, &theirs["score"], name);
    close(ours.brevity_penalty, &theirs["brevity_penalty"], name);
    for (order, precision) in ours.precisions.iter().enumerate() {
        close(*precision, &theirs["precisions"][order], name);
    }
    assert_eq!(theirs["matches"], serde_json::json!(ours.matches), "{name}");
    assert_eq!(theirs["totals"], serde_json::json!(ours.totals), "{name}");
    assert_eq!(theirs["hypothesis_length"], ours.hypothesis_length, "{name}");
    assert_eq!(theirs["reference_length"], ours.reference_length, "{name}");
    assert_eq!(theirs["signature"], Bleu::signature(references.len()), "{name}");
    let ours = chrf(hypotheses, references).expect("comparable lines");
    close(ours.score, &expected["chrf"]["score"], name);
    assert_eq!(expected["chrf"]["signature"], Chrf::signature(references.len()), "{name}");
}

#[test]
fn words_are_those_of_13a() {
    let expected = json("lines.json");
    let words = expected["words"].as_array().expect("a list");
    assert!(words.len() > 300);
    for word in words {
        let text = word["text"].as_str().expect("a string");
        assert_eq!(tokenize_13a(text), strings(&word["tokens"]), "{text:?}");
    }
}

#[test]
fn scores_of_hard_lines_are_sacrebleu_s() {
    let expected = json("lines.json");
    let cases = expected["cases"].as_array().expect("a list");
    assert!(cases.len() > 50);
    for case in cases {
        let references: Vec<Vec<&str>> =
            case["references"].as_array().expect("a list").iter().map(strings).collect();
        compare(case["name"].as_str().expect("a name"), &strings(&case["hypotheses"]), &references, case);
    }
}

#[test]
fn scores_of_a_test_set_are_sacrebleu_s() {
    let expected = json("tatoeba.json");
    let pairs = String::from_utf8(read(&data("tatoeba-test.tsv"))).expect("UTF-8");
    let references =
        pairs.lines().map(|line| line.split_once('\t').expect("source, tab, reference").1).collect();
    compare("tatoeba", &strings(&expected["hypotheses"]), &[references], &expected);
}

#[test]
fn what_cannot_be_compared_is_an_error() {
    let lines = vec!["a"];
    assert_eq!(bleu(&[], &[vec![]]), Err(EvaluateError::NoLines));
    assert_eq!(chrf(&lines, &[]), Err(EvaluateError::NoReferences));
    let uneven = EvaluateError::LineCounts { hypotheses: 1, reference: 2, lines: 2 };
    assert_eq!(bleu(&lines, &[vec!["a"], vec!["a", "b"]]), Err(uneven.clone()));
    assert_eq!(chrf(&lines, &[vec!["a"], vec!["a", "b"]]), Err(uneven));
}
