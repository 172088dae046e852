//! A model on a device: token ids in, token ids or tensors out.

mod attention_budget;
mod attention_inputs;
mod batches;
mod cancel;
mod device_search;
mod encode;
mod error;
mod forward;
mod generate;
mod host_search;
mod input_states;
mod kept_attention;
mod launches;
mod loading;
mod mute;
mod options;
mod queue;
mod request;
mod rows;
mod score;
mod session;
mod work;

pub use attention_budget::KeepAttention;
pub(crate) use attention_budget::{Lengths, Share, share};
pub use cancel::Cancel;
pub use encode::Encoder;
pub use error::GenerateError;
pub use forward::{ForwardError, ForwardInput, ForwardOutput, Tensor, Wanted};
pub use kept_attention::{KeptAttention, LeftOut};
pub use launches::{LaunchOptions, LaunchesError, launches};
pub use loading::Loading;
pub use mute::MuteError;
pub use options::resolve;
pub use request::{GenerateOptions, GenerateRequest, Generation, Keep, Progress};
pub use score::{Score, ScoreError, ScoreRequest};

use crate::device::Device;
use crate::graph::Weights;
use crate::model::blueprint::Blueprint;
use crate::model::config::ModelConfig;
use crate::model::generation_config::GenerationConfig;
use crate::model::{HeadName, Model, ModelError};
use crate::precision::{PrecisionChoice, WeightPrecision};
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
    muted: Vec<HeadName>,
}

impl Transformer {
    /// Brings a model's weights to a device, tensor by tensor. `progress` is told the fraction done.
    ///
    /// # Errors
    /// [`ModelError`] when the folder's file cannot be read, or the device has no room.
    pub fn load(device: &Device, model: &Model, progress: &mut dyn FnMut(f32)) -> Result<Self, ModelError> {
        Self::load_with_weights(device, model, PrecisionChoice::Auto, progress)
    }

    /// As [`Transformer::load`], with weights stored as asked for.
    ///
    /// # Errors
    /// Those of [`Transformer::load`]; [`ModelError::UnstorableWeight`] when a weight is beyond what f16 can hold;
    /// [`GpuError::WrongAnswer`](crate::GpuError::WrongAnswer) when the device cannot read weights stored so. A browser cannot
    /// wait for that answer here: there, [`Loading::check`] asks for it.
    pub fn load_with_weights(
        device: &Device,
        model: &Model,
        choice: PrecisionChoice,
        progress: &mut dyn FnMut(f32),
    ) -> Result<Self, ModelError> {
        let mut loading = Loading::with_weights(device, model, choice)?;
        #[cfg(not(target_arch = "wasm32"))]
        pollster::block_on(loading.check())?;
        while loading.advance(model)? {
            progress(loading.fraction());
        }
        loading.finish()
    }

    /// As [`Transformer::load_with_weights`], for a model that is going to [generate](Self::generate) with `options`, soon:
    /// on a GPU, the kernels that a sentence will need are compiled while weights are read and sent. What is not to be had
    /// for that sentence, memory for example, is no error before something is generated.
    ///
    /// # Errors
    /// As [`Transformer::load_with_weights`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn load_to_generate(
        device: &Device,
        model: &Model,
        choice: PrecisionChoice,
        options: &GenerationConfig,
        progress: &mut dyn FnMut(f32),
    ) -> Result<Self, ModelError> {
        let mut loading = Loading::with_weights(device, model, choice)?;
        pollster::block_on(loading.check())?;
        loading.advance_and_rehearse(model, options, progress)?;
        let transformer = loading.finish()?;
        if let Some(gpu) = device.gpu() {
            gpu.store_pipelines(); // now, because a program may run for long, and be killed
        }
        Ok(transformer)
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

    /// How its weight matrices are stored.
    pub fn precision(&self) -> WeightPrecision {
        self.weights.precision()
    }

    /// The model's own defaults for generation.
    pub fn generation_config(&self) -> &GenerationConfig {
        &self.generation
    }
}
