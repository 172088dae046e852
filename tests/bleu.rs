//! The embedded model's BLEU over its held-out test set, through the command, beside that of its model card.
#![cfg(feature = "embedded-model")]

mod common;

use std::process::Command;

use common::data;
use wordloom::evaluate::bleu;

/// sacreBLEU 2.6, Hugging Face `generate`, 4 beams: `models/tatoeba-en-de/MODEL_CARD.md`.
const MODEL_CARD: f64 = 40.6;

#[test]
fn the_test_set_scores_as_the_model_card_says() {
    let pairs = std::fs::read_to_string(data("tatoeba-test.tsv")).expect("the test set");
    let (sources, references): (Vec<&str>, Vec<&str>) =
        pairs.lines().map(|line| line.split_once('\t').expect("source, tab, reference")).unzip();
    let input = std::env::temp_dir().join(format!("wordloom-bleu-{}.txt", std::process::id()));
    std::fs::write(&input, sources.join("\n") + "\n").expect("a writable temporary folder");
    let output = Command::new(env!("CARGO_BIN_EXE_wordloom"))
        .args(["translate", "--device", "cpu", "--input"])
        .arg(&input)
        .output()
        .expect("runs");
    std::fs::remove_file(&input).expect("was written");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let translations = String::from_utf8(output.stdout).expect("UTF-8");
    let translations: Vec<&str> = translations.lines().collect();
    let bleu = bleu(&translations, &[references]).expect("a line for each source").score;
    println!("BLEU {bleu:.2}");
    assert!((bleu - MODEL_CARD).abs() <= 0.1, "BLEU is {bleu:.2}, the model card says {MODEL_CARD}");
}
