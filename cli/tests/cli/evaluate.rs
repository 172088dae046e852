//! `wordloom evaluate`

use std::fs;

use serde_json::Value;

use super::{run, scratch, text};

#[test]
fn evaluate_prints_scores_and_what_they_are_made_of() {
    let folder = scratch("evaluate");
    let (hypotheses, reference) = (folder.join("hypotheses.txt"), folder.join("reference.txt"));
    fs::write(&hypotheses, "The cat sat on a mat.\n\nIt costs 1,200.50 euros.\n").unwrap();
    fs::write(&reference, "The cat sat on the mat.\nYes.\nIt costs 1,200.50 euros").unwrap();
    let arguments = ["evaluate", text(&hypotheses), "--reference", text(&reference)];
    let shown = run(&arguments, "");
    // sacrebleu reference.txt -i hypotheses.txt -m bleu chrf -w 2
    for part in [
        "BLEU         51.37",
        "83.3 / 70.0 / 50.0 / 33.3",
        "12 words, references 13",
        "tok:13a",
        "chrF2        80.60",
    ] {
        assert!(shown.succeeds().contains(part), "{part} is not in:\n{}", shown.stdout());
    }
    let through_a_pipe =
        ["evaluate", "--reference", text(&reference), "--reference", text(&reference), "--json"];
    let json = run(&through_a_pipe, fs::read(&hypotheses).unwrap());
    let json: Value = serde_json::from_str(json.succeeds()).unwrap();
    assert_eq!((&json["lines"], &json["references"]), (&3.into(), &2.into()));
    assert!((json["bleu"]["score"].as_f64().unwrap() - 51.37).abs() < 0.005, "{json}");
    assert_eq!(json["chrf"]["signature"], "nrefs:2|case:mixed|eff:yes|nc:6|nw:0|space:no");
}

#[test]
fn a_table_as_reference_is_noticed() {
    let folder = scratch("evaluate_tabs");
    let (hypotheses, table) = (folder.join("hypotheses.txt"), folder.join("test.tsv"));
    fs::write(&hypotheses, "Ein Haus\nEin Hund\n").unwrap();
    fs::write(&table, "a house\tEin Haus\na dog\tEin Hund\n").unwrap();
    let run = run(&["evaluate", text(&hypotheses), "--reference", text(&table)], "");
    run.succeeds();
    assert!(
        run.stderr().contains("has a tab, as in a table") && run.stderr().contains("cut -f2"),
        "{}",
        run.stderr()
    );
}

#[test]
fn references_are_columns_of_a_table() {
    let folder = scratch("evaluate-columns");
    let write = |name: &str, content: &str| {
        fs::write(folder.join(name), content).unwrap();
        text(&folder.join(name)).to_owned()
    };
    let hypotheses = write("hypotheses.txt", "Wo ist der Bahnhof?\nIch heiße Anna.\n");
    let table = write(
        "table.tsv",
        "en\tde\tde2\nWhere is the station?\tWo ist der Bahnhof?\tWo finde ich den Bahnhof?\n\
         I'm Anna.\tIch bin Anna.\tMein Name ist Anna.\n",
    );
    let one = write("one.txt", "Wo ist der Bahnhof?\nIch bin Anna.\n");
    let other = write("other.txt", "Wo finde ich den Bahnhof?\nMein Name ist Anna.\n");
    let by_columns =
        run(&["evaluate", &hypotheses, "--reference", &table, "--columns", "de,de2", "--json"], "");
    let by_files = run(&["evaluate", &hypotheses, "-r", &one, "-r", &other, "--json"], "");
    assert_eq!(by_columns.succeeds(), by_files.succeeds());
    assert!(by_columns.stdout().contains("nrefs:2"));
    let unknown = ["evaluate", &hypotheses, "--reference", &table, "--columns", "fr"];
    run(&unknown, "").fails(1, &["table.tsv", "no column \"fr\"", "en, de, de2"]);
    let again = ["evaluate", &hypotheses, "--reference", &table, "--columns", "de,de"];
    run(&again, "").fails(2, &["--columns names \"de\" twice"]);
    let twice = write("twice.tsv", "de\tde\ten\na\tb\tc\nd\te\tf\n");
    let of_twice = ["evaluate", &hypotheses, "--reference", &twice, "--columns", "de"];
    run(&of_twice, "").fails(1, &["twice.tsv, line 1: there are two columns \"de\""]);
    run(&["evaluate", &hypotheses, "--reference", &twice, "--columns", "en"], "").succeeds();
    let short = write("short.tsv", "en\tde\na\tb\nc\n");
    let short = ["evaluate", &hypotheses, "--reference", &short, "--columns", "de"];
    run(&short, "").fails(1, &["short.tsv, line 3", "1 column,"]);
    let lines = ["evaluate", &one, "--reference", &write("long.tsv", "de\na\nb\nc\n"), "--columns", "de"];
    run(&lines, "").fails(1, &["long.tsv, column de has 3"]);
}

