//! Developer commands, run as `cargo xtask COMMAND`.

mod apt;
mod arm;
mod bench;
mod browser;
mod checks;
mod chromium;
mod corpora;
mod fuzz;
mod licences;
mod lint;
mod node;
mod process;
mod python;
mod rustup;
mod setup;
mod system;
mod terminal;
mod tiers;
mod validators;
mod vulkan;
mod wasm;
mod wasm_bindgen;
mod web;
mod xvfb;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use lexopt::prelude::*;
use tiers::Tier;
use web::Parts;

const HELP: &str = "\
Developer commands of Wordloom

Usage: cargo xtask COMMAND

Commands:
  setup           Install what the tests need: a Vulkan driver on the CPU, rustfmt, clippy,
                  the wasm32 standard library, wasm-bindgen, Chromium, npm's packages, and
                  Python's. Says what it does; skips what is there.
  lint            Check without running: format, lints, documentation, each feature alone;
                  spelling and licences where typos and cargo-deny are installed
  test            Set up, build everything, and run all tests, those in Python and in a browser, too
  test unit       Tests that need no device, no model and no network
  test device     Tests of the CPU runner and of a GPU adapter, of the commands and the window
  test web        Tests in Chromium: kernels and models, the npm package, the page
  test python     Tests of the Python package
  test arm        Tests of the CPU runner on an emulated 64-bit ARM; not part of `test`
  test corpora    Tests on Ray, Spark, Dask, Daft, DataFusion and Ballista; not part of `test`
  bench           Measure the default model (`wordloom bench`)
  bench --check   Judge speed against bounds with room to spare; run it on a quiet machine
  web             Build the wasm module, the npm package (web/dist) and the page (cli/site), as
                  far as something has changed; say their sizes, and fail if they are too large
  web --modules   Build the wasm modules alone
  web --serve     Build the wasm modules, then serve the page for development, until Ctrl-C
  fuzz            Fuzz every reader of files for an hour, or as long as --seconds of each say;
                  needs a nightly compiler and cargo-fuzz
  fuzz TARGET     One of them: a file of fuzz/targets
  licences        Write licences/licences.txt, the licences of everything that is part of a
                  program or package, and target/sbom, lists of it (CycloneDX); after a change
                  of dependencies

Options:
  -h, --help      Print this help

Exit code: 0 when all is well, 1 when something is missing or failed, 2 for wrong arguments.";

#[derive(Debug, PartialEq)]
enum Task {
    Help,
    Setup,
    Lint,
    Test(Tier),
    Bench { check: bool },
    Web(Parts),
    Fuzz { target: Option<String>, seconds: u64 },
    Licences,
}

fn main() -> ExitCode {
    let task = match parse(std::env::args_os().skip(1)) {
        Ok(task) => task,
        Err(error) => {
            anstream::eprintln!("error: {error}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    if let Err(error) = enter_repository() {
        anstream::eprintln!("error: {error}");
        return ExitCode::FAILURE;
    }
    let well = match task {
        Task::Help => {
            anstream::println!("{HELP}");
            true
        }
        Task::Setup => setup::run().is_empty(),
        Task::Lint => lint::run(),
        Task::Test(tier) => tiers::run(tier),
        Task::Bench { check } => bench::run(check),
        Task::Web(parts) => {
            web::run(parts).inspect_err(|error| anstream::eprintln!("error: {error}")).is_ok()
        }
        Task::Fuzz { target, seconds } => {
            let run = fuzz::run(target.as_deref(), seconds);
            run.inspect_err(|error| anstream::eprintln!("error: {error}")).is_ok()
        }
        Task::Licences => licences::run().inspect_err(|error| anstream::eprintln!("error: {error}")).is_ok(),
    };
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Task, lexopt::Error> {
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut words = Vec::new();
    let mut option = None;
    let mut seconds = None;
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Task::Help),
            Long("seconds") if words.first().is_some_and(|word| word == "fuzz") => {
                seconds = Some(parser.value()?.parse()?);
            }
            Long(name) if option.is_none() && !words.is_empty() => option = Some(name.to_owned()),
            Value(word) if words.len() < 2 => words.push(word.string()?),
            other => return Err(other.unexpected()),
        }
    }
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match (&words[..], option.as_deref()) {
        (["setup"], None) => Ok(Task::Setup),
        (["lint"], None) => Ok(Task::Lint),
        (["test"], None) => Ok(Task::Test(Tier::All)),
        (["test", "unit"], None) => Ok(Task::Test(Tier::Unit)),
        (["test", "device"], None) => Ok(Task::Test(Tier::Device)),
        (["test", "web"], None) => Ok(Task::Test(Tier::Web)),
        (["test", "python"], None) => Ok(Task::Test(Tier::Python)),
        (["test", "arm"], None) => Ok(Task::Test(Tier::Arm)),
        (["test", "corpora"], None) => Ok(Task::Test(Tier::Corpora)),
        (["bench"], None) => Ok(Task::Bench { check: false }),
        (["bench"], Some("check")) => Ok(Task::Bench { check: true }),
        (["web"], None) => Ok(Task::Web(Parts::All)),
        (["web"], Some("modules")) => Ok(Task::Web(Parts::Modules)),
        (["fuzz"], None) => Ok(fuzzing(None, seconds)),
        (["fuzz", target], None) => Ok(fuzzing(Some(target), seconds)),
        (["licences"], None) => Ok(Task::Licences),
        (["web"], Some("serve")) => Ok(Task::Web(Parts::ModulesThenServe)),
        ([], _) => Err("a command is missing".into()),
        (words, None) => Err(format!("there is no command {:?}", words.join(" ")).into()),
        (words, Some(option)) => Err(format!("{:?} has no option --{option}", words.join(" ")).into()),
    }
}

