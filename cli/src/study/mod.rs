//! `wordloom study`: experiments that train small models or look into large ones, and say what a paper claims beside what was
//! measured.
//!
//! One file or folder per study. They share the writer of pages ([`report`]), figures ([`differences`]), the log of runs
//! ([`runs`]), the statistics, and the training of miniatures.

mod differences;
mod material;
mod miniature;
mod report;
mod runs;
mod statistics;
mod table3;

use super::CliError;

#[derive(clap::Args)]
pub struct Arguments {
    #[command(subcommand)]
    study: Study,
}

#[derive(clap::Subcommand)]
enum Study {
    /// Table 3 of "Attention Is All You Need": heads, layers, dropout
    Table3(Box<table3::Arguments>),
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.study {
        Study::Table3(arguments) => table3::run(arguments),
    }
}
