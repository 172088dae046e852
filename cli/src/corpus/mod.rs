//! `wordloom corpus`

mod summary;
mod workers;

use std::path::PathBuf;
use std::sync::Mutex;

use wordloom::TranslateOptions;
use wordloom::model::generation_config::GenerationConfig;
use wordloom::precision::PrecisionChoice;
use wordloom::translate::resolve_languages;
use wordloom_corpus::{CorpusError, Format, Job};

use super::choice::{self, Chosen, Steps};
use super::glossary::GlossaryArguments;
use super::output::Output;
use super::progress::Progress;
use super::resume::Settings;
use super::setup::{ModelArguments, SearchArguments, count, search_options};
use super::{CliError, interrupt, notice};
use workers::{Devices, Worker};

#[derive(clap::Args)]
#[command(after_help = "\
Each different text is translated once. A part that is there is whole; bad rows
and the report are in FOLDER/_corpus. More in docs/corpora.md.")]
pub struct Arguments {
    /// Files of parquet, jsonl, csv, tsv or txt, or folders of them
    #[arg(required = true, value_name = "INPUT")]
    inputs: Vec<PathBuf>,
    /// Write parts to FOLDER
    #[arg(short, long, value_name = "FOLDER")]
    output: PathBuf,
    /// Go on where a run that was stopped left FOLDER
    #[arg(long)]
    resume: bool,
    /// Column to translate
    #[arg(long, value_name = "NAME", default_value = "text")]
    column: String,
    /// Column of the translations
    #[arg(long, value_name = "NAME", default_value = "translation")]
    into: String,
    /// Add a column NAME_trust, from 0 to 1
    #[arg(long)]
    quality: bool,
    /// Write parquet, jsonl, csv, tsv [default: as read]
    #[arg(long, value_name = "ENDING", value_parser = format)]
    format: Option<Format>,
    /// CSV and TSV have no names: columns are 1, 2, 3 …
    #[arg(long)]
    no_header: bool,
    /// Rows of a part, about
    #[arg(long, value_name = "N", default_value = "50000", value_parser = rows)]
    rows: usize,
    /// A worker on each: cpu, GPUs or all [default: auto]
    #[arg(long, value_name = "DEVICE,…", default_value = "auto", hide_default_value = true)]
    devices: Devices,
    /// As auto, f32, f16, q8 or w8a8
    #[arg(long, value_name = "TYPE", default_value = "auto")]
    weights: PrecisionChoice,
    /// Most tokens of a translated sentence
    #[arg(long, value_name = "N", value_parser = count)]
    max_length: Option<usize>,
    #[command(flatten)]
    glossary: GlossaryArguments,
    #[command(flatten)]
    search: SearchArguments,
    #[command(flatten)]
    model: ModelArguments,
}

fn rows(text: &str) -> Result<usize, &'static str> {
    text.parse().ok().filter(|rows| *rows > 0).ok_or("a whole number above 0 is needed")
}

fn format(ending: &str) -> Result<Format, String> {
    let known = Format::named(ending).filter(|format| format.of_output() == *format);
    known.ok_or_else(|| "choose parquet, jsonl, csv or tsv".into())
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let mut job = Job {
        inputs: arguments.inputs.clone(),
        output: arguments.output.clone(),
        column: arguments.column.clone(),
        into: arguments.into.clone(),
        trust: arguments.quality,
        format: arguments.format,
        header: !arguments.no_header,
        rows: arguments.rows,
        resume: arguments.resume,
        settings: Settings::new(),
    };
    let cancel = interrupt::handler();
    let mut sample = || Ok(job.sample()?);
    let chosen = choice::open(&arguments.model, &arguments.search, Steps::One, &mut sample)?.last;
    let (options, generation) = options(arguments, &chosen, chosen.options(&arguments.search, cancel))?;
    job.settings = settings(arguments, &chosen)?;
    job.check()?;
    job.passed_over()?.iter().for_each(|what| notice(what));
    let workers = Worker::load_each(&arguments.devices, &chosen, arguments.weights, &options, &generation)?;
    let progress = Mutex::new(Progress::of_share("translating", "rows"));
    let summary = interrupt::working(|| {
        let watch = |at: wordloom_corpus::Progress| {
            if let Ok(progress) = progress.lock() {
                progress.set_share(at.fraction, at.rows);
            }
        };
        Ok(wordloom_corpus::run(&job, workers, &watch)?)
    })?;
    drop(progress);
    summary::print(&mut Output::open(None)?, &summary)
}

/// The options of every translation, and those of the search with the model's own.
fn options(
    arguments: &Arguments,
    chosen: &Chosen,
    mut options: TranslateOptions,
) -> Result<(TranslateOptions, GenerationConfig), CliError> {
    options.generation.max_length = arguments.max_length;
    options.glossary = arguments.glossary.bind(chosen, &options)?;
    let resolved = resolve_languages(&chosen.tokenizer, &options, chosen.model.generation_config());
    let (_, generation) = resolved.map_err(|error| CliError::Usage(error.to_string()))?;
    let flags = [
        ("num_beams", "--beams", arguments.search.beams.is_some()),
        ("max_length", "--max-length", arguments.max_length.is_some()),
    ];
    search_options(&flags, &chosen.model, &generation)?;
    Ok((options, generation))
}

/// What changes translations, for a run that is resumed.
fn settings(arguments: &Arguments, chosen: &Chosen) -> Result<Settings, CliError> {
    let number = |number: Option<usize>| number.map(|number| number.to_string());
    let weights = match arguments.weights {
        PrecisionChoice::Auto => None,
        chosen => Some(chosen.to_string()),
    };
    let given = [
        ("--model", Some(chosen.setting()?)),
        ("the source language", chosen.source.clone()),
        ("the target language", chosen.target.clone()),
        ("--task", arguments.search.task.clone()),
        ("--beams", number(arguments.search.beams)),
        ("--max-length", number(arguments.max_length)),
        ("--glossary", arguments.glossary.setting()?),
        ("--weights", weights),
    ];
    Ok(given.into_iter().filter_map(|(option, value)| Some((option.to_owned(), value?))).collect())
}

impl From<CorpusError> for CliError {
    fn from(error: CorpusError) -> Self {
        match error {
            CorpusError::Cancelled => Self::Interrupted,
            CorpusError::Translate(error) => match error.downcast::<wordloom::TranslateError>() {
                Ok(error) => (*error).into(),
                Err(error) => Self::Input(error.to_string()),
            },
            error @ (CorpusError::RunExists { .. }
            | CorpusError::OtherFolder { .. }
            | CorpusError::ColumnExists { .. }
            | CorpusError::NoName
            | CorpusError::Column { .. }
            | CorpusError::UnknownFormat { .. }) => Self::Usage(error.to_string()),
            error => Self::Input(error.to_string()),
        }
    }
}
