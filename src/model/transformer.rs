//! A model on a device, ready to run.

use std::sync::Mutex;

use super::blueprint::{Blueprint, CheckpointSource};
use super::config::ModelConfig;
use super::generation_config::GenerationConfig;
use super::{Model, ModelError};
use crate::device::Device;
use crate::generate::DecodeSession;
use crate::graph::Weights;

/// An encoder–decoder with its weights on a device. [`Transformer::generate`](Self::generate) searches for outputs,
/// [`Transformer::forward`](Self::forward) runs given ones.
pub struct Transformer {
    pub(crate) device: Device,
    pub(crate) config: ModelConfig,
    pub(crate) generation: GenerationConfig,
    pub(crate) blueprint: Blueprint,
    pub(crate) weights: Weights,
    /// Sessions of earlier batches, for batches of the same shape.
    pub(crate) idle: Mutex<Vec<DecodeSession>>,
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
            idle: Mutex::new(Vec::new()),
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

    /// Device memory that its weights take, bytes.
    pub fn weight_bytes(&self) -> u64 {
        self.weights.bytes()
    }
}
