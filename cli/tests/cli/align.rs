//! `wordloom align`

use std::fs;

use super::{model, run, scratch, text};

#[cfg(feature = "embedded-model")]
#[test]
fn lines_become_links() {
    let folder = scratch("align");
    let [source, made, links, given] =
        ["source.txt", "made.txt", "links.txt", "given.txt"].map(|name| folder.join(name));
    fs::write(&source, "Where is the train station?\r\n\nGood morning! I have lost my passport.\n").unwrap();
    let arguments = ["align", "--device", "cpu", "-i", text(&source)];
    let more = ["-o", text(&links), "--translations", text(&made)];
    assert_eq!(run(&[&arguments[..], &more].concat(), "").succeeds(), "");
    let (made_text, links) = (fs::read_to_string(&made).unwrap(), fs::read_to_string(&links).unwrap());
    assert_eq!(made_text, "Wo ist der Bahnhof?\n\nGuten Morgen! Ich habe meinen Pass verloren.\n");
    let lines: Vec<&str> = links.lines().collect();
    assert_eq!(lines[..2], ["0-0 1-1 2-2 3-3", ""]);
    // Good-Guten, I-Ich, lost-verloren, passport-Pass: the second sentence continues the count of words
    for link in ["0-0", "2-2", "4-6", "6-5"] {
        assert!(lines[2].split(' ').any(|other| other == link), "{link}: {}", lines[2]);
    }

    fs::write(&given, "Wo ist der Bahnhof?\n\nIch habe meinen Pass verloren.\n").unwrap();
    let output = run(&[&arguments[..], &["--target", text(&given)]].concat(), "");
    assert_eq!(output.succeeds().lines().take(2).collect::<Vec<_>>(), lines[..2]);

    // a window beyond the text changes nothing, other keys do
    let aligned = |kinds: &str| {
        let output = run(&[&arguments[..], &["--target", text(&given), "--attention", kinds]].concat(), "");
        output.succeeds().lines().map(str::to_owned).collect::<Vec<_>>()
    };
    let own = aligned("encoder.*=full");
    assert_eq!(own[..2], lines[..2]);
    assert_eq!(aligned("encoder.*=window:512"), own);
    assert_ne!(aligned("encoder.*=shared-qk"), own);
    let wrong = [&arguments[..], &["--attention", "encoder.9=uniform"]].concat();
    run(&wrong, "").fails(2, &["--attention", "encoder.9"]);
}

#[test]
fn files_of_other_lengths_are_refused() {
    let folder = scratch("align-errors");
    let [one, two] = ["one.txt", "two.txt"].map(|name| folder.join(name));
    fs::write(&one, "a\n").unwrap();
    fs::write(&two, "a\nb\n").unwrap();
    let tied = model("marian_tied");
    let align = |source, target| {
        run(&["align", "--model", &tied, "--device", "cpu", "-i", source, "--target", target], "")
    };
    assert_eq!(align(text(&two), text(&one)).fails(1, &["two.txt, line 2", "--target"]).lines().count(), 1);
    align(text(&one), text(&two)).fails(1, &["two.txt, line 2", "--input"]);
    let same = ["align", "-i", text(&one), "-o", text(&one)];
    run(&same, "").fails(2, &["the same file"]);
}
