//! A model in training.

use std::collections::BTreeMap;

use super::packed::{Capacity, PackedBatch, Pair};
use super::programs::{SLOTS, TrainStates};
use super::{Recipe, TrainError};
use crate::cpu::LOSS_COLUMNS;
use crate::device::Device;
use crate::graph::{Program, Session, State, Upload, WeightKind, Weights, step_word};
use crate::model::Model;
use crate::model::blueprint::{BucketRows, CheckpointSource, FileTensor};
use crate::model::config::{Architecture, Family, ModelConfig};
use crate::precision::Products;
use crate::transformer::Cancel;

/// Sums over the labels of one or more batches.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Losses {
    /// Minus the log-probabilities of the labels.
    pub loss: f64,
    /// Losses with label smoothing, which the gradients are of.
    pub smoothed: f64,
    /// Labels that had the best logit.
    pub correct: f64,
    /// Number of labels.
    pub tokens: f64,
}

impl Losses {
    /// Mean loss of a label, without smoothing, nats.
    pub fn mean(&self) -> f64 {
        self.loss / self.tokens.max(1.0)
    }

    /// Mean smoothed loss of a label, nats.
    pub fn mean_smoothed(&self) -> f64 {
        self.smoothed / self.tokens.max(1.0)
    }

    fn add(&mut self, sums: &[f32]) {
        let [loss, smoothed, correct, tokens] = [0, 1, 2, 3].map(|column| f64::from(sums[column]));
        self.loss += loss;
        self.smoothed += smoothed;
        self.correct += correct;
        self.tokens += tokens;
    }
}

/// Adam's moments of one weight, row-major.
#[derive(Clone, Debug, PartialEq)]
pub struct Moments {
    /// Means of gradients.
    pub means: Vec<f32>,
    /// Means of squared gradients.
    pub squares: Vec<f32>,
}

/// An encoder–decoder in training on a device. The constructor plans and allocates everything; a step allocates nothing
/// on the device.
pub struct Trainer {
    device: Device,
    model: Model,
    weights: Weights,
    session: Session,
    states: TrainStates,
    recipe: Recipe,
    capacity: Capacity,
    /// Memory of the activations as planned.
    activation_bytes: u64,
    /// Optimizer's steps so far.
    step: u64,
    /// Passes with dropout so far.
    passes: u64,
    /// Steps of the passes whose losses are still on the device.
    unread: Vec<u64>,
    losses: Losses,
    /// First step whose loss was not a number, and this loss.
    diverged: Option<(u64, f32)>,
}

/// Programs, in the order of the session's plans.
const GRADIENTS: usize = 0;
const UPDATE: usize = 1;
const LOSSES: usize = 2;

impl Trainer {
    /// Loads a model in f32, for batches of at most `capacity` tokens.
    ///
    /// # Errors
    /// [`TrainError`] if the model has no encoder or decoder, has an operator without a gradient (Firefox's students),
    /// does not fit on the device, or if a GPU is to multiply in bf16.
    pub fn new(
        device: &Device,
        model: Model,
        recipe: Recipe,
        capacity: Capacity,
    ) -> Result<Self, TrainError> {
        recipe.check()?;
        if recipe.products == Products::Bf16 && device.gpu().is_some() {
            return Err(TrainError::Bf16OnGpu);
        }
        let config = model.config();
        if config.architecture() != Architecture::EncoderDecoder {
            let (model, model_type) = (model.label().to_owned(), config.family.model_type());
            return Err(TrainError::NoEncoderDecoder { model, model_type });
        }
        #[cfg(not(target_arch = "wasm32"))]
        crate::answers::check_new(device, crate::precision::WeightPrecision::F32)?;
        let trained = trained_weights(&model, &recipe)?;
        let blueprint = model.blueprint();
        let states = TrainStates::new(blueprint, &trained, capacity);
        let plans = vec![
            states.pass(config, blueprint, &recipe, device.class(), true)?,
            states.update(&recipe)?,
            states.pass(config, blueprint, &recipe, device.class(), false)?,
        ];
        let activation_bytes = plans.iter().map(|plan| plan.buffer_bytes() as u64).sum();
        let weights = load(device, &model)?;
        let mut session = Session::new(device, &weights, &states.table, plans)?;
        states.write_constants(&mut session);
        Ok(Self {
            device: device.clone(),
            model,
            weights,
            session,
            states,
            recipe,
            capacity,
            activation_bytes,
            step: 0,
            passes: 0,
            unread: Vec::with_capacity(SLOTS),
            losses: Losses::default(),
            diverged: None,
        })
    }

