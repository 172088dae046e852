//! `wordloom train`

mod arguments;
mod chart;
mod checkpoints;
pub mod data;
mod defaults;
pub mod dev;
mod examples;
mod history;
mod pace;
mod page;
mod pair_files;
mod plot;
mod report;
mod session;
mod start;
pub mod text;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use wordloom::train::batches::{Batches, Capacity, TooLong};
use wordloom::train::checkpoint::{self, WEIGHTS};
use wordloom::train::run::{Run, RunPlan, RunState};
use wordloom::train::schedule::{Budget, Height, LearningRate};
use wordloom::train::stopping::{EarlyStopping, Goal};
use wordloom::train::{Recipe, Trainer};

pub use arguments::{Arguments, PrecisionName};
use arguments::{Chosen, GoalName};
use data::{Corpus, Encoded, Encoder};
use dev::Dev;
use examples::Examples;
use session::Session;
use start::Start;

use super::output::cannot_write;
use super::setup::open_device;
use super::{CliError, interrupt, notice};

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let cancel = interrupt::handler();
    check(arguments)?;
    let (augmentation, substitutions) = examples::augmentation(arguments)?;
    let Corpus { train, dev, mut notes } = Corpus::load(arguments)?;
    notes.extend(examples::note(arguments, &augmentation));
    let checkpoint = open_out(arguments)?;
    let start = Start::new(arguments, (&train, &augmentation), checkpoint.as_deref())?;
    let chosen = arguments.numbers.chosen(start.size);
    let plan = plan(arguments, chosen, train.len())?;
    let settings = start::settings(arguments, &start, [&train, &dev], (chosen, substitutions));
    if let Some((files, record)) = &start.resumed {
        record.check_settings(files, &settings)?;
    }
    let device = open_device(&arguments.device)?;
    if arguments.numbers.precision == PrecisionName::Bf16 && !wordloom::cpu::bf16_is_fast() {
        notice("this processor has neither AMX nor AVX-512 BF16; --precision f32 is faster here");
    }
    let encoder = Arc::new(encoder(arguments, &start)?);
    let encoded_dev = checked("dev", dev.len(), encoder.encode(&dev)?)?;
    let examples = Examples { augmentation: Arc::new(augmentation), pairs: Arc::new(train), encoder };
    let (first, kept) = examples.encode(0)?;
    let (first, _) = checked("training", examples.pairs.len(), (first, kept))?;
    let capacity = Capacity::propose(&first, chosen.batch_tokens)?;
    let batches = Batches::new(&first, capacity, arguments.numbers.seed, TooLong::LeaveOut)?;
    if batches.left_out() > 0 {
        notice(&format!("{} pairs left out: longer than a batch (--batch-tokens)", batches.left_out()));
    }
    let steps_of_epoch = batches.epoch(0).batches.len() / chosen.accumulate;
    let dev = Dev::new(encoded_dev, &dev, capacity, arguments.tests.bleu_pairs)?;
    let Start { model, companions, resumed, notes: of_start, .. } = start;
    notes.extend(of_start);
    let recipe = recipe(arguments, chosen.dropout);
    let mut trainer = Trainer::new(&device, model, recipe, capacity)?;
    let state = match &resumed {
        Some((files, record)) => {
            checkpoint::resume(&mut trainer, files, record)?;
            RunState { stopping: record.state.stopping.with_patience(arguments.patience), ..record.state }
        }
        None => RunState::new(EarlyStopping::new(goal(arguments), arguments.patience)),
    };
    let pairs = first.len();
    let run = Run::new(examples.source(first, batches), plan, state)?;
    let files = (companions, settings, notes);
    let mut session =
        Session::new(arguments, (run, trainer, dev), files, (device, pairs, steps_of_epoch), cancel)?;
    interrupt::working(|| pollster::block_on(session.train()))
}

