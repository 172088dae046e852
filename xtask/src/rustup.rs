//! Parts of the Rust toolchain in use, through rustup.

use std::process::Command;
use std::time::Duration;

use crate::process::{self, Failure};

/// Time limit of a download: it takes seconds, but without its server rustup gives up late.
const LIMIT: Duration = Duration::from_secs(120);

/// Runs rustup with `arguments`, and prints the command first.
///
/// # Errors
/// One line with the failure and what the user can do.
pub fn run(arguments: &[&str]) -> Result<(), String> {
    let mut command = Command::new("rustup");
    command.args(arguments);
    process::run_within(LIMIT, &mut command).map_err(|failure| advice(&failure, &process::line(&command)))
}

fn advice(failure: &Failure, line: &str) -> String {
    match failure {
        Failure::Start(_) => format!("install rustup (https://rustup.rs), then run `{line}`"),
        Failure::Status(_) | Failure::Late(_) => {
            format!("rustup: {failure}; run `{line}` where its server can be reached")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn advice_names_the_command_to_run() {
        let missing = Failure::Start(std::io::ErrorKind::NotFound.into());
        for failure in [missing, Failure::Late(LIMIT)] {
            let advice = advice(&failure, "rustup component add clippy");
            assert!(advice.contains("run `rustup component add clippy`"), "{advice}");
        }
    }
}
