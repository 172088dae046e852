//! Arguments → calls → exit code. One file per command.

mod devices;
mod error;
mod forward;
mod generate;
mod inspect;
mod interrupt;
mod lines;
mod output;
mod progress;
mod setup;
mod tokenize;
mod translate;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

use error::CliError;

/// Run and see encoder–decoder Transformers on any GPU.
#[derive(Parser)]
#[command(name = "wordloom", version, about, max_term_width = 110)]
#[command(after_help = "Examples:
  wordloom translate \"Where is the train station?\"
  wordloom translate --input book.txt --output buch.txt --device gpu
  echo '{\"input_ids\": [42, 91, 212, 46, 0]}' | wordloom generate")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Translate text: arguments, a file, or standard input; a line out per line in
    Translate(translate::Arguments),
    /// Search for outputs of token ids: JSON Lines in, JSON Lines out, under the names of Hugging Face's generate
    Generate(generate::Arguments),
    /// One teacher-forced pass over given sources and targets: logits, hidden states and every attention map
    Forward(forward::Arguments),
    /// Turn text into token ids, or ids into text
    Tokenize(tokenize::Arguments),
    /// List the devices that models can run on
    Devices(devices::Arguments),
    /// Show a model's shape, parameters and memory
    Inspect(inspect::Arguments),
}

/// Runs the command that the arguments ask for. Exit code 0: done; 1: failed; 2: bad usage; 130: interrupted.
pub fn run() -> ExitCode {
    let arguments = Arguments::parse(); // exits with 2 on bad usage, after saying why
    let result = match arguments.command {
        Command::Translate(arguments) => translate::run(arguments),
        Command::Generate(arguments) => generate::run(arguments),
        Command::Forward(arguments) => forward::run(arguments),
        Command::Tokenize(arguments) => tokenize::run(arguments),
        Command::Devices(arguments) => devices::run(arguments),
        Command::Inspect(arguments) => inspect::run(arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}
