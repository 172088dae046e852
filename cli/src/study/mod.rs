//! `wordloom study`: experiments that train small models or look into large ones, and say what a paper claims beside what was
//! measured.
//!
//! One file or folder per study. They share the writer of pages ([`report`]), figures ([`chart`], [`differences`], [`figures`]), logs and
//! statistics. `table3` and `norms` train miniatures; the studies of [`inside`] look into a model of the user.

mod chart;
mod differences;
mod figures;
mod inside;
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
    #[command(after_help = table3::TABLE_3.help)]
    Table3(Box<table3::Arguments>),
    /// Batch norm against layer norm, in miniatures
    #[command(after_help = table3::NORMS.help)]
    Norms(Box<table3::Arguments>),
    /// Variance of q·k before and after 1/√d_k; saturation without it
    Scale(Box<inside::Arguments>),
    /// Whether q of a and k of b are as k of a and q of b
    Symmetry(Box<inside::Arguments>),
    /// Components of W_Q·W_Kᵀ, by head and of all heads
    Projections(Box<inside::Arguments>),
    /// Singular values of attention matrices of long texts
    Spectrum(Box<inside::Arguments>),
    /// Shuffled tokens, no positions, longer texts; PE(p + k) from PE(p)
    Order(Box<inside::Arguments>),
    /// Positional, rare-word and syntactic heads; decoder layers
    Roles(Box<inside::Arguments>),
    /// BLEU and loss while heads are removed in order of importance
    Pruning(Box<inside::Arguments>),
    /// Attention, rollout, occlusion and value-zeroing; word alignment
    Explanation(Box<inside::Arguments>),
    /// How well a linear probe recovers a layer's input from its heads
    Content(Box<inside::Arguments>),
    /// Distance of tokens by depth, with skips and without
    Collapse(Box<inside::Arguments>),
    /// What a model learns with its norms alone
    LayerNorm(Box<inside::layer_norm::Arguments>),
    /// All studies that look inside a model
    All(Box<inside::AllArguments>),
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    match &arguments.study {
        Study::Table3(arguments) => table3::run(&table3::TABLE_3, arguments),
        Study::Norms(arguments) => table3::run(&table3::NORMS, arguments),
        Study::Scale(arguments) => inside::run("scale", arguments),
        Study::Symmetry(arguments) => inside::run("symmetry", arguments),
        Study::Projections(arguments) => inside::run("projections", arguments),
        Study::Spectrum(arguments) => inside::run("spectrum", arguments),
        Study::Order(arguments) => inside::run("order", arguments),
        Study::Roles(arguments) => inside::run("roles", arguments),
        Study::Pruning(arguments) => inside::run("pruning", arguments),
        Study::Explanation(arguments) => inside::run("explanation", arguments),
        Study::Content(arguments) => inside::run("content", arguments),
        Study::Collapse(arguments) => inside::run("collapse", arguments),
        Study::LayerNorm(arguments) => inside::layer_norm::run(arguments),
        Study::All(arguments) => inside::run_all(arguments),
    }
}
