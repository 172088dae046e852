//! A device that is lost while a command works: the work goes on, and the user hears of it once. Release builds cannot be told
//! to lose a device.
#![cfg(debug_assertions)]

use std::fs;

use serde_json::json;

use super::serve_api::Server;
use super::{model, run_with, scratch, text};

/// Submits before a loss, and after it, before the next one.
const LOSES: &str = "WORDLOOM_TEST_LOSE_AFTER";

fn lines(count: usize) -> String {
    (0..count).map(|number| format!("I have {number} books and a cup of coffee.\n")).collect()
}

fn losses(stderr: &str) -> usize {
    stderr.lines().filter(|line| line.contains("was lost (") && line.contains("going on with")).count()
}

#[test]
fn a_file_is_translated_as_without_losses() {
    let folder = scratch("lost-file");
    let [input, output] = ["in.txt", "out.txt"].map(|name| folder.join(name));
    fs::write(&input, lines(40)).expect("written");
    let model = model("marian_tied");
    let arguments = [
        &["translate", "--model", &model, "--device", "gpu", "--max-length", "10", "-b", "2"][..],
        &["--input", text(&input), "--output", text(&output)],
    ];
    let translate =
        |losses: &str, more: &[&str]| run_with(&[&arguments.concat(), more].concat(), "", &[(LOSES, losses)]);
    let undisturbed = translate("", &[]);
    assert_eq!(undisturbed.output.status.code(), Some(0), "{}", undisturbed.stderr());
    assert_eq!(losses(undisturbed.stderr()), 0);
    let want = fs::read(&output).expect("an output");
    for (when, times) in [("3", 1), ("9", 1), ("9,12", 2)] {
        fs::remove_file(&output).expect("removed");
        let lost = translate(when, &[]);
        assert_eq!(lost.output.status.code(), Some(0), "{}", lost.stderr());
        assert_eq!(losses(lost.stderr()), times, "{when}: {}", lost.stderr());
        assert_eq!(fs::read(&output).expect("an output"), want, "lost after {when} submits");
    }
    // twice in a row is an error; another run goes on
    fs::remove_file(&output).expect("removed");
    let lost = translate("9,0", &[]);
    assert_eq!(lost.output.status.code(), Some(1), "{}", lost.stderr());
    let error = lost.stderr().lines().last().unwrap_or_default();
    assert!(error.starts_with("error: ") && error.contains("lost twice in a row"), "{error}");
    assert!(error.contains("--device cpu"), "{error}");
    let resumed = translate("", &["--resume"]);
    assert_eq!(resumed.output.status.code(), Some(0), "{}", resumed.stderr());
    assert_eq!(fs::read(&output).expect("an output"), want);
}

#[test]
fn a_document_is_translated_as_without_losses() {
    let folder = scratch("lost-document");
    let [input, output] = ["in.html", "out.html"].map(|name| folder.join(name));
    fs::write(&input, "<p>I have <b>two books</b>.</p><p>Good morning!</p>").expect("written");
    let model = model("marian_tied");
    let translate = |losses: &str| {
        let arguments = [
            &["translate", "--model", &model, "--device", "gpu", "--max-length", "10", "-b", "1"][..],
            &["-i", text(&input), "-o", text(&output)],
        ];
        let translated = run_with(&arguments.concat(), "", &[(LOSES, losses)]);
        assert_eq!(translated.output.status.code(), Some(0), "{}", translated.stderr());
        let written = fs::read_to_string(&output).expect("an output");
        fs::remove_file(&output).expect("removed");
        (written, translated.stderr().to_owned())
    };
    let (want, _) = translate("");
    let (got, stderr) = translate("7");
    assert_eq!((got, losses(&stderr)), (want, 1), "{stderr}");
}

#[test]
fn a_server_answers_as_without_losses() {
    let ask = |losses: &str| {
        let arguments = ["serve", "--port", "0", "--no-page", "--device", "gpu"];
        let server = Server::run(&arguments, &[(LOSES, losses)]);
        let body = json!({"q": ["Good morning!", "Thank you."], "source": "en", "target": "de"});
        let (status, _, answer) = server.json("/translate", &body);
        assert_eq!(status, 200, "{answer}");
        answer["translatedText"].clone()
    };
    let want = ask("");
    assert_eq!(want[0], "Guten Morgen!");
    assert_eq!(ask("16"), want);
}
