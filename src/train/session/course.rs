//! The course of a training: steps, tests, the best model, checkpoints.

use std::fmt;
use std::path::Path;
use std::time::Instant;

use super::super::card::Card;
use super::super::checkpoint::{Record, WEIGHTS, checkpoint_files, weights_file};
use super::super::run::{Run, Steps};
use super::super::stopping::{Goal, Verdict};
use super::super::write::write_files;
use super::super::{TrainError, Trainer};
use super::dev::Dev;
use super::error::SessionError;
use super::history::{Event, History, StepsEvent, TestEvent};
use super::observer::{Facts, Observer};
use super::options::Options;
use super::pace::Pace;
use super::preparation::About;
use super::{checkpoints, defaults};
use crate::device::Device;
use crate::model::Model;
use crate::model::files::ModelFiles;
use crate::readable::{counted, duration, grouped};
use crate::transformer::Cancel;

const CARD: &str = "MODEL_CARD.md";
/// A file with its name.
type File = (String, Vec<u8>);

/// The limit that ended a training.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// [`Options::max_steps`]
    Steps,
    /// [`Options::max_minutes`], or the default's minutes.
    Minutes,
    /// [`Options::patience`]
    Patience,
}

/// A finished training.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Outcome {
    /// Optimizer's steps.
    pub steps: u64,
    /// Time of training.
    pub seconds: f64,
    /// Test of the best model, which lies in the output folder.
    pub best: Option<TestEvent>,
    /// BLEU and chrF of the best model with its own search.
    pub scores: Option<[f64; 2]>,
    /// The limit that was reached.
    pub ending: Ending,
}

/// A training in this process.
pub struct Session {
    options: Options,
    run: Run,
    trainer: Trainer,
    dev: Dev,
    about: About,
    device: Device,
    pairs: usize,
    parameters: u64,
    test_steps: u64,
    cancel: Cancel,
    history: History,
    /// Whether lines of the log wait for room.
    log_waits: bool,
    /// Weights of the best model, if they could not be written yet.
    unwritten: Option<Vec<u8>>,
    pace: Pace,
    saved: Instant,
}

/// What a session is made of.
pub(super) struct Parts {
    pub run: Run,
    pub trainer: Trainer,
    pub dev: Dev,
    pub about: About,
    pub device: Device,
    /// Number of training pairs.
    pub pairs: usize,
    pub steps_of_epoch: usize,
}

impl fmt::Debug for Session {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Session").field("out", &self.options.out).field("state", self.run.state()).finish()
    }
}

impl Session {
    pub(super) fn new(
        options: Options,
        parts: Parts,
        cancel: Cancel,
        observer: &mut dyn Observer,
    ) -> Result<Self, SessionError> {
        let Parts { run, trainer, dev, about, device, pairs, steps_of_epoch } = parts;
        let step = run.state().steps;
        let history = History::open(&options.out, step)?;
        let checkpoint = trainer.model().checkpoint();
        let infos = checkpoint.names().filter_map(|name| checkpoint.info(name));
        let parameters = infos.map(|info| info.element_count() as u64).sum();
        let test_steps = options.tests.test_steps.unwrap_or_else(|| defaults::test_steps(steps_of_epoch));
        let start = Event::Start {
            step,
            command: options.command.clone(),
            device: device.to_string(),
            parameters,
            pairs,
            dev_pairs: dev.len(),
        };
        let mut session = Self {
            pace: Pace::new(run.state().seconds, run.progress()),
            saved: Instant::now(),
            options,
            run,
            trainer,
            dev,
            about,
            device,
            pairs,
            parameters,
            test_steps,
            cancel,
            history,
            log_waits: false,
            unwritten: None,
        };
        session.tell(&start, observer)?;
        Ok(session)
    }

    /// Trains to the end. The best model, the log and checkpoints are written on the way.
    ///
    /// # Errors
    /// [`SessionError::Interrupted`] if the caller's [`Cancel`] ended it, after a last checkpoint; other [`SessionError`]s
    pub async fn train(mut self, observer: &mut dyn Observer) -> Result<Outcome, SessionError> {
        let result = self.steps_and_tests(observer).await;
        let reason = match &result {
            Ok(ending) => self.reason(*ending),
            Err(SessionError::Interrupted) => "interrupted".to_owned(),
            Err(error) => format!("failed: {error}"),
        };
        let step = self.run.state().steps;
        self.tell(&Event::End { step, reason: reason.clone() }, observer)?;
        let ending = result?;
        observer.line(&reason);
        if self.best().is_some_and(|test| test.step == 0) {
            observer.line("no test was better than that of the model at the beginning: it is the best model");
        }
        self.warn_of_the_rate(ending, observer);
        let scores = self.finish(observer).await?;
        let state = self.run.state();
        let best = self.best().copied();
        Ok(Outcome { steps: state.steps, seconds: state.seconds, best, scores, ending })
    }