    /// The model's configuration.
    pub fn config(&self) -> &ModelConfig {
        self.model.config()
    }

    /// The model that the training began with.
    pub fn model(&self) -> &Model {
        &self.model
    }

    /// Memory that the training takes, bytes: weights, gradients, moments and inputs, and the activations of both passes
    /// as planned.
    pub fn planned_bytes(&self) -> u64 {
        self.weights.bytes() + self.states.table.bytes() as u64 + self.activation_bytes
    }

    /// Number of optimizer's steps so far.
    pub fn step_count(&self) -> u64 {
        self.step
    }

    /// Takes one step on batches whose gradients are added: the gradient of the mean smoothed loss of all their labels.
    /// The losses stay on the device until [`losses`](Self::losses).
    ///
    /// # Errors
    /// [`TrainError`] if a pair does not fit the model or a batch its rows; nothing has then changed. Errors of the
    /// device.
    pub async fn take_step(&mut self, batches: &[&[Pair]], learning_rate: f64) -> Result<(), TrainError> {
        let batches = self.pack(batches)?;
        let factor = loss_factor(&batches);
        self.step += 1;
        let [gradients, update] = [GRADIENTS, UPDATE].map(|program| self.session.program(program));
        for (index, batch) in batches.iter().enumerate() {
            let is_last = index + 1 == batches.len();
            let programs = if is_last { &[gradients, update][..] } else { &[gradients] };
            self.run_pass(batch, programs, (factor, learning_rate)).await?;
            self.passes += 1;
        }
        Ok(())
    }

    /// Adds the gradients of batches to those of the weights, without a step.
    pub async fn add_gradients(&mut self, batches: &[&[Pair]]) -> Result<(), TrainError> {
        let batches = self.pack(batches)?;
        let factor = loss_factor(&batches);
        for batch in &batches {
            self.run_pass(batch, &[self.session.program(GRADIENTS)], (factor, 0.0)).await?;
            self.passes += 1;
        }
        Ok(())
    }

    /// Runs programs on a batch; their losses stay on the device.
    async fn run_pass(
        &mut self,
        batch: &PackedBatch,
        programs: &[Program],
        (loss_factor, learning_rate): (f64, f64),
    ) -> Result<(), TrainError> {
        if self.unread.len() == SLOTS {
            self.read_losses().await?;
        }
        let words = self.step_words(loss_factor, learning_rate);
        self.session.write(self.states.step, &words);
        self.states.write(&mut self.session, self.model.config(), batch);
        self.session.train(programs, &mut self.weights);
        self.unread.push(self.step);
        Ok(())
    }

    fn pack(&self, batches: &[&[Pair]]) -> Result<Vec<PackedBatch>, TrainError> {
        let pack = |batch: &&[Pair]| PackedBatch::new(self.model.config(), self.capacity, batch.iter());
        batches.iter().map(pack).collect()
    }

    /// The losses of all steps since the last call: one read from the device.
    pub async fn losses(&mut self) -> Result<Losses, TrainError> {
        self.read_losses().await?;
        Ok(std::mem::take(&mut self.losses))
    }

    async fn read_losses(&mut self) -> Result<(), TrainError> {
        if !self.unread.is_empty() {
            let metrics = self.session.read(self.states.metrics).await?;
            for (sums, step) in metrics.chunks_exact(LOSS_COLUMNS).zip(self.unread.drain(..)) {
                self.losses.add(sums);
                let [loss, smoothed] = [sums[0], sums[1]];
                if self.diverged.is_none() && !(loss.is_finite() && smoothed.is_finite()) {
                    self.diverged = Some((step, if loss.is_finite() { smoothed } else { loss }));
                }
            }
            self.session.write_f32(self.states.metrics, &vec![0.0; metrics.len()]);
        }
        Ok(())
    }

    /// The first step whose loss was not a number or infinite, and this loss. [`losses`](Self::losses) finds it.
    pub fn first_diverged(&self) -> Option<(u64, f32)> {
        self.diverged
    }

    /// The norm of all gradients in the last step, before clipping.
    pub async fn gradient_norm(&self) -> Result<f32, TrainError> {
        Ok(self.session.read(self.states.clip).await?[0])
    }

