//! The `wordloom` command: arguments → calls → exit code. One file per command.

mod align;
mod attend;
mod average;
mod bench;
mod bounded;
mod check;
mod choice;
mod closed_output;
mod corpus;
mod cost;
mod desktop;
mod devices;
mod digest;
mod error;
mod evaluate;
mod explain;
mod forward;
mod generate;
mod glossary;
mod inspect;
mod interrupt;
mod licences;
mod lines;
mod masks;
mod memory;
mod models;
mod output;
mod progress;
mod quantize;
mod resume;
mod score;
mod serve;
mod setup;
mod study;
mod summarize;
mod table;
mod tokenize;
mod train;
mod translate;

use std::io::{self, Write};
use std::process::ExitCode;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use error::CliError;

// Help texts have 80 columns and fit one screen; a test checks this.

/// Run and see encoder–decoder Transformers on any GPU
#[derive(Parser)]
#[command(
    name = "wordloom",
    version,
    help_template = "\
{about}
{usage-heading} {usage}
Commands:
{subcommands}
-h after a command: its options. --model: a folder or a name (see models).
--device auto: GPU, else CPU. Exit: 0 done, 1 failed, 2 usage, 130 interrupted."
)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Translate text, a line out per line in
    Translate(translate::Arguments),
    /// Translate millions of rows: Parquet, JSON Lines, CSV, TSV
    Corpus(Box<corpus::Arguments>),
    /// Summarize a document, read as a whole
    Summarize(summarize::Arguments),
    /// Generate from token ids: JSON Lines in, JSON Lines out
    Generate(generate::Arguments),
    /// Run given sources and targets: logits, states and attention
    Forward(forward::Arguments),
    /// Look at the attention of a translation
    Attend(attend::Arguments),
    /// Explain one attention, number by number
    Explain(explain::Arguments),
    /// Say which word was translated to which: Pharaoh lines
    Align(align::Arguments),
    /// Turn text into token ids, or ids into text
    Tokenize(tokenize::Arguments),
    /// Ask a model how probable given texts are
    Score(score::Arguments),
    /// Compare texts with references: BLEU, chrF, ROUGE
    Evaluate(evaluate::Arguments),
    /// List the models that are here; get, remove, verify some
    Models(models::Arguments),
    /// List what models can run on
    Devices(devices::Arguments),
    /// Check every kernel of a GPU against the CPU
    Check(check::Arguments),
    /// Show a model's shape, parameters and memory
    Inspect(inspect::Arguments),
    /// Count parameters, multiplications, memory, training
    Cost(cost::Arguments),
    /// Write a model again with 8-bit weights, a quarter of f32
    Quantize(quantize::Arguments),
    /// Train a model on sentence pairs, or train one further
    Train(Box<train::Arguments>),
    /// Write the mean of several checkpoints of a training
    Average(average::Arguments),
    /// Try claims of papers on a model, or on miniatures that it trains
    Study(study::Arguments),
    /// Measure how fast a model runs here
    Bench(bench::Arguments),
    /// Serve the page to a browser: translate as you type
    Serve(serve::Arguments),
    /// Open the window: translate as you type, see the attention
    Desktop(desktop::Arguments),
    /// Print the licences of what this program is made of
    Licences(licences::Arguments),
}

/// Exit code 0: done; 1: failed; 2: bad usage; 130: interrupted.
fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    hush_device_selection();
    #[cfg(unix)]
    survive_file_size_limit();
    #[cfg(feature = "tokenizers")]
    hush_caught_panics();
    let arguments = match parsed() {
        Ok(arguments) => arguments,
        Err(error) => return error::report_usage(&error),
    };
    let result = match arguments.command {
        Command::Translate(arguments) => translate::run(arguments),
        Command::Corpus(arguments) => corpus::run(&arguments),
        Command::Summarize(arguments) => summarize::run(&arguments),
        Command::Generate(arguments) => generate::run(&arguments),
        Command::Forward(arguments) => forward::run(&arguments),
        Command::Attend(arguments) => attend::run(&arguments),
        Command::Explain(arguments) => explain::run(&arguments),
        Command::Align(arguments) => align::run(&arguments),
        Command::Tokenize(arguments) => tokenize::run(&arguments),
        Command::Score(arguments) => score::run(&arguments),
        Command::Evaluate(arguments) => evaluate::run(&arguments),
        Command::Models(arguments) => models::run(&arguments),
        Command::Devices(arguments) => devices::run(&arguments),
        Command::Check(arguments) => check::run(&arguments),
        Command::Inspect(arguments) => inspect::run(&arguments),
        Command::Cost(arguments) => cost::run(&arguments),
        Command::Quantize(arguments) => quantize::run(&arguments),
        Command::Train(arguments) => train::run(&arguments),
        Command::Average(arguments) => average::run(&arguments),
        Command::Study(arguments) => study::run(&arguments),
        Command::Bench(arguments) => bench::run(&arguments),
        Command::Serve(arguments) => serve::run(&arguments),
        Command::Desktop(arguments) => desktop::run(&arguments),
        Command::Licences(arguments) => licences::run(&arguments),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => error.report(),
    }
}

/// The arguments of the command line. A negative number is a value of every option, so that the option names what it takes.
fn parsed() -> Result<Arguments, clap::Error> {
    fn with_negative_numbers(command: clap::Command) -> clap::Command {
        let of_option = |argument: clap::Arg| match argument.get_long() {
            Some(_) if argument.get_action().takes_values() => argument.allow_negative_numbers(true),
            _ => argument,
        };
        command.mut_args(of_option).mut_subcommands(with_negative_numbers)
    }
    let mut command = with_negative_numbers(Arguments::command());
    let matches = command.try_get_matches_from_mut(std::env::args_os());
    let arguments = matches.and_then(|mut matches| Arguments::from_arg_matches_mut(&mut matches));
    arguments.map_err(|error| error.format(&mut command))
}

/// A line on stderr. A failure is ignored.
fn notice(line: &str) {
    let _ = writeln!(io::stderr(), "{line}");
}

/// Hides an "error" of Mesa's device-selection layer, which cannot ask for the desktop's GPU without a session.
#[cfg(target_os = "linux")]
#[allow(unsafe_code, reason = "the environment can be set in no other way")]
fn hush_device_selection() {
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        // SAFETY: this is the first act of the process; no other thread reads the environment yet.
        unsafe { std::env::set_var("NODEVICE_SELECT", "1") }
    }
}

/// Makes a write beyond the limit on file sizes (`ulimit -f`) an error of the write. By default the signal ends the process
/// without a word.
#[cfg(unix)]
#[allow(unsafe_code, reason = "a signal's default can be changed in no other way")]
fn survive_file_size_limit() {
    use nix::sys::signal::{SigHandler, Signal, signal};
    // SAFETY: the signal is ignored; no handler runs.
    let _ = unsafe { signal(Signal::SIGXFSZ, SigHandler::SigIgn) };
}

/// Hides panics that the library catches and returns as errors. Every other panic is shown: it is a defect.
#[cfg(feature = "tokenizers")]
fn hush_caught_panics() {
    let show = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !wordloom::text::panic_is_caught() {
            show(panic);
        }
    }));
}
