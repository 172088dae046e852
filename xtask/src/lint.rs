//! `cargo xtask lint`: what is checked without running a test.

use std::process::Command;

use crate::checks::{self, Check};
use crate::process::cargo_command;
use crate::{setup, wasm};

/// Features of the library, each of which has to build alone; without a name, none of them.
const FEATURES: &[&str] = &["", "check", "embedded-model", "tokenizers", "training"];

/// Runs the checks; whether all passed.
///
/// What setup could not install is only mentioned: the checks decide whether it was needed.
pub fn run() -> bool {
    let mut missing = setup::run_for_lints();
    let mut checks = checks();
    for (check, advice) in tools() {
        match check.program_is_found() {
            true => checks.push(check),
            false => missing.push(format!("{}: {advice}", check.name)),
        }
    }
    checks::run(checks, &missing)
}

fn checks() -> Vec<Check> {
    let mut documentation = cargo_command("doc --no-deps --locked --package wordloom");
    documentation.env("RUSTDOCFLAGS", "-D warnings");
    let features = FEATURES.iter().map(|feature| {
        let selection = format!("--package wordloom --lib --no-default-features --features={feature}");
        cargo_command(&format!("clippy --locked {selection} -- -D warnings"))
    });
    vec![
        Check::new("format", cargo_command("fmt --all --check")),
        Check::new("native", cargo_command("clippy --workspace --all-targets --locked -- -D warnings")),
        Check::new("wasm32", wasm::lints()),
        Check::new("docs", documentation),
        Check::two_at_a_time("features", features.collect()),
    ]
}

/// Tools that run where they are found, and how to get each.
fn tools() -> [(Check, &'static str); 2] {
    // known vulnerabilities need a network: the public CI asks for them
    let mut crates = Command::new("cargo-deny");
    crates.args(["--workspace", "--locked", "check", "bans", "licenses", "sources"]);
    [
        (Check::new("spelling", Command::new("typos")), "`pip install typos` or `cargo install typos-cli`"),
        (Check::new("crates", crates), "`cargo install --locked cargo-deny`"),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::Path;

    use super::*;
    use crate::process;

    #[test]
    fn every_feature_is_built_alone() {
        let repository =
            Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository");
        let manifest = fs::read_to_string(repository.join("Cargo.toml")).expect("a manifest");
        let features = manifest.split("\n[features]\n").nth(1).and_then(|rest| rest.split("\n[").next());
        let names = features
            .expect("features")
            .lines()
            .filter_map(|line| line.split_once(" = ").map(|(name, _)| name));
        let names: BTreeSet<&str> = names.filter(|name| *name != "default").collect();
        assert_eq!(names, FEATURES.iter().copied().filter(|name| !name.is_empty()).collect());
    }

    #[test]
    fn both_worlds_are_linted() {
        let lines: Vec<String> =
            checks().iter().flat_map(|check| &check.steps).flatten().map(process::line).collect();
        assert_eq!(lines.len(), 4 + FEATURES.len());
        assert!(lines[1].contains("--all-targets") && lines[2].contains("wasm32"), "{lines:?}");
    }
}
