//! Running other programs: shown before they run, without input, some within a time limit.

use std::ffi::OsStr;
use std::fmt;
use std::io;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::Mutex;
use std::thread;
use std::time::{Duration, Instant};

/// The reason why a program failed.
#[derive(Debug)]
pub enum Failure {
    Start(io::Error),
    Status(ExitStatus),
    Late(Duration),
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::Start(error) => write!(f, "could not be run: {error}"),
            Failure::Status(status) => write!(f, "{status}"),
            Failure::Late(limit) => write!(f, "stopped after {} s", limit.as_secs()),
        }
    }
}

/// The cargo that runs this program, so that its toolchain (`cargo +NAME xtask`) is tested.
///
/// Without the variables about this program: build scripts (that of `ring`) take them for their own, and everything above
/// them would be compiled again after each change between `cargo` and `cargo xtask`.
pub fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    for (name, _) in std::env::vars_os() {
        let text = name.to_string_lossy();
        if ["CARGO_PKG_", "CARGO_MANIFEST_"].iter().any(|start| text.starts_with(start)) {
            command.env_remove(&name);
        }
    }
    command
}

/// [`cargo`] with these arguments, which have no spaces.
pub fn cargo_command(arguments: &str) -> Command {
    let mut command = cargo();
    command.args(arguments.split_whitespace());
    command
}

/// Runs `command` with visible output and empty input, because no command may wait for an answer.
pub fn run(command: &mut Command) -> Result<(), Failure> {
    finished(start(command)?.wait())
}

/// As [`run`], and prints the command first.
pub fn run_shown(command: &mut Command) -> Result<(), Failure> {
    anstream::println!("    $ {}", line(command));
    run(command)
}

/// As [`run_shown`], but `command` is stopped when `limit` has passed.
pub fn run_within(limit: Duration, command: &mut Command) -> Result<(), Failure> {
    anstream::println!("    $ {}", line(command));
    let begun = Instant::now();
    let mut child = start(command)?;
    loop {
        match child.try_wait() {
            Ok(None) if begun.elapsed() < limit => thread::sleep(Duration::from_millis(50)),
            Ok(None) => {
                // It may have ended already.
                let _ = child.kill();
                let _ = child.wait();
                return Err(Failure::Late(limit));
            }
            Ok(Some(status)) => return finished(Ok(status)),
            Err(error) => return Err(Failure::Start(error)),
        }
    }
}

/// Runs `commands`, `workers` of them at a time, and shows each output at its end. All run, also after a failure.
pub fn run_side_by_side(commands: Vec<Command>, workers: usize) -> Result<(), Failure> {
    let run_quietly = |mut command: Command| {
        let output = command.stdin(Stdio::null()).output().map_err(Failure::Start)?;
        anstream::print!("    $ {}\n{}", line(&command), String::from_utf8_lossy(&output.stdout));
        anstream::eprint!("{}", String::from_utf8_lossy(&output.stderr));
        finished(Ok(output.status))
    };
    let queue = Mutex::new(commands.into_iter());
    let next = || queue.lock().expect("no worker panics").next();
    let work = || std::iter::from_fn(next).map(run_quietly).collect::<Vec<_>>();
    thread::scope(|scope| {
        let running: Vec<_> = (0..workers).map(|_| scope.spawn(work)).collect();
        let outcomes: Vec<_> =
            running.into_iter().flat_map(|thread| thread.join().expect("it does not panic")).collect();
        outcomes.into_iter().collect()
    })
}

/// The output of `command`, which is not shown; `None` if it cannot be run or fails.
pub fn probe(command: &mut Command) -> Option<String> {
    let output = command.stdin(Stdio::null()).stderr(Stdio::null()).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

/// The command as in a shell: `NAME=value program arguments`.
pub fn line(command: &Command) -> String {
    let variables = command.get_envs().filter_map(|(name, value)| {
        Some(format!("{}={}", name.to_string_lossy(), quoted(&value?.to_string_lossy())))
    });
    let program = Path::new(command.get_program()).file_stem().map(OsStr::to_string_lossy);
    let arguments = command.get_args().map(|argument| quoted(&argument.to_string_lossy()));
    variables.chain(program.map(Into::into)).chain(arguments).collect::<Vec<String>>().join(" ")
}

fn start(command: &mut Command) -> Result<Child, Failure> {
    command.stdin(Stdio::null()).spawn().map_err(Failure::Start)
}

fn finished(status: io::Result<ExitStatus>) -> Result<(), Failure> {
    match status.map_err(Failure::Start)? {
        status if status.success() => Ok(()),
        status => Err(Failure::Status(status)),
    }
}

fn quoted(word: &str) -> String {
    if word.is_empty() || word.contains(char::is_whitespace) {
        format!("\"{word}\"")
    } else {
        word.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_can_be_typed_as_it_is_shown() {
        let mut command = Command::new("/some/where/cargo");
        command.args(["doc", "--no-deps"]).env("RUSTDOCFLAGS", "-D warnings").env_remove("HOME");
        assert_eq!(line(&command), "RUSTDOCFLAGS=\"-D warnings\" cargo doc --no-deps");
    }

    #[test]
    fn a_missing_program_is_a_failure() {
        let missing = || Command::new("wordloom-no-such-program");
        assert!(matches!(run(&mut missing()), Err(Failure::Start(_))));
        assert_eq!(probe(&mut missing()), None);
    }

    #[test]
    fn a_failing_program_gives_its_status() {
        let wrong = || {
            let mut command = cargo();
            command.arg("--no-such-option").stderr(Stdio::null());
            command
        };
        assert!(matches!(run(&mut wrong()), Err(Failure::Status(_))));
        assert_eq!(probe(&mut wrong()), None);
    }

    #[test]
    fn a_probe_gives_what_was_printed() {
        let version = probe(cargo().arg("--version")).expect("cargo runs this test");
        assert!(version.starts_with("cargo "), "{version}");
    }

    #[test]
    fn programs_side_by_side_all_end_well_or_the_first_failure_is_told() {
        let version = || {
            let mut command = cargo();
            command.arg("--version");
            command
        };
        let missing = || Command::new("wordloom-no-such-program");
        assert!(run_side_by_side(vec![version(), version(), version()], 2).is_ok());
        let outcome = run_side_by_side(vec![version(), version(), missing()], 2);
        assert!(matches!(outcome, Err(Failure::Start(_))));
    }

    #[cfg(unix)]
    #[test]
    fn a_late_program_is_stopped() {
        let begun = Instant::now();
        let limit = Duration::from_millis(100);
        let outcome = run_within(limit, Command::new("sleep").arg("60"));
        assert!(matches!(outcome, Err(Failure::Late(_))), "{outcome:?}");
        assert!(begun.elapsed() < Duration::from_secs(30));
    }
}
