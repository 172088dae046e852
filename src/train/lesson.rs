//! A small task being learned: batches by seed, the paper's learning rate, validation, and the folder of the model.

use std::collections::BTreeMap;

use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use super::schedule::{Height, LearningRate};
use super::small_model::{LABEL, SmallModel, WEIGHTS};
use super::tasks::{Draws, Rule, Task, TaskError};
use super::{Capacity, Losses, Moments, Pair, Recipe, TrainError, Trainer};
use crate::device::Device;
use crate::model::Model;
use crate::model::files::ModelFiles;
use crate::transformer::{
    Cancel, ForwardInput, ForwardOutput, ForwardSelection, GenerateOptions, GenerateRequest, Transformer,
    resolve,
};

/// Most tokens of a batch, either side.
const MOST_TOKENS: usize = 1 << 15;
/// Stream of the random numbers that draw batches.
const BATCHES: u64 = 1;
/// Optimizer's moments of a stored training.
const MOMENTS: &str = "training.safetensors";
/// Options and counters of a stored training.
const STATE: &str = "training.json";

/// The data of a [`Lesson`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct TaskOptions {
    /// `copy`, `reverse`, `sort` or `numbers`.
    pub rule: String,
    /// Size of the alphabet.
    pub symbols: usize,
    /// Symbols of the shortest sequence.
    pub shortest: usize,
    /// Symbols of the longest sequence.
    pub longest: usize,
    /// Pairs instead of a rule: a source, a tab and a target on each line.
    pub pairs: Option<String>,
}

impl Default for TaskOptions {
    fn default() -> Self {
        Self { rule: "copy".into(), symbols: 16, shortest: 8, longest: 8, pairs: None }
    }
}

impl TaskOptions {
    fn task(&self) -> Result<Task, TaskError> {
        match &self.pairs {
            Some(pairs) => Task::of_lines(pairs),
            None => Task::of_rule(self.rule.parse::<Rule>()?, self.symbols, [self.shortest, self.longest]),
        }
    }
}

/// The recipe of a [`Lesson`]; the numbers besides are those of [`Recipe::default`].
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LessonRecipe {
    /// Pairs of a batch.
    pub batch: usize,
    /// Steps in which the learning rate grows.
    pub warmup: u64,
    /// Factor of the paper's learning rate.
    pub rate: f64,
    /// See [`Recipe::dropout`].
    pub dropout: f32,
    /// See [`Recipe::label_smoothing`].
    pub label_smoothing: f32,
    /// Seed of weights, batches and dropout.
    pub seed: u64,
}

impl Default for LessonRecipe {
    fn default() -> Self {
        Self { batch: 64, warmup: 400, rate: 0.5, dropout: 0.0, label_smoothing: 0.0, seed: 1 }
    }
}

/// Options of a [`Lesson`].
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct LessonOptions {
    /// The data.
    pub task: TaskOptions,
    /// Sizes of the model.
    pub model: SmallModel,
    /// Batches, learning rate and regularization.
    pub recipe: LessonRecipe,
}

/// Counters of a stored training.
#[derive(Clone, Debug, Serialize, Deserialize)]
struct Stored {
    options: LessonOptions,
    step: u64,
    passes: u64,
    draws: u64,
}

/// A model that learns a task.
pub struct Lesson {
    options: LessonOptions,
    task: Task,
    trainer: Trainer,
    schedule: LearningRate,
    draws: Draws,
    /// The last batch.
    batch: Vec<Pair>,
}

/// The weights of a moment, ready to answer.
pub struct Snapshot {
    transformer: Transformer,
}

impl Lesson {
    /// A model with random weights for a task.
    ///
    /// # Errors
    /// [`TrainError`] names the option that is out of range.
    pub fn new(device: &Device, options: LessonOptions) -> Result<Self, TrainError> {
        let (task, recipe) = (checked(&options)?, recipe(&options));
        let model = options.model.random(task.symbols(), task.longest(), options.recipe.seed)?;
        let trainer = Trainer::new(device, model, recipe, capacity(&options, &task))?;
        let draws = Draws::new(options.recipe.seed, BATCHES);
        Ok(Self { schedule: schedule(&options)?, options, task, trainer, draws, batch: Vec::new() })
    }

