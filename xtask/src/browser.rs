//! Rust tests in a browser: kernels and models on its WebGPU, and the CPU runner as WebAssembly.

use std::path::Path;
use std::process::Command;

use crate::checks::Check;
use crate::{chromium, wasm, wasm_bindgen};

/// The files of `tests/` that run natively and in a browser alike, for each of two browsers side by side: a software
/// GPU's compiler, which takes most of the time, has one thread. (`default_model` could, too: the npm package's own
/// tests compare its translations.)
const TESTS: [&[&str]; 2] = [&["kernels"], &["cpu_ops", "model_parity", "training_parity"]];

/// Builds and runs those tests with the runner of `.cargo/config.toml`, which reports what is missing.
pub fn check() -> Check {
    let test_runner = wasm_bindgen::tool("wasm-bindgen-test-runner");
    let run = |tests: &[&str]| command(tests, test_runner.as_deref(), chromium::path().as_deref());
    let mut build = run(&TESTS.concat());
    build.arg("--no-run");
    Check::new("browser", build).then_side_by_side(TESTS.map(run).into())
}

fn command(tests: &[&str], test_runner: Option<&Path>, chromium: Option<&Path>) -> Command {
    let mut arguments = vec!["test", "--locked", "--no-fail-fast", "--package", "wordloom"];
    arguments.extend(tests.iter().flat_map(|test| ["--test", test]));
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
        for test in TESTS.concat() {
            let folder = tests.join(test);
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
