//! A model on a device: token ids in, token ids or tensors out.

mod forward;
mod generate;
mod options;
mod session;

pub use forward::{ForwardError, ForwardInput, ForwardOutput, Tensor};
pub use generate::{Cancel, GenerateError, GenerateRequest};
pub use options::resolve;

use crate::device::Device;
use crate::graph::Weights;
use crate::model::blueprint::{Blueprint, CheckpointSource};
use crate::model::config::ModelConfig;
use crate::model::generation_config::GenerationConfig;
use crate::model::{Model, ModelError};
use session::IdleSessions;

/// An encoder–decoder with its weights on a device. [`Transformer::generate`](Self::generate) searches for outputs,
/// [`Transformer::forward`](Self::forward) runs given ones.
pub struct Transformer {
    device: Device,
    config: ModelConfig,
    generation: GenerationConfig,
    blueprint: Blueprint,
    weights: Weights,
    idle: IdleSessions,
}

impl Transformer {
    /// Brings a model's weights to a device, tensor by tensor. `progress` is told the fraction done.
    ///
    /// # Errors
    /// [`ModelError`] when the folder's file cannot be read, or the device has no room.
    pub fn load(device: &Device, model: &Model, progress: &mut dyn FnMut(f32)) -> Result<Self, ModelError> {
        let blueprint = model.blueprint().clone();
        let mut source = CheckpointSource {
            blueprint: &blueprint,
            config: model.config(),
            checkpoint: model.checkpoint(),
            sinusoids: Vec::new(),
        };
        let weights = Weights::load(device, &blueprint.table, &mut source, progress)?;
        Ok(Self {
            device: device.clone(),
            config: model.config().clone(),
            generation: model.generation_config().clone(),
            blueprint,
            weights,
            idle: IdleSessions::default(),
        })
    }

    /// Where it runs.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Its shape and switches.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// The model's own defaults for generation.
    pub fn generation_config(&self) -> &GenerationConfig {
        &self.generation
    }
}
