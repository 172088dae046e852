use crate::device::Device;
use crate::graph::Weights;
use crate::model::blueprint::Blueprint;
use crate::model::config::ModelConfig;
use crate::model::generation_config::GenerationConfig;

pub(super) struct LoadedModel {
    pub device: Device,
    pub config: ModelConfig,
    /// The model's defaults for generation.
    pub generation: GenerationConfig,
    pub blueprint: Blueprint,
    pub weights: Weights,
}
