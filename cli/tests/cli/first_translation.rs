//! The first translation of the default model: memory of the host, and time.
#![cfg(feature = "embedded-model")]

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use wordloom::Model;

use super::command;

#[test]
fn the_default_model_is_small() {
    let (_, peak) = first_translation();
    if let Some(peak) = peak {
        let weights = Model::embedded().expect("sound").checkpoint().byte_len();
        let bound = weights * 3 / 2 + 150_000_000;
        println!("host memory: {:.0} MB, bound {:.0} MB", peak as f64 / 1e6, bound as f64 / 1e6);
        assert!(peak < bound, "{peak} bytes at most in memory, {bound} are allowed");
    }
}

#[test]
#[ignore = "judged by the clock: `cargo xtask bench --check`"]
fn the_first_translation_comes_soon_after_the_start() {
    let mut times: Vec<Duration> = (0..5).map(|_| first_translation().0).collect();
    times.sort();
    println!("start to first translation: {times:?}");
    assert!(times[2] < Duration::from_millis(1500), "start to first translation took {:?}", times[2]);
}

/// Time from the start of the program to the first translation, and peak memory in bytes.
fn first_translation() -> (Duration, Option<u64>) {
    let start = Instant::now();
    let mut child = command(&["translate", "--device", "cpu"]).stderr(Stdio::null()).spawn().expect("starts");
    let mut input = child.stdin.take().expect("piped");
    writeln!(input, "Where is the train station?").expect("listens");
    let mut line = String::new();
    BufReader::new(child.stdout.take().expect("piped")).read_line(&mut line).expect("answers");
    let time = start.elapsed();
    assert_eq!(line, "Wo ist der Bahnhof?\n");
    let peak = peak_memory(child.id());
    drop(input);
    assert!(child.wait().expect("ends").success());
    (time, peak)
}

/// The peak memory of a process, in bytes, if the system reports it.
fn peak_memory(process: u32) -> Option<u64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kibibytes: u64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kibibytes * 1024)
}
