//! A model on a device: token ids in, token ids or tensors out.

mod arrivals;
mod attempts;
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
mod placed;
#[cfg(not(target_arch = "wasm32"))]
mod pools;
mod queue;
mod recovery;
mod request;
mod rows;
mod score;
mod self_attention;
mod session;
#[cfg(not(target_arch = "wasm32"))]
mod side_by_side;
mod switches;
mod work;

pub use arrivals::{Arrival, Arrivals};
pub(crate) use attempts::{Attempts, DeviceFault};
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
pub use options::{refuse_idle, resolve};
pub use request::{GenerateOptions, GenerateRequest, Generation, Keep, Progress};
pub use score::{Score, ScoreError, ScoreRequest};

use std::sync::{Arc, PoisonError, RwLock};

use crate::device::Device;
use crate::model::config::ModelConfig;
use crate::model::generation_config::GenerationConfig;
use crate::model::{HeadName, SelfAttentionKind, Switches};
use crate::precision::{PrecisionChoice, WeightPrecision};
use attempts::Recovery;
use edited::Edited;
use loaded::HostModel;
use placed::Placed;
use session::IdleSessions;

/// A model with its weights on a device. [`Transformer::generate`](Self::generate) searches for outputs,
/// [`Transformer::forward`](Self::forward) runs given ones.
pub struct Transformer {
    host: Arc<HostModel>,
    placed: RwLock<Arc<Placed>>,
    recovery: Recovery,
    muted: Vec<HeadName>,
    switches: Switches,
    edits: Edited,
    /// The kinds of self-attention that the model was trained with.
    own_kinds: Vec<SelfAttentionKind>,
}

impl Transformer {
    /// Device of the model. Another one takes its place when it is [lost](crate::Device::reopen).
    pub fn device(&self) -> Device {
        self.model().device.clone()
    }

    /// The model on its current device.
    fn model(&self) -> Arc<Placed> {
        self.placed.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The model on its current device, to be changed.
    fn placed_mut(&mut self) -> &mut Placed {
        let placed = self.placed.get_mut().unwrap_or_else(PoisonError::into_inner);
        // searches of a generation that was dropped stop at their next step
        #[cfg(not(target_arch = "wasm32"))]
        while Arc::strong_count(placed) > 1 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        Arc::get_mut(placed)
            .unwrap_or_else(|| unreachable!("only runs share it, and they borrow the transformer"))
    }

    /// Changes what the host knows of the model. Programs of before are dropped.
    fn change_host(&mut self, change: impl FnOnce(&mut HostModel)) {
        change(Arc::make_mut(&mut self.host));
        let host = self.host.clone();
        let placed = self.placed_mut();
        (placed.model.host, placed.idle) = (host, IdleSessions::default());
    }

    /// Configuration of the model.
    pub fn config(&self) -> &ModelConfig {
        &self.host.config
    }

    /// Number of the model's parameters. Shared ones count once, and values that follow from a formula, such as sinusoidal
    /// positions, do not count.
    pub fn parameters(&self) -> u64 {
        self.config().parameter_count()
    }

    /// Bytes of the weights on the device.
    pub fn weight_bytes(&self) -> u64 {
        self.model().weights.bytes()
    }

    /// The choice that stores matrices as they are.
    pub fn stored_as(&self) -> PrecisionChoice {
        self.model().weights.stored_as()
    }

    /// Storage format of matrices.
    pub fn precision(&self) -> WeightPrecision {
        self.model().weights.precision()
    }

    /// The model's defaults for generation.
    pub fn generation_config(&self) -> &GenerationConfig {
        &self.host.generation
    }
}
