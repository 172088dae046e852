//! BLEU and chrF against sacreBLEU's own numbers, ROUGE against rouge-score's.

mod common;

use common::{data, read};
use serde_json::Value;
use wordloom::evaluate::{Bleu, Chrf, EvaluateError, Required, Rouge, bleu, chrf, rouge, tokenize_13a};

fn json(name: &str) -> Value {
    serde_json::from_slice(&read(&data("evaluate").join(name))).expect("sound JSON")
}

fn strings(value: &Value) -> Vec<&str> {
    value.as_array().expect("a list").iter().map(|line| line.as_str().expect("a string")).collect()
}

#[track_caller]
fn close(ours: f64, theirs: &Value, what: &str) {
    let theirs = theirs.as_f64().expect("a number");
    assert!((ours - theirs).abs() <= 1e-9, "{what}: {ours}, the reference says {theirs}");
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

fn compare_rouge(what: &str, ours: &Rouge, theirs: &Value) {
    for (kind, score) in ours.named() {
        for (index, value) in [score.precision, score.recall, score.fmeasure].into_iter().enumerate() {
            close(value, &theirs[kind][index], &format!("{kind} of {what}"));
        }
    }
}

#[test]
fn rouge_of_hard_texts_is_rouge_score_s() {
    let expected = json("rouge.json");
    assert_eq!(strings(&expected["order"]), ["precision", "recall", "fmeasure"]);
    let cases = expected["cases"].as_array().expect("a list");
    assert!(cases.len() > 300);
    for case in cases {
        let hypothesis = case["hypothesis"].as_str().expect("a string");
        let references: Vec<Vec<&str>> =
            strings(&case["references"]).into_iter().map(|text| vec![text]).collect();
        let ours = rouge(&[hypothesis], &references).expect("comparable texts");
        compare_rouge(&format!("{hypothesis:?} and {references:?}"), &ours, &case["scores"]);
    }
}

#[test]
fn rouge_of_a_file_is_the_mean_of_its_texts() {
    let file = &json("rouge.json")["file"];
    let references: Vec<Vec<&str>> =
        file["references"].as_array().expect("a list").iter().map(strings).collect();
    assert_eq!(references.len(), 3);
    let ours = rouge(&strings(&file["hypotheses"]), &references).expect("comparable texts");
    compare_rouge("a file", &ours, &file["scores"]);
}

#[test]
fn rouge_refuses_texts_that_would_take_hours() {
    let long = "a ".repeat(70_000);
    let refused = rouge(&["a", &long], &[vec!["a", &long]]).expect_err("too long");
    let expected = EvaluateError::TooLong { line: 2, hypothesis: 70_000, reference: 70_000, most: 1 << 32 };
    assert_eq!(refused, expected);
    // few words against many are no matter
    assert!(rouge(&["a b"], &[vec![&long]]).is_ok());
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

/// The rows of a table of `tests/data`, without the first one if it has names.
fn table(name: &str, has_names: bool) -> Vec<Vec<String>> {
    let text = String::from_utf8(read(&data(name))).expect("UTF-8");
    let rows = text.lines().skip(usize::from(has_names));
    rows.map(|row| row.split('\t').map(str::to_owned).collect()).collect()
}

#[test]
fn tables_of_sentences_are_complete() {
    for (name, count, words) in
        [("everyday/sentences.tsv", 200, 2..=20), ("news/sentences.tsv", 100, 12..=30)]
    {
        let rows = table(name, true);
        assert_eq!(rows.len(), count);
        for row in &rows {
            assert_eq!(row.len(), 6, "{row:?}");
            assert!(row.iter().all(|cell| !cell.is_empty() && cell.trim() == cell), "{row:?}");
            assert!(row.chunks(2).all(|pair| pair[0] != pair[1]), "two different translations: {row:?}");
            assert!(words.contains(&row[0].split(' ').count()), "{row:?}");
        }
        let different: std::collections::HashSet<&String> = rows.iter().map(|row| &row[0]).collect();
        assert_eq!(different.len(), count);
    }
}

#[test]
fn good_translations_have_all_required_words() {
    for [one, other] in [["en", "de"], ["en", "fr"]] {
        let tables =
            [[one, other], [other, one]].map(|[from, to]| table(&format!("names/{from}-{to}.tsv"), false));
        for (sentences, translations) in [(&tables[0], &tables[1]), (&tables[1], &tables[0])] {
            assert_eq!((sentences.len(), translations.len()), (100, 100));
            for (row, translation) in sentences.iter().zip(translations) {
                let required = Required::new(&row[1]);
                assert!(!required.is_empty());
                assert_eq!(required.missing_in(&translation[0]), [""; 0], "{row:?}: {}", translation[0]);
                assert!(!required.missing_in("").is_empty());
            }
        }
    }
}

#[test]
fn required_words_are_whole_and_have_alternatives() {
    let missing = |words: &str, text: &str| Required::new(words).missing_in(text);
    assert_eq!(missing("Anna|Montag/montags", "Anna kommt montags."), [""; 0]);
    assert_eq!(missing("Anna|12", "Hannah hat 120 Euro, Annas Bruder 1234."), ["Anna", "12"]);
    assert_eq!(missing("New York | 3,50/3.50", "3,50 in New Yorker Dollar"), ["New York"]);
    assert_eq!(missing("Łódź", "„Łódź“"), [""; 0]);
    assert!(Required::new("|/").is_empty());
}
