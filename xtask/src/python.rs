//! The Python package: an environment for all tests that need Python, below `target/`, and the package's tests.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::checks::Check;
use crate::process::{self, cargo};

const ENVIRONMENT: &str = "target/python/environment";
const REQUIREMENTS: [&str; 2] = ["python/tests/requirements.txt", "cli/tests/clients/requirements.txt"];
/// Prints pytest's version if everything is there.
const PROBE: &str = "import deepl, deep_translator, libretranslatepy, numpy, polars, pyarrow, pytest; \
                     print('pytest', pytest.__version__)";

pub fn find() -> Option<String> {
    process::probe(Command::new(python()).args(["-c", PROBE]))
}

pub fn install() -> Result<(), String> {
    let advice = "install Python 3.10 or newer with venv (Debian: python3-venv)";
    let system = if cfg!(windows) { "python" } else { "python3" };
    let mut make = Command::new(system);
    make.args(["-m", "venv", ENVIRONMENT]);
    process::run_shown(&mut make).map_err(|failure| format!("{advice}: {failure}"))?;
    let mut install = Command::new(python());
    install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    install.args(REQUIREMENTS.iter().flat_map(|file| ["-r", file]));
    process::run_shown(&mut install).map_err(|failure| format!("pip: {failure}; run it again with a network"))
}

/// Builds the extension, then runs its tests.
pub fn checks() -> [Check; 2] {
    // With any test in the selection, cargo takes the features that `cargo test --workspace` takes, so that nothing is compiled
    // twice.
    let mut build = cargo();
    build.args(["build", "--workspace", "--locked", "--lib", "--test", "house"]);
    let mut tests = Command::new(python());
    tests.arg("python/tests/run.py").arg(library()).arg("target/python");
    [Check::new("module", build), Check::new("python", tests)]
}

/// The environment's interpreter.
fn python() -> PathBuf {
    Path::new(ENVIRONMENT).join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
}

/// The library that cargo makes of `python/`.
fn library() -> String {
    format!("target/debug/{DLL_PREFIX}wordloom_python{DLL_SUFFIX}")
}
