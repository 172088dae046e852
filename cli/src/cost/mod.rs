//! `wordloom cost`: parameters, multiplications, memory and the cost of a training, from a configuration alone.

mod modules;
mod training;

use std::path::PathBuf;

use serde_json::json;
use wordloom::Model;
use wordloom::model::config::{Architecture, ModelConfig};
use wordloom::model::files::ModelFiles;
use wordloom::readable::{counted, grouped};

use super::CliError;
use super::output::Output;
use super::setup::ModelArgument;
use super::table::table;
use modules::{Lengths, Module, cache_bytes, modules, total};
use training::{Rule, Training};

#[derive(clap::Args)]
#[command(after_help = "\
Multiplications are those of one source and its given target. A training's
operations are hours × GPUs × --tflops, as in section 6.1 of \"Attention Is All
You Need\" (its values: 2.8 K80, 3.7 K40, 6.0 M40, 9.5 P100); with --steps, also
the arithmetic: three forward passes of two operations a multiplication.

Example: the paper's base model
  wordloom cost --config configs/table-3/base.json --hours 12 --steps 100000")]
pub struct Arguments {
    #[command(flatten)]
    model: ModelArgument,
    /// A config.json alone
    #[arg(long, value_name = "FILE", conflicts_with_all = ["model", "named"])]
    config: Option<PathBuf>,
    /// Tokens of the source [default: 32]
    #[arg(long, value_name = "N", value_parser = tokens)]
    source: Option<u64>,
    /// Tokens of the target [default: 32]
    #[arg(long, value_name = "N", value_parser = tokens)]
    target: Option<u64>,
    /// Hours of a training
    #[arg(long, value_name = "H", value_parser = amount)]
    hours: Option<f64>,
    /// GPUs of the training
    #[arg(long, value_name = "N", value_parser = amount, default_value = "8", requires = "hours")]
    gpus: f64,
    /// TFLOPS that a GPU sustains
    #[arg(long, value_name = "X", value_parser = amount, default_value = "9.5", requires = "hours")]
    tflops: f64,
    /// Steps of a training
    #[arg(long, value_name = "N", value_parser = tokens)]
    steps: Option<u64>,
    /// Target tokens of a step
    #[arg(long, value_name = "N", value_parser = tokens, default_value = "25000", requires = "steps")]
    batch: u64,
    /// Write JSON
    #[arg(long)]
    json: bool,
}

/// Tokens of a source or a target, if none are given and the model has positions for them.
const TOKENS: u64 = 32;
/// Largest number of tokens, steps or batches: products of them and of weights stay in range.
const MOST: u64 = 1 << 40;

fn tokens(text: &str) -> Result<u64, &'static str> {
    let number = text.parse().ok().filter(|number| (1..=MOST).contains(number));
    number.ok_or("a whole number from 1 to 2^40 is needed")
}

fn amount(text: &str) -> Result<f64, &'static str> {
    let number = text.parse().ok().filter(|number: &f64| *number > 0.0 && *number <= 1e15);
    number.ok_or("a number above 0, and 1e15 at most, is needed")
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let config = match &arguments.config {
        Some(file) => ModelConfig::from_files(&ModelFiles::configuration(file))?,
        // the files of a model know more than its configuration: whether tensors are tied
        None => Model::from_files(arguments.model.files()?)?.config().clone(),
    };
    check_lengths(arguments, &config)?;
    let limit = config.positions.count() as u64;
    let length = |option: &str, asked: Option<u64>| match asked {
        Some(length) if length > limit => {
            let message = format!("{option} is {length}; the model has positions for {limit} tokens at most");
            Err(CliError::Usage(message))
        }
        asked => Ok(asked.unwrap_or(TOKENS.min(limit))),
    };
    let source = length("--source", arguments.source)?;
    let lengths = Lengths { source, target: length("--target", arguments.target)? };
    let modules = modules(&config, lengths);
    let training = Training {
        rule: arguments.hours.map(|hours| Rule { hours, gpus: arguments.gpus, tflops: arguments.tflops }),
        arithmetic: arguments.steps.map(|steps| {
            training::arithmetic(total(&modules).multiplications, lengths.target, arguments.batch, steps)
        }),
    };
    let mut output = Output::open(None)?;
    match arguments.json {
        true => output.json(&as_json(&config, lengths, &modules, &training))?,
        false => text(&config, lengths, &modules, &training, &mut output)?,
    }
    output.flush()
}

/// Refuses the length of a text that the model does not read.
fn check_lengths(arguments: &Arguments, config: &ModelConfig) -> Result<(), CliError> {
    let (option, given, missing, other) = match config.architecture() {
        Architecture::EncoderDecoder => return Ok(()),
        Architecture::DecoderOnly => ("--source", arguments.source, "encoder", "--target"),
        Architecture::EncoderOnly => ("--target", arguments.target, "decoder", "--source"),
    };
    match given {
        None => Ok(()),
        Some(_) => Err(CliError::Usage(format!(
            "{option} is given, but a {:?} model has no {missing}; {other} is the length of its text",
            config.family.model_type()
        ))),
    }
}

fn as_json(
    config: &ModelConfig,
    lengths: Lengths,
    modules: &[Module],
    training: &Training,
) -> serde_json::Value {
    let all = total(modules);
    json!({
        "model_type": config.family.model_type(),
        "source": lengths.source,
        "target": lengths.target,
        "modules": modules,
        "parameters": all.parameters,
        "multiplications": all.multiplications as f64,
        "cache_bytes": cache_bytes(config, lengths),
        "training": training.json(),
    })
}

fn text(
    config: &ModelConfig,
    lengths: Lengths,
    modules: &[Module],
    training: &Training,
    output: &mut Output,
) -> Result<(), CliError> {
    let Lengths { source, target } = lengths;
    let tokens = match config.architecture() {
        Architecture::EncoderDecoder => {
            format!("{}, {}", counted(source, "source token"), counted(target, "target token"))
        }
        Architecture::DecoderOnly => counted(target, "token"),
        Architecture::EncoderOnly => counted(source, "token"),
    };
    output.line(&format!("{}, {tokens}", config.family.model_type()))?;
    let all = total(modules);
    let share =
        |part: f64, all: f64| if all > 0.0 { format!("{:.1} %", 100.0 * part / all) } else { "–".into() };
    let row = |module: &Module| {
        vec![
            module.name.to_owned(),
            grouped(module.parameters),
            share(module.parameters as f64, all.parameters as f64),
            grouped(module.multiplications),
            share(module.multiplications as f64, all.multiplications as f64),
        ]
    };
    let header = ["module", "parameters", "", "multiplications", ""];
    table(output, 1, &header, modules.iter().map(row).chain([row(&all)]))?;
    let cache = cache_bytes(config, lengths);
    output.line(&format!(
        "\nkeys and values of a search, f32: {} bytes of the target, {} bytes of the source",
        grouped(cache.of_target),
        grouped(cache.of_source)
    ))?;
    training.lines().iter().try_for_each(|line| output.line(line))
}