    /// Goes on from the files of [`Lesson::files`], bit for bit on the same device.
    ///
    /// # Errors
    /// [`TaskError::Stored`] if a file is missing or damaged; [`TrainError::ForeignState`].
    pub fn resume(device: &Device, mut files: BTreeMap<String, Vec<u8>>) -> Result<Self, TrainError> {
        let mut take = |file: &'static str| {
            let problem = || TaskError::Stored { file, problem: "it is missing".into() };
            files.remove(file).ok_or_else(problem)
        };
        let (stored, moments) = (take(STATE)?, take(MOMENTS)?);
        let stored: Stored = serde_json::from_slice(&stored)
            .map_err(|error| TaskError::Stored { file: STATE, problem: error.to_string() })?;
        let (task, recipe) = (checked(&stored.options)?, recipe(&stored.options));
        let model = Model::from_files(ModelFiles::memory(LABEL, files))?;
        let mut trainer = Trainer::new(device, model, recipe, capacity(&stored.options, &task))?;
        trainer.resume(&read_moments(&moments)?, stored.step, stored.passes)?;
        let mut draws = Draws::new(stored.options.recipe.seed, BATCHES);
        draws.go_to(stored.draws);
        let schedule = schedule(&stored.options)?;
        Ok(Self { options: stored.options, task, trainer, schedule, draws, batch: Vec::new() })
    }

    /// The options.
    pub fn options(&self) -> &LessonOptions {
        &self.options
    }

    /// The task.
    pub fn task(&self) -> &Task {
        &self.task
    }

    /// Number of steps so far.
    pub fn step_count(&self) -> u64 {
        self.trainer.step_count()
    }

    /// Number of trained numbers.
    pub fn parameters(&self) -> u64 {
        self.trainer.config().parameter_count()
    }

    /// The learning rate of a step, from 1. Vaswani et al. 2017, equation (3), times [`LessonRecipe::rate`].
    pub fn learning_rate(&self, step: u64) -> f64 {
        self.schedule.at(step.max(1), 0.0)
    }

    /// Takes one step on a batch that is drawn.
    pub async fn take_step(&mut self) -> Result<(), TrainError> {
        self.batch = (0..self.options.recipe.batch).map(|_| self.task.pair(&mut self.draws)).collect();
        let rate = self.learning_rate(self.trainer.step_count() + 1);
        self.trainer.take_step(&[&self.batch], rate).await
    }

    /// The losses since the last call.
    ///
    /// # Errors
    /// [`TrainError::Diverged`] if the loss is not a number.
    pub async fn losses(&mut self) -> Result<Losses, TrainError> {
        let losses = self.trainer.losses().await?;
        let Some((step, loss)) = self.trainer.first_diverged() else { return Ok(losses) };
        // the step has set its gradients to zero
        self.trainer.add_gradients(&[&self.batch]).await?;
        let (tensor, gradient) = self.trainer.largest_gradient().await?;
        Err(TrainError::Diverged { step, loss, tensor, gradient })
    }

    /// The losses of pairs, without learning.
    pub async fn evaluate(&mut self, pairs: &[Pair]) -> Result<Losses, TrainError> {
        let batches: Vec<&[Pair]> = pairs.chunks(self.options.recipe.batch).collect();
        self.trainer.evaluate(&batches, &Cancel::default()).await
    }

    /// The model's folder: every command and the page open it.
    pub async fn folder(&self) -> Result<BTreeMap<String, Vec<u8>>, TrainError> {
        let files = self.options.model.files(self.task.symbols(), self.task.longest());
        let mut files: BTreeMap<String, Vec<u8>> =
            files.into_iter().map(|(name, bytes)| (name.to_owned(), bytes)).collect();
        let tensors = self.trainer.tensors().await?;
        let tensors = tensors.into_iter().map(|(name, tensor)| (name, (tensor.shape, tensor.values)));
        files.insert(WEIGHTS.into(), written(WEIGHTS, tensors)?);
        Ok(files)
    }

    /// The folder with the state of the training, for [`Lesson::resume`].
    pub async fn files(&self) -> Result<BTreeMap<String, Vec<u8>>, TrainError> {
        let mut files = self.folder().await?;
        let moments = self.trainer.moments().await?.into_iter().flat_map(|(name, moments)| {
            let tensor =
                |kind: &str, values: Vec<f32>| (format!("{name}.{kind}"), (vec![values.len()], values));
            [tensor("mean", moments.means), tensor("square", moments.squares)]
        });
        files.insert(MOMENTS.into(), written(MOMENTS, moments)?);
        let stored = Stored {
            options: self.options.clone(),
            step: self.trainer.step_count(),
            passes: self.trainer.pass_count(),
            draws: self.draws.position(),
        };
        let stored = serde_json::to_vec_pretty(&stored).map_err(|error| unreadable(STATE, error))?;
        files.insert(STATE.into(), stored);
        Ok(files)
    }

    /// The weights of now, on the CPU: the models are small, and the device goes on with training.
    pub async fn snapshot(&self) -> Result<Snapshot, TrainError> {
        let model = Model::from_files(ModelFiles::memory(LABEL, self.folder().await?))?;
        Ok(Snapshot { transformer: Transformer::load(&Device::Cpu, &model, &mut |_| {})? })
    }
}

