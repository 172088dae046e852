//! Rust tests in a browser: kernels and models on its WebGPU, and the CPU runner as WebAssembly.

use std::path::Path;
use std::process::Command;

use crate::checks::Check;
use crate::{chromium, wasm, wasm_bindgen};

/// The files of `tests/` that run natively and in a browser alike, with arguments that select some of a file's tests. Each run has a browser
/// of its own, two at a time, the longest first: a software GPU's compiler, which takes most of the time, has one thread.
/// (`default_model` could, too: the npm package's own tests compare its translations.)
const RUNS: [(&str, &[&str]); 5] = [
    ("kernels", &["--skip", "train::"]),
    ("model_parity", &[]),
    ("training_parity", &[]),
    ("kernels", &["train::"]),
    ("cpu_ops", &[]),
];

/// Builds and runs those tests with the runner of `.cargo/config.toml`, which reports what is missing.
pub fn check() -> Check {
    let test_runner = wasm_bindgen::tool("wasm-bindgen-test-runner");
    let cargo = |files: &[&str]| command(files, test_runner.as_deref(), chromium::path().as_deref());
    let mut build = cargo(&RUNS.map(|(file, _)| file));
    build.arg("--no-run");
    let run = |(file, selection): (&str, &[&str])| {
        let mut command = cargo(&[file]);
        command.arg("--").args(selection);
        command
    };
    Check::new("browser", build).then_two_at_a_time(RUNS.map(run).into())
}

fn command(files: &[&str], test_runner: Option<&Path>, chromium: Option<&Path>) -> Command {
    let mut arguments = vec!["test", "--locked", "--no-fail-fast", "--package", "wordloom"];
    arguments.extend(files.iter().flat_map(|file| ["--test", file]));
    let mut command = wasm::cargo_for_browsers(&arguments);
    for (name, path) in [("WASM_BINDGEN_TEST_RUNNER", test_runner), ("CHROMIUM", chromium)] {
        if let Some(path) = path {
            command.env(name, path);
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::PathBuf;

    use super::*;
    use crate::process;

    #[test]
    fn cargo_runs_the_tests_through_the_browser() {
        let line = process::line(&command(
            &["kernels", "model_parity"],
            Some(Path::new("a/runner")),
            Some(Path::new("/a/browser")),
        ));
        assert!(line.contains("CHROMIUM=/a/browser "), "{line}");
        assert!(line.contains("WASM_BINDGEN_TEST_RUNNER=a/runner "), "{line}");
        assert!(line.contains(" --test kernels --test model_parity "), "{line}");
        assert!(line.contains(" --target wasm32-unknown-unknown"), "{line}");
    }

    fn files_below(folder: &Path) -> Vec<PathBuf> {
        let entries = folder.read_dir().expect("a folder").map(|entry| entry.expect("an entry").path());
        entries.flat_map(|path| if path.is_dir() { files_below(&path) } else { vec![path] }).collect()
    }

    /// A test with the ordinary attribute would silently run only natively.
    #[test]
    fn no_test_of_these_files_is_native_only() {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests");
        for (name, _) in RUNS {
            let folder = tests.join(name);
            let files = match folder.is_dir() {
                true => files_below(&folder),
                false => vec![folder.with_extension("rs")],
            };
            for file in files {
                let text = fs::read_to_string(&file).expect("a test");
                assert!(!text.contains("#[test]"), "{}: use device_test or portable_test", file.display());
            }
        }
    }
}
