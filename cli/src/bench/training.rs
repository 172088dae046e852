//! Speed of training: steps over pairs of made-up sentences.

use serde::Serialize;
use wordloom::train::{Capacity, Pair, Recipe, Trainer};
use wordloom::{Device, Model};

use super::models::DeviceShape;
use super::profile::{self, Line};
use super::timing::{Samples, Summary, round};
use super::{Steps, host, limits};
use crate::CliError;
use crate::output::Output;
use crate::table::{megabytes, number};

/// Steps of a run: the device is waited for at the end only, as in a training.
const STEPS: usize = 4;
/// Tokens of a sentence, its end included.
const SHORTEST: u32 = 6;
const LONGEST: u32 = 16;

#[derive(Serialize)]
pub struct Training {
    version: &'static str,
    date: String,
    model: String,
    device: DeviceShape,
    batch_tokens: usize,
    /// Of one step.
    step: Summary,
    tokens_per_second: f64,
    device_bytes: u64,
    /// Of one step, if asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    kernels: Option<Vec<Line>>,
}

impl Training {
    pub fn measure(
        device: &Device,
        model: Model,
        batch_tokens: usize,
        repeats: usize,
        profiled: bool,
    ) -> Result<Self, CliError> {
        let gpu = profiled.then(|| profile::gpu_of(device)).transpose()?;
        let label = model.label().to_owned();
        let vocabulary = model.config().target_vocabulary.min(model.config().source_vocabulary) as u32;
        let capacity = Capacity { source_rows: batch_tokens, target_rows: batch_tokens };
        let recipe = Recipe { max_norm: Some(1.0), ..Recipe::default() };
        let mut trainer = Trainer::new(device, model, recipe, capacity)?;
        let batches: Vec<Vec<Pair>> =
            (0..STEPS as u32).map(|seed| pairs(seed, vocabulary, batch_tokens)).collect();
        let tokens: usize = batches.iter().flatten().map(|pair| pair.target.len()).sum();
        let mut steps = Steps::new(repeats + 1 + usize::from(profiled));
        let mut run = || {
            pollster::block_on(async {
                for batch in &batches {
                    trainer.take_step(&[batch], 1e-5).await?;
                }
                trainer.losses().await
            })?;
            steps.step();
            Ok(())
        };
        limits::warm_up(device)?;
        let seconds = |summary: &Summary| summary.ms / 1e3;
        let of_run = Samples::of(repeats, &mut run)?.summary();
        let kernels = gpu.map(|gpu| profile::kernels(gpu, STEPS as u64, &mut run)).transpose()?;
        let each = |ms: f64| round(ms / STEPS as f64);
        Ok(Self {
            version: env!("CARGO_PKG_VERSION"),
            date: host::date(),
            model: label,
            device: DeviceShape::of(device),
            batch_tokens,
            tokens_per_second: round(tokens as f64 / seconds(&of_run)),
            step: Summary {
                ms: each(of_run.ms),
                ms_min: each(of_run.ms_min),
                cpu_ms: of_run.cpu_ms.map(each),
                ..of_run
            },
            device_bytes: trainer.planned_bytes(),
            kernels,
        })
    }

    pub fn text(&self, output: &mut Output) -> Result<(), CliError> {
        output.line(&format!("wordloom  {}, {}", self.version, self.date))?;
        output.line(&format!("model     {}", self.model))?;
        output.line(&format!("device    {}", self.device.text()))?;
        output.line(&format!(
            "training  {} target tokens/s: {} ms a step of at most {} tokens, {} ms at least, {} MB",
            number(self.tokens_per_second),
            number(self.step.ms),
            self.batch_tokens,
            number(self.step.ms_min),
            megabytes(self.device_bytes),
        ))?;
        if let Some(kernels) = &self.kernels {
            output.line("\none step")?;
            profile::text(kernels, output)?;
        }
        Ok(())
    }
}

/// Sentences of about equal lengths on both sides, the same on every machine: numbers of a linear congruential generator.
fn pairs(seed: u32, vocabulary: u32, most_tokens: usize) -> Vec<Pair> {
    let mut state = seed;
    let mut below = |end: u32| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        (state >> 8) % end.max(1)
    };
    let (mut pairs, mut tokens) = (Vec::new(), 0);
    loop {
        let length = SHORTEST + below(LONGEST - SHORTEST + 1);
        tokens += length as usize;
        if tokens > most_tokens {
            return pairs;
        }
        let mut side = || (0..length).map(|_| below(vocabulary)).collect();
        pairs.push(Pair { source: side(), target: side() });
    }
}
