//! The list of a model's named taps.

use super::{ForwardError, ForwardInput, ForwardSelection, run};
use crate::graph::KeptTap;
use crate::model::config::Architecture;
use crate::model::{Model, ModelError};
use crate::transformer::loading::Loading;

/// A named point of a model whose values [`Transformer::forward_selected`](crate::Transformer::forward_selected) can read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TapInfo {
    /// Name, `decoder.3.cross.scores` for example.
    pub name: String,
    /// Shape of the tensor, `[batch, 8, queries, keys]` for example.
    pub shape: String,
}

/// Lists the taps of a model for short texts, in the order of computation. No weights are read.
///
/// # Errors
/// [`ModelError`] if the shapes of the model do not fit in memory; [`ForwardError::Graph`] if a graph cannot be built.
pub fn taps(model: &Model) -> Result<Vec<TapInfo>, ForwardError> {
    let transformer = Loading::shapes_of(model).map_err(|error| match error {
        ModelError::Gpu(error) => ForwardError::Gpu(error),
        other => ForwardError::Model(Box::new(other)),
    })?;
    let of_target = usize::from(transformer.host.config.architecture() == Architecture::EncoderDecoder);
    let input =
        ForwardInput { batch: 1, source_length: 1, target_length: of_target, ..ForwardInput::default() };
    let selection = ForwardSelection { taps: vec!["*".to_owned()], ..ForwardSelection::default() };
    let planned = run::Planned::new(&transformer.model(), &input, &selection)?;
    let info = |tap: KeptTap| TapInfo { name: tap.name, shape: tap.axes };
    Ok(planned.taps.into_iter().map(info).collect())
}
