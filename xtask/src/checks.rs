//! Checks. All run, also after a failure, and a summary ends them.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::process::{self, Failure};
use crate::terminal::{BAD, GOOD, heading, seconds};

pub struct Check {
    pub name: &'static str,
    /// A step begins when all of the step before has passed. Commands of one step run two at a time, and print their output at their end.
    pub steps: Vec<Vec<Command>>,
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
        Check::two_at_a_time(name, vec![command])
    }

    pub fn two_at_a_time(name: &'static str, commands: Vec<Command>) -> Check {
        Check { name, steps: vec![commands] }
    }

    pub fn then_two_at_a_time(mut self, commands: Vec<Command>) -> Check {
        self.steps.push(commands);
        self
    }

    /// Whether its programs exist.
    pub fn program_is_found(&self) -> bool {
        let programs = self.steps.iter().flatten().map(Command::get_program);
        programs.into_iter().all(|program| process::probe(Command::new(program).arg("--version")).is_some())
    }

    fn run(self) -> Report {
        let begun = Instant::now();
        let alone = |step: &Vec<Command>| (step.len() == 1).then(|| format!(": {}", process::line(&step[0])));
        heading(&format!("{}{}", self.name, self.steps.first().and_then(alone).unwrap_or_default()));
        let outcome = self.steps.into_iter().try_for_each(|mut step| match &mut step[..] {
            [command] => process::run(command),
            _ => process::run_side_by_side(step, 2),
        });
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
