//! A given model that is trained further with some of its weights, and tested.

use std::time::Instant;

use serde::{Deserialize, Serialize};
use wordloom::model::files::ModelFiles;
use wordloom::model::generation_config::GenerationConfig;
use wordloom::precision::Products;
use wordloom::train::batches::{Batches, Capacity, TooLong};
use wordloom::train::checkpoint::{WEIGHTS, weights_file};
use wordloom::train::run::{Run, RunPlan, RunState, same_pairs};
use wordloom::train::schedule::{Budget, Height, LearningRate};
use wordloom::train::session::{Corpus, Dev, Encoder, companions};
use wordloom::train::stopping::{EarlyStopping, Goal};
use wordloom::train::{Pair, Recipe, Trainer};
use wordloom::transformer::Cancel;
use wordloom::{Device, Model, Transformer, TranslateOptions, Translator};

use crate::{CliError, notice};

/// Share of the steps in which the learning rate rises.
const WARMUP_SHARE: f64 = 0.1;
/// Last share of the steps in which the learning rate falls to almost 0.
const COOLDOWN: f64 = 0.3;
/// Pairs of the dev set that are translated for BLEU.
const TRANSLATED: usize = 200;

/// The result of a run.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Tuned {
    /// Number of trained parameters.
    pub trained: u64,
    /// Mean loss of a target token of the dev set, without label smoothing, nats.
    pub loss: f64,
    pub bleu: f64,
    /// Time of the steps.
    pub seconds: f64,
}

/// How a run trains.
#[derive(Clone, Copy, Debug)]
pub struct Course<'a> {
    /// Parts of the names of the trained tensors; none: all tensors.
    pub only: &'a [&'a str],
    pub learning_rate: f64,
    /// 0: the model is tested as it is.
    pub steps: u64,
    pub seed: u64,
}

/// A model, pairs as its ids, and a device.
pub struct Bench {
    files: ModelFiles,
    pub device: Device,
    train: Vec<Pair>,
    dev: Dev,
    capacity: Capacity,
    products: Products,
    options: TranslateOptions,
}

impl Bench {
    pub fn new(
        (files, options): (ModelFiles, TranslateOptions),
        device: Device,
        corpus: &Corpus,
        (batch_tokens, products): (usize, Products),
    ) -> Result<Self, CliError> {
        let model = Model::from_files(files.clone())?;
        let languages = [&options.source_language, &options.target_language].map(|code| code.as_deref());
        let encoder = Encoder::new(&model, model.tokenizer()?, languages)?;
        let (train, _) = encoder.encode(&corpus.train)?;
        let dev = encoder.encode(&corpus.dev)?;
        let capacity = Capacity::propose(&train, batch_tokens)?;
        let dev = Dev::new(dev, &corpus.dev, capacity, TRANSLATED)?;
        Ok(Self { files, device, train, dev, capacity, products, options })
    }

    /// Numbers of training pairs, of dev pairs, and of translated ones.
    pub fn counts(&self) -> [usize; 3] {
        [self.train.len(), self.dev.len(), self.dev.translated()]
    }

    pub fn model(&self) -> Result<Model, CliError> {
        Ok(Model::from_files(self.files.clone())?)
    }

    /// Trains and tests. Returns [`CliError::Interrupted`] after Ctrl-C.
    pub async fn run(&self, course: &Course<'_>, cancel: &Cancel) -> Result<Tuned, CliError> {
        let recipe = Recipe {
            seed: course.seed,
            products: self.products,
            train_only: course.only.iter().map(|&part| part.to_owned()).collect(),
            ..Recipe::default()
        };
        let mut trainer = Trainer::new(&self.device, self.model()?, recipe, self.capacity)?;
        let trained = match course.steps {
            0 => 0,
            _ => trainer.gradients().await?.values().map(|tensor| tensor.values.len() as u64).sum(),
        };
        let began = Instant::now();
        if course.steps > 0 {
            self.take_steps(course, &mut trainer, cancel).await?;
        }
        let seconds = began.elapsed().as_secs_f64();
        let loss = self.dev.losses(&mut trainer, cancel).await?.mean();
        let bleu = self.bleu(weights_file(&trainer).await?, cancel).await?;
        Ok(Tuned { trained, loss, bleu, seconds })
    }

    async fn take_steps(
        &self,
        course: &Course<'_>,
        trainer: &mut Trainer,
        cancel: &Cancel,
    ) -> Result<(), CliError> {
        let warmup = ((WARMUP_SHARE * course.steps as f64).round() as u64).max(1);
        let plan = RunPlan {
            learning_rate: LearningRate::new(Height::Peak(course.learning_rate), warmup)?
                .with_cooldown(COOLDOWN)?,
            budget: Budget::new(Some(course.steps), None)?,
            accumulate: 1,
        };
        let batches = Batches::new(&self.train, self.capacity, course.seed, TooLong::LeaveOut)?;
        let state = RunState::new(EarlyStopping::new(Goal::Loss, 0));
        let mut run = Run::new(same_pairs(self.train.clone(), batches), plan, state)?;
        let began = Instant::now();
        let clock = || began.elapsed().as_secs_f64();
        let mut told = 0.0;
        while run.progress() < 1.0 {
            let steps = run.advance(trainer, &clock, &|| cancel.is_cancelled()).await?;
            if cancel.is_cancelled() {
                return Err(CliError::Interrupted);
            }
            if steps.progress - told >= 0.25 {
                told = steps.progress;
                notice(&format!("  step {}, loss {:.3}", steps.last, steps.losses.mean()));
            }
        }
        Ok(())
    }

    async fn bleu(&self, weights: Vec<u8>, cancel: &Cancel) -> Result<f64, CliError> {
        let files = companions(&self.files)?.into_iter().chain([(WEIGHTS.to_owned(), weights)]);
        let model = Model::from_files(ModelFiles::memory(self.files.label(), files))?;
        let transformer = Transformer::load(&self.device, &model, &mut |_| {})?;
        let translator = Translator::from_parts(transformer, model.tokenizer()?);
        let generation = GenerationConfig { num_beams: Some(1), ..GenerationConfig::default() };
        let options = TranslateOptions { generation, ..self.options.clone() };
        Ok(self.dev.scores_of(&translator, &options, cancel).await?[0])
    }
}
