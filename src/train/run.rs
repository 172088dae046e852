//! A training run: epochs, batches, learning rate, and the losses of the steps. The caller owns time, files and evaluation,
//! so the same run serves a command and a page.

use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::batches::{Batches, Epoch, Position};
use super::packed::Pair;
use super::schedule::{Budget, LearningRate};
use super::stopping::EarlyStopping;
use super::trainer::Losses;
use super::{TrainError, Trainer};
use crate::transformer::Cancel;

/// Steps between two reads of losses. A read waits for the device.
pub const STEPS_PER_READ: u64 = 10;

/// The numbers that lead a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunPlan {
    /// Learning rate of every step.
    pub learning_rate: LearningRate,
    /// End of the run.
    pub budget: Budget,
    /// Batches of a step, whose gradients are added.
    pub accumulate: usize,
}

/// The place of a run, which a checkpoint stores. Together with weights, moments, data and plan it decides all that follows.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunState {
    /// The next batch.
    pub position: Position,
    /// Optimizer's steps so far.
    pub steps: u64,
    /// Passes with dropout so far.
    pub passes: u64,
    /// Time of training so far, seconds.
    pub seconds: f64,
    /// Target tokens so far.
    pub tokens: u64,
    /// Best result on the dev set, and the patience that is left.
    pub stopping: EarlyStopping,
}

impl RunState {
    /// The beginning.
    pub fn new(stopping: EarlyStopping) -> Self {
        Self { position: Position::default(), steps: 0, passes: 0, seconds: 0.0, tokens: 0, stopping }
    }
}

/// Some steps of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Steps {
    /// Last step, from 1.
    pub last: u64,
    /// Number of steps.
    pub count: u64,
    /// Sums over their labels.
    pub losses: Losses,
    /// Learning rate of the last step.
    pub learning_rate: f64,
    /// Norm of all gradients in the last step, before clipping.
    pub gradient_norm: f32,
    /// Used share of the budget, 0 to 1.
    pub progress: f64,
    /// Passes over the data so far, with a fraction.
    pub epochs: f64,
}

/// The examples of an epoch, and batches of them.
#[derive(Clone, Debug)]
pub struct EpochData {
    /// The examples as ids.
    pub pairs: Arc<Vec<Pair>>,
    /// Batches of indices of them.
    pub epoch: Epoch,
}

/// Makes the data of an epoch by its number: always the same for the same number, so that a run can go on.
pub type EpochSource = Box<dyn FnMut(u64) -> Result<EpochData, TrainError>>;

/// The same pairs in every epoch, in an order by seed.
pub fn same_pairs(pairs: Vec<Pair>, batches: Batches) -> EpochSource {
    let pairs = Arc::new(pairs);
    Box::new(move |epoch| Ok(EpochData { pairs: pairs.clone(), epoch: batches.epoch(epoch) }))
}

/// A run over the batches of the data.
pub struct Run {
    source: EpochSource,
    pairs: Arc<Vec<Pair>>,
    epoch: Epoch,
    plan: RunPlan,
    state: RunState,
}

impl Run {
    /// Begins or continues a run at a state.
    ///
    /// # Errors
    /// [`BatchError::Position`](super::batches::BatchError::Position) if the data has no such batch; errors of the source.
    pub fn new(mut source: EpochSource, plan: RunPlan, state: RunState) -> Result<Self, TrainError> {
        let EpochData { pairs, epoch } = source(state.position.epoch)?;
        epoch.check(state.position)?;
        Ok(Self { source, pairs, epoch, plan, state })
    }

    /// The place of the run.
    pub fn state(&self) -> &RunState {
        &self.state
    }

    /// The batches of the current epoch.
    pub fn epoch(&self) -> &Epoch {
        &self.epoch
    }

    /// Adds time that was not spent on steps, such as for tests and checkpoints.
    pub fn add_seconds(&mut self, seconds: f64) {
        self.state.seconds += seconds.max(0.0);
    }

    /// The patience of the run, which takes observations of the dev set.
    pub fn stopping(&mut self) -> &mut EarlyStopping {
        &mut self.state.stopping
    }

    /// Number of steps in which the learning rate rises.
    pub fn warmup(&self) -> u64 {
        self.plan.learning_rate.warmup()
    }

    /// Used share of the budget, 0 to 1. The run ends at 1.
    pub fn progress(&self) -> f64 {
        self.plan.budget.progress(self.state.steps, seconds(self.state.seconds))
    }

