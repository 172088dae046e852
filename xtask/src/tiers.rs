//! The tests, by what they need of a machine. CONTRIBUTING.md says the same for people.

use crate::checks::{self, Check};
use crate::process::cargo_command;
use crate::{arm, browser, corpora, python, setup, web};

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tier {
    /// No device, no model, no network.
    Unit,
    /// The CPU runner and a GPU adapter, the default model, the commands and the window.
    Device,
    /// Chromium and Node.js: kernels and models in a browser, the npm package, the page.
    Web,
    /// The Python package.
    Python,
    /// The CPU runner on an emulated ARM processor. No other tier has it.
    Arm,
    /// The examples for Ray, Spark, Dask and Daft. No other tier has it.
    Corpora,
    /// Unit, device, web and Python.
    All,
}

/// The files of `tests/`, of whatever package, that run without a device, a model and a network.
const UNIT: &str = "
    cpu_ops decode documents evaluate firefox_mutants corpus_formats corpus_runs graph house hub model quality reader_mutants
    shader_rules text train
";

/// Those that run on a device.
const DEVICE: &str = "
    allocations bleu check cli clock kernels lost_devices model_parity soak speed switches trace training training_parity transformer
    translate window
";

/// Those that run the command.
const OF_THE_COMMAND: [&str; 2] = ["bleu", "cli"];

/// Runs the checks of `tier`; whether all passed.
///
/// What setup could not install is only mentioned: the checks decide whether it was needed.
pub fn run(tier: Tier) -> bool {
    let missing = match tier {
        Tier::Unit => Vec::new(),
        Tier::Arm => arm::set_up(),
        Tier::Corpora => corpora::set_up(),
        _ => setup::run(),
    };
    checks::run(checks(tier), &missing)
}

fn checks(tier: Tier) -> Vec<Check> {
    // always of the whole workspace, so that no tier compiles a dependency with other features than another
    let tests = |targets: &str, names: &str| {
        // but for the Python module, whose library has no tests and links to nothing but Python
        let workspace = "--workspace --exclude wordloom-python";
        let mut command = cargo_command(&format!("test {workspace} --locked --no-fail-fast --lib {targets}"));
        command.args(names.split_whitespace().flat_map(|name| ["--test", name]));
        command
    };
    match tier {
        Tier::Unit => vec![Check::new("unit", tests("--bin wordloom --bin xtask", UNIT))],
        Tier::Device => vec![Check::new("device", tests("--bin wordloom-desktop", DEVICE))],
        Tier::Web => {
            let program = Check::new("program", cargo_command("build --locked --workspace --bin wordloom"));
            std::iter::once(program).chain(in_browsers()).collect()
        }
        Tier::Python => python::checks().into(),
        Tier::Arm => arm::checks().into(),
        Tier::Corpora => corpora::checks().into(),
        Tier::All => {
            // The optimizer of modules for browsers has one core, and the tests' compiler fills the other. They share no folder of cargo's.
            // The command comes later: it contains the page.
            let names = [UNIT, DEVICE].into_iter().flat_map(str::split_whitespace);
            let names = names.filter(|name| !OF_THE_COMMAND.contains(name));
            let mut compiled = cargo_command("test --workspace --locked --no-run");
            compiled.args(names.flat_map(|name| ["--test", name]));
            let builds = Check::two_at_a_time("builds", vec![web::build_modules(), compiled]);
            let builds = builds.then_two_at_a_time(vec![web::build()]);
            let tests = Check::new("tests", cargo_command("test --workspace --locked --no-fail-fast"));
            let ([module, python], [browser, _, page]) = (python::checks(), in_browsers());
            vec![builds, tests, module, python, browser, page]
        }
    }
}

fn in_browsers() -> [Check; 3] {
    [browser::check(), Check::new("web", web::build()), Check::new("page", web::browser_tests())]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::{Path, PathBuf};

    use super::*;
    use crate::process;

    fn repository() -> &'static Path {
        Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("xtask lies in the repository")
    }

    /// The folders of `tests/` below `folder`, but for those of other workspaces.
    fn test_folders(folder: &Path) -> Vec<PathBuf> {
        let skipped = ["target", "node_modules", "fuzz", "datafusion", ".git"];
        let entries = folder.read_dir().expect("a folder").map(|entry| entry.expect("an entry").path());
        let folders =
            entries.filter(|path| path.is_dir() && !skipped.iter().any(|name| path.ends_with(name)));
        let crates = folder.join("Cargo.toml").exists();
        folders
            .flat_map(|path| if crates && path.ends_with("tests") { vec![path] } else { test_folders(&path) })
            .collect()
    }

    /// The names of the programs that cargo makes of a folder of tests.
    fn programs(folder: &Path) -> Vec<String> {
        let entries = folder.read_dir().expect("a folder").map(|entry| entry.expect("an entry").path());
        let programs = entries
            .filter(|path| path.extension().is_some_and(|end| end == "rs") || path.join("main.rs").exists());
        programs.map(|path| path.file_stem().expect("a name").to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn every_file_of_tests_is_in_one_tier() {
        let there: BTreeSet<String> =
            test_folders(repository()).iter().flat_map(|folder| programs(folder)).collect();
        let table: Vec<String> =
            [UNIT, DEVICE].iter().flat_map(|names| names.split_whitespace()).map(str::to_owned).collect();
        assert_eq!(table.iter().cloned().collect::<BTreeSet<_>>(), there);
        assert_eq!(table.len(), there.len(), "a file is in two tiers");
    }

    #[test]
    fn all_is_the_other_tiers() {
        let names = |tier| checks(tier).iter().map(|check| check.name).collect::<Vec<_>>();
        assert_eq!(names(Tier::All)[..], ["builds", "tests", "module", "python", "browser", "page"]);
        let builds = checks(Tier::All).into_iter().next().expect("is there");
        let lines: Vec<String> = builds.steps.iter().flatten().map(process::line).collect();
        assert!(lines[0].ends_with(" web --modules") && lines[1].contains(" --no-run --test "), "{lines:?}");
        assert!(lines[2].ends_with(" web"), "{lines:?}");
        assert_eq!(names(Tier::Python), ["module", "python"]);
        assert_eq!(names(Tier::Corpora), ["module", "sql", "corpora"]);
        assert_eq!(names(Tier::Web), ["program", "browser", "web", "page"]);
    }

    #[test]
    fn the_unit_tier_names_its_files() {
        let unit = checks(Tier::Unit).pop().expect("a check");
        let line = process::line(&unit.steps[0][0]);
        assert!(line.contains(" --lib --bin wordloom --bin xtask --test cpu_ops "), "{line}");
    }
}
