//! Checks. All run, also after a failure, and a summary ends them.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::process::{self, Failure};
use crate::terminal::{BAD, GOOD, heading, seconds};

pub struct Check {
    pub name: &'static str,
    pub command: Command,
    /// Checks that run after it, two at a time, each printing its output at its end.
    pub afterwards: Vec<Command>,
}

struct Report {
    name: &'static str,
    outcome: Result<(), Failure>,
    took: Duration,
}

/// Runs the checks. Returns whether all passed. The summary lists what is `missing` on this machine.
pub fn run(checks: Vec<Check>, missing: &[String]) -> bool {
    let begun = Instant::now();
    let reports: Vec<Report> = checks.into_iter().map(Check::run).collect();

    heading("summary");
    for report in &reports {
        anstream::println!("    {}", report.line());
    }
    for advice in missing {
        anstream::println!("    not set up: {advice}");
    }
    let passed = reports.iter().filter(|report| report.outcome.is_ok()).count();
    anstream::println!("    {passed} of {} checks passed in {}", reports.len(), seconds(begun.elapsed()));
    passed == reports.len()
}

impl Check {
    pub fn new(name: &'static str, command: Command) -> Check {
        Check { name, command, afterwards: Vec::new() }
    }

    pub fn then_two_at_a_time(self, afterwards: Vec<Command>) -> Check {
        Check { afterwards, ..self }
    }

    /// Whether its program exists.
    pub fn program_is_found(&self) -> bool {
        process::probe(Command::new(self.command.get_program()).arg("--version")).is_some()
    }

    fn run(mut self) -> Report {
        heading(&format!("{}: {}", self.name, process::line(&self.command)));
        let begun = Instant::now();
        let outcome =
            process::run(&mut self.command).and_then(|()| process::run_side_by_side(self.afterwards, 2));
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
    fn a_check_that_cannot_run_fails() {
        let check = Check::new("none", Command::new("wordloom-no-such-program"));
        assert!(!check.program_is_found());
        let report = check.run();
        assert!(report.outcome.is_err());
        assert!(report.line().contains("FAILED"), "{}", report.line());
    }
}
