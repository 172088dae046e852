//! `wordloom licences`

use super::CliError;
use super::output::Output;

#[derive(clap::Args)]
pub struct Arguments {}

/// Prints the licences of what the program has from others.
pub fn run(_: &Arguments) -> Result<(), CliError> {
    let mut output = Output::open(None)?;
    output.bytes(wordloom_licences::text().as_bytes())
}
