//! Checkpoints: a model's folder that every command opens, with two more files for going on.

use std::borrow::Cow;
use std::collections::BTreeMap;

use safetensors::tensor::{Dtype, View};
use safetensors::{SafeTensorError, SafeTensors};
use serde::{Deserialize, Serialize};

use super::run::RunState;
use super::{Moments, TrainError, Trainer};
use crate::json_problem::json_problem;
use crate::model::ModelError;
use crate::model::blueprint::FileTensor;
use crate::model::files::ModelFiles;

/// The weights.
pub const WEIGHTS: &str = "model.safetensors";
/// The optimizer's moments.
pub const MOMENTS: &str = "training.safetensors";
/// Place and settings of the run.
pub const RECORD: &str = "training.json";
/// Version of [`Record`]; it changes if a run would go on differently.
const FORMAT: u32 = 1;
/// Limit on the record, bytes.
const RECORD_LIMIT: u64 = 1 << 20;
/// Limit on the moments, bytes.
const MOMENTS_LIMIT: u64 = 64 << 30;
/// Beginnings of the names of moments.
const MEAN: &str = "mean.";
const SQUARE: &str = "square.";

/// Settings that decide the result of a run, by the name of their option; hashes of data and vocabulary are among them.
pub type Settings = BTreeMap<String, String>;

/// `training.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    format: u32,
    /// Place of the run.
    pub state: RunState,
    /// What the run depends on.
    pub settings: Settings,
}

/// The reason why a run does not go on from a checkpoint, or why there is no checkpoint.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum CheckpointError {
    #[error(
        "{file} is no record of a training ({problem}); remove this checkpoint to go on from the one before"
    )]
    Record { file: String, problem: String },
    #[error("{file}: {name} was {before}, and is {now}; give it as it was, or train into another folder")]
    Setting { file: String, name: String, before: String, now: String },
    #[error(
        "{file} does not hold the optimizer's moments ({problem}); remove this checkpoint to go on from the one before"
    )]
    Moments { file: String, problem: String },
    #[error(
        "step {step}: the weight {tensor} has a value that is not a number, so no checkpoint is written; the last one is kept"
    )]
    NotFinite { step: u64, tensor: String },
    #[error("the checkpoint cannot be written as safetensors: {0}")]
    Safetensors(#[from] SafeTensorError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Train(#[from] TrainError),
}

impl Record {
    /// The record of a run.
    pub fn new(state: RunState, settings: Settings) -> Self {
        Self { format: FORMAT, state, settings }
    }

    /// Reads the record of a checkpoint.
    ///
    /// # Errors
    /// [`CheckpointError::Record`]; those of the file.
    pub fn read(files: &ModelFiles) -> Result<Self, CheckpointError> {
        let content = files.read(RECORD, RECORD_LIMIT)?;
        let invalid = |problem: String| CheckpointError::Record { file: files.file_label(RECORD), problem };
        let record: Self = serde_json::from_slice(&content).map_err(|error| invalid(json_problem(&error)))?;
        match record.format {
            FORMAT => Ok(record),
            other => Err(invalid(format!("format {other}, not {FORMAT}"))),
        }
    }

    /// Checks that a run with these settings goes on from here.
    ///
    /// # Errors
    /// [`CheckpointError::Setting`] with the first difference.
    pub fn check_settings(&self, files: &ModelFiles, settings: &Settings) -> Result<(), CheckpointError> {
        let get = |settings: &Settings, name| match settings.get(name).map_or("", String::as_str) {
            "" => "not given".to_owned(),
            value => value.to_owned(),
        };
        // other settings follow from these: the user hears of the one that was given
        let first = ["--model", "--config", "--vocabulary", "--swap"].map(str::to_owned);
        for name in first.iter().chain(self.settings.keys()).chain(settings.keys()) {
            let (before, now) = (get(&self.settings, name), get(settings, name));
            if before != now {
                let file = files.file_label(RECORD);
                return Err(CheckpointError::Setting { file, name: name.clone(), before, now });
            }
        }
        Ok(())
    }

    fn to_json(&self) -> Vec<u8> {
        let mut json = serde_json::to_vec_pretty(self).expect("a record of plain values");
        json.push(b'\n');
        json
    }
}

