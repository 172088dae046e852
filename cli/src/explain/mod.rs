//! `wordloom explain`

mod html;
mod terminal;

use std::fs;
use std::path::{Path, PathBuf};

use wordloom::Translator;
use wordloom::explain::{ExplainError, ExplainRequest, Explanation};
use wordloom::trace::{AttentionKind, HeadName, Trace};
use wordloom::translate::resolve_languages;

use super::choice::{Chosen, Steps};
use super::lines::Lines;
use super::output::{Output, cannot_write, check_named};
use super::setup::{
    DeviceArguments, ModelArguments, OF_A_RUN, SearchArguments, SwitchArguments, count, search_options,
};
use super::{CliError, choice, interrupt, notice};
use crate::attend::{Style, open_trace, whole};

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
    /// Look into a saved trace with taps; no model runs
    #[arg(long, value_name = "FILE", conflicts_with_all = OF_A_RUN, conflicts_with_all = ["text", "target", "device"])]
    trace: Option<PathBuf>,
    /// Write a page that needs no network
    #[arg(short, long, value_name = "FILE.html")]
    output: Option<PathBuf>,
    /// Write every number as JSON
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    search: SearchArguments,
    #[command(flatten)]
    switches: SwitchArguments,
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    device: DeviceArguments,
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    if let Some(path) = &arguments.output {
        check_ending(path)?;
    }
    check_named(("--trace", arguments.trace.as_deref()), ("--output", arguments.output.as_deref()))?;
    let explanation = match &arguments.trace {
        Some(path) => look_into(arguments, path)?,
        None => explain(arguments)?,
    };
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
    let (_, generation) = resolve_languages(&tokenizer, &options, model.generation_config())
        .map_err(|error| CliError::Usage(error.to_string()))?;
    let flags = [("num_beams", "--beams", arguments.search.beams.is_some())];
    if arguments.target.is_none() {
        search_options(&flags, &model, &generation)?;
    }
    let mut transformer = match arguments.target {
        Some(_) => arguments.device.transformer(&model)?,
        None => arguments.device.generator(&model, &options.generation)?,
    };
    arguments.switches.apply(&mut transformer, &model)?;
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
        pollster::block_on(Explanation::of(&translator, &request, &options)).map_err(failure)
    })
}

fn failure(error: ExplainError) -> CliError {
    match error {
        ExplainError::Trace(error) => error.into(),
        ExplainError::Forward(error) => error.into(),
        ExplainError::Empty | ExplainError::NoTaps { .. } | ExplainError::Tap { .. } => {
            CliError::Input(error.to_string())
        }
        about_options => CliError::Usage(about_options.to_string()),
    }
}

/// Explains by the taps of a trace. A note on stderr tells what it lacks.
fn look_into(arguments: &Arguments, path: &Path) -> Result<Explanation, CliError> {
    let trace: Trace = open_trace(path, &[])?;
    let Arguments { kind, head, ref token, .. } = *arguments;
    let layer = arguments.layer.or_else(|| Explanation::last_layer(&trace, kind)).unwrap_or_default();
    let explanation = Explanation::of_token(&trace, HeadName { kind, layer, head }, token).map_err(
        |error| match failure(error) {
            CliError::Input(problem) => CliError::Input(format!("{}: {problem}", path.display())),
            other => other,
        },
    )?;
    if let [first, ..] = &explanation.missing[..] {
        notice(&format!(
            "{} lacks {} taps of {}, {first} for example; `wordloom attend TEXT --tap '*' -o FILE` keeps all",
            path.display(),
            explanation.missing.len(),
            explanation.head
        ));
    }
    Ok(explanation)
}
