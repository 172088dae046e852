//! A model on a device: token ids in, token ids or tensors out.

mod arrivals;
mod attention_budget;
mod attention_inputs;
mod band_layout;
mod batches;
mod block_states;
mod cancel;
mod device_search;
mod edited;
mod encode;
mod end_states;
mod error;
mod forward;
mod generate;
mod global_states;
mod host_search;
mod input_states;
mod kept_attention;
mod launches;
mod loaded;
mod loading;
mod mute;
mod options;
mod queue;
mod request;
mod rows;
mod score;
mod self_attention;
mod session;
mod switches;
mod work;

pub use arrivals::{Arrival, Arrivals};
pub use attention_budget::KeepAttention;
pub(crate) use attention_budget::{Lengths, Share, share};
pub(crate) use band_layout::band_layout;
pub use cancel::Cancel;
pub use encode::Encoder;
pub use error::GenerateError;
pub use forward::{ForwardError, ForwardInput, ForwardOutput, ForwardSelection, TapInfo, Tensor, taps};
pub(crate) use kept_attention::without_room;
pub use kept_attention::{KeptAttention, LeftOut};
pub use launches::{LaunchOptions, LaunchesError, launches};
pub use loading::Loading;
pub use mute::MuteError;
pub use options::resolve;
pub use request::{GenerateOptions, GenerateRequest, Generation, Keep, Progress};
pub use score::{Score, ScoreError, ScoreRequest};

use crate::device::Device;
use crate::model::config::ModelConfig;
use crate::model::generation_config::GenerationConfig;
use crate::model::{HeadName, SelfAttentionKind, Switches};
use crate::precision::WeightPrecision;
use edited::Edited;
use loaded::LoadedModel;
use session::IdleSessions;

/// A model with its weights on a device. [`Transformer::generate`](Self::generate) searches for outputs,
/// [`Transformer::forward`](Self::forward) runs given ones.
pub struct Transformer {
    model: LoadedModel,
    idle: IdleSessions,
    muted: Vec<HeadName>,
    switches: Switches,
    edits: Edited,
    /// The kinds of self-attention that the model was trained with.
    own_kinds: Vec<SelfAttentionKind>,
}

impl Transformer {
    /// Device of the model.
    pub fn device(&self) -> &Device {
        &self.model.device
    }

    /// Configuration of the model.
    pub fn config(&self) -> &ModelConfig {
        &self.model.config
    }

    /// Number of values of all weights; shared ones count once.
    pub fn parameters(&self) -> usize {
        self.model.blueprint.table.elements()
    }

    /// Bytes of the weights on the device.
    pub fn weight_bytes(&self) -> u64 {
        self.model.weights.bytes()
    }

    /// Storage format of matrices.
    pub fn precision(&self) -> WeightPrecision {
        self.model.weights.precision()
    }

    /// The model's defaults for generation.
    pub fn generation_config(&self) -> &GenerationConfig {
        &self.model.generation
    }
}
