//! One teacher-forced pass: what the model computes for given sources and given targets, attention included.

mod check;
mod data;
mod error;
mod run;

pub use data::{ForwardInput, ForwardOutput, ForwardSelection, Tensor};
pub use error::ForwardError;

use super::Transformer;
use super::attention_budget::Share;
use super::kept_attention::KeptAttention;
use super::loaded::LoadedModel;
use crate::graph::Plan;

/// The plan of a pass, which depends on the input's sizes.
pub(super) fn plan(
    model: &LoadedModel,
    input: &ForwardInput,
    selection: &ForwardSelection,
) -> Result<Plan, ForwardError> {
    Ok(run::Planned::new(model, input, selection)?.plan)
}

impl Transformer {
    /// Runs the encoder over the sources and the decoder over the given targets; in a model of one stack, that stack over
    /// the inputs.
    ///
    /// # Errors
    /// [`ForwardError`] naming the input that does not fit the model.
    pub async fn forward(&self, input: &ForwardInput) -> Result<ForwardOutput, ForwardError> {
        self.forward_selected(input, &ForwardSelection::all(&self.model.config)).await
    }

    /// As [`forward`](Self::forward), but only what is selected is kept and read back; other tensors of the output are
    /// empty, other layers left out.
    ///
    /// # Errors
    /// As [`forward`](Self::forward), and [`ForwardError::Layer`].
    pub async fn forward_selected(
        &self,
        input: &ForwardInput,
        selection: &ForwardSelection,
    ) -> Result<ForwardOutput, ForwardError> {
        check::check(&self.model.config, input)?;
        check::check_layers(&self.model.config, selection)?;
        run::run(&self.model, input, selection)?.read(&self.model.config, input).await
    }

    /// Runs a pass for its attention alone, which stays on the device: for pictures that are painted there.
    ///
    /// # Errors
    /// As [`forward_selected`](Self::forward_selected).
    pub(crate) fn keep_attention(
        &self,
        input: &ForwardInput,
        Share { selection, left_out }: Share,
    ) -> Result<KeptAttention, ForwardError> {
        check::check(&self.model.config, input)?;
        check::check_layers(&self.model.config, &selection)?;
        Ok(KeptAttention::new(
            run::run(&self.model, input, &selection)?.keep_attention(&self.model.config),
            left_out,
        ))
    }
}