    /// The losses of batches without dropout, without learning.
    ///
    /// # Errors
    /// [`TrainError::Cancelled`] if `cancel` was called before the last batch; [`TrainError`] if a pair does not fit the model or a
    /// batch its rows; errors of the device.
    pub async fn evaluate(&mut self, batches: &[&[Pair]], cancel: &Cancel) -> Result<Losses, TrainError> {
        let so_far = self.losses().await?;
        let mut result = Ok(());
        for batch in self.pack(batches)? {
            result = match cancel.is_cancelled() {
                true => Err(TrainError::Cancelled),
                false => self.run_pass(&batch, &[self.session.program(LOSSES)], (0.0, 0.0)).await,
            };
            if result.is_err() {
                break;
            }
        }
        let losses = self.losses().await;
        self.losses = so_far;
        result?;
        losses
    }

    fn step_words(&self, loss_factor: f64, learning_rate: f64) -> [u32; step_word::COUNT] {
        let mut words = [0; step_word::COUNT];
        let pair = |number: u64| [number as u32, (number >> 32) as u32];
        words[step_word::SEED..][..2].copy_from_slice(&pair(self.recipe.seed));
        words[step_word::PASS..][..2].copy_from_slice(&pair(self.passes));
        let correction = |beta: f64| 1.0 / (1.0 - beta.powi(self.step.min(i32::MAX as u64) as i32));
        for (word, number) in [
            (step_word::LOSS_FACTOR, loss_factor),
            (step_word::LEARNING_RATE, learning_rate),
            (step_word::CORRECTION_1, correction(self.recipe.beta1)),
            (step_word::CORRECTION_2, correction(self.recipe.beta2)),
        ] {
            words[word] = (number as f32).to_bits();
        }
        words[step_word::SLOT] = self.unread.len() as u32;
        words
    }

    /// The trained tensors, named as in the file, in f32.
    pub async fn tensors(&self) -> Result<BTreeMap<String, FileTensor>, TrainError> {
        let blueprint = self.model.blueprint();
        let mut values = Vec::new();
        for index in 0..blueprint.table.entries().len() {
            values.push((index, self.weights.read(&blueprint.table, index, &self.device).await?));
        }
        Ok(blueprint.file_tensors(self.model.checkpoint(), values.into_iter(), BucketRows::Equal)?)
    }

    /// The gradients since the last step, named as the file's tensors.
    pub async fn gradients(&self) -> Result<BTreeMap<String, FileTensor>, TrainError> {
        let blueprint = self.model.blueprint();
        let mut values = Vec::new();
        for weight in &self.states.weights {
            values.push((weight.index, self.read_like_weight(weight.gradient, weight.index).await?));
        }
        Ok(blueprint.file_tensors(self.model.checkpoint(), values.into_iter(), BucketRows::Sum)?)
    }

    /// Adam's moments by name of the weight.
    pub async fn moments(&self) -> Result<BTreeMap<String, Moments>, TrainError> {
        let mut moments = BTreeMap::new();
        for weight in &self.states.weights {
            let means = self.read_like_weight(weight.mean, weight.index).await?;
            let squares = self.read_like_weight(weight.square, weight.index).await?;
            let name = self.model.blueprint().table.entries()[weight.index].name.clone();
            moments.insert(name, Moments { means, squares });
        }
        Ok(moments)
    }

    /// Continues a training: sets the moments, and the numbers of steps and passes.
    ///
    /// # Errors
    /// [`TrainError::ForeignState`] if the moments are not those of the model; nothing has then changed.
    pub fn resume(
        &mut self,
        moments: &BTreeMap<String, Moments>,
        step: u64,
        passes: u64,
    ) -> Result<(), TrainError> {
        let table = &self.model.blueprint().table;
        let none = Moments { means: Vec::new(), squares: Vec::new() };
        for weight in &self.states.weights {
            let entry = &table.entries()[weight.index];
            let Moments { means, squares } = moments.get(&entry.name).unwrap_or(&none);
            for stored in [means, squares] {
                if stored.len() != weight.elements {
                    let (weight, want) = (entry.name.clone(), weight.elements);
                    return Err(TrainError::ForeignState { weight, got: stored.len(), want });
                }
            }
        }
        for weight in &self.states.weights {
            let entry = &table.entries()[weight.index];
            let Moments { means, squares } = moments.get(&entry.name).unwrap_or(&none);
            for (state, values) in [(weight.mean, means), (weight.square, squares)] {
                let on_gpu = self.device.gpu().is_some();
                self.session.write_f32(state, &entry.in_layout(values, on_gpu));
            }
        }
        (self.step, self.passes) = (step, passes);
        Ok(())
    }