fn fuzzing(target: Option<&str>, seconds: Option<u64>) -> Task {
    Task::Fuzz { target: target.map(str::to_owned), seconds: seconds.unwrap_or(fuzz::SECONDS) }
}

/// Changes to the repository's root, from any folder in it.
fn enter_repository() -> Result<(), String> {
    // The variable is correct even if the repository was moved after xtask was built.
    let xtask = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let root = Path::new(&xtask).parent().unwrap_or(Path::new("."));
    std::env::set_current_dir(root).map_err(|error| format!("cannot enter {}: {error}", root.display()))
}

#[cfg(test)]
mod tests {
    use super::{Parts, Task, Tier, parse};

    fn parsed(line: &str) -> Result<Task, String> {
        parse(line.split_whitespace().map(Into::into)).map_err(|error| error.to_string())
    }

    #[test]
    fn arguments_name_one_task() {
        assert_eq!(parsed("setup"), Ok(Task::Setup));
        assert_eq!(parsed("lint"), Ok(Task::Lint));
        assert_eq!(parsed("test"), Ok(Task::Test(Tier::All)));
        assert_eq!(parsed("test unit"), Ok(Task::Test(Tier::Unit)));
        assert_eq!(parsed("test --help"), Ok(Task::Help));
        assert_eq!(parsed("bench --check"), Ok(Task::Bench { check: true }));
        assert_eq!(parsed("web"), Ok(Task::Web(Parts::All)));
        assert_eq!(parsed("web --modules"), Ok(Task::Web(Parts::Modules)));
        assert_eq!(parsed("licences"), Ok(Task::Licences));
        let fuzz =
            |target: Option<&str>, seconds| Ok(Task::Fuzz { target: target.map(str::to_owned), seconds });
        assert_eq!(parsed("fuzz"), fuzz(None, super::fuzz::SECONDS));
        assert_eq!(parsed("fuzz trace --seconds 60"), fuzz(Some("trace"), 60));
        assert_eq!(parsed("web --serve"), Ok(Task::Web(Parts::ModulesThenServe)));
    }

    #[test]
    fn other_arguments_are_refused_by_name() {
        for (line, named) in [
            ("", "command is missing"),
            ("tset", "tset"),
            ("setup --quick", "--quick"),
            ("test extra", "extra"),
            ("test unit device", "device"),
            ("web --check", "--check"),
            ("web --seconds 3", "seconds"),
            ("fuzz --seconds soon", "soon"),
            ("test --serve", "--serve"),
            ("--verbose test", "--verbose"),
        ] {
            let error = parsed(line).expect_err(line);
            assert!(error.contains(named), "{line:?}: {error}");
        }
    }
}
