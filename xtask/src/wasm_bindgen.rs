//! wasm-bindgen's programs, in exactly the version of the crate in Cargo.lock, which they require.

use std::env::consts::EXE_SUFFIX;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::process::{self, cargo};

/// The folder of installation, inside this repository.
const ROOT: &str = "target/tools";

pub fn find() -> Option<String> {
    let [main, _] = [tool("wasm-bindgen")?, tool("wasm-bindgen-test-runner")?];
    Some(format!("{} ({})", version()?, main.display()))
}

pub fn install() -> Result<(), String> {
    let version = version().ok_or("Cargo.lock has no wasm-bindgen")?;
    // Not `--locked`, because its lock file does not build.
    let mut command = cargo();
    command.args(["install", "wasm-bindgen-cli", "--version", &version, "--root", ROOT]);
    // It runs for seconds: most of the time that a full optimization takes would be lost.
    command.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "1");
    process::run_shown(&mut command)
        .map_err(|failure| format!("cargo: {failure}; run `{}`", process::line(&command)))
}

/// One of the programs: setup's, or else the PATH's if its version is right.
pub fn tool(name: &str) -> Option<PathBuf> {
    let version = version()?;
    let installed = Path::new(ROOT).join("bin").join(format!("{name}{EXE_SUFFIX}"));
    [installed, name.into()].into_iter().find_map(|path| {
        let line = process::probe(Command::new(&path).arg("--version"))?;
        // "wasm-bindgen 0.2.130", possibly followed by a commit
        (line.split_whitespace().nth(1) == Some(&version)).then_some(path)
    })
}

fn version() -> Option<String> {
    version_in(&fs::read_to_string("Cargo.lock").ok()?).map(str::to_owned)
}

fn version_in(lock: &str) -> Option<&str> {
    let mut lines = lock.lines().skip_while(|line| *line != r#"name = "wasm-bindgen""#).skip(1);
    lines.next()?.strip_prefix("version = \"")?.strip_suffix('"')
}

#[cfg(test)]
mod tests {
    use super::version_in;

    #[test]
    fn the_version_is_that_of_the_lock_file() {
        let lock = "[[package]]\nname = \"wasm-bindgen-shared\"\nversion = \"0.1.0\"\n\n\
                    [[package]]\nname = \"wasm-bindgen\"\nversion = \"0.2.130\"\nsource = \"registry\"\n";
        assert_eq!(version_in(lock), Some("0.2.130"));
        assert_eq!(version_in("[[package]]\nname = \"serde\"\nversion = \"1.0.0\"\n"), None);
    }
}
