//! Ctrl-C.
#![cfg(unix)]

use std::fs;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use super::{Run, command, model, scratch, text};

pub fn interrupt(child: &Child) {
    // the shell's own `kill`, because a bare system has no other
    let kill = Command::new("sh").args(["-c", &format!("kill -INT {}", child.id())]).status();
    assert!(kill.is_ok_and(|status| status.success()));
}

#[test]
fn what_is_finished_has_been_written() {
    let folder = scratch("interrupt");
    let (source, target) = (folder.join("source.txt"), folder.join("target.txt"));
    // all lines differ, because equal lines are translated once
    let text_of =
        |lines| (0..lines).map(|line| format!("some words to translate {line}\n")).collect::<String>();
    fs::write(&source, text_of(100_000)).unwrap();
    let model = model("marian_tied");
    let arguments = [
        "translate",
        "--device",
        "cpu",
        "--model",
        &model,
        "-b",
        "1",
        "-i",
        text(&source),
        "-o",
        text(&target),
    ];
    let child = command(&arguments).spawn().unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    while fs::metadata(&target).map_or(0, |file| file.len()) == 0 {
        assert!(Instant::now() < deadline, "nothing was written");
        std::thread::sleep(Duration::from_millis(10));
    }
    interrupt(&child);
    let run = Run { what: "interrupted".into(), output: child.wait_with_output().unwrap() };
    assert_eq!(run.output.status.code(), Some(130), "{}", run.stderr());
    assert_eq!(
        run.stderr().lines().last(),
        Some("error: interrupted; what was finished before has been written")
    );
    let written = fs::read_to_string(&target).unwrap();
    assert!(written.ends_with('\n'));
    let lines: Vec<&str> = written.lines().collect();
    assert!(lines.len() < 100_000, "{} lines", lines.len());
    let some = lines.len().min(200);
    fs::write(&source, text_of(some)).unwrap();
    let whole = super::run(&arguments, "");
    whole.succeeds();
    assert!(fs::read_to_string(&target).unwrap().lines().eq(lines[..some].iter().copied()));
}

#[test]
fn waiting_for_input_ends_at_once() {
    let model = model("marian_tied");
    let mut child = command(&["translate", "--device", "cpu", "--model", &model]).spawn().unwrap();
    let typed = child.stdin.take();
    std::thread::sleep(Duration::from_millis(300));
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    drop(typed);
}