/// The weights of a model in training as a safetensors file in f32.
///
/// # Errors
/// [`CheckpointError::NotFinite`]; those of the device.
pub async fn weights_file(trainer: &Trainer) -> Result<Vec<u8>, CheckpointError> {
    let mut tensors = trainer.tensors().await?;
    add_copies(&mut tensors);
    let is_finite = |tensor: &FileTensor| tensor.values.iter().all(|value| value.is_finite());
    if let Some((name, _)) = tensors.iter().find(|(_, tensor)| !is_finite(tensor)) {
        let (step, tensor) = (trainer.step_count(), name.clone());
        return Err(CheckpointError::NotFinite { step, tensor });
    }
    let views = tensors.iter().map(|(name, FileTensor { shape, values })| (name, Values { shape, values }));
    Ok(serialize(views)?)
}

/// Where nothing is tied, transformers does not take the embeddings of encoder and decoder from the shared table.
fn add_copies(tensors: &mut BTreeMap<String, FileTensor>) {
    if !tensors.contains_key("lm_head.weight") {
        return;
    }
    let Some(shared) = tensors.get("model.shared.weight").cloned() else { return };
    for name in ["model.decoder.embed_tokens.weight", "model.encoder.embed_tokens.weight"] {
        tensors.entry(name.to_owned()).or_insert_with(|| shared.clone());
    }
}

/// The files that a checkpoint has beside the configuration and the tokenizer, each with its name.
///
/// # Errors
/// [`CheckpointError::NotFinite`]; those of the device.
pub async fn checkpoint_files(
    trainer: &Trainer,
    record: &Record,
) -> Result<Vec<(&'static str, Vec<u8>)>, CheckpointError> {
    let moments = trainer.moments().await?;
    let views: Vec<(String, [usize; 1], &Vec<f32>)> = moments
        .iter()
        .flat_map(|(name, Moments { means, squares })| {
            [(MEAN, means), (SQUARE, squares)]
                .map(|(kind, values)| (format!("{kind}{name}"), [values.len()], values))
        })
        .collect();
    let views = views.iter().map(|(name, shape, values)| (name, Values { shape, values }));
    Ok(vec![
        (WEIGHTS, weights_file(trainer).await?),
        (MOMENTS, serialize(views)?),
        (RECORD, record.to_json()),
    ])
}

/// Sets a trainer, which has the checkpoint's weights, to the moments and the step of the checkpoint.
///
/// # Errors
/// [`CheckpointError::Moments`]; [`TrainError::ForeignState`]
pub fn resume(trainer: &mut Trainer, files: &ModelFiles, record: &Record) -> Result<(), CheckpointError> {
    let invalid = |problem: String| CheckpointError::Moments { file: files.file_label(MOMENTS), problem };
    let content = files.read(MOMENTS, MOMENTS_LIMIT)?;
    let tensors = SafeTensors::deserialize(&content).map_err(|error| invalid(error.to_string()))?;
    let mut moments = BTreeMap::new();
    for name in tensors.names() {
        let Some(weight) = name.strip_prefix(MEAN) else { continue };
        let read = |name: &str| {
            let tensor = tensors.tensor(name).map_err(|error| invalid(error.to_string()))?;
            match tensor.dtype() {
                Dtype::F32 => Ok(floats(tensor.data())),
                dtype => Err(invalid(format!("the tensor {name:?} is {dtype:?}, not F32"))),
            }
        };
        let means = read(name)?;
        moments.insert(weight.to_owned(), Moments { means, squares: read(&format!("{SQUARE}{weight}"))? });
    }
    Ok(trainer.resume(&moments, record.state.steps, record.state.passes)?)
}

fn floats(bytes: &[u8]) -> Vec<f32> {
    bytes.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
}

/// A safetensors file with the metadata that transformers looks for.
fn serialize<'a>(
    tensors: impl Iterator<Item = (&'a String, Values<'a>)>,
) -> Result<Vec<u8>, SafeTensorError> {
    let metadata = [("format".to_owned(), "pt".to_owned())].into_iter().collect();
    safetensors::serialize(tensors, Some(metadata))
}

/// A tensor that is written from where it lies.
struct Values<'a> {
    shape: &'a [usize],
    values: &'a [f32],
}

impl View for Values<'_> {
    fn dtype(&self) -> Dtype {
        Dtype::F32
    }

    fn shape(&self) -> &[usize] {
        self.shape
    }

    fn data(&self) -> Cow<'_, [u8]> {
        match cfg!(target_endian = "little") {
            true => bytemuck::cast_slice(self.values).into(),
            false => self.values.iter().flat_map(|value| value.to_le_bytes()).collect::<Vec<u8>>().into(),
        }
    }

    fn data_len(&self) -> usize {
        size_of_val(self.values)
    }
}
