//! Learned projections of keys and values along the length, for layers of a model that has none. Wang et al. 2020, "Linformer".
//!
//! A text's tokens are dealt out to the sums in turn, so that every sum has some of them at any length. The training does the
//! rest: Linformer's authors begin with random factors, from which a model that has learned before would have to begin again.

use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Map, Value};

use super::folder::json_file;
use crate::json_problem::json_problem;
use crate::model::config::{ATTENTION, ModelConfig};
use crate::model::files::ModelFiles;
use crate::model::{Model, ModelError, SelfAttentionChoice, SelfAttentionError, SelfAttentionKind};

const CONFIG: &str = "config.json";
/// Limit on a configuration, bytes.
const LIMIT: u64 = 1 << 20;

/// The files of a model that change when its layers get projections.
#[derive(Clone, Debug)]
pub struct NewProjections {
    /// `config.json`, which names the kinds of attention.
    pub config: Vec<u8>,
    /// `model.safetensors`, in f32.
    pub weights: Vec<u8>,
    /// Number of layers that got projections.
    pub layers: usize,
}

/// A model that gets no projections.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum NewProjectionsError {
    #[error(
        "{0}: a training learns linformer:K only; translate --attention runs a model with the other kinds"
    )]
    Kind(SelfAttentionKind),
    #[error(
        "encoder.{layer} has learned projections to {rank} rows already; leave it out, or begin with a model that has none"
    )]
    Learned { layer: usize, rank: usize },
    #[error(transparent)]
    Attention(#[from] SelfAttentionError),
    #[error("{file}: {problem}")]
    Config { file: String, problem: String },
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error("the weights cannot be written as safetensors: {0}")]
    Safetensors(#[from] safetensors::SafeTensorError),
}

/// Gives layers of a model learned projections to begin a training with.
///
/// # Errors
/// [`NewProjectionsError`]
pub fn new_projections(
    files: &ModelFiles,
    choice: &SelfAttentionChoice,
) -> Result<NewProjections, NewProjectionsError> {
    if let Some(kind) = choice.kinds().find(|kind| !matches!(kind, SelfAttentionKind::Linformer { .. })) {
        return Err(NewProjectionsError::Kind(kind.clone()));
    }
    let model = Model::from_files(files.clone())?;
    let (before, config) = (model.config(), model.config().with_learned_attention(choice)?);
    let mut new = Vec::new();
    for layer in 0..config.encoder.layers {
        let [old, rank] = [before, &config].map(|config| config.encoder_kind(layer).learned_rank());
        match (old, rank) {
            (None, Some(rank)) => new.push((layer, rank)),
            (Some(old), Some(rank)) if old != rank => {
                return Err(NewProjectionsError::Learned { layer, rank: old });
            }
            _ => {}
        }
    }
    Ok(NewProjections {
        config: json_file(&with_kinds(files, &config)?.into()),
        weights: weights(&model, &new)?,
        layers: new.len(),
    })
}

/// The weights of a model, with projections of new layers: the layer and the rank of each.
fn weights(model: &Model, new: &[(usize, usize)]) -> Result<Vec<u8>, NewProjectionsError> {
    let checkpoint = model.checkpoint();
    let mut tensors: Vec<(String, Vec<usize>, Vec<u8>)> = Vec::new();
    for name in checkpoint.names() {
        let info = checkpoint.info(name).expect("a listed tensor");
        let mut values = vec![0.0; info.element_count()];
        checkpoint.read(name, &mut values)?;
        tensors.push((name.to_owned(), info.shape.clone(), bytemuck::cast_slice(&values).to_vec()));
    }
    let positions = model.config().source_positions().count();
    for &(layer, rank) in new {
        let bytes = bytemuck::cast_slice(&first_factors(rank, positions)).to_vec();
        for name in model.length_projections(layer) {
            tensors.push((name, vec![rank, positions], bytes.clone()));
        }
    }
    let views = tensors
        .iter()
        .map(|(name, shape, bytes)| Ok((name.as_str(), TensorView::new(Dtype::F32, shape.clone(), bytes)?)))
        .collect::<Result<Vec<_>, safetensors::SafeTensorError>>()?;
    let metadata = [("format".to_owned(), "pt".to_owned())].into_iter().collect();
    Ok(safetensors::serialize(views, Some(metadata))?)
}

/// `[rank, positions]`: the tokens of a text, dealt out to the sums in turn. A half of each, and less of later rounds, so that a
/// sum is near the mean of its tokens: whole tokens cost the default model twice as much.
fn first_factors(rank: usize, positions: usize) -> Vec<f32> {
    let mut factors = vec![0.0; rank * positions];
    for token in 0..positions {
        factors[token % rank * positions + token] = 1.0 / (1 + token / rank).max(2) as f32;
    }
    factors
}

/// The configuration, which names the kinds of its layers.
fn with_kinds(files: &ModelFiles, config: &ModelConfig) -> Result<Map<String, Value>, NewProjectionsError> {
    let content = files.read(CONFIG, LIMIT)?;
    let mut json: Map<String, Value> = serde_json::from_slice(&content).map_err(|error| {
        let (file, problem) = (files.file_label(CONFIG), json_problem(&error));
        NewProjectionsError::Config { file, problem }
    })?;
    let kinds = config.encoder_kinds.iter().enumerate();
    let kinds = kinds.filter(|(_, kind)| **kind != SelfAttentionKind::Full);
    let kinds: Vec<String> = kinds.map(|(layer, kind)| format!("encoder.{layer}={kind}")).collect();
    json.insert(ATTENTION.to_owned(), kinds.join(",").into());
    json.remove("torch_dtype"); // the name of the key in older versions
    json.insert("dtype".to_owned(), "float32".into());
    Ok(json)
}
