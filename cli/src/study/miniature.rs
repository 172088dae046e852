//! One run: a miniature of the paper's model is trained from random weights on a number of target tokens, and tested.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use wordloom::model::generation_config::GenerationConfig;
use wordloom::precision::Products;
use wordloom::train::batches::{Batches, TooLong};
use wordloom::train::checkpoint::{CheckpointError, WEIGHTS, weights_file};
use wordloom::train::run::{Run, RunPlan, RunState, same_pairs};
use wordloom::train::schedule::{Budget, Height, LearningRate};
use wordloom::train::stopping::{EarlyStopping, Goal};
use wordloom::train::{Recipe, TrainError, Trainer};
use wordloom::transformer::Cancel;
use wordloom::{Device, Model, Transformer, TranslateOptions, Translator};

use super::material::Material;
use crate::CliError;

/// Share of the steps in which the learning rate rises. The paper's is 4,000 of 100,000; so few steps need more of it.
const WARMUP_SHARE: f64 = 0.1;
/// Last share of the steps in which the learning rate falls to almost 0: its noise is then small.
const COOLDOWN: f64 = 0.3;

/// Shape and recipe of a model, with the paper's names.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Miniature {
    pub d_model: usize,
    pub heads: usize,
    /// Widths of keys and of values of a head.
    pub d_k: usize,
    pub d_v: usize,
    /// Layers of the encoder, and of the decoder.
    pub layers: usize,
    pub d_ff: usize,
    pub learned_positions: bool,
    pub pre_norm: bool,
    /// Whether norms are of each column over the tokens of a batch, not of each token.
    #[serde(default)]
    pub batch_norm: bool,
    /// Whether the learning rate rises from 0. Else it begins with its peak.
    pub warmup: bool,
    pub dropout: f64,
    pub label_smoothing: f64,
}

impl Miniature {
    /// The base model: the paper's with a quarter of its widths and half of its layers.
    pub const BASE: Self = Self {
        d_model: 128,
        heads: 8,
        d_k: 16,
        d_v: 16,
        layers: 3,
        d_ff: 512,
        learned_positions: false,
        pre_norm: false,
        batch_norm: false,
        warmup: true,
        dropout: 0.1,
        label_smoothing: 0.1,
    };

    /// The keys of `config.json` that belong to the shape.
    fn config(&self) -> Value {
        json!({
            "d_model": self.d_model,
            "nhead": self.heads,
            "d_k": self.d_k,
            "d_v": self.d_v,
            "num_encoder_layers": self.layers,
            "num_decoder_layers": self.layers,
            "dim_feedforward": self.d_ff,
            "norm_first": self.pre_norm,
            "final_norm": self.pre_norm,
            "normalization": if self.batch_norm { "batch" } else { "layer" },
            "position_embedding_type": if self.learned_positions { "learned" } else { "sinusoidal_interleaved" },
        })
    }
}

/// The numbers that all runs share.
#[derive(Clone, Copy, Debug)]
pub struct Numbers {
    /// Target tokens of a run.
    pub tokens: u64,
    /// Target tokens of a batch.
    pub batch_tokens: usize,
    /// Peak learning rate of the base model. That of another width follows from section 5.3.
    pub peak: f64,
    /// Precision of matrix products.
    pub products: Products,
}

impl Numbers {
    /// Steps of the warm-up.
    pub fn warmup(&self) -> u64 {
        let steps = self.tokens as f64 / self.batch_tokens.max(1) as f64;
        ((WARMUP_SHARE * steps).round() as u64).max(1)
    }

    fn learning_rate(&self, miniature: &Miniature) -> Result<LearningRate, CliError> {
        let width = (Miniature::BASE.d_model as f64 / miniature.d_model as f64).sqrt();
        let curve = LearningRate::new(Height::Peak(self.peak * width), self.warmup())?;
        let curve = if miniature.warmup { curve } else { curve.starting_at_peak() };
        Ok(curve.with_cooldown(COOLDOWN)?)
    }
}

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    pub parameters: u64,
    pub steps: u64,
    /// Target tokens.
    pub tokens: u64,
    /// Mean loss of a target token of the dev set, without label smoothing, nats. `None` if the training diverged.
    pub dev_loss: Option<f64>,
    /// BLEU of the dev set by greedy search.
    pub bleu: Option<f64>,
    /// Time of the steps.
    pub seconds: f64,
    pub tokens_per_second: f64,
    /// First step whose loss was not a number.
    pub diverged_at: Option<u64>,
}

/// A run on its way.
#[derive(Clone, Copy, Debug)]
pub struct Glimpse {
    pub step: u64,
    /// Mean loss of the last steps, without label smoothing, nats.
    pub loss: f64,
    /// Done share, 0 to 1.
    pub progress: f64,
    pub tokens_per_second: f64,
}

