//! `wordloom study table3` and `norms`: rows of miniatures for equal target tokens and several seeds. Table 3 of the paper; batch norm
//! against layer norm.

mod pages;
mod plan;
mod results;
mod rows;

use std::fs;
use std::path::PathBuf;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use wordloom::DeviceChoice;
use wordloom::readable::duration;
use wordloom::train::pairs::PairsOptions;
use wordloom::train::session::{Corpus, PairSource};
use wordloom::transformer::Cancel;

use super::material::Material;
use super::miniature::{Glimpse, Numbers, Workshop};
use super::runs::{LOG, RunRecord, Runs, Settings};
use crate::output::cannot_write;
use crate::setup::{count, open_device, whole};
use crate::train::PrecisionName;
use crate::{CliError, interrupt, notice};
pub use plan::{NORMS, TABLE_3};

use plan::Plan;
use results::Results;
use rows::Row;

/// Seeds have Student's factors up to this number.
const MOST_SEEDS: u64 = 10;
/// Units of the bar.
const UNITS: f64 = 1000.0;

#[derive(clap::Args)]
pub struct Arguments {
    /// Lines SOURCE TAB TARGET, or two files; or gzip
    #[arg(long, value_name = "FILE", required = true, num_args = 1..=2)]
    pairs: Vec<PathBuf>,
    /// Pairs to test with [default: some of --pairs]
    #[arg(long, value_name = "FILE", num_args = 1..=2)]
    dev: Vec<PathBuf>,
    /// Ignore columns after the second
    #[arg(long)]
    ignore_columns: bool,
    /// Folder of the pages [default: the study's name]
    #[arg(short, long, value_name = "DIR")]
    out: Option<PathBuf>,
    /// Runs of each row, with seeds 1 to N
    #[arg(long, value_name = "N", value_parser = whole, default_value = "3")]
    seeds: u64,
    /// Target tokens of each run
    #[arg(long, value_name = "N", value_parser = whole, default_value = "1000000")]
    tokens: u64,
    /// Rows, separated by commas [default: all]
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    rows: Vec<String>,
    /// Tokens of the vocabulary
    #[arg(long, value_name = "N", value_parser = count, default_value = "4000")]
    vocabulary: usize,
    /// Target tokens of a batch
    #[arg(long, value_name = "N", value_parser = count, default_value = "512")]
    batch_tokens: usize,
    /// Peak learning rate of the base
    #[arg(long, value_name = "RATE", default_value = "2e-3")]
    learning_rate: f64,
    /// Products in f32, or in bf16
    #[arg(long, value_name = "TYPE", value_enum, default_value = "f32", hide_possible_values = true)]
    precision: PrecisionName,
    /// auto, gpu, cpu, or a GPU's name
    #[arg(long, value_name = "DEVICE", default_value = "auto")]
    device: DeviceChoice,
}

pub fn run(plan: &'static Plan, arguments: &Arguments) -> Result<(), CliError> {
    let cancel = interrupt::handler();
    let rows = check(plan, arguments)?;
    let out = arguments.out.clone().unwrap_or_else(|| plan.name.into());
    let corpus = corpus(arguments)?;
    fs::create_dir_all(&out).map_err(|error| cannot_write(&out, error))?;
    let settings = settings(arguments, &corpus);
    let miniatures = (plan.rows)().iter().map(|row| (row.name.to_owned(), row.miniature)).collect();
    let runs = Runs::open(&out.join(LOG), (plan.name, &settings), &miniatures)?;
    let mut study =
        Study { plan, arguments, out, rows, runs, notes: corpus.notes.clone(), fresh: Vec::new() };
    let missing = study.missing();
    notice(&format!("{} of {} runs are finished", study.total() - missing.len(), study.total()));
    if !missing.is_empty() {
        let workshop = study.workshop(&corpus, cancel)?;
        interrupt::working(|| missing.iter().try_for_each(|next| study.train(&workshop, next)))?;
    }
    study.write()?;
    notice(&format!("{}: the report", study.out.join(format!("{}.html", plan.name)).display()));
    Ok(())
}

/// Checks the options before anything is read. Returns the rows.
fn check(plan: &Plan, arguments: &Arguments) -> Result<Vec<Row>, CliError> {
    let usage = |problem: String| Err(CliError::Usage(problem));
    if !(1..=MOST_SEEDS).contains(&arguments.seeds) {
        return usage(format!("--seeds is {}; it must be 1 to {MOST_SEEDS}", arguments.seeds));
    }
    if arguments.batch_tokens == 0 {
        return usage("--batch-tokens is 0; a batch has at least 1 target token".to_owned());
    }
    if arguments.tokens == 0 {
        return usage("--tokens is 0; a run has at least 1 target token".to_owned());
    }
    if !(arguments.learning_rate.is_finite() && arguments.learning_rate > 0.0) {
        return usage(format!("--learning-rate is {}; it must be a number above 0", arguments.learning_rate));
    }
    match rows::chosen((plan.rows)(), &arguments.rows) {
        Ok(rows) => Ok(rows),
        Err(unknown) => usage(format!("--rows: there is no row {unknown:?}; see --help for all names")),
    }
}

