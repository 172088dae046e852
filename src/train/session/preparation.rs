//! A training before its first step: options, pairs, the output folder; then model, examples and batches.

use std::fs;
use std::mem;
use std::path::PathBuf;
use std::sync::Arc;

use super::super::Trainer;
use super::super::augment::Augmentation;
use super::super::batches::{Batches, Capacity, TooLong};
use super::super::checkpoint::{self, Settings};
use super::super::run::{Run, RunPlan, RunState};
use super::super::schedule::{Budget, Height, LearningRate};
use super::super::stopping::EarlyStopping;
use super::corpus::Corpus;
use super::course::{Parts, Session};
use super::dev::Dev;
use super::encoder::{Encoded, Encoder, chosen_languages};
use super::error::SessionError;
use super::examples::{self, Examples};
use super::observer::Observer;
use super::options::{Chosen, Options};
use super::start::{self, Start};
use super::{checkpoints, defaults, history};
use crate::device::Device;
use crate::model::files::{ModelFiles, has_a_model};
use crate::precision::Products;
use crate::readable::counted;
use crate::transformer::Cancel;

/// A training whose options were checked and whose pairs were read.
pub struct Preparation {
    options: Options,
    corpus: Corpus,
    augmentation: Augmentation,
    /// Hash of the file of substitutions.
    substitutions: Option<String>,
    checkpoint: Option<PathBuf>,
}

impl Preparation {
    /// Checks the options, reads the pairs and makes the output folder.
    ///
    /// # Errors
    /// [`SessionError`]
    pub fn new(mut options: Options, observer: &mut dyn Observer) -> Result<Self, SessionError> {
        options.check()?;
        plan(&options, options.numbers.chosen(defaults::FINE_TUNING), 1)?;
        let (augmentation, substitutions) = examples::augmentation(&options)?;
        let (pairs, dev) = (mem::take(&mut options.pairs), mem::take(&mut options.dev));
        let examples = &options.examples;
        let mut corpus = Corpus::load(pairs, dev, examples.swap, &examples.of_pairs())?;
        corpus.notes.extend(examples::notes(&options, &augmentation));
        corpus.notes.iter().for_each(|line| observer.line(line));
        let checkpoint = open_out(&options, observer)?;
        Ok(Self { options, corpus, augmentation, substitutions, checkpoint })
    }

    /// Whether [`Preparation::begin`] needs the files of [`Options::model`].
    pub fn needs_model(&self) -> bool {
        self.checkpoint.is_none() && self.options.model.is_some()
    }

    /// Makes or opens the model, turns the pairs into ids, and puts all on the device. `model`: the files of
    /// [`Options::model`], if [`Preparation::needs_model`].
    ///
    /// # Errors
    /// [`SessionError`]
    pub fn begin(
        self,
        model: Option<ModelFiles>,
        device: Device,
        cancel: Cancel,
        observer: &mut dyn Observer,
    ) -> Result<Session, SessionError> {
        let Self { options, corpus, augmentation, substitutions, checkpoint } = self;
        let Corpus { train, dev, mut notes } = corpus;
        let start = Start::new(&options, (&train, &augmentation), (checkpoint.as_deref(), model), observer)?;
        let chosen = options.numbers.chosen(start.size);
        let plan = plan(&options, chosen, train.len())?;
        if let Some(steps) = options.max_steps.filter(|&steps| steps < chosen.warmup) {
            observer.line(&format!(
                "warning: the learning rate rises for {} steps (--warmup), and the training takes {steps} (--max-steps)",
                chosen.warmup
            ));
        }
        let settings = start::settings(&options, &start, [&train, &dev], (chosen, substitutions));
        if let Some((files, record)) = &start.resumed {
            record.check_settings(files, &settings)?;
        }
        if options.numbers.products == Products::Bf16 && !crate::cpu::bf16_is_fast() {
            observer.line("this processor has neither AMX nor AVX-512 BF16; --precision f32 is faster here");
        }
        let encoder = Arc::new(encoder(&options, &start)?);
        let encoded_dev = checked("dev", dev.len(), encoder.encode(&dev)?, observer)?;
        let examples = Examples { augmentation: Arc::new(augmentation), pairs: Arc::new(train), encoder };
        let first = examples.encode(0)?;
        let (first, _) = checked("training", examples.pairs.len(), first, observer)?;
        let capacity = Capacity::propose(&first, chosen.batch_tokens)?;
        let batches = Batches::new(&first, capacity, options.numbers.seed, TooLong::LeaveOut)?;
        if batches.left_out() > 0 {
            let left_out = counted(batches.left_out(), "pair");
            observer.line(&format!("{left_out} left out: longer than a batch (--batch-tokens)"));
        }
        let steps_of_epoch = batches.epoch(0).batches.len() / chosen.accumulate;
        let dev = Dev::new(encoded_dev, &dev, capacity, options.tests.bleu_pairs)?;
        if dev.left_out() > 0 {
            let left_out = counted(dev.left_out(), "dev pair");
            observer.line(&format!("{left_out} left out: longer than a batch (--batch-tokens)"));
        }
        notes.extend(start.notes.iter().cloned());
        if cancel.is_cancelled() {
            return Err(SessionError::Interrupted);
        }
        let pairs = first.len();
        let source = examples.source(first, batches);
        let (trainer, state) = trainer(&options, &start, &device, (chosen, capacity))?;
        let run = Run::new(source, plan, state)?;
        let about = About { companions: start.companions, settings, notes };
        let parts = Parts { run, trainer, dev, about, device, pairs, steps_of_epoch };
        Session::new(options, parts, cancel, observer)
    }
}

