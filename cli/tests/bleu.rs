//! The embedded model's BLEU over its held-out test set, through the command, compared with its model card.
#![cfg(feature = "embedded-model")]

#[path = "../../tests/common/mod.rs"]
mod common;

use std::process::Command;

use common::{data, repository};
use wordloom::evaluate::bleu;

/// sacreBLEU of transformers' translations with 4 beams (`models/tatoeba-en-de-q8/MODEL_CARD.md`).
const MODEL_CARD: f64 = 46.93;

/// The test set's sources and references.
fn pairs() -> (Vec<String>, Vec<String>) {
    let pairs = std::fs::read_to_string(data("tatoeba-test.tsv")).expect("the test set");
    let pairs = pairs.lines().map(|line| line.split_once('\t').expect("source, tab, reference"));
    pairs.map(|(source, reference)| (source.to_owned(), reference.to_owned())).unzip()
}

/// The command, in an emulator if it is another processor's.
fn wordloom() -> Command {
    let program = env!("CARGO_BIN_EXE_wordloom");
    let Ok(emulator) = std::env::var("WORDLOOM_EMULATOR") else { return Command::new(program) };
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

fn score(translations: &[String], references: &[String]) -> f64 {
    let translations: Vec<&str> = translations.iter().map(String::as_str).collect();
    let references = references.iter().map(String::as_str).collect();
    bleu(&translations, &[references]).expect("a line for each source").score
}

#[test]
fn the_test_set_scores_as_the_model_card_says() {
    let (sources, references) = pairs();
    let bleu = score(&translate("card", &sources, &[]), &references);
    println!("BLEU {bleu:.2}");
    assert!((bleu - MODEL_CARD).abs() <= 0.1, "BLEU is {bleu:.2}, the model card says {MODEL_CARD}");
}

/// Greedy, because a beam search takes three times as long and hides differences.
#[test]
fn precisions_score_alike() {
    let (sources, references) = pairs();
    let source = repository("models/tatoeba-en-de");
    let source = source.to_str().expect("UTF-8");
    let [f32, f16, q8] = ["f32", "f16", "q8"].map(|precision| {
        let arguments = ["--beams", "1", "--model", source, "--weights", precision];
        let translations = translate(precision, &sources, &arguments);
        let bleu = score(&translations, &references);
        println!("BLEU {bleu:.2} in {precision}");
        bleu
    });
    // the file is f16, so nothing is rounded
    assert_eq!(f16, f32, "BLEU in f16 and in f32");
    assert!((q8 - f32).abs() <= 0.3, "BLEU is {q8:.2} in q8, {f32:.2} in f32");
}