/// What every run depends on. Rows and seeds can be added later.
fn corpus(arguments: &Arguments) -> Result<Corpus, CliError> {
    let options = PairsOptions { ignore_columns: arguments.ignore_columns, ..PairsOptions::default() };
    let [pairs, dev] = [&arguments.pairs, &arguments.dev].map(|files| PairSource::of_files(files));
    let corpus = Corpus::load(pairs, dev, false, &options)?;
    corpus.notes.iter().for_each(|line| notice(line));
    Ok(corpus)
}

fn settings(arguments: &Arguments, corpus: &Corpus) -> Settings {
    let settings = [
        ("the training data", Corpus::digest(&corpus.train)),
        ("the dev set", Corpus::digest(&corpus.dev)),
        ("--tokens", arguments.tokens.to_string()),
        ("--vocabulary", arguments.vocabulary.to_string()),
        ("--batch-tokens", arguments.batch_tokens.to_string()),
        ("--learning-rate", arguments.learning_rate.to_string()),
        ("--precision", arguments.precision.name().to_owned()),
    ];
    settings.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

struct Study<'a> {
    plan: &'static Plan,
    arguments: &'a Arguments,
    out: PathBuf,
    rows: Vec<Row>,
    runs: Runs,
    /// Lines about the data.
    notes: Vec<String>,
    /// Seconds of each run of this process, with tests.
    fresh: Vec<f64>,
}

/// A run that is not finished: its number from 1, row and seed.
struct Next {
    number: usize,
    row: Row,
    seed: u64,
}

impl Study<'_> {
    fn total(&self) -> usize {
        self.rows.len() * self.arguments.seeds as usize
    }

    /// All rows of the first seed come first, so that a study that ends early has every row.
    fn missing(&self) -> Vec<Next> {
        let all = (1..=self.arguments.seeds).flat_map(|seed| self.rows.iter().map(move |row| (seed, *row)));
        let numbered = (1..).zip(all).map(|(number, (seed, row))| Next { number, row, seed });
        numbered.filter(|next| self.runs.find(next.row.name, next.seed).is_none()).collect()
    }

    fn numbers(&self) -> Numbers {
        let Arguments { tokens, batch_tokens, learning_rate, precision, .. } = *self.arguments;
        Numbers { tokens, batch_tokens, peak: learning_rate, products: precision.products() }
    }

    fn workshop(&self, corpus: &Corpus, cancel: Cancel) -> Result<Workshop, CliError> {
        let device = open_device(&self.arguments.device)?;
        let material = Material::new(corpus, self.arguments.vocabulary, self.arguments.batch_tokens)?;
        Ok(Workshop { device, material, numbers: self.numbers(), cancel })
    }

    /// Trains one run, logs it and writes the pages.
    fn train(&mut self, workshop: &Workshop, Next { number, row, seed }: &Next) -> Result<(), CliError> {
        let began = Instant::now();
        let head = format!("run {number} of {}: {}, seed {seed}", self.total(), row.name);
        let bar = bar();
        let missing = self.missing().len();
        let mut watch = |glimpse: Glimpse| {
            let left = self.time_left(began.elapsed().as_secs_f64() / glimpse.progress.max(1e-3), missing)
                - began.elapsed().as_secs_f64();
            let Glimpse { step, loss, progress, tokens_per_second } = glimpse;
            bar.set_message(format!(
                "{head}, step {step}, loss {loss:.2}, {tokens_per_second:.0} tokens/s, {} left",
                duration(left.max(0.0))
            ));
            bar.set_position((UNITS * progress) as u64);
        };
        let outcome = pollster::block_on(workshop.train(&row.miniature, *seed, &mut watch));
        bar.finish_and_clear();
        let outcome = outcome?;
        self.fresh.push(began.elapsed().as_secs_f64());
        let result = match (outcome.dev_loss, outcome.bleu, outcome.diverged_at) {
            (Some(loss), Some(bleu), _) => format!("dev loss {loss:.3}, BLEU {bleu:.1}"),
            (.., step) => format!("diverged at step {}", step.unwrap_or_default()),
        };
        notice(&format!(
            "{head}: {result}, {:.0} tokens/s, {} left",
            outcome.tokens_per_second,
            duration(self.time_left(0.0, missing - 1))
        ));
        self.runs.add(RunRecord {
            row: row.name.to_owned(),
            seed: *seed,
            miniature: row.miniature,
            device: workshop.device.to_string(),
            outcome,
        })?;
        self.write()
    }

    /// Time of `runs` more runs: as long as the mean of those before. `this`: expected time of the first one of this process.
    fn time_left(&self, this: f64, runs: usize) -> f64 {
        let mean = match self.fresh.len() {
            0 => this,
            count => self.fresh.iter().sum::<f64>() / count as f64,
        };
        mean * runs as f64
    }

    fn write(&self) -> Result<(), CliError> {
        let results = Results::of(&self.rows, &self.runs.finished, self.arguments.seeds);
        pages::write(&self.out, self.plan, &results, (&self.numbers(), &self.notes))
    }
}

fn bar() -> ProgressBar {
    let bar = ProgressBar::with_draw_target(Some(UNITS as u64), ProgressDrawTarget::stderr());
    if let Ok(style) = ProgressStyle::with_template("[{bar:16}] {msg}") {
        bar.set_style(style.progress_chars("━━─"));
    }
    bar
}
