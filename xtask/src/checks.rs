//! The checks of `cargo xtask test`: all run, also after one has failed, and a summary ends them.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::process::{self, Failure, cargo};
use crate::terminal::{BAD, GOOD, heading, seconds};
use crate::{browser, setup, wasm, web};

struct Check {
    name: &'static str,
    command: Command,
}

struct Report {
    name: &'static str,
    outcome: Result<(), Failure>,
    took: Duration,
}

/// Runs the checks; whether all passed. `quick` leaves out setup, the wasm32 build, the docs and the browser.
///
/// What setup could not install is only mentioned: the checks decide whether it was needed.
pub fn run(quick: bool) -> bool {
    let begun = Instant::now();
    let missing = if quick { Vec::new() } else { setup::run() };
    let reports: Vec<Report> = checks(quick).into_iter().map(Check::run).collect();

    heading("summary");
    for report in &reports {
        anstream::println!("    {}", report.line());
    }
    for advice in &missing {
        anstream::println!("    not set up: {advice}");
    }
    let passed = reports.iter().filter(|report| report.outcome.is_ok()).count();
    anstream::println!("    {passed} of {} checks passed in {}", reports.len(), seconds(begun.elapsed()));
    passed == reports.len()
}

fn checks(quick: bool) -> Vec<Check> {
    let check = |name, arguments: &str| {
        let mut command = cargo();
        command.args(arguments.split_whitespace());
        Check { name, command }
    };
    let mut checks = vec![
        check("format", "fmt --all --check"),
        check("lints", "clippy --workspace --all-targets --locked -- -D warnings"),
        check("tests", "test --workspace --locked --no-fail-fast"),
    ];
    if !quick {
        checks.push(Check { name: "wasm32", command: wasm::lints() });
        let mut docs = check("docs", "doc --no-deps --locked --package wordloom");
        docs.command.env("RUSTDOCFLAGS", "-D warnings");
        checks.push(docs);
        checks.push(Check { name: "browser", command: browser::check() });
        checks.push(Check { name: "web", command: web::build() });
        checks.push(Check { name: "page", command: web::browser_tests() });
    }
    checks
}

impl Check {
    fn run(mut self) -> Report {
        heading(&format!("{}: {}", self.name, process::line(&self.command)));
        let begun = Instant::now();
        let outcome = process::run(&mut self.command);
        let report = Report { name: self.name, outcome, took: begun.elapsed() };
        anstream::println!("{}", report.line());
        report
    }
}

impl Report {
    fn line(&self) -> String {
        let (name, took) = (self.name, seconds(self.took));
        match &self.outcome {
            Ok(()) => format!("{name:<8} {GOOD}ok{GOOD:#}     {took:>12}"),
            Err(failure) => format!("{name:<8} {BAD}FAILED{BAD:#} {took:>12}  ({failure})"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quick_keeps_what_a_change_breaks_most() {
        let names = |quick| checks(quick).iter().map(|check| check.name).collect::<Vec<_>>();
        assert_eq!(names(true), ["format", "lints", "tests"]);
        assert_eq!(names(false), ["format", "lints", "tests", "wasm32", "docs", "browser", "web", "page"]);
    }

    #[test]
    fn a_check_that_cannot_run_fails() {
        let check = Check { name: "none", command: Command::new("wordloom-no-such-program") };
        let report = check.run();
        assert!(report.outcome.is_err());
        assert!(report.line().contains("FAILED"), "{}", report.line());
    }
}
