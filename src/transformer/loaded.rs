//! A model on a device, as everything that runs it sees it.

use crate::device::Device;
use crate::graph::Weights;
use crate::model::blueprint::Blueprint;
use crate::model::config::ModelConfig;
use crate::model::generation_config::GenerationConfig;

/// A model whose weights are on a device.
pub(super) struct LoadedModel {
    pub device: Device,
    pub config: ModelConfig,
    /// The model's own defaults for generation.
    pub generation: GenerationConfig,
    pub blueprint: Blueprint,
    pub weights: Weights,
}
