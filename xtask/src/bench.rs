//! `cargo xtask bench`: measurements of time, separate from the tests, because they need a quiet machine.

use std::process::Command;

use crate::checks::{self, Check};
use crate::process::{self, cargo};
use crate::web;

/// Measures, or checks the measurements. Returns whether all passed.
pub fn run(check: bool) -> bool {
    if check {
        return checks::run(judged(), &[]);
    }
    process::run_shown(cargo().args(["run", "--release", "--locked", "--", "bench"])).is_ok()
}

/// The tests of time, which `cargo test` ignores, or which have the tag `@speed` in Playwright.
fn judged() -> Vec<Check> {
    let tests = |selection: &[&str]| {
        let mut command = cargo();
        command.args(["test", "--release", "--locked", "--workspace", "--no-fail-fast"]).args(selection);
        command.args(["--", "--ignored", "--nocapture", "--test-threads=1"]);
        command
    };
    vec![
        Check::new("engine", tests(&["--test", "speed", "--test", "cli"])),
        Check::new("window", tests(&["--bin", "wordloom-desktop"])),
        Check::new("web", web::build()),
        Check::new("page", page()),
    ]
}

fn page() -> Command {
    let mut command = web::browser_tests();
    command.args(["--", "--grep", "@speed"]).env("WORDLOOM_JUDGE_SPEED", "1");
    command
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_judged_is_named() {
        let lines: Vec<String> = judged().iter().map(|check| process::line(&check.steps[0][0])).collect();
        assert!(lines[0].contains(" --test speed --test cli -- --ignored "), "{lines:?}");
        assert!(
            lines[3].contains("WORDLOOM_JUDGE_SPEED=1 ") && lines[3].ends_with(" test -- --grep @speed"),
            "{lines:?}"
        );
    }
}