    async fn steps_and_tests(&mut self, observer: &mut dyn Observer) -> Result<Ending, SessionError> {
        let began = Instant::now();
        // a model that was trained before may be better than what follows
        if self.options.model.is_some() && self.run.state().steps == 0 && self.history.tests.is_empty() {
            self.test(observer).await?;
            if self.cancel.is_cancelled() {
                return self.interrupted(observer).await;
            }
        }
        // a run that was interrupted at a test tests now, as it would have
        if self.is_test_due() && self.test(observer).await? == Some(Verdict::Stop) {
            self.save_all(observer).await?;
            return Ok(Ending::Patience);
        }
        loop {
            let cancel = self.cancel.clone();
            let clock = || began.elapsed().as_secs_f64();
            let before = self.run.state().seconds;
            let advanced = self.run.advance(&mut self.trainer, &clock, &|| cancel.is_cancelled()).await;
            let steps = advanced.map_err(|error| self.explained(error, observer))?;
            self.log_steps(&steps, before, observer)?;
            let moment = Instant::now();
            if cancel.is_cancelled() {
                return self.interrupted(observer).await;
            }
            let ended = steps.progress >= 1.0;
            let mut verdict = None;
            if self.is_test_due() || (ended && self.last_test() < self.run.state().steps) {
                verdict = self.test(observer).await?;
            }
            if verdict == Some(Verdict::Stop) || ended {
                self.save_all(observer).await?;
                return Ok(self.ending(ended));
            }
            if self.saved.elapsed().as_secs_f64() >= 60.0 * self.options.tests.save_minutes {
                self.try_to_save(observer).await?;
            }
            self.run.add_seconds(moment.elapsed().as_secs_f64());
        }
    }

    /// Says once if the model is much worse than one that knows nothing: the loss is a number, but the training leads nowhere.
    fn warn_of_divergence(&self, loss: f64, observer: &mut dyn Observer) {
        let guess = (self.trainer.config().target_vocabulary as f64).ln();
        let is_worse = |loss: f64| loss > 1.5 * guess;
        // the last test is this one
        let was_worse = self.history.tests.iter().rev().skip(1).any(|test| is_worse(test.loss));
        if is_worse(loss) && !was_worse {
            observer.line(&format!(
                "warning: the dev loss of {loss:.1} is worse than that of guesses, {guess:.1}: take a lower --learning-rate"
            ));
        }
    }

    /// Says if the training ended before the learning rate reached its peak. With `--max-steps`, its beginning said so.
    fn warn_of_the_rate(&self, ending: Ending, observer: &mut dyn Observer) {
        let (steps, warmup) = (self.run.state().steps, self.run.warmup());
        if ending == Ending::Minutes && steps < warmup {
            observer.line(&format!(
                "warning: the learning rate never reached its peak: it rises for {warmup} steps (--warmup), and the training took {steps}"
            ));
        }
    }

    fn ending(&self, ended: bool) -> Ending {
        let steps = self.run.state().steps;
        match (ended, self.options.max_steps) {
            (false, _) => Ending::Patience,
            (true, Some(most)) if steps >= most => Ending::Steps,
            (true, _) => Ending::Minutes,
        }
    }

    fn reason(&self, ending: Ending) -> String {
        let state = self.run.state();
        let amount = format!("{}, {}", counted(state.steps, "step"), duration(state.seconds));
        match ending {
            Ending::Steps | Ending::Minutes => format!("finished after {amount}"),
            Ending::Patience => format!(
                "stopped after {amount}, because {} tests in a row were not better",
                self.options.patience
            ),
        }
    }

    /// Whether as many steps as lie between tests were taken since the last one.
    fn is_test_due(&self) -> bool {
        self.run.state().steps / self.test_steps > self.last_test() / self.test_steps
    }

    /// Step of the last test; 0 without one.
    fn last_test(&self) -> u64 {
        self.history.tests.last().map_or(0, |test| test.step)
    }

    /// Test of the best model.
    fn best(&self) -> Option<&TestEvent> {
        self.history.tests.iter().rfind(|test| test.best)
    }

    /// Writes an event to the log, then tells the observer.
    fn tell(&mut self, event: &Event, observer: &mut dyn Observer) -> Result<(), SessionError> {
        self.log(event, observer)?;
        observer.event(event, &self.history, &self.facts());
        Ok(())
    }

