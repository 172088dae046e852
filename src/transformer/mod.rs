//! A model on a device: token ids in, token ids or tensors out.

mod cancel;
mod forward;
mod generate;
mod loading;
mod options;
mod score;
mod session;

pub use cancel::Cancel;
pub use forward::{ForwardError, ForwardInput, ForwardOutput, Tensor, Wanted};
pub use generate::{GenerateError, GenerateRequest, Progress};
pub use loading::Loading;
pub use options::resolve;
pub use score::{Score, ScoreError, ScoreRequest};

use crate::device::Device;
use crate::graph::Weights;
use crate::model::blueprint::Blueprint;
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
        let mut loading = Loading::new(device, model)?;
        while loading.advance(model)? {
            progress(loading.bytes() as f32 / loading.total_bytes().max(1) as f32);
        }
        loading.finish()
    }

    /// Where it runs.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Its shape and switches.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Values of all its weights together; those that are shared count once.
    pub fn parameters(&self) -> usize {
        self.blueprint.table.elements()
    }

    /// Memory of the device that its weights take, bytes.
    pub fn weight_bytes(&self) -> u64 {
        self.weights.bytes()
    }

    /// The model's own defaults for generation.
    pub fn generation_config(&self) -> &GenerationConfig {
        &self.generation
    }
}
