//! Requirements of lints and tests, and their installation.

use crate::process::{self, cargo};
use crate::terminal::{BAD, GOOD, heading};
use crate::{chromium, node, python, rustup, validators, vulkan, wasm, wasm_bindgen, xvfb};

/// A requirement. The strings are for the developer.
struct Requirement {
    name: &'static str,
    /// The installed program or package that meets it, if any.
    find: fn() -> Option<String>,
    /// Installs it, and prints each command first. On failure, returns one line with what the user can do.
    install: fn() -> Result<(), String>,
}

const OF_LINTS: [Requirement; 3] = [
    Requirement {
        name: "rustfmt",
        find: || process::probe(cargo().args(["fmt", "--version"])),
        install: || rustup::run(&["component", "add", "rustfmt"]),
    },
    Requirement {
        name: "clippy",
        find: || process::probe(cargo().args(["clippy", "--version"])),
        install: || rustup::run(&["component", "add", "clippy"]),
    },
    Requirement { name: "wasm32 standard library", find: wasm::find, install: wasm::install },
];

const OF_TESTS: [Requirement; 8] = [
    Requirement { name: "Vulkan driver on the CPU", find: vulkan::find, install: vulkan::install },
    Requirement { name: "shader validators", find: validators::find, install: validators::install },
    Requirement { name: "wasm-bindgen", find: wasm_bindgen::find, install: wasm_bindgen::install },
    Requirement { name: "Xvfb", find: xvfb::find, install: xvfb::install },
    Requirement { name: "Chromium", find: chromium::find, install: chromium::install },
    Requirement { name: "Node.js", find: node::find, install: node::install },
    Requirement { name: "npm packages", find: node::find_packages, install: node::install_packages },
    Requirement { name: "Python packages", find: python::find, install: python::install },
];

/// Installs what is missing. Returns a line for each requirement that is still missing: its name and what to do.
pub fn run() -> Vec<String> {
    meet(OF_LINTS.iter().chain(&OF_TESTS))
}

/// As [`run`], for `cargo xtask lint` alone.
pub fn run_for_lints() -> Vec<String> {
    meet(&OF_LINTS)
}

fn meet<'a>(requirements: impl IntoIterator<Item = &'a Requirement>) -> Vec<String> {
    heading("setup");
    requirements.into_iter().filter_map(|requirement| requirement.meet().err()).collect()
}

impl Requirement {
    fn meet(&self) -> Result<(), String> {
        let name = self.name;
        if let Some(found) = (self.find)() {
            anstream::println!("    {name}: {GOOD}found{GOOD:#}, {found}");
            return Ok(());
        }
        anstream::println!("    {name}: not found");
        let installed = (self.install)();
        match ((self.find)(), installed) {
            (Some(found), _) => {
                anstream::println!("    {name}: {GOOD}installed{GOOD:#}, {found}");
                Ok(())
            }
            (None, outcome) => {
                let advice = outcome.err().unwrap_or("installed, and still not found".into());
                anstream::println!("    {name}: {BAD}missing{BAD:#}; {advice}");
                Err(format!("{name}: {advice}"))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(find: fn() -> Option<String>, install: fn() -> Result<(), String>) -> Result<(), String> {
        Requirement { name: "thing", find, install }.meet()
    }

    #[test]
    fn what_is_there_is_left_alone() {
        assert_eq!(outcome(|| Some("version 1".into()), || unreachable!("it was found")), Ok(()));
    }

    #[test]
    fn what_stays_missing_is_reported_with_its_advice() {
        assert_eq!(outcome(|| None, || Err("get it".into())), Err("thing: get it".into()));
        let lost = outcome(|| None, || Ok(())).expect_err("it was never found");
        assert!(lost.contains("still not found"), "{lost}");
    }
}
