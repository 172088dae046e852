//! Usage: help on one screen, bad usage in one line.

use super::run;

const COMMANDS: [&str; 24] = [
    "translate",
    "corpus",
    "summarize",
    "generate",
    "forward",
    "attend",
    "explain",
    "align",
    "tokenize",
    "score",
    "evaluate",
    "models",
    "devices",
    "check",
    "inspect",
    "cost",
    "quantize",
    "train",
    "average",
    "study",
    "bench",
    "serve",
    "desktop",
    "licences",
];

#[test]
fn help_fits_a_screen() {
    let calls = COMMANDS.map(|command| vec![command, "--help"]).into_iter().chain([vec!["--help"]]);
    for arguments in calls {
        // the numbers of a training, and their defaults, are on a page of their own
        let short = [arguments[0], "-h"];
        let arguments = if arguments[0] == "train" { &short } else { &arguments[..] };
        let help = run(arguments, "");
        let help = help.succeeds();
        assert!(help.lines().count() <= 30, "{arguments:?}: {} lines", help.lines().count());
        for line in help.lines() {
            assert!(line.chars().count() <= 80, "{arguments:?}: {line}");
        }
    }
    let long = run(&["train", "--help"], "");
    assert!(long.succeeds().lines().all(|line| line.chars().count() <= 80));
}

#[test]
fn help_lists_every_command() {
    let help = run(&["--help"], "");
    for command in COMMANDS {
        assert!(help.succeeds().contains(&format!("\n  {command} ")), "{command}");
    }
}

#[test]
fn no_command_shows_the_help() {
    let bare = run(&[], "");
    assert_eq!(bare.output.status.code(), Some(2));
    assert!(bare.stderr().contains("Usage: wordloom <COMMAND>"));
    assert_eq!(bare.stdout(), "");
}

#[test]
fn the_version_is_the_crate_s() {
    assert_eq!(run(&["--version"], "").succeeds(), concat!("wordloom ", env!("CARGO_PKG_VERSION"), "\n"));
}

#[test]
fn bad_usage_is_one_line_and_exit_code_2() {
    let cases: [(&[&str], &[&str]); 15] = [
        (&["transalte", "hi"], &["'transalte'", "'translate'"]),
        (&["translate", "--beam", "4"], &["'--beam'", "'--beams'"]),
        (&["translate", "--beams", "many"], &["'many'", "--beams", "a whole number"]),
        (&["translate", "--beams", "-1"], &["'-1'", "--beams", "a whole number"]),
        (&["translate", "--beams"], &["--beams", "value"]),
        (&["explain", "--layer", "-1"], &["'-1'", "--layer", "from 0"]),
        (&["inspect", "--config", "c.json", "--seed", "-1"], &["'-1'", "--seed", "from 0 to 2^64 - 1"]),
        (&["train", "--max-steps", "-3"], &["'-3'", "--max-steps", "from 0 to 2^64 - 1"]),
        (&["cost", "--hours", "-1"], &["'-1'", "--hours", "a number above 0"]),
        (&["bench", "--training", "-1"], &["'-1'", "--training", "above 0"]),
        (&["study", "table3", "--seeds", "-1"], &["'-1'", "--seeds", "from 0"]),
        (&["translate", "--device", " ", "hi"], &["--device", "auto", "cpu"]),
        (&["translate", "--input", "a.txt", "hi"], &["--input", "TEXT"]),
        (&["tokenize", "--spm", "a.spm", "--model", "b"], &["--spm", "--model"]),
        (&["forward"], &["--input <FILE>", "--output <FILE>"]),
    ];
    for (arguments, parts) in cases {
        assert_eq!(run(arguments, "").fails(2, parts), "");
    }
}

/// clap's tip helps with texts only: few unknown options are values.
#[test]
fn a_text_that_begins_with_a_dash_has_a_tip() {
    for (argument, has_a_tip) in [("-f", false), ("--lang", false), ("-5", true), ("- one point", true)] {
        let wrong = run(&["translate", argument, "en"], "");
        wrong.fails(2, &["unexpected argument", "see --help"]);
        assert_eq!(wrong.stderr().contains("as a value, use '--"), has_a_tip, "{}", wrong.stderr());
    }
}

#[test]
fn an_unknown_device_is_named() {
    let arguments = ["translate", "--device", "Nonesuch 9000", "hi"];
    let unknown = run(&arguments, "");
    assert_eq!(unknown.output.status.code(), Some(1));
    let last = unknown.stderr().lines().last().unwrap_or_default(); // drivers may have said something before
    assert!(
        last.starts_with("error: ") && last.contains("`Nonesuch 9000`") && last.contains("cpu"),
        "{last}"
    );
}
