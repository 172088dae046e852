//! The course of a training: steps, tests, the best model, checkpoints.

use std::time::Instant;

use wordloom::model::files::ModelFiles;
use wordloom::train::card::Card;
use wordloom::train::checkpoint::{Record, Settings, WEIGHTS, checkpoint_files, weights_file};
use wordloom::train::run::{Run, Steps};
use wordloom::train::stopping::{Goal, Verdict};
use wordloom::train::write::write_files;
use wordloom::train::{TrainError, Trainer};
use wordloom::transformer::Cancel;
use wordloom::{Device, Model};

use super::arguments::Arguments;
use super::dev::Dev;
use super::history::{Event, History, StepsEvent, TestEvent};
use super::pace::Pace;
use super::page::Facts;
use super::report::Report;
use super::text::{duration, grouped, typed};
use super::{checkpoints, defaults, name_of};
use crate::{CliError, notice};

const CARD: &str = "MODEL_CARD.md";
/// A file with its name.
type File = (String, Vec<u8>);

/// A training in this process.
pub struct Session<'a> {
    arguments: &'a Arguments,
    run: Run,
    trainer: Trainer,
    dev: Dev,
    companions: Vec<File>,
    settings: Settings,
    notes: Vec<String>,
    device: Device,
    pairs: usize,
    parameters: u64,
    test_steps: u64,
    command: String,
    cancel: Cancel,
    history: History,
    pace: Pace,
    report: Report,
    saved: Instant,
}

impl<'a> Session<'a> {
    pub fn new(
        arguments: &'a Arguments,
        (run, trainer, dev): (Run, Trainer, Dev),
        (companions, settings, notes): (Vec<File>, Settings, Vec<String>),
        (device, pairs, steps_of_epoch): (Device, usize, usize),
        cancel: Cancel,
    ) -> Result<Self, CliError> {
        let step = run.state().steps;
        let mut history = History::open(&arguments.out, step)?;
        let checkpoint = trainer.model().checkpoint();
        let infos = checkpoint.names().filter_map(|name| checkpoint.info(name));
        let parameters = infos.map(|info| info.element_count() as u64).sum();
        let test_steps = arguments.tests.test_steps.unwrap_or_else(|| defaults::test_steps(steps_of_epoch));
        let command = typed(std::iter::once("wordloom".to_owned()).chain(std::env::args().skip(1)));
        history.add(&Event::Start {
            step,
            command: command.clone(),
            device: device.to_string(),
            parameters,
            pairs,
            dev_pairs: dev.len(),
        })?;
        Ok(Self {
            pace: Pace::new(run.state().seconds, run.progress()),
            report: Report::new(&arguments.out),
            saved: Instant::now(),
            arguments,
            run,
            trainer,
            dev,
            companions,
            settings,
            notes,
            device,
            pairs,
            parameters,
            test_steps,
            command,
            cancel,
            history,
        })
    }

    /// Trains to the end, or until Ctrl-C.
    pub async fn train(&mut self) -> Result<(), CliError> {
        let result = self.steps_and_tests().await;
        let reason = match &result {
            Ok(reason) => reason.clone(),
            Err(CliError::Interrupted) => "interrupted".to_owned(),
            Err(error) => format!("failed: {error}"),
        };
        let step = self.run.state().steps;
        self.history.add(&Event::End { step, reason: reason.clone() })?;
        let facts = Facts { end: Some(reason.clone()), ..self.facts() };
        self.report.finish(&self.history, &facts);
        result?;
        self.finish(&reason).await
    }