    /// Writes an event to the log. The training goes on if there is no room: later events bring it along.
    fn log(&mut self, event: &Event, observer: &mut dyn Observer) -> Result<(), SessionError> {
        match self.history.add(event) {
            Err(error) if checkpoints::is_about_writing(&error) => {
                if !std::mem::replace(&mut self.log_waits, true) {
                    observer.line(&format!("warning: {error}; the training goes on, and tries again later"));
                }
                Ok(())
            }
            result => {
                self.log_waits = false;
                result
            }
        }
    }

    fn log_steps(
        &mut self,
        steps: &Steps,
        seconds_before: f64,
        observer: &mut dyn Observer,
    ) -> Result<(), SessionError> {
        if steps.count == 0 {
            return Ok(());
        }
        let seconds = self.run.state().seconds;
        let event = StepsEvent {
            step: steps.last,
            epoch: steps.epochs,
            seconds,
            loss: steps.losses.mean(),
            smoothed_loss: steps.losses.mean_smoothed(),
            accuracy: steps.losses.correct / steps.losses.tokens.max(1.0),
            learning_rate: steps.learning_rate,
            gradient_norm: steps.gradient_norm,
            tokens_per_second: steps.losses.tokens / (seconds - seconds_before).max(1e-6),
        };
        self.tell(&Event::Steps(event), observer)
    }

    /// Tests with the dev set; writes the model if it is the best one. `None` if the training was cancelled meanwhile.
    async fn test(&mut self, observer: &mut dyn Observer) -> Result<Option<Verdict>, SessionError> {
        let losses = match self.dev.losses(&mut self.trainer, &self.cancel).await {
            Err(TrainError::Cancelled) => return Ok(None),
            losses => losses?,
        };
        let weights = weights_file(&self.trainer).await?;
        let bleu = match self.bleu(&weights).await {
            Err(SessionError::Interrupted) => return Ok(None),
            bleu => bleu?,
        };
        let (step, stopping) = (self.run.state().steps, self.run.stopping());
        let value = match (stopping.goal(), bleu) {
            (Goal::Bleu, Some(bleu)) => bleu,
            _ => losses.mean(),
        };
        let verdict = stopping.observe(step, value);
        let test = TestEvent {
            step,
            loss: losses.mean(),
            accuracy: losses.correct / losses.tokens.max(1.0),
            bleu,
            best: verdict == Verdict::Best,
        };
        self.log(&Event::Test(test), observer)?;
        if test.best {
            self.unwritten = Some(weights);
            self.try_to_write_best(observer);
        }
        observer.event(&Event::Test(test), &self.history, &self.facts());
        self.warn_of_divergence(test.loss, observer);
        Ok(Some(verdict))
    }

    /// BLEU of some dev pairs, with greedy search.
    async fn bleu(&self, weights: &[u8]) -> Result<Option<f64>, SessionError> {
        if self.dev.translated() == 0 {
            return Ok(None);
        }
        let companions = self.about.companions.iter().cloned();
        let files = companions.chain([(WEIGHTS.to_owned(), weights.to_vec())]);
        let model = Model::from_files(ModelFiles::memory("the model in training", files))?;
        let search = (Some(1), &self.cancel);
        Ok(Some(self.dev.scores(&self.device, &model, &self.options, search).await?[0]))
    }

    /// Writes the best model to the output folder, unless that is done.
    fn write_best(&mut self) -> Result<(), SessionError> {
        let Some(weights) = &self.unwritten else { return Ok(()) };
        let card = self.card(Vec::new()).to_markdown();
        let others = self.about.companions.iter().map(|(name, content)| (name.as_str(), &content[..]));
        let files = others.chain([(CARD, card.as_bytes()), (WEIGHTS, &weights[..])]);
        write_files(&self.options.out, files)?;
        self.unwritten = None;
        Ok(())
    }

    /// The same during the training, which goes on if there is no room: there may be some next time.
    fn try_to_write_best(&mut self, observer: &mut dyn Observer) {
        if let Err(error) = self.write_best() {
            observer.line(&format!("warning: {error}; the training goes on, and tries again later"));
        }
    }

    fn card(&self, scores: Vec<(String, String)>) -> Card {
        let state = self.run.state();
        let mut rows = vec![
            ("steps".to_owned(), grouped(state.steps)),
            ("target tokens".to_owned(), grouped(state.tokens)),
            ("time".to_owned(), duration(state.seconds)),
            ("device".to_owned(), self.device.to_string()),
        ];
        if let Some(test) = self.best() {
            rows.push(("dev loss, nats per token".to_owned(), format!("{:.4}", test.loss)));
            rows.push(("at step".to_owned(), grouped(test.step)));
        }
        rows.extend(scores);
        Card {
            name: name_of(&self.options.out),
            model_type: self.trainer.config().family.model_type(),
            source_language: self.options.from.clone().unwrap_or_default(),
            target_language: self.options.to.clone().unwrap_or_default(),
            data: self.about.notes.clone(),
            seed: self.options.numbers.seed,
            command: self.options.command.clone(),
            scores: rows,
            notes: Vec::new(),
        }
    }