/// Editors of Windows begin files with it.
#[test]
fn a_byte_order_mark_is_no_text() {
    let folder = scratch("evaluate-mark");
    let write = |name: &str, content: &str| {
        fs::write(folder.join(name), content).unwrap();
        text(&folder.join(name)).to_owned()
    };
    let plain = write("plain.txt", "The cat sat on the mat.\nIt is so.\n");
    let marked = write("marked.txt", "\u{feff}The cat sat on the mat.\nIt is so.\n");
    let table = write("table.tsv", "\u{feff}en\nThe cat sat on the mat.\nIt is so.\n");
    let score = |arguments: &[&str]| {
        run(&[&["evaluate"], arguments].concat(), "").succeeds().lines().next().unwrap().to_owned()
    };
    assert_eq!(score(&[&marked, "-r", &plain]), "BLEU         100.00");
    assert_eq!(score(&[&plain, "-r", &marked]), "BLEU         100.00");
    assert_eq!(score(&[&plain, "-r", &table, "--columns", "en"]), "BLEU         100.00");
    // elsewhere the character is one of the text
    let inside = write("inside.txt", "The cat sat on the mat.\n\u{feff}It is so.\n");
    assert_ne!(score(&[&inside, "-r", &plain]), "BLEU         100.00");
}

#[test]
fn words_that_must_be_there_are_counted() {
    let folder = scratch("evaluate-words");
    let write = |name: &str, content: &str| {
        fs::write(folder.join(name), content).unwrap();
        text(&folder.join(name)).to_owned()
    };
    let hypotheses = write("hypotheses.txt", "Anna kommt montags.\nEs kostet 120 Euro.\nIn Rom\n");
    let words = write("words.tsv", "Anna …\tAnna|Montag/montags\nIt …\t12|Euro\nIn …\tRom\n");
    let shown = run(&["evaluate", &hypotheses, "--must-contain", &words], "");
    assert_eq!(shown.succeeds(), "all words    2 of 3 lines (66.7 %)\n             line 2 lacks 12\n");
    let json = run(&["evaluate", &hypotheses, "--must-contain", &words, "-r", &hypotheses, "--json"], "");
    let json: Value = serde_json::from_str(json.succeeds()).unwrap();
    assert_eq!(json["words"]["complete"], 2);
    assert_eq!(json["words"]["missing"], serde_json::json!([{"line": 2, "words": ["12"]}]));
    assert!(json["bleu"]["score"].as_f64().unwrap() > 99.0);
    let fails = |content: &str, parts: &[&str]| {
        let words = write("bad.tsv", content);
        run(&["evaluate", &hypotheses, "--must-contain", &words], "").fails(1, parts);
    };
    fails("a\nb\n", &["bad.tsv has 2 lines", "has 3"]);
    fails("a\n|\nb\n", &["bad.tsv, line 2: there is no word"]);
    fails("a\nIt …\t\r\nb\n", &["bad.tsv, line 2: there is no word"]);
    fails("a\n", &["bad.tsv has 1 line, but", "has 3"]);
    let nothing = write("nothing.txt", "");
    let no_lines = ["evaluate", &nothing, "--must-contain", &nothing];
    run(&no_lines, "").fails(1, &["nothing.txt: there are no hypotheses"]);
}

#[test]
fn evaluate_compares_summaries() {
    let folder = scratch("evaluate-rouge");
    let (hypotheses, reference) = (folder.join("hypotheses.txt"), folder.join("reference.txt"));
    fs::write(&hypotheses, "w1 w2 w6 w7 w8<n>w1 w3 w8 w9 w5\nthe gunman kill police\n").unwrap();
    fs::write(&reference, "w1 w2 w3 w4 w5\npolice killed the gunman\n").unwrap();
    let arguments = ["evaluate", text(&hypotheses), "--reference", text(&reference), "--rouge"];
    // RougeScorer(['rouge1', 'rouge2', 'rougeL', 'rougeLsum']).score of both lines with "\n" for <n>, and their mean
    let shown = run(&arguments, "");
    for part in ["ROUGE-1      64.17   precision 57.50, recall 77.50", "ROUGE-Lsum   51.67"] {
        assert!(shown.succeeds().contains(part), "{part} is not in:\n{}", shown.stdout());
    }
    let json = run(&[&arguments[..], &["--json"]].concat(), "");
    let json: Value = serde_json::from_str(json.succeeds()).unwrap();
    assert_eq!((&json["lines"], &json["stemmer"], &json["bleu"]), (&2.into(), &false.into(), &Value::Null));
    assert!((json["rougeL"]["recall"].as_f64().unwrap() - 0.65).abs() < 1e-9, "{json}");
}

#[test]
fn evaluate_says_what_cannot_be_compared() {
    let folder = scratch("evaluate-errors");
    let file = |name: &str, content: &[u8]| {
        let path = folder.join(name);
        fs::write(&path, content).unwrap();
        text(&path).to_owned()
    };
    let (two, three) = (file("two.txt", b"a\nb\n"), file("three.txt", b"a\nb\nc"));
    let (empty, latin) = (file("empty.txt", b""), file("latin.txt", b"a\nM\xfcnchen\n"));
    let missing = text(&folder.join("missing.txt")).to_owned();
    let cases: [(&str, &str, &[&str]); 5] = [
        (&two, &three, &["two.txt has 2 lines", "three.txt has 3"]),
        (&empty, &empty, &["empty.txt: there are no hypotheses"]),
        (&two, &latin, &["latin.txt, line 2: not UTF-8 at byte 2"]),
        (&missing, &two, &["missing.txt"]),
        (&two, text(&folder), &["is a folder"]),
    ];
    for (hypotheses, reference, parts) in cases {
        assert_eq!(run(&["evaluate", hypotheses, "--reference", reference], "").fails(1, parts), "");
    }
    run(&["evaluate", &two], "").fails(2, &["--reference"]);
}
