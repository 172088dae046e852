//! The embedded model's BLEU over its held-out test set, through the command, beside that of its model card.
#![cfg(feature = "embedded-model")]

mod common;

use std::collections::HashMap;
use std::process::Command;

use common::data;

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
    assert_eq!(translations.len(), references.len());
    let bleu = bleu(&translations, &references);
    println!("BLEU {bleu:.2}");
    assert!((bleu - MODEL_CARD).abs() <= 0.1, "BLEU is {bleu:.2}, the model card says {MODEL_CARD}");
}

/// Corpus BLEU (Papineni et al. 2002) with one reference, tokenized as sacreBLEU's `13a`, without smoothing: no
/// count is zero over a whole test set.
fn bleu(translations: &[&str], references: &[&str]) -> f64 {
    let (mut matches, mut totals) = ([0usize; 4], [0usize; 4]);
    let (mut length, mut reference_length) = (0, 0);
    for (translation, reference) in translations.iter().zip(references) {
        let (translation, reference) = (tokenize(translation), tokenize(reference));
        length += translation.len();
        reference_length += reference.len();
        for n in 1..=4 {
            let mut left: HashMap<&[String], usize> = HashMap::new();
            for gram in reference.windows(n) {
                *left.entry(gram).or_default() += 1;
            }
            for gram in translation.windows(n) {
                totals[n - 1] += 1;
                if let Some(count) = left.get_mut(gram).filter(|count| **count > 0) {
                    *count -= 1;
                    matches[n - 1] += 1;
                }
            }
        }
    }
    let precisions = matches.iter().zip(&totals).map(|(&hits, &total)| (hits as f64 / total as f64).ln());
    let brevity = (1.0 - reference_length as f64 / length as f64).min(0.0);
    100.0 * (precisions.sum::<f64>() / 4.0 + brevity).exp()
}

/// mteval-v13a: punctuation is split off, but for full stops and commas between digits.
fn tokenize(text: &str) -> Vec<String> {
    let spaced = text.chars().flat_map(|c| match c {
        '{'..='~' | '['..='`' | ' '..='&' | '('..='+' | ':'..='@' | '/' => vec![' ', c, ' '],
        c => vec![c],
    });
    let text: Vec<char> = [' '].into_iter().chain(spaced).chain([' ']).collect();
    let stop = |c: char| c == '.' || c == ',';
    let digit = |c: char| c.is_ascii_digit();
    let text = replace_pairs(&text, |a, b| (!digit(a) && stop(b)).then(|| vec![a, ' ', b, ' ']));
    let text = replace_pairs(&text, |a, b| (stop(a) && !digit(b)).then(|| vec![' ', a, ' ', b]));
    let text = replace_pairs(&text, |a, b| (digit(a) && b == '-').then(|| vec![a, ' ', b, ' ']));
    text.into_iter().collect::<String>().split_whitespace().map(str::to_owned).collect()
}

/// As a regular expression of two characters replaces: from left to right, without overlaps.
fn replace_pairs(text: &[char], replace: impl Fn(char, char) -> Option<Vec<char>>) -> Vec<char> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        match text.get(at + 1).and_then(|&next| replace(text[at], next)) {
            Some(replaced) => {
                out.extend(replaced);
                at += 2;
            }
            None => {
                out.push(text[at]);
                at += 1;
            }
        }
    }
    out
}
