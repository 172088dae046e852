//! The commands from outside: output, exit codes, and one line on stderr for every invalid input. The real binary runs on the
//! CPU, except that `bench` and `check` use a GPU adapter.

#[path = "../../../tests/common/mod.rs"]
mod common;

mod align;
mod attend;
mod bench;
mod check;
mod corpus;
mod cost;
mod damaged_models;
mod desktop;
mod documents;
mod evaluate;
mod explain;
mod first_translation;
mod forward;
mod generate;
mod help;
mod inspect;
mod interrupt;
mod languages;
mod lost_devices;
mod models;
mod quantize;
mod resume;
mod same_file;
mod score;
mod serve;
mod serve_api;
mod serve_clients;
mod study;
mod study_inside;
mod summarize;
mod switches;
mod tokenize;
mod train;
mod translate;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// The binary, with everything piped.
fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_wordloom"));
    command.env("WORDLOOM_PIPELINE_CACHE", "off"); // tests leave nothing in the user's folders
    // nor do they look there, or ask a network
    command.env("HF_HOME", "/none/such").env("WORDLOOM_MODELS", "/none/such").env("HF_HUB_OFFLINE", "1");
    for variable in ["HF_HUB_CACHE", "HF_TOKEN", "HF_ENDPOINT", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME"] {
        command.env_remove(variable);
    }
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// Runs the binary with a standard input until it ends.
fn run(arguments: &[&str], stdin: impl AsRef<[u8]> + Send) -> Run {
    run_with(arguments, stdin, &[])
}

/// As [`run`], with these variables of the environment.
fn run_with(arguments: &[&str], stdin: impl AsRef<[u8]> + Send, environment: &[(&str, &str)]) -> Run {
    let mut command = command(arguments);
    command.envs(environment.iter().copied());
    ended(command, arguments, stdin)
}

/// As [`run`], in a folder.
fn run_in(folder: &Path, arguments: &[&str], stdin: impl AsRef<[u8]> + Send) -> Run {
    let mut command = command(arguments);
    command.current_dir(folder);
    ended(command, arguments, stdin)
}

fn ended(mut command: Command, arguments: &[&str], stdin: impl AsRef<[u8]> + Send) -> Run {
    let mut child = command.spawn().expect("the binary starts");
    let mut pipe = child.stdin.take().expect("stdin is piped");
    let output = std::thread::scope(|scope| {
        scope.spawn(move || pipe.write_all(stdin.as_ref()).is_ok()); // a command that fails may not read all of it
        child.wait_with_output()
    });
    Run { what: arguments.join(" "), output: output.expect("the binary ends") }
}

/// The result of a run of the binary.
struct Run {
    what: String,
    output: Output,
}

impl Run {
    fn stdout(&self) -> &str {
        std::str::from_utf8(&self.output.stdout).expect("UTF-8 on stdout")
    }

    fn stderr(&self) -> &str {
        std::str::from_utf8(&self.output.stderr).expect("UTF-8 on stderr")
    }

    /// Checks that the run succeeded and that stderr has only notices. Returns stdout.
    #[track_caller]
    fn succeeds(&self) -> &str {
        assert_eq!(self.output.status.code(), Some(0), "{}: {}", self.what, self.stderr());
        let noise = self.stderr().lines().find(|line| !is_remark(line));
        assert_eq!(noise, None, "{}", self.what);
        self.stdout()
    }

    /// Checks the exit code, and that stderr ends with one line `error: …` with all `parts`. Returns stdout.
    #[track_caller]
    fn fails(&self, code: i32, parts: &[&str]) -> &str {
        let stderr = self.stderr();
        assert_eq!(self.output.status.code(), Some(code), "{}: {stderr}", self.what);
        let lines: Vec<&str> = stderr.lines().filter(|line| !is_remark(line)).collect();
        let [line] = lines[..] else { panic!("{}: not one line: {stderr}", self.what) };
        assert!(line.starts_with("error: ") && line.len() < 2000, "{}: {line}", self.what);
        for part in parts {
            assert!(line.contains(part), "{}: {part:?} is not in: {line}", self.what);
        }
        self.stdout()
    }
}

/// Whether a line is a notice about the device, a download, the language or the model, or a warning, which random weights
/// often cause.
fn is_remark(line: &str) -> bool {
    let notices = [
        "warning: ",
        "note: ",
        "attention: ",
        "compared with ",
        "fetching ",
        "detected: ",
        "model: ",
        "no direct model: ",
        "no fetched models are in ",
    ];
    line == "running on CPU (asked for)" || notices.iter().any(|notice| line.starts_with(notice))
}

/// A new folder for one test.
fn scratch(test: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("cli").join(test);
    let _ = std::fs::remove_dir_all(&folder);
    std::fs::create_dir_all(&folder).expect("a scratch folder");
    folder
}

/// A path as an argument.
fn text(path: &std::path::Path) -> &str {
    path.to_str().expect("a path in UTF-8")
}

/// A stored model's folder, as an argument.
fn model(name: &str) -> String {
    text(&common::data("models").join(name)).to_owned()
}
