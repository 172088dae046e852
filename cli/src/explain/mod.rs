//! `wordloom explain`

mod html;
mod terminal;

use std::fs;
use std::path::{Path, PathBuf};

use wordloom::Translator;
use wordloom::explain::{ExplainError, ExplainRequest, Explanation};
use wordloom::trace::{AttentionKind, HeadName};
use wordloom::translate::resolve_languages;

use super::choice::{Chosen, Steps};
use super::lines::Lines;
use super::output::{Output, cannot_write};
use super::setup::{DeviceArguments, ModelArguments, SearchArguments, count};
use super::{CliError, choice, interrupt};
use crate::attend::{Style, whole};

// Help must fit a screen: 30 lines.

#[derive(clap::Args)]
#[command(after_help = "\
In the encoder, --token is a token of TEXT; in decoder and cross, the token of
the translation that is about to be produced. A word means its first token.")]
pub struct Arguments {
    /// What to translate [default: standard input]
    text: Vec<String>,
    /// The token that attends: a word, or #3 for the fourth
    #[arg(short, long, value_name = "TOKEN")]
    token: String,
    /// encoder, decoder or cross
    #[arg(long, value_name = "KIND", default_value = "encoder")]
    kind: AttentionKind,
    /// The layer, from 0 [default: the last]
    #[arg(long, value_name = "N", value_parser = count)]
    layer: Option<usize>,
    /// The head, from 0
    #[arg(long, value_name = "N", value_parser = count, default_value = "0")]
    head: usize,
    /// Look at this translation, not at the model's
    #[arg(long, value_name = "TEXT", conflicts_with = "beams")]
    target: Option<String>,
    /// Write a page that needs no network
    #[arg(short, long, value_name = "FILE.html")]
    output: Option<PathBuf>,
    /// Write every number as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    search: SearchArguments,
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    device: DeviceArguments,
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    if let Some(path) = &arguments.output {
        check_ending(path)?;
    }
    let explanation = explain(arguments)?;
    if let Some(path) = &arguments.output {
        fs::write(path, html::page(&explanation)).map_err(|source| cannot_write(path, source))?;
    }
    let mut output = Output::open(None)?;
    if arguments.json {
        output.json(&explanation)?;
    } else if arguments.output.is_none() {
        terminal::print(&explanation, &Style::of_stdout(), &mut output)?;
    }
    output.flush()
}

fn check_ending(path: &Path) -> Result<(), CliError> {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    match ending.eq_ignore_ascii_case("html") || ending.eq_ignore_ascii_case("htm") {
        true => Ok(()),
        false => Err(CliError::Usage(format!(
            "--output {} has no known ending; use .html, or --json without --output",
            path.display()
        ))),
    }
}

fn explain(arguments: &Arguments) -> Result<Explanation, CliError> {
    let cancel = interrupt::handler();
    let text = match arguments.text.as_slice() {
        [] => whole(&Lines::open(None)?)?,
        words => words.join(" "),
    };
    let choice =
        choice::open(&arguments.model, &arguments.search, Steps::One, &mut || Ok(text.clone()))?.last;
    let options = choice.options(&arguments.search, cancel);
    let Chosen { model, tokenizer, .. } = choice;
    resolve_languages(&tokenizer, &options, model.generation_config())
        .map_err(|error| CliError::Usage(error.to_string()))?;
    let transformer = match arguments.target {
        Some(_) => arguments.device.transformer(&model)?,
        None => arguments.device.generator(&model, &options.generation)?,
    };
    let translator = Translator::from_parts(transformer, tokenizer);
    let kind = arguments.kind;
    let layers = model.config().attention_layers(kind);
    let layer = arguments.layer.unwrap_or_else(|| layers.saturating_sub(1));
    let request = ExplainRequest {
        text,
        target: arguments.target.clone(),
        head: HeadName { kind, layer, head: arguments.head },
        token: arguments.token.clone(),
    };
    interrupt::working(|| {
        pollster::block_on(Explanation::of(&translator, &request, &options)).map_err(|error| match error {
            ExplainError::Trace(error) => error.into(),
            ExplainError::Forward(error) => error.into(),
            ExplainError::Empty => CliError::Input(error.to_string()),
            about_options => CliError::Usage(about_options.to_string()),
        })
    })
}
