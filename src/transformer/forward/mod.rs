//! One teacher-forced pass over given sources and targets, attention included.

mod check;
mod data;
mod error;
mod run;
mod tap_names;
mod taps;

pub use data::{ForwardInput, ForwardOutput, ForwardSelection, Tensor};
pub use error::ForwardError;
pub use tap_names::{TapInfo, taps};

use super::Transformer;
use super::attention_budget::Share;
use super::kept_attention::KeptAttention;
use super::loaded::LoadedModel;
use crate::graph::Plan;

pub(super) fn plan(
    model: &LoadedModel,
    input: &ForwardInput,
    selection: &ForwardSelection,
) -> Result<Plan, ForwardError> {
    Ok(run::Planned::new(model, input, selection)?.plan)
}

impl Transformer {
    /// Runs the encoder on the sources and the decoder on the targets; a model of one stack runs on the inputs.
    pub async fn forward(&self, input: &ForwardInput) -> Result<ForwardOutput, ForwardError> {
        self.forward_selected(input, &ForwardSelection::all(&self.host.config)).await
    }

    /// As [`forward`](Self::forward), but keeps and reads back the selection; other tensors are empty, other layers absent.
    ///
    /// # Errors
    /// As [`forward`](Self::forward), and [`ForwardError::Layer`].
    pub async fn forward_selected(
        &self,
        input: &ForwardInput,
        selection: &ForwardSelection,
    ) -> Result<ForwardOutput, ForwardError> {
        check::check(&self.host.config, input)?;
        check::check_layers(&self.host.config, selection)?;
        self.lasting(async |model| run::run(model, input, selection)?.read(model, input).await).await
    }

    /// Runs a pass for the attention of the selected layers, which stays on the device until it is read. Layers with windows have
    /// bands ([`LayerAttention`](crate::model::LayerAttention)).
    ///
    /// # Errors
    /// As [`forward_selected`](Self::forward_selected).
    pub fn forward_attention(
        &self,
        input: &ForwardInput,
        selection: ForwardSelection,
    ) -> Result<KeptAttention, ForwardError> {
        self.keep_attention(input, Share { selection, left_out: Vec::new() })
    }

    /// Runs a pass for its attention, which stays on the device, to be painted there.
    pub(crate) fn keep_attention(
        &self,
        input: &ForwardInput,
        share: Share,
    ) -> Result<KeptAttention, ForwardError> {
        self.keep_attention_on(&self.model(), input, share)
    }

    /// As [`keep_attention`](Self::keep_attention), on the device of a search.
    pub(super) fn keep_attention_on(
        &self,
        model: &LoadedModel,
        input: &ForwardInput,
        Share { selection, left_out }: Share,
    ) -> Result<KeptAttention, ForwardError> {
        check::check(&self.host.config, input)?;
        check::check_layers(&self.host.config, &selection)?;
        Ok(KeptAttention::new(
            run::run(model, input, &selection)?.keep_attention(&self.host.config, input),
            left_out,
        ))
    }
}