    /// Returns why the training ended.
    async fn steps_and_tests(&mut self) -> Result<String, CliError> {
        let began = Instant::now();
        loop {
            let cancel = self.cancel.clone();
            let clock = || began.elapsed().as_secs_f64();
            let before = self.run.state().seconds;
            let advanced = self.run.advance(&mut self.trainer, &clock, &|| cancel.is_cancelled()).await;
            let steps = advanced.map_err(|error| self.explained(error))?;
            self.log_steps(&steps, before)?;
            let moment = Instant::now();
            if cancel.is_cancelled() {
                return self.interrupted().await;
            }
            let ended = steps.progress >= 1.0;
            let mut verdict = None;
            if self.is_test_due() || (ended && self.last_test() < self.run.state().steps) {
                verdict = self.test().await?;
            }
            if verdict == Some(Verdict::Stop) || ended {
                self.save().await?;
                return Ok(self.reason(ended));
            }
            if self.saved.elapsed().as_secs_f64() >= 60.0 * self.arguments.tests.save_minutes {
                self.try_to_save().await?;
            }
            self.run.add_seconds(moment.elapsed().as_secs_f64());
            let facts = self.facts();
            self.report.curves(&self.history, &facts);
        }
    }

    fn reason(&self, ended: bool) -> String {
        let state = self.run.state();
        let amount = format!("{} steps, {}", grouped(state.steps), duration(state.seconds));
        match ended {
            true => format!("finished after {amount}"),
            false => format!(
                "stopped after {amount}, because {} tests in a row were not better",
                self.arguments.patience
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

    fn log_steps(&mut self, steps: &Steps, seconds_before: f64) -> Result<(), CliError> {
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
        self.history.add(&Event::Steps(event))?;
        self.report.steps(&event, steps.progress, &self.time_left());
        Ok(())
    }

    /// Tests with the dev set; writes the model if it is the best one. `None` if Ctrl-C was pressed meanwhile.
    async fn test(&mut self) -> Result<Option<Verdict>, CliError> {
        let losses = self.dev.losses(&mut self.trainer).await?;
        let weights = weights_file(&self.trainer).await?;
        let bleu = match self.bleu(&weights).await {
            Err(CliError::Interrupted) => return Ok(None),
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
        self.history.add(&Event::Test(test))?;
        self.report.test(&test, self.history.steps.last(), &self.time_left());
        if test.best {
            self.write_best(weights).await?;
        }
        Ok(Some(verdict))
    }

    /// BLEU of some dev pairs, with greedy search.
    async fn bleu(&self, weights: &[u8]) -> Result<Option<f64>, CliError> {
        if self.dev.translated() == 0 {
            return Ok(None);
        }
        let files = self.companions.iter().cloned().chain([(WEIGHTS.to_owned(), weights.to_vec())]);
        let model = Model::from_files(ModelFiles::memory("the model in training", files))?;
        let search = (Some(1), &self.cancel);
        Ok(Some(self.dev.scores(&self.device, &model, self.arguments, search).await?[0]))
    }

    /// Writes the model to the output folder.
    async fn write_best(&mut self, weights: Vec<u8>) -> Result<(), CliError> {
        let card = self.card(Vec::new());
        let out = &self.arguments.out;
        let others = self.companions.iter().map(|(name, content)| (name.as_str(), &content[..]));
        let result =
            write_files(out, others.chain([(CARD, card.to_markdown().as_bytes()), (WEIGHTS, &weights[..])]));
        match result {
            Err(error) if self.run.progress() < 1.0 => {
                self.report.line(&format!("warning: {error}; the training goes on"));
                Ok(())
            }
            result => Ok(result?),
        }
    }

    fn card(&self, scores: Vec<(String, String)>) -> Card {
        let state = self.run.state();
        let test = self.history.tests.iter().rfind(|test| test.best);
        let mut rows = vec![
            ("steps".to_owned(), grouped(state.steps)),
            ("target tokens".to_owned(), grouped(state.tokens)),
            ("time".to_owned(), duration(state.seconds)),
            ("device".to_owned(), self.device.to_string()),
        ];
        if let Some(test) = test {
            rows.push(("dev loss, nats per token".to_owned(), format!("{:.4}", test.loss)));
            rows.push(("at step".to_owned(), grouped(test.step)));
        }
        rows.extend(scores);
        Card {
            name: name_of(&self.arguments.out),
            source_language: self.arguments.from.clone().unwrap_or_default(),
            target_language: self.arguments.to.clone().unwrap_or_default(),
            data: self.notes.clone(),
            seed: self.arguments.numbers.seed,
            command: self.command.clone(),
            scores: rows,
            notes: Vec::new(),
        }
    }

    /// Writes a checkpoint.
    async fn save(&mut self) -> Result<(), CliError> {
        let state = *self.run.state();
        let record = Record::new(state, self.settings.clone());
        let files = checkpoint_files(&self.trainer, &record).await?;
        let files = files.into_iter().map(|(name, content)| (name.to_owned(), content));
        let files: Vec<File> = self.companions.iter().cloned().chain(files).collect();
        let folder = checkpoints::write(&self.arguments.out, state.steps, &files, self.arguments.tests.keep)?;
        self.saved = Instant::now();
        let folder = folder.display().to_string();
        self.history.add(&Event::Checkpoint { step: state.steps, folder })
    }

    /// Writes a checkpoint during the training, which goes on if there is no room: there may be some next time.
    async fn try_to_save(&mut self) -> Result<(), CliError> {
        match self.save().await {
            Err(error) if checkpoints::is_about_writing(&error) => {
                self.saved = Instant::now();
                self.report.line(&format!("warning: {error}; the training goes on, and tries again later"));
                Ok(())
            }
            result => result,
        }
    }

    async fn interrupted(&mut self) -> Result<String, CliError> {
        self.save().await?;
        self.report.line(&format!(
            "a checkpoint of step {} is written; the same command with --resume goes on",
            self.run.state().steps
        ));
        Err(CliError::Interrupted)
    }

    /// An error of a step, after a word about what is left.
    fn explained(&self, error: TrainError) -> CliError {
        if matches!(error, TrainError::Diverged { .. }) {
            let kept = checkpoints::list(&self.arguments.out).unwrap_or_default().pop();
            match kept {
                Some(folder) => {
                    self.report.line(&format!("the last good checkpoint is {}", folder.display()))
                }
                None => self.report.line("there is no checkpoint yet"),
            }
        }
        error.into()
    }

    /// Scores the best model with its own search, and writes them to the card.
    async fn finish(&mut self, reason: &str) -> Result<(), CliError> {
        let out = &self.arguments.out;
        notice(reason);
        if self.arguments.tests.bleu_pairs > 0 {
            let model = Model::load(out)?;
            let beams = model.generation_config().num_beams.unwrap_or(1);
            let [bleu, chrf] =
                self.dev.scores(&self.device, &model, self.arguments, (None, &self.cancel)).await?;
            let count = self.dev.translated();
            notice(&format!(
                "the best model: BLEU {bleu:.1}, chrF2 {chrf:.1} ({count} dev pairs, {beams} beams)"
            ));
            let scores = vec![
                (format!("BLEU of {count} dev pairs, {beams} beams"), format!("{bleu:.2}")),
                (format!("chrF2 of {count} dev pairs, {beams} beams"), format!("{chrf:.2}")),
            ];
            write_files(out, [(CARD, self.card(scores).to_markdown().as_bytes())])?;
        }
        notice(&format!("{}: try it with wordloom translate --model {0} \"…\"", out.display()));
        Ok(())
    }

    fn time_left(&self) -> String {
        self.pace.time_left(self.run.state().seconds, self.run.progress())
    }

    fn facts(&self) -> Facts {
        Facts {
            name: name_of(&self.arguments.out),
            end: None,
            device: self.device.to_string(),
            parameters: self.parameters,
            pairs: self.pairs,
            command: self.command.clone(),
            progress: self.run.progress(),
            time_left: self.time_left(),
            patience: patience(self.arguments.patience, &self.history),
        }
    }
}

/// Tests that may fail before the training stops.
fn patience(patience: usize, history: &History) -> Option<usize> {
    let worse = history.tests.iter().rev().take_while(|test| !test.best).count();
    (patience > 0 && !history.tests.is_empty()).then(|| patience.saturating_sub(worse))
}