    /// Writes a checkpoint.
    async fn save(&mut self, observer: &mut dyn Observer) -> Result<(), SessionError> {
        let state = *self.run.state();
        let record = Record::new(state, self.about.settings.clone());
        let files = checkpoint_files(&self.trainer, &record).await?;
        let files = files.into_iter().map(|(name, content)| (name.to_owned(), content));
        let files: Vec<File> = self.about.companions.iter().cloned().chain(files).collect();
        let out = &self.options.out;
        let folder = checkpoints::write(out, state.steps, &files)?.display().to_string();
        checkpoints::remove_old(out, self.options.tests.keep)?.iter().for_each(|line| observer.line(line));
        self.saved = Instant::now();
        self.tell(&Event::Checkpoint { step: state.steps, folder }, observer)
    }

    /// Writes a checkpoint during the training, which goes on if there is no room: there may be some next time.
    async fn try_to_save(&mut self, observer: &mut dyn Observer) -> Result<(), SessionError> {
        self.try_to_write_best(observer);
        match self.save(observer).await {
            Err(error) if checkpoints::is_about_writing(&error) => {
                self.saved = Instant::now();
                observer.line(&format!("warning: {error}; the training goes on, and tries again later"));
                Ok(())
            }
            result => result,
        }
    }

    /// Writes the best model and a checkpoint, at the end: nothing waits any longer.
    async fn save_all(&mut self, observer: &mut dyn Observer) -> Result<(), SessionError> {
        self.write_best()?;
        self.save(observer).await
    }

    async fn interrupted(&mut self, observer: &mut dyn Observer) -> Result<Ending, SessionError> {
        self.save_all(observer).await?;
        let step = self.run.state().steps;
        observer
            .line(&format!("a checkpoint of step {step} is written; the same command with --resume goes on"));
        Err(SessionError::Interrupted)
    }

    /// An error of a step, after a word about what is left.
    fn explained(&self, error: TrainError, observer: &mut dyn Observer) -> SessionError {
        if matches!(error, TrainError::Diverged { .. }) {
            match checkpoints::list(&self.options.out).unwrap_or_default().pop() {
                Some(folder) => observer.line(&format!(
                    "the last good checkpoint is {0}; `--model {0}` with another --out and a lower --learning-rate goes on from it",
                    folder.display()
                )),
                None => observer.line("there is no checkpoint yet"),
            }
        }
        error.into()
    }

    /// Scores the best model with its own search, and writes them to the card.
    async fn finish(&self, observer: &mut dyn Observer) -> Result<Option<[f64; 2]>, SessionError> {
        let out = &self.options.out;
        if self.options.tests.bleu_pairs == 0 {
            write_files(out, [(CARD, self.card(Vec::new()).to_markdown().as_bytes())])?;
            return Ok(None);
        }
        let model = Model::load(out)?;
        let beams = model.generation_config().num_beams.unwrap_or(1);
        let scores = self.dev.scores(&self.device, &model, &self.options, (None, &self.cancel)).await?;
        let ([bleu, chrf], count) = (scores, self.dev.translated());
        observer.line(&format!(
            "the best model: BLEU {bleu:.1}, chrF2 {chrf:.1} ({count} dev pairs, {beams} beams)"
        ));
        let rows = vec![
            (format!("BLEU of {count} dev pairs, {beams} beams"), format!("{bleu:.2}")),
            (format!("chrF2 of {count} dev pairs, {beams} beams"), format!("{chrf:.2}")),
        ];
        write_files(out, [(CARD, self.card(rows).to_markdown().as_bytes())])?;
        Ok(Some(scores))
    }

    fn facts(&self) -> Facts {
        let (state, progress) = (self.run.state(), self.run.progress());
        Facts {
            name: name_of(&self.options.out),
            device: self.device.to_string(),
            parameters: self.parameters,
            pairs: self.pairs,
            command: self.options.command.clone(),
            progress,
            seconds_left: self.pace.seconds_left(state.seconds, progress),
            patience: patience(self.options.patience, &self.history),
        }
    }
}

/// Tests that may fail before the training stops.
fn patience(patience: usize, history: &History) -> Option<usize> {
    let worse = history.tests.iter().rev().take_while(|test| !test.best).count();
    (patience > 0 && !history.tests.is_empty()).then(|| patience.saturating_sub(worse))
}

/// Name of the model: that of its folder.
fn name_of(out: &Path) -> String {
    let path = std::fs::canonicalize(out).unwrap_or_else(|_| out.to_owned());
    path.file_name().map_or_else(|| "model".to_owned(), |name| name.to_string_lossy().into_owned())
}
