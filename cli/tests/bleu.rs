//! The embedded model's BLEU over its held-out test set, through the command, compared with its model card.
#![cfg(feature = "embedded-model")]

#[path = "../../tests/common/mod.rs"]
mod common;

use std::process::Command;

use common::{data, repository};
use wordloom::evaluate::bleu;

/// sacreBLEU of transformers' translations with 4 beams (`models/tatoeba-en-de-q8/MODEL_CARD.md`).
const MODEL_CARD: f64 = 46.93;

/// Of every tenth sentence, which is all that an emulated processor translates: it takes a hundred times as long.
const TENTH: f64 = 52.35;
/// The same, greedy: in f32, and in 8 bits.
const TENTH_GREEDY: [f64; 2] = [51.77, 51.47];

/// The command that runs programs of another processor, if the tests are such programs.
fn emulator() -> Option<String> {
    std::env::var("WORDLOOM_EMULATOR").ok()
}

/// The test set's sources and references.
fn pairs() -> (Vec<String>, Vec<String>) {
    let pairs = std::fs::read_to_string(data("tatoeba-test.tsv")).expect("the test set");
    let pairs = pairs.lines().map(|line| line.split_once('\t').expect("source, tab, reference"));
    let step = if emulator().is_some() { 10 } else { 1 };
    pairs.step_by(step).map(|(source, reference)| (source.to_owned(), reference.to_owned())).unzip()
}

fn wordloom() -> Command {
    let program = env!("CARGO_BIN_EXE_wordloom");
    let Some(emulator) = emulator() else { return Command::new(program) };
    let mut words = emulator.split_whitespace();
    let mut command = Command::new(words.next().expect("an emulator"));
    command.args(words).arg(program);
    command
}

/// The command's translations of the sources.
fn translate(test: &str, sources: &[String], arguments: &[&str]) -> Vec<String> {
    let input = std::env::temp_dir().join(format!("wordloom-bleu-{test}-{}.txt", std::process::id()));
    std::fs::write(&input, sources.join("\n") + "\n").expect("a writable temporary folder");
    let output = wordloom()
        .args(["translate", "--device", "cpu", "--input"])
        .arg(&input)
        .args(arguments)
        .output()
        .expect("runs");
    std::fs::remove_file(&input).expect("was written");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8").lines().map(str::to_owned).collect()
}

/// BLEU of the whole test set, but in an emulator, and of every tenth sentence.
fn scores(translations: &[String], references: &[String]) -> (Option<f64>, f64) {
    let score = |step| {
        let every = |lines: &[String]| lines.iter().step_by(step).cloned().collect::<Vec<String>>();
        let (translations, references) = (every(translations), every(references));
        let translations: Vec<&str> = translations.iter().map(String::as_str).collect();
        let references = references.iter().map(String::as_str).collect();
        bleu(&translations, &[references]).expect("a line for each source").score
    };
    let scores = if emulator().is_some() { (None, score(1)) } else { (Some(score(1)), score(10)) };
    println!("BLEU {scores:.2?}");
    scores
}

#[test]
fn the_test_set_scores_as_the_model_card_says() {
    let (sources, references) = pairs();
    let (all, tenth) = scores(&translate("card", &sources, &[]), &references);
    if let Some(bleu) = all {
        assert!((bleu - MODEL_CARD).abs() <= 0.1, "BLEU is {bleu:.2}, the model card says {MODEL_CARD}");
    }
    assert!((tenth - TENTH).abs() <= 0.1, "BLEU of every tenth sentence is {tenth:.2}, not {TENTH}");
}

/// Greedy, because a beam search takes three times as long and hides differences.
#[test]
fn precisions_score_alike() {
    let (sources, references) = pairs();
    let source = repository("models/tatoeba-en-de");
    let source = source.to_str().expect("UTF-8");
    let [f32, f16, q8] = ["f32", "f16", "q8"].map(|precision| {
        let arguments = ["--beams", "1", "--model", source, "--weights", precision];
        scores(&translate(precision, &sources, &arguments), &references)
    });
    // the file is f16, so nothing is rounded
    assert_eq!(f16, f32, "BLEU in f16 and in f32");
    if let (Some(f32), Some(q8)) = (f32.0, q8.0) {
        assert!((q8 - f32).abs() <= 0.3, "BLEU is {q8:.2} in q8, {f32:.2} in f32");
    }
    for (tenth, want) in [f32.1, q8.1].into_iter().zip(TENTH_GREEDY) {
        assert!((tenth - want).abs() <= 0.1, "BLEU of every tenth sentence is {tenth:.2}, not {want}");
    }
}