/// Checks what can be checked before anything is read.
fn check(arguments: &Arguments) -> Result<(), CliError> {
    let usage = |problem: &str| Err(CliError::Usage(problem.to_owned()));
    if !(arguments.tests.save_minutes.is_finite() && arguments.tests.save_minutes >= 0.0) {
        return usage("--save-minutes must be a number from 0 on");
    }
    if arguments.tests.test_steps == Some(0) {
        return usage("--test-steps is 0; it must be at least 1");
    }
    if arguments.numbers.accumulate == Some(0) {
        return usage("--accumulate is 0; a step has at least 1 batch");
    }
    if arguments.max_steps == Some(0) {
        return usage("--max-steps is 0; it must be at least 1");
    }
    if arguments.tests.goal == GoalName::Bleu && arguments.tests.bleu_pairs == 0 {
        return usage("--goal bleu needs translations; --bleu-pairs is 0");
    }
    recipe(arguments, arguments.numbers.dropout.unwrap_or_default())
        .check()
        .map_err(|error| CliError::Usage(error.to_string()))
}

/// Makes the output folder. Returns the checkpoint to go on from.
fn open_out(arguments: &Arguments) -> Result<Option<PathBuf>, CliError> {
    let out = &arguments.out;
    fs::create_dir_all(out).map_err(|error| cannot_write(out, error))?;
    let found = checkpoints::list(out)?.pop();
    let is_used = found.is_some() || history::log_in(out).exists() || out.join(WEIGHTS).exists();
    let refused = |problem: &str| Err(CliError::Input(format!("{}: {problem}", out.display())));
    match (arguments.resume, found) {
        (true, Some(found)) => {
            checkpoints::remove_unfinished(out);
            Ok(Some(found))
        }
        (true, None) if is_used && !history::log_in(out).exists() => refused(
            "there is a model, but no checkpoint to go on from; leave out --resume, and choose another folder",
        ),
        (true, None) => {
            notice("there is no checkpoint yet; the training begins");
            Ok(None)
        }
        (false, _) if is_used => {
            refused("there is a model already; --resume goes on with its training, or choose another folder")
        }
        (false, _) => Ok(None),
    }
}

fn recipe(arguments: &Arguments, dropout: f64) -> Recipe {
    let numbers = &arguments.numbers;
    Recipe {
        seed: numbers.seed,
        dropout: dropout as f32,
        label_smoothing: numbers.label_smoothing,
        weight_decay: numbers.weight_decay,
        max_norm: (numbers.max_norm != 0.0).then_some(numbers.max_norm),
        products: numbers.precision.products(),
        freeze: arguments.freeze.clone(),
        train_only: arguments.train_only.clone(),
        ..Recipe::default()
    }
}

fn goal(arguments: &Arguments) -> Goal {
    match arguments.tests.goal {
        GoalName::Loss => Goal::Loss,
        GoalName::Bleu => Goal::Bleu,
    }
}

fn plan(arguments: &Arguments, chosen: Chosen, pairs: usize) -> Result<RunPlan, CliError> {
    let numbers = &arguments.numbers;
    let curve = LearningRate::new(Height::Peak(chosen.learning_rate), chosen.warmup)?;
    let learning_rate = curve.with_cooldown(numbers.cooldown)?;
    let minutes = match (arguments.max_steps, arguments.max_minutes) {
        (None, None) => Some(defaults::minutes(pairs)),
        (_, minutes) => minutes,
    };
    let budget = Budget::new(arguments.max_steps, minutes)?;
    Ok(RunPlan { learning_rate, budget, accumulate: chosen.accumulate })
}

fn encoder(arguments: &Arguments, start: &Start) -> Result<Encoder, CliError> {
    let tokenizer = start.model.tokenizer()?;
    let languages = data::chosen_languages(arguments, &tokenizer);
    Encoder::new(&start.model, tokenizer, languages)
}

/// Says how many pairs are too long for the model; an error if all are.
fn checked(name: &str, all: usize, encoded: Encoded) -> Result<Encoded, CliError> {
    let kept = encoded.1.len();
    if kept == 0 {
        let problem = "no pair fits into the model's positions";
        return Err(CliError::Input(format!("the {name} data: {problem}")));
    }
    if kept < all {
        notice(&format!("{} {name} pairs left out: longer than the model's positions", all - kept));
    }
    Ok(encoded)
}

/// Name of the model: that of its folder.
fn name_of(out: &Path) -> String {
    let path = fs::canonicalize(out).unwrap_or_else(|_| out.to_owned());
    path.file_name().map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().into_owned())
}