/// Trains miniatures on a device.
pub struct Workshop {
    pub device: Device,
    pub material: Material,
    pub numbers: Numbers,
    pub cancel: Cancel,
}

impl Workshop {
    /// Trains and tests a miniature. Returns [`CliError::Interrupted`] after Ctrl-C.
    pub async fn train(
        &self,
        miniature: &Miniature,
        seed: u64,
        watch: &mut dyn FnMut(Glimpse),
    ) -> Result<Outcome, CliError> {
        let model = Model::random(self.material.files(miniature.config()), seed)?;
        let parameters = model.config().parameter_count();
        let mut trainer =
            Trainer::new(&self.device, model, self.recipe(miniature, seed), self.material.capacity)?;
        let mut run = self.run(miniature, seed)?;
        let mut diverged_at = self.take_steps(&mut run, &mut trainer, watch).await?;
        let state = *run.state();
        let (mut dev_loss, mut bleu) = (None, None);
        if diverged_at.is_none() {
            match weights_file(&trainer).await {
                // the last step did it; no loss has told
                Err(CheckpointError::NotFinite { step, .. }) => diverged_at = Some(step),
                weights => {
                    dev_loss = Some(self.material.dev.losses(&mut trainer, &self.cancel).await?.mean());
                    bleu = Some(self.bleu(miniature, weights?).await?);
                }
            }
        }
        Ok(Outcome {
            parameters,
            steps: state.steps,
            tokens: state.tokens,
            dev_loss,
            bleu,
            seconds: state.seconds,
            tokens_per_second: state.tokens as f64 / state.seconds.max(1e-6),
            diverged_at,
        })
    }

    /// A run of as many steps as have the wanted tokens. Its batches follow from the seed alone, so that all miniatures see the
    /// same ones.
    fn run(&self, miniature: &Miniature, seed: u64) -> Result<Run, CliError> {
        let train = &self.material.train;
        let batches = Batches::new(train, self.material.capacity, seed, TooLong::LeaveOut)?;
        let (mut steps, mut tokens, mut epoch) = (0, 0, 0);
        while tokens < self.numbers.tokens {
            for batch in batches.epoch(epoch).batches {
                if tokens >= self.numbers.tokens {
                    break;
                }
                tokens += batch.iter().map(|&pair| train[pair].target.len() as u64).sum::<u64>();
                steps += 1;
            }
            epoch += 1;
        }
        let plan = RunPlan {
            learning_rate: self.numbers.learning_rate(miniature)?,
            budget: Budget::new(Some(steps), None)?,
            accumulate: 1,
        };
        let state = RunState::new(EarlyStopping::new(Goal::Loss, 0));
        Ok(Run::new(same_pairs(train.clone(), batches), plan, state)?)
    }

    /// Returns the step at which the training diverged.
    async fn take_steps(
        &self,
        run: &mut Run,
        trainer: &mut Trainer,
        watch: &mut dyn FnMut(Glimpse),
    ) -> Result<Option<u64>, CliError> {
        let began = Instant::now();
        let clock = || began.elapsed().as_secs_f64();
        while run.progress() < 1.0 {
            let before = run.state().seconds;
            let steps = match run.advance(trainer, &clock, &|| self.cancel.is_cancelled()).await {
                Err(TrainError::Diverged { step, .. }) => return Ok(Some(step)),
                steps => steps?,
            };
            if self.cancel.is_cancelled() {
                return Err(CliError::Interrupted);
            }
            let seconds = run.state().seconds - before;
            watch(Glimpse {
                step: steps.last,
                loss: steps.losses.mean(),
                progress: steps.progress,
                tokens_per_second: steps.losses.tokens / seconds.max(1e-6),
            });
        }
        Ok(None)
    }

    async fn bleu(&self, miniature: &Miniature, weights: Vec<u8>) -> Result<f64, CliError> {
        let model = Model::from_files(self.material.files_with(miniature.config(), (WEIGHTS, weights)))?;
        let transformer = Transformer::load(&self.device, &model, &mut |_| {})?;
        let translator = Translator::from_parts(transformer, model.tokenizer()?);
        let generation = GenerationConfig { num_beams: Some(1), ..GenerationConfig::default() };
        let options = TranslateOptions { generation, ..TranslateOptions::default() };
        Ok(self.material.dev.scores_of(&translator, &options, &self.cancel).await?[0])
    }

    /// The paper's recipe, without clipping: that would hide what a warm-up does.
    fn recipe(&self, miniature: &Miniature, seed: u64) -> Recipe {
        Recipe {
            seed,
            dropout: miniature.dropout as f32,
            label_smoothing: miniature.label_smoothing as f32,
            products: self.numbers.products,
            ..Recipe::default()
        }
    }
}
