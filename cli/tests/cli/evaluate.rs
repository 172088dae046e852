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
