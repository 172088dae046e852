use super::error::GenerateError;
use super::forward::{self, ForwardError, ForwardInput, ForwardSelection};
use super::loaded::HostModel;
use super::loading::Loading;
use super::queue::Followers;
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

/// The properties, besides the model, on which launches depend.
#[derive(Clone, Debug, PartialEq)]
pub struct LaunchOptions {
    /// Class of adapter.
    pub class: AdapterClass,
    /// Storage format of matrices.
    pub precision: WeightPrecision,
    /// Number of sentences in a batch.
    pub sentences: usize,
    /// Number of beams of each sentence; 1: greedy search.
    pub beams: usize,
    /// Tokens of each source, or of a decoder's prompt.
    pub tokens: usize,
}

/// The reason why launches cannot be listed.
#[derive(Debug, thiserror::Error)]
pub enum LaunchesError {
    /// The model cannot be planned.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The model cannot generate with these options.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// The model has no such forward pass.
    #[error(transparent)]
    Forward(#[from] ForwardError),
}

/// Bytes of the largest storage buffer by WebGPU's default limits.
const MAX_STORAGE_BYTES: u64 = 128 << 20;

/// Lists the launches on a GPU, without one: of a forward pass, and of a search's step, encoder and prompt if the model
/// has them.
/// [`LaunchesError`]
pub fn launches(model: &Model, options: &LaunchOptions) -> Result<Vec<LaunchList>, LaunchesError> {
    let transformer = Loading::shapes_of(model)?;
    let &LaunchOptions { class, precision, sentences, tokens, .. } = options;
    let HostModel { config, blueprint, .. } = &*transformer.host;
    let target = Target::new(class, precision, &blueprint.table, MAX_STORAGE_BYTES);
    let pass = ForwardInput {
        batch: sentences,
        source_length: tokens,
        target_length: tokens,
        ..ForwardInput::default()
    };
    let mut plans = vec![forward::plan(
        &transformer.model(),
        &pass,
        &ForwardSelection { logits: true, ..ForwardSelection::default() },
    )?];
    if config.architecture() != Architecture::EncoderOnly {
        plans.extend(search_plans(&transformer, options)?);
    }
    Ok(plans.iter().map(|plan| plan.lower(&target)).collect())
}

/// Plans of a search's programs; the step is first.
fn search_plans(transformer: &Transformer, options: &LaunchOptions) -> Result<Vec<Plan>, GenerateError> {
    let HostModel { config, generation, .. } = &*transformer.host;
    let &LaunchOptions { class, sentences, beams, tokens, .. } = options;
    let input_ids = vec![config.tokens.pad; tokens];
    let search = GenerationConfig { num_beams: Some(beams), ..GenerationConfig::default() };
    let options = resolve(&search, generation, config, &input_ids)?;
    let mut request = GenerateRequest::new(input_ids, options);
    transformer.host.resolve_columns(&mut request);
    transformer.check_request(&request)?;
    let requests = vec![&request; sentences];
    let search = BatchSearch::new(requests.iter().map(|request| request.options.clone()).collect())?;
    let key = SessionKey::new(&transformer.model(), &requests, &search, Followers::None, false)
        .on_gpu(config, &requests);
    Ok(Planned::new(&transformer.model(), &key, class)?.plans)
}
