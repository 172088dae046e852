//! The learning rate of each step, and the budget of a training.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// Smallest factor of the cool-down, so that the last steps still learn.
const COOLDOWN_FLOOR: f64 = 0.02;

/// The height of the learning rate's curve.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Height {
    /// A factor of the paper's formula, whose height follows from the width of the model.
    Factor {
        /// 1 is the paper's curve.
        factor: f64,
        /// Width of the model.
        d_model: usize,
    },
    /// The rate at the end of the warm-up.
    Peak(f64),
}

/// The learning rate: a linear warm-up, then the inverse square root of the step (Vaswani et al. 2017, section 5.3), at the end
/// perhaps a linear cool-down.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct LearningRate {
    height: Height,
    warmup: u64,
    cooldown: f64,
    /// Whether the rate is at its peak from the first step on.
    #[serde(default)]
    starts_at_peak: bool,
}

/// Options that make no learning rate.
#[derive(Clone, Copy, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum ScheduleError {
    #[error("the learning rate's height is {0}; it must be a number above 0")]
    Height(f64),
    #[error("the model's width is 0; the paper's formula needs it")]
    Width,
    #[error("the warm-up is 0 steps; it must be at least 1")]
    Warmup,
    #[error("the cool-down is {0} of the training; it must be 0 to 1")]
    Cooldown(f64),
    #[error("the training's time is {0} minutes; it must be a number above 0")]
    Minutes(f64),
    #[error("the training has no end; give a number of steps or minutes")]
    NoEnd,
}

impl LearningRate {
    /// A curve without cool-down. `warmup`: number of steps.
    ///
    /// # Errors
    /// [`ScheduleError::Height`], [`ScheduleError::Width`], [`ScheduleError::Warmup`]
    pub fn new(height: Height, warmup: u64) -> Result<Self, ScheduleError> {
        let value = match height {
            Height::Factor { d_model: 0, .. } => return Err(ScheduleError::Width),
            Height::Factor { factor, .. } => factor,
            Height::Peak(peak) => peak,
        };
        match (value.is_finite() && value > 0.0, warmup) {
            (false, _) => Err(ScheduleError::Height(value)),
            (true, 0) => Err(ScheduleError::Warmup),
            (true, _) => Ok(Self { height, warmup, cooldown: 0.0, starts_at_peak: false }),
        }
    }

    /// The same with a cool-down over this last share of the budget, 0 to 1. It multiplies the curve by a factor that falls
    /// from 1 to almost 0.
    ///
    /// # Errors
    /// [`ScheduleError::Cooldown`]
    pub fn with_cooldown(self, share: f64) -> Result<Self, ScheduleError> {
        match (0.0..=1.0).contains(&share) {
            true => Ok(Self { cooldown: share, ..self }),
            false => Err(ScheduleError::Cooldown(share)),
        }
    }

    /// The same curve without its rise: the steps of the warm-up have the peak rate, the later ones what they had.
    pub fn starting_at_peak(self) -> Self {
        Self { starts_at_peak: true, ..self }
    }

    /// Number of steps in which the rate rises.
    pub fn warmup(&self) -> u64 {
        self.warmup
    }

    /// The learning rate of a step, which counts from 1. `progress`: used share of the budget, 0 to 1; only the cool-down
    /// reads it.
    pub fn at(&self, step: u64, progress: f64) -> f64 {
        let first = if self.starts_at_peak { self.warmup } else { 1 };
        let (step, warmup) = (step.max(first) as f64, self.warmup as f64);
        let curve = libm::pow(step, -0.5).min(step * libm::pow(warmup, -1.5));
        let rate = match self.height {
            Height::Factor { factor, d_model } => factor * libm::pow(d_model as f64, -0.5) * curve,
            Height::Peak(peak) => peak * (step / warmup).min((warmup / step).sqrt()),
        };
        match progress > 1.0 - self.cooldown {
            true => rate * ((1.0 - progress) / self.cooldown).max(COOLDOWN_FLOOR),
            false => rate,
        }
    }
}

/// The end of a training: a number of steps, a time, or both, of which the first one reached counts.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    steps: Option<u64>,
    minutes: Option<f64>,
}

impl Budget {
    /// # Errors
    /// [`ScheduleError::NoEnd`] without a positive number of steps and without minutes; [`ScheduleError::Minutes`]
    pub fn new(steps: Option<u64>, minutes: Option<f64>) -> Result<Self, ScheduleError> {
        match (steps, minutes) {
            (None | Some(0), None) | (Some(0), Some(_)) => Err(ScheduleError::NoEnd),
            (_, Some(minutes)) if !(minutes.is_finite() && minutes > 0.0) => {
                Err(ScheduleError::Minutes(minutes))
            }
            _ => Ok(Self { steps, minutes }),
        }
    }

    /// The used share of the budget, 0 to 1, after this many steps and this time of training. The training ends at 1.
    pub fn progress(&self, steps: u64, spent: Duration) -> f64 {
        let by_steps = self.steps.map_or(0.0, |most| steps as f64 / most as f64);
        let by_time = self.minutes.map_or(0.0, |most| spent.as_secs_f64() / (60.0 * most));
        by_steps.max(by_time).min(1.0)
    }
}