    /// Takes steps up to the next multiple of [`STEPS_PER_READ`], to the end of the budget, or until `wants_stop` returns
    /// `true`, and reads their losses. `clock` gives the seconds since any fixed moment of this process.
    ///
    /// # Errors
    /// [`TrainError::Diverged`] if a loss is not a number. The weights are then of no use: the last checkpoint is.
    pub async fn advance(
        &mut self,
        trainer: &mut Trainer,
        clock: &dyn Fn() -> f64,
        wants_stop: &dyn Fn() -> bool,
    ) -> Result<Steps, TrainError> {
        let (before, mut moment) = (self.state, clock());
        let mut learning_rate = 0.0;
        while !wants_stop() && self.progress() < 1.0 {
            learning_rate = self.take_step(trainer).await?;
            let now = clock();
            self.state.seconds += (now - moment).max(0.0);
            moment = now;
            if self.state.steps.is_multiple_of(STEPS_PER_READ) {
                break;
            }
        }
        let losses = trainer.losses().await?;
        self.state.seconds += (clock() - moment).max(0.0);
        if let Some((step, loss)) = trainer.first_diverged() {
            return Err(self.explain(trainer, step, loss).await);
        }
        let of_epoch = self.state.position.batch as f64 / self.epoch.batches.len().max(1) as f64;
        Ok(Steps {
            last: self.state.steps,
            count: self.state.steps - before.steps,
            losses,
            learning_rate,
            gradient_norm: trainer.gradient_norm().await?,
            progress: self.progress(),
            epochs: self.state.position.epoch as f64 + of_epoch,
        })
    }

    /// One step on the next batches. Returns its learning rate.
    async fn take_step(&mut self, trainer: &mut Trainer) -> Result<f64, TrainError> {
        let learning_rate = self.plan.learning_rate.at(self.state.steps + 1, self.progress());
        let batches = self.next_batches()?;
        let batches: Vec<&[Pair]> = batches.iter().map(Vec::as_slice).collect();
        trainer.take_step(&batches, learning_rate).await?;
        let tokens = batches.iter().flat_map(|batch| batch.iter()).map(|pair| pair.target.len() as u64);
        self.state.tokens += tokens.sum::<u64>();
        self.state.steps = trainer.step_count();
        self.state.passes = trainer.pass_count();
        Ok(learning_rate)
    }

    /// The batches of a step. One step may take batches of two epochs.
    fn next_batches(&mut self) -> Result<Vec<Vec<Pair>>, TrainError> {
        let mut taken = Vec::new();
        while taken.len() < self.plan.accumulate.max(1) {
            let Position { epoch, batch } = self.state.position;
            match self.epoch.batches.get(batch) {
                Some(pairs) => {
                    taken.push(pairs.iter().map(|&pair| self.pairs[pair].clone()).collect());
                    self.state.position.batch += 1;
                }
                None => {
                    self.state.position = Position { epoch: epoch + 1, batch: 0 };
                    let EpochData { pairs, epoch } = (self.source)(epoch + 1)?;
                    (self.pairs, self.epoch) = (pairs, epoch);
                }
            }
        }
        Ok(taken)
    }

    /// The error of a loss that is not a number, with the largest gradient of the last batch.
    async fn explain(&self, trainer: &mut Trainer, step: u64, loss: f32) -> TrainError {
        let last = self.state.position.batch.saturating_sub(1);
        let batch = self.epoch.batches.get(last).or(self.epoch.batches.first());
        let pairs: Vec<Pair> = batch.into_iter().flatten().map(|&pair| self.pairs[pair].clone()).collect();
        if let Err(error) = trainer.add_gradients(&[&pairs]).await {
            return error;
        }
        match trainer.largest_gradient().await {
            Ok((tensor, gradient)) => TrainError::Diverged { step, loss, tensor, gradient },
            Err(error) => error,
        }
    }
}

/// A time of the state, which may come from a file.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or_default()
}

/// The losses of the pairs of some batches, without dropout and without learning.
///
/// # Errors
/// [`TrainError::Cancelled`] if `cancel` ends it; [`TrainError`] if a batch does not fit the trainer; errors of the device.
pub async fn dev_losses(
    trainer: &mut Trainer,
    pairs: &[Pair],
    batches: &Epoch,
    cancel: &Cancel,
) -> Result<Losses, TrainError> {
    let batches: Vec<Vec<Pair>> =
        batches.batches.iter().map(|batch| batch.iter().map(|&pair| pairs[pair].clone()).collect()).collect();
    let batches: Vec<&[Pair]> = batches.iter().map(Vec::as_slice).collect();
    trainer.evaluate(&batches, cancel).await
}
