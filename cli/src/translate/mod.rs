//! `wordloom translate`

mod comparison;
mod document;
mod journal;
mod lines;
mod plan;
mod window;
mod writer;

use std::path::PathBuf;

use wordloom::Device;

use super::CliError;
use super::choice::Chosen;
use super::glossary::GlossaryArguments;
use super::memory::MemoryArguments;
use super::output::{check_named, is_standard};
use super::resume::Settings;
use super::setup::{
    AttentionArguments, DeviceArguments, ModelArguments, SearchArguments, SwitchArguments, count, number,
};
use plan::Plan;

#[derive(clap::Args)]
#[command(after_help = "\
Options that are not given are the model's own; --max-length is the source's and
50 tokens. --memory FILE, --quality: docs/quality.md. With --to, two models may
translate through a third language. Without it, --source-lang and --target-lang
take codes that `inspect` lists. Documents keep their form: -i a.docx -o b.docx")]
pub struct Arguments {
    /// What to translate [default: standard input]
    text: Vec<String>,
    /// Read lines from FILE, or a document by its ending
    #[arg(short, long, value_name = "FILE", conflicts_with = "text")]
    input: Option<PathBuf>,
    /// Write to FILE [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Go on where a run that was stopped left --output
    #[arg(long, requires_all = ["input", "output"])]
    resume: bool,
    /// Format of FILE by an ending, or lines; in docs/documents.md
    #[arg(long, value_name = "ENDING", hide = true)]
    format: Option<String>,
    /// Columns of a table to translate; in docs/documents.md
    #[arg(long, value_name = "NAMES", value_delimiter = ',', hide = true)]
    columns: Vec<String>,
    #[command(flatten)]
    search: SearchArguments,
    /// Above 1 favours long translations, below short
    #[arg(long, value_name = "X", value_parser = number)]
    length_penalty: Option<f32>,
    /// Most tokens of a translated sentence
    #[arg(long, value_name = "N", value_parser = count)]
    max_length: Option<usize>,
    /// Write rank, score and text of the N best
    #[arg(short, long, value_name = "N", value_parser = count)]
    n_best: Option<usize>,
    #[command(flatten)]
    glossary: GlossaryArguments,
    #[command(flatten)]
    memory: MemoryArguments,
    /// Score all tokens, though the model has a shortlist; in docs/firefox.md, because help has to fit a screen
    #[arg(long, hide = true)]
    no_shortlist: bool,
    #[command(flatten)]
    attention: AttentionArguments,
    /// Compare with the lines of FILE: BLEU and chrF at the end; in docs/attention.md, because help has to fit a screen
    #[arg(long, value_name = "FILE", hide = true, conflicts_with = "resume")]
    reference: Option<PathBuf>,
    /// Write JSON Lines, with tokens and scores
    #[arg(long)]
    json: bool,
    /// Add to --json how far each sentence can be trusted
    #[arg(long, requires = "json", hide = true)]
    quality: bool,
    #[command(flatten)]
    switches: SwitchArguments,
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    device: DeviceArguments,
}

/// Checks that no file that is read is written over.
fn check_output(arguments: &Arguments) -> Result<(), CliError> {
    let read = [
        ("--input", arguments.input.as_deref()),
        ("--glossary", arguments.glossary.path()),
        ("--memory", arguments.memory.path()),
        ("--reference", arguments.reference.as_deref()),
    ];
    read.into_iter().try_for_each(|named| check_named(named, ("--output", arguments.output.as_deref())))
}

pub fn run(mut arguments: Arguments) -> Result<(), CliError> {
    for path in [&mut arguments.input, &mut arguments.output] {
        path.take_if(|path| is_standard(path));
    }
    check_output(&arguments)?;
    match document::format(&arguments)? {
        Some(format) => document::run(&arguments, format),
        None => lines::run(&arguments),
    }
}

fn settings(arguments: &Arguments, plan: &Plan, device: &Device) -> Result<Settings, CliError> {
    let models = plan.models().map(Chosen::setting).collect::<Result<Vec<_>, CliError>>()?;
    let roundings: Vec<String> =
        plan.models().filter_map(|chosen| arguments.device.rounding(device, &chosen.model)).collect();
    let rounding = (!roundings.is_empty()).then(|| roundings.join(", then "));
    let [from, to] = plan.languages.each_ref().map(|language| language.as_ref().map(ToString::to_string));
    let number = |number: Option<usize>| number.map(|number| number.to_string());
    let given = [
        ("--model", Some(models.join(", then "))),
        ("--from", from),
        ("--to", to),
        ("--source-lang", arguments.search.source_lang.clone()),
        ("--target-lang", arguments.search.target_lang.clone()),
        ("--task", arguments.search.task.clone()),
        ("--beams", number(arguments.search.beams)),
        ("--length-penalty", arguments.length_penalty.map(|penalty| penalty.to_string())),
        ("--max-length", number(arguments.max_length)),
        ("--n-best", number(arguments.n_best)),
        ("--glossary", arguments.glossary.setting()?),
        ("--memory", arguments.memory.setting()?),
        ("--no-shortlist", arguments.no_shortlist.then(|| "given".to_owned())),
        ("--attention", arguments.attention.attention.as_ref().map(ToString::to_string)),
        ("--switch", arguments.switches.switch.as_ref().map(ToString::to_string)),
        ("--json", arguments.json.then(|| "given".to_owned())),
        ("--quality", arguments.quality.then(|| "given".to_owned())),
        ("--weights", rounding),
    ];
    Ok(given.into_iter().filter_map(|(option, value)| Some((option.to_owned(), value?))).collect())
}
