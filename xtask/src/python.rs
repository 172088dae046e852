//! The Python package: an environment for all tests that need Python, below `target/`, and the package's tests.

use std::env::consts::{DLL_PREFIX, DLL_SUFFIX};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::checks::Check;
use crate::process::{self, cargo};

/// A virtual environment below `target/`, with the packages that some tests need.
pub struct Environment {
    pub folder: &'static str,
    pub requirements: &'static [&'static str],
    /// Prints a version if everything is there.
    pub probe: &'static str,
}

const TESTS: Environment = Environment {
    folder: "target/python/environment",
    requirements: &["python/tests/requirements.txt", "cli/tests/clients/requirements.txt"],
    probe: "import deepl, deep_translator, libretranslatepy, numpy, polars, pyarrow, pytest; \
            print('pytest', pytest.__version__)",
};

pub fn find() -> Option<String> {
    TESTS.find()
}

pub fn install() -> Result<(), String> {
    TESTS.install()
}

/// Builds the extension and the command, which one test compares with it. Then runs the tests.
pub fn checks() -> [Check; 2] {
    // With any test in the selection, cargo takes the features that `cargo test --workspace` takes, so that nothing is compiled
    // twice.
    let mut build = cargo();
    build.args(["build", "--workspace", "--locked", "--lib", "--test", "house", "--bin", "wordloom"]);
    [Check::new("module", build), Check::new("python", TESTS.tests("target/python", "python/tests"))]
}

impl Environment {
    /// The version that the probe prints.
    pub fn find(&self) -> Option<String> {
        process::probe(Command::new(self.python()).args(["-c", self.probe]))
    }

    /// Makes the environment, and installs its packages.
    pub fn install(&self) -> Result<(), String> {
        let advice = "install Python 3.10 or newer with venv (Debian: python3-venv)";
        let system = if cfg!(windows) { "python" } else { "python3" };
        let mut make = Command::new(system);
        make.args(["-m", "venv", self.folder]);
        process::run_shown(&mut make).map_err(|failure| format!("{advice}: {failure}"))?;
        let mut install = Command::new(self.python());
        install.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
        install.args(self.requirements.iter().flat_map(|file| ["-r", file]));
        process::run_shown(&mut install)
            .map_err(|failure| format!("pip: {failure}; run it again with a network"))
    }

    /// The tests of a folder, on the package that is put together in `package` from its files and cargo's library.
    pub fn tests(&self, package: &str, tests: &str) -> Command {
        let mut command = Command::new(self.python());
        command.arg("python/tests/run.py").arg(library()).args([package, tests]);
        command
    }

    /// The environment's interpreter.
    fn python(&self) -> PathBuf {
        Path::new(self.folder).join(if cfg!(windows) { "Scripts/python.exe" } else { "bin/python" })
    }
}

/// The library that cargo makes of `python/`.
fn library() -> String {
    format!("target/debug/{DLL_PREFIX}wordloom_python{DLL_SUFFIX}")
}
