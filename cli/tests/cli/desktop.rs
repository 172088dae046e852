//! `wordloom desktop`: finds the window's program, or says how to build it.
#![cfg(unix)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

use super::scratch;

/// This program in a separate folder, without the window's program.
fn alone(test: &str) -> PathBuf {
    let program = scratch(test).join("wordloom");
    fs::copy(env!("CARGO_BIN_EXE_wordloom"), &program).expect("a copy");
    program
}

fn run(program: &PathBuf, arguments: &[&str]) -> Output {
    Command::new(program).args(arguments).env("PATH", "").output().expect("it runs")
}

#[test]
fn without_the_window_one_line_says_how_to_build_it() {
    let output = run(&alone("desktop_missing"), &["desktop"]);
    let line = String::from_utf8(output.stderr).expect("text");
    assert_eq!((output.status.code(), line.lines().count()), (Some(1), 1), "{line}");
    assert!(line.contains("`cargo build --release --package wordloom-desktop`"), "{line}");
}

#[test]
fn the_window_beside_it_gets_the_arguments_and_gives_the_exit_code() {
    let program = alone("desktop_beside");
    let window = program.with_file_name("wordloom-desktop");
    fs::write(&window, "#!/bin/sh\nprintf '%s|' \"$@\"\nexit 3\n").expect("a file");
    fs::set_permissions(&window, fs::Permissions::from_mode(0o755)).expect("it is ours");
    let output = run(&program, &["desktop", "--device", "cpu", "a trace.json"]);
    assert_eq!(String::from_utf8_lossy(&output.stdout), "--device|cpu|a trace.json|");
    assert_eq!(output.status.code(), Some(3));
}
