//! The launches of a model's programs on a GPU, told without one.

use super::error::GenerateError;
use super::forward::{self, ForwardError, ForwardInput, ForwardSelection};
use super::loaded::LoadedModel;
use super::loading::Loading;
use super::request::GenerateRequest;
use super::session::{Planned, SessionKey};
use super::{Transformer, resolve};
use crate::decode::BatchSearch;
use crate::graph::{LaunchList, Plan, Target};
use crate::kernels::AdapterClass;
use crate::model::config::Architecture;
use crate::model::generation_config::GenerationConfig;
use crate::model::{Model, ModelError};
use crate::precision::WeightPrecision;

/// What launches depend on besides the model.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchOptions {
    /// The kind of processor that executes the shaders.
    pub class: AdapterClass,
    /// How matrices are stored.
    pub precision: WeightPrecision,
    /// Sentences side by side.
    pub sentences: usize,
    /// Beams of each sentence; 1: greedy search.
    pub beams: usize,
    /// Tokens of each source, or of what a decoder continues.
    pub tokens: usize,
}

/// Why there are no launches to tell of.
#[derive(Debug, thiserror::Error)]
pub enum LaunchesError {
    /// The model cannot be laid out.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The model does not generate this.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// The model has no such pass.
    #[error(transparent)]
    Forward(#[from] ForwardError),
}

/// WebGPU's default limit of a storage buffer, bytes.
const MAX_STORAGE_BYTES: u64 = 128 << 20;

/// The launches of a forward pass, and those of a search's programs as far as the model has them: its step, the encoder, and
/// the reading of a prompt.
///
/// # Errors
/// [`LaunchesError`]
pub fn launches(model: &Model, options: &LaunchOptions) -> Result<Vec<LaunchList>, LaunchesError> {
    let transformer = Loading::shapes_of(model)?;
    let &LaunchOptions { class, precision, sentences, tokens, .. } = options;
    let LoadedModel { config, blueprint, .. } = &transformer.model;
    let target = Target::new(class, precision, &blueprint.table, MAX_STORAGE_BYTES);
    let pass = ForwardInput {
        batch: sentences,
        source_length: tokens,
        target_length: tokens,
        ..ForwardInput::default()
    };
    let mut plans = vec![forward::plan(
        &transformer.model,
        &pass,
        &ForwardSelection { logits: true, ..ForwardSelection::default() },
    )?];
    if config.architecture() != Architecture::EncoderOnly {
        plans.extend(search_plans(&transformer, options)?);
    }
    Ok(plans.iter().map(|plan| plan.lower(&target)).collect())
}

/// The plans of a search's programs, whose step comes first.
fn search_plans(transformer: &Transformer, options: &LaunchOptions) -> Result<Vec<Plan>, GenerateError> {
    let LoadedModel { config, generation, .. } = &transformer.model;
    let &LaunchOptions { class, sentences, beams, tokens, .. } = options;
    let input_ids = vec![config.tokens.pad; tokens];
    let search = GenerationConfig { num_beams: Some(beams), ..GenerationConfig::default() };
    let options = resolve(&search, generation, config, &input_ids)?;
    let request = GenerateRequest { input_ids, options };
    transformer.check_request(&request)?;
    let requests = vec![&request; sentences];
    let search = BatchSearch::new(requests.iter().map(|request| request.options.clone()).collect())?;
    let key = SessionKey::new(&transformer.model, &requests, &search, 0, false).on_gpu(config, &requests);
    Ok(Planned::new(&transformer.model, &key, class)?.plans)
}