    /// Number of passes with dropout so far.
    pub fn pass_count(&self) -> u64 {
        self.passes
    }

    /// The tensor with the largest gradient since the last step, and the largest absolute value.
    pub async fn largest_gradient(&self) -> Result<(String, f32), TrainError> {
        let mut largest = (String::new(), 0.0f32);
        for (name, tensor) in self.gradients().await? {
            // NaN counts as larger than anything
            let most =
                tensor.values.iter().fold(0.0f32, |most, value| match value.is_nan() || most.is_nan() {
                    true => f32::NAN,
                    false => most.max(value.abs()),
                });
            if largest.0.is_empty() || most.is_nan() || most > largest.1 {
                largest = (name, most);
            }
        }
        Ok(largest)
    }

    async fn read_like_weight(&self, state: State, index: usize) -> Result<Vec<f32>, TrainError> {
        let entry = &self.model.blueprint().table.entries()[index];
        let stored = self.session.read(state).await?;
        Ok(entry.row_major_of(&stored, self.device.gpu().is_some()))
    }
}

/// Makes the sum of the losses of batches a mean over all their labels.
fn loss_factor(batches: &[PackedBatch]) -> f64 {
    let tokens: usize = batches.iter().map(|batch| batch.tokens).sum();
    1.0 / tokens.max(1) as f64
}

/// Uploads the weights in f32.
fn load(device: &Device, model: &Model) -> Result<Weights, TrainError> {
    let blueprint = model.blueprint();
    let mut weights = Weights::allocate_to_train(device, &blueprint.table)?;
    let mut upload = Upload::new(blueprint.file_order(model.checkpoint()));
    let mut source = CheckpointSource { blueprint, checkpoint: model.checkpoint() };
    while upload.advance(device.gpu(), &blueprint.table, &mut weights, &mut source)? {}
    Ok(weights)
}

/// The indices of trained weights: all from the file, except buffers that no Hugging Face class trains, and what the
/// recipe freezes.
fn trained_weights(model: &Model, recipe: &Recipe) -> Result<Vec<usize>, TrainError> {
    let (blueprint, config) = (model.blueprint(), model.config());
    let entries = blueprint.table.entries().iter().enumerate();
    let projections: Vec<usize> = blueprint
        .encoder
        .iter()
        .filter_map(|layer| layer.self_attention.length_projections)
        .flat_map(|projections| [projections.keys.index, projections.values.index])
        .collect();
    let of_file: Vec<usize> = entries
        .filter(|(index, entry)| {
            let mut tensors = blueprint.tensors_of(*index).peekable();
            let is_buffer =
                tensors.peek().is_none() || tensors.any(|name| is_buffer(config, name, entry.kind));
            !is_buffer || projections.contains(index)
        })
        .map(|(index, _)| index)
        .collect();
    let has = |index: usize, pattern: &str| blueprint.tensors_of(index).any(|name| name.contains(pattern));
    for (option, patterns) in [("--freeze", &recipe.freeze), ("--train-only", &recipe.train_only)] {
        if let Some(pattern) =
            patterns.iter().find(|pattern| !of_file.iter().any(|&index| has(index, pattern)))
        {
            let example = of_file.first().and_then(|index| blueprint.tensors_of(*index).next());
            let (pattern, model) = (pattern.clone(), model.label().to_owned());
            let example = example.unwrap_or_default().to_owned();
            return Err(TrainError::UnknownPlace { option, pattern, model, example });
        }
    }
    let is_trained = |&index: &usize| {
        let fits = |patterns: &[String]| patterns.iter().any(|pattern| has(index, pattern));
        (recipe.train_only.is_empty() || fits(&recipe.train_only)) && !fits(&recipe.freeze)
    };
    let trained: Vec<usize> = of_file.into_iter().filter(is_trained).collect();
    match trained.is_empty() {
        true => Err(TrainError::NothingToTrain { model: model.label().to_owned() }),
        false => Ok(trained),
    }
}

/// Whether a tensor is no parameter of its class: `final_logits_bias`, stored sinusoids, and statistics of batch norms.
fn is_buffer(config: &ModelConfig, name: &str, kind: WeightKind) -> bool {
    let has_sinusoids = matches!(config.family, Family::Marian | Family::Pegasus | Family::M2m100);
    let is_statistics = name.ends_with("running_mean") || name.ends_with("running_var");
    is_statistics || name.ends_with("final_logits_bias") || (has_sinusoids && kind == WeightKind::Rows)
}