impl Snapshot {
    /// The most probable outputs by greedy search, without the start token.
    pub async fn answers(&self, sources: &[Vec<u32>]) -> Result<Vec<Vec<u32>>, TrainError> {
        let (config, defaults) = (self.transformer.config(), self.transformer.generation_config());
        let request = |input_ids: &Vec<u32>| {
            let options = resolve(&Default::default(), defaults, config, input_ids)
                .map_err(crate::transformer::GenerateError::from)?;
            Ok(GenerateRequest::new(input_ids.clone(), options))
        };
        let requests = sources.iter().map(request).collect::<Result<Vec<_>, TrainError>>()?;
        let results = self.transformer.generate(&requests, GenerateOptions::default()).await?;
        let best = results.into_iter().map(|result| result.hypotheses.into_iter().next());
        Ok(best.map(|best| best.map_or_else(Vec::new, |best| best.tokens[1..].to_vec())).collect())
    }

    /// The attention of all heads while the model reads a source and says a target.
    pub async fn attention(&self, pair: &Pair) -> Result<ForwardOutput, TrainError> {
        let config = self.transformer.config();
        let start = config.tokens.decoder_start.into_iter();
        let decoder_input_ids: Vec<u32> =
            start.chain(pair.target.iter().copied()).take(pair.target.len()).collect();
        let input = ForwardInput {
            batch: 1,
            source_length: pair.source.len(),
            target_length: decoder_input_ids.len(),
            input_ids: pair.source.clone(),
            attention_mask: vec![1; pair.source.len()],
            token_type_ids: Vec::new(),
            decoder_input_ids,
            global_attention_mask: Vec::new(),
        };
        let all = ForwardSelection::all(config);
        let selection = ForwardSelection { hidden: false, logits: false, hidden_states: false, ..all };
        Ok(self.transformer.forward_selected(&input, &selection).await?)
    }
}

fn checked(options: &LessonOptions) -> Result<Task, TrainError> {
    let LessonRecipe { batch, warmup, rate, .. } = options.recipe;
    options.model.check()?;
    for (option, value, least, most) in
        [("the batch", batch, 1, 1024), ("the warm-up", usize::try_from(warmup).unwrap_or(0), 1, 100_000)]
    {
        if !(least..=most).contains(&value) {
            return Err(TaskError::Size { option, value, least, most }.into());
        }
    }
    if !(rate > 0.0 && rate <= 10.0) {
        let want = "a number above 0 and at most 10";
        return Err(TrainError::Option {
            option: "the factor of the learning rate",
            value: rate.to_string(),
            want,
        });
    }
    let task = options.task.task()?;
    let tokens = batch * task.longest();
    match tokens > MOST_TOKENS {
        true => Err(TaskError::Batch { batch, tokens, most: MOST_TOKENS }.into()),
        false => Ok(task),
    }
}

fn recipe(options: &LessonOptions) -> Recipe {
    let LessonRecipe { dropout, label_smoothing, seed, .. } = options.recipe;
    Recipe { seed, dropout, label_smoothing, ..Recipe::default() }
}

fn schedule(options: &LessonOptions) -> Result<LearningRate, TrainError> {
    let LessonRecipe { warmup, rate, .. } = options.recipe;
    let height = Height::Factor { factor: rate, d_model: options.model.d_model };
    Ok(LearningRate::new(height, warmup)?)
}

fn capacity(options: &LessonOptions, task: &Task) -> Capacity {
    let rows = options.recipe.batch * task.longest();
    Capacity { source_rows: rows, target_rows: rows }
}

fn unreadable(file: &'static str, error: impl ToString) -> TaskError {
    TaskError::Stored { file, problem: error.to_string() }
}

/// Tensors as safetensors in f32.
fn written(
    file: &'static str,
    tensors: impl Iterator<Item = (String, (Vec<usize>, Vec<f32>))>,
) -> Result<Vec<u8>, TaskError> {
    let bytes: Vec<(String, Vec<usize>, Vec<u8>)> = tensors
        .map(|(name, (shape, values))| {
            (name, shape, values.iter().flat_map(|value| value.to_le_bytes()).collect())
        })
        .collect();
    let views = bytes
        .iter()
        .map(|(name, shape, bytes)| {
            let view = TensorView::new(Dtype::F32, shape.clone(), bytes);
            Ok((name, view.map_err(|error| unreadable(file, error))?))
        })
        .collect::<Result<Vec<_>, TaskError>>()?;
    safetensors::serialize(views, None).map_err(|error| unreadable(file, error))
}

fn read_moments(bytes: &[u8]) -> Result<BTreeMap<String, Moments>, TaskError> {
    let tensors = SafeTensors::deserialize(bytes).map_err(|error| unreadable(MOMENTS, error))?;
    let mut moments = BTreeMap::new();
    for (name, view) in tensors.iter() {
        let values: Vec<f32> = view
            .data()
            .chunks_exact(4)
            .map(|bytes| f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]))
            .collect();
        let empty = Moments { means: Vec::new(), squares: Vec::new() };
        if let Some(name) = name.strip_suffix(".mean") {
            moments.entry(name.to_owned()).or_insert(empty).means = values;
        } else if let Some(name) = name.strip_suffix(".square") {
            moments.entry(name.to_owned()).or_insert(empty).squares = values;
        }
    }
    Ok(moments)
}