/// What goes to the files of a training.
pub(super) struct About {
    /// Configuration and tokenizer, each with its name.
    pub companions: Vec<(String, Vec<u8>)>,
    pub settings: Settings,
    /// Lines of the model card about the data.
    pub notes: Vec<String>,
}

/// Makes the output folder. Returns the checkpoint to go on from.
fn open_out(options: &Options, observer: &mut dyn Observer) -> Result<Option<PathBuf>, SessionError> {
    let out = &options.out;
    fs::create_dir_all(out).map_err(|error| SessionError::cannot_write(out, error))?;
    let found = checkpoints::list(out)?.pop();
    let (has_log, has_model) = (history::log_in(out).exists(), has_a_model(out));
    // a training that was killed before its first checkpoint begins again, over the model of its first test
    let is_lost = has_model && (!has_log || history::had_checkpoint(out));
    let refused = |problem: &str| Err(SessionError::Input(format!("{}: {problem}", out.display())));
    match (options.resume, found) {
        (true, Some(found)) => {
            checkpoints::remove_unfinished(out);
            Ok(Some(found))
        }
        (true, None) if is_lost => refused(
            "there is a model, but no checkpoint to go on from; leave out --resume, and choose another folder",
        ),
        (true, None) => {
            observer.line("there is no checkpoint yet; the training begins");
            Ok(None)
        }
        (false, Some(_)) => {
            refused("there is a model already; --resume goes on with its training, or choose another folder")
        }
        (false, None) if has_model => refused("there is a model already; choose another folder"),
        (false, None) if has_log => {
            observer.line("the training before wrote no model; its log is written anew");
            Ok(None)
        }
        (false, None) => Ok(None),
    }
}

fn plan(options: &Options, chosen: Chosen, pairs: usize) -> Result<RunPlan, SessionError> {
    let curve = LearningRate::new(Height::Peak(chosen.learning_rate), chosen.warmup)?;
    let learning_rate = curve.with_cooldown(options.numbers.cooldown)?;
    let minutes = match (options.max_steps, options.max_minutes) {
        (None, None) => Some(defaults::minutes(pairs)),
        (_, minutes) => minutes,
    };
    let budget = Budget::new(options.max_steps, minutes)?;
    Ok(RunPlan { learning_rate, budget, accumulate: chosen.accumulate })
}

/// The trainer with the model's weights, and the place of the run.
fn trainer(
    options: &Options,
    start: &Start,
    device: &Device,
    (chosen, capacity): (Chosen, Capacity),
) -> Result<(Trainer, RunState), SessionError> {
    let recipe = options.recipe(chosen.dropout);
    let mut trainer = Trainer::new(device, start.model.clone(), recipe, capacity)?;
    let state = match &start.resumed {
        Some((files, record)) => {
            checkpoint::resume(&mut trainer, files, record)?;
            RunState { stopping: record.state.stopping.with_patience(options.patience), ..record.state }
        }
        None => RunState::new(EarlyStopping::new(options.tests.goal, options.patience)),
    };
    Ok((trainer, state))
}

fn encoder(options: &Options, start: &Start) -> Result<Encoder, SessionError> {
    let tokenizer = start.model.tokenizer()?;
    let languages = chosen_languages(options, &tokenizer);
    Ok(Encoder::new(&start.model, tokenizer, languages)?)
}

/// Says how many pairs are too long for the model; an error if all are.
fn checked(
    name: &str,
    all: usize,
    encoded: Encoded,
    observer: &mut dyn Observer,
) -> Result<Encoded, SessionError> {
    let kept = encoded.1.len();
    if kept == 0 {
        let problem = "no pair fits into the model's positions";
        return Err(SessionError::Input(format!("the {name} data: {problem}")));
    }
    if kept < all {
        let left_out = counted(all - kept, &format!("{name} pair"));
        observer.line(&format!("{left_out} left out: longer than the model's positions"));
    }
    Ok(encoded)
}
