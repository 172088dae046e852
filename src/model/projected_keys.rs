//! The projected keys of an encoder layer, for its attention weights alone. Wang et al. 2020, "Linformer".

use super::blueprint::{Blueprint, SelfAttention};
use crate::graph::{Columns, Graph, GraphError, Value};
use crate::ops::LengthProjections;
use crate::shape::{AttentionShape, LowRankShape, ProjectedShape};

/// Adds the projections of the keys of an encoder layer, as in its weights: with room for all rows. Also returns which of them
/// attention may see. `keys`: `[batch * length, …]`, with their mask
pub(super) fn projected_keys(
    g: &mut Graph,
    blueprint: &Blueprint,
    (layer, rank): (usize, usize),
    shape: AttentionShape,
    (keys, mask): (Columns, Value),
) -> Result<(Columns, Value), GraphError> {
    let AttentionShape { batch, keys: length, heads, d_head, .. } = shape;
    let width = heads * d_head;
    let weights = blueprint.encoder.get(layer).map(|layer| &layer.self_attention);
    let (value, visible) = match weights.and_then(|weights| learned(weights, rank)) {
        Some(learned) => {
            let shape = ProjectedShape { batch, length, room: length, keys: width, values: 0 };
            let [sums, visible] = g.project_length(keys, mask, learned, shape)?;
            (sums, visible)
        }
        None => (g.low_rank(keys, mask, LowRankShape { batch, length, width, rank })?, mask),
    };
    Ok((Columns { value, first: 0 }, visible))
}

/// The learned projections of a layer, if they have this rank.
pub(super) fn learned(weights: &SelfAttention, rank: usize) -> Option<LengthProjections> {
    weights.length_projections.filter(|learned| learned.rank() == rank)
}
