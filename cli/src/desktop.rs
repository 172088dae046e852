//! `wordloom desktop`: starts the window, a separate program, to keep this one small.

use std::env::consts::EXE_SUFFIX;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::CliError;

const PROGRAM: &str = "wordloom-desktop";

#[derive(clap::Args)]
pub struct Arguments {
    /// A model's folder or a trace to open; --device and --state,
    /// as `wordloom-desktop --help` has them
    #[arg(
        value_name = "ARGUMENT",
        trailing_var_arg = true,
        allow_hyphen_values = true,
        verbatim_doc_comment
    )]
    arguments: Vec<OsString>,
}

/// Starts the window, waits until it is closed, and exits with its exit code.
pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let beside = std::env::current_exe().ok();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = beside.iter().filter_map(|own| own.parent().map(Path::to_owned));
    let program = find(folders.chain(std::env::split_paths(&path))).ok_or_else(|| {
        CliError::Input(format!(
            "there is no {PROGRAM} beside this program, nor in PATH; \
             `cargo build --release --package {PROGRAM}` builds it"
        ))
    })?;
    let status = Command::new(&program).args(&arguments.arguments).status();
    let status = status.map_err(|source| CliError::Io { what: format!("{}", program.display()), source })?;
    match status.code() {
        Some(0) => Ok(()),
        Some(code) => std::process::exit(code), // it has reported why
        None => Err(CliError::Input(format!("{PROGRAM} was ended by a signal"))),
    }
}

fn find(folders: impl Iterator<Item = PathBuf>) -> Option<PathBuf> {
    folders.map(|folder| folder.join(format!("{PROGRAM}{EXE_SUFFIX}"))).find(|program| program.is_file())
}
