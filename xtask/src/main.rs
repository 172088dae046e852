//! Developer commands, run as `cargo xtask COMMAND`.

mod apt;
mod browser;
mod checks;
mod chromium;
mod node;
mod process;
mod rustup;
mod setup;
mod system;
mod terminal;
mod vulkan;
mod wasm;
mod wasm_bindgen;
mod web;
mod xvfb;

use std::ffi::OsString;
use std::path::Path;
use std::process::ExitCode;

use lexopt::prelude::*;

const HELP: &str = "\
Developer commands of Wordloom

Usage: cargo xtask COMMAND

Commands:
  setup           Install what the tests need: a Vulkan driver on the CPU, rustfmt, clippy,
                  the wasm32 standard library, wasm-bindgen, Chromium, and npm's packages.
                  Says what it does; skips what is there.
  test            Set up, then check format, lints, all tests, the wasm32 build, the docs,
                  and the tests that run in a browser
  test --quick    Format, lints and tests only, without setup
  web             Build the wasm module, the npm package (web/dist) and the page (web/site), as
                  far as something has changed; say their sizes, and fail if they are too large
  web --serve     Build the wasm module, then serve the page for development, until Ctrl-C

Options:
  -h, --help      Print this help

Exit code: 0 when all is well, 1 when something is missing or failed, 2 for wrong arguments.";

#[derive(Debug, PartialEq)]
enum Task {
    Help,
    Setup,
    Test { quick: bool },
    Web { serve: bool },
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
        Task::Test { quick } => checks::run(quick),
        Task::Web { serve } => {
            web::run(serve).inspect_err(|error| anstream::eprintln!("error: {error}")).is_ok()
        }
    };
    if well { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Task, lexopt::Error> {
    let mut parser = lexopt::Parser::from_args(arguments);
    let mut command = None;
    let (mut quick, mut serve) = (false, false);
    while let Some(argument) = parser.next()? {
        match argument {
            Short('h') | Long("help") => return Ok(Task::Help),
            Long("quick") if command.as_deref() == Some("test") => quick = true,
            Long("serve") if command.as_deref() == Some("web") => serve = true,
            Value(name) if command.is_none() => command = Some(name.string()?),
            other => return Err(other.unexpected()),
        }
    }
    match command.as_deref() {
        Some("setup") => Ok(Task::Setup),
        Some("test") => Ok(Task::Test { quick }),
        Some("web") => Ok(Task::Web { serve }),
        Some(other) => Err(format!("there is no command {other:?}").into()),
        None => Err("a command is missing".into()),
    }
}

/// Makes the repository's root the current folder, wherever in it the command was typed.
fn enter_repository() -> Result<(), String> {
    // The variable is right even where the repository was moved after xtask was built.
    let xtask = std::env::var_os("CARGO_MANIFEST_DIR").unwrap_or_else(|| env!("CARGO_MANIFEST_DIR").into());
    let root = Path::new(&xtask).parent().unwrap_or(Path::new("."));
    std::env::set_current_dir(root).map_err(|error| format!("cannot enter {}: {error}", root.display()))
}

#[cfg(test)]
mod tests {
    use super::{Task, parse};

    fn parsed(line: &str) -> Result<Task, String> {
        parse(line.split_whitespace().map(Into::into)).map_err(|error| error.to_string())
    }

    #[test]
    fn arguments_name_one_task() {
        assert_eq!(parsed("setup"), Ok(Task::Setup));
        assert_eq!(parsed("test"), Ok(Task::Test { quick: false }));
        assert_eq!(parsed("test --quick"), Ok(Task::Test { quick: true }));
        assert_eq!(parsed("test --help"), Ok(Task::Help));
        assert_eq!(parsed("web"), Ok(Task::Web { serve: false }));
        assert_eq!(parsed("web --serve"), Ok(Task::Web { serve: true }));
    }

    #[test]
    fn other_arguments_are_refused_by_name() {
        for (line, named) in [
            ("", "command is missing"),
            ("tset", "tset"),
            ("setup --quick", "--quick"),
            ("test extra", "extra"),
            ("web --quick", "--quick"),
            ("test --serve", "--serve"),
            ("--verbose test", "--verbose"),
        ] {
            let error = parsed(line).expect_err(line);
            assert!(error.contains(named), "{line:?}: {error}");
        }
    }
}
