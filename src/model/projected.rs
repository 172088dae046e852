//! Keys and values of an encoder layer that are projected along the length: with learned projections, or to the nearest matrices
//! of a rank. Wang et al. 2020, "Linformer".

use super::attention::{AttentionLayer, Sequences, Visible, tap};
use super::blueprint::{SelfAttention, qkv_columns};
use super::config::StackConfig;
use super::projected_keys::learned;
use crate::graph::{Columns, Graph, GraphError, Value};
use crate::ops::LengthProjections;
use crate::shape::{LowRankShape, ProjectedShape};

/// The inputs of an attention whose keys are projected.
#[derive(Clone, Copy, Debug)]
pub(super) struct Projected {
    /// Queries, keys and values.
    pub columns: [Columns; 3],
    /// Rows of keys of a sentence.
    pub keys: usize,
    /// What the queries see of them.
    pub visible: Visible,
}

/// Adds the projections of a layer of this rank. `qkv`: its fused projection.
pub(super) fn projected(
    g: &mut Graph,
    attention: AttentionLayer<'_>,
    weights: &SelfAttention,
    qkv: Value,
    sequences: &Sequences,
    rank: usize,
) -> Result<Projected, GraphError> {
    match (learned(weights, rank), sequences.visible) {
        #[cfg(feature = "training")]
        (Some(learned), Visible::Ranges(ranges)) => packed(g, attention.stack, learned, qkv, ranges),
        (Some(learned), Visible::Mask(mask)) => {
            let tap = tap(attention.taps.attentions, attention.layer).0;
            // kept weights have the shape of those of full attention
            let is_kept = tap.is_some() || g.is_watched();
            let room = if is_kept { sequences.length } else { rank };
            by_factors(g, attention.stack, learned, (qkv, mask), (sequences, room))
        }
        (None, _) => nearest(g, attention.stack, qkv, sequences, rank),
    }
}

/// With learned projections.
fn by_factors(
    g: &mut Graph,
    stack: &StackConfig,
    learned: LengthProjections,
    (qkv, mask): (Value, Value),
    (sequences, room): (&Sequences, usize),
) -> Result<Projected, GraphError> {
    let [queries, keys, _] = qkv_columns(stack).map(|first| Columns { value: qkv, first });
    let &Sequences { batch, length, .. } = sequences;
    let (key_width, values) = (stack.key_width(), stack.value_width());
    let shape = ProjectedShape { batch, length, room, keys: key_width, values };
    let [sums, visible] = g.project_length(keys, mask, learned, shape)?;
    let [keys, values] = [0, key_width].map(|first| Columns { value: sums, first });
    Ok(Projected { columns: [queries, keys, values], keys: room, visible: Visible::Mask(visible) })
}

/// With learned projections, for packed sentences.
#[cfg(feature = "training")]
fn packed(
    g: &mut Graph,
    stack: &StackConfig,
    learned: LengthProjections,
    qkv: Value,
    ranges: crate::ops::Ranges,
) -> Result<Projected, GraphError> {
    let widths = [stack.key_width(), stack.key_width(), stack.value_width()];
    let made = g.project_packed(qkv, widths, ranges.keys, learned)?;
    let queries = Columns { value: made.queries, first: 0 };
    let [keys, values] = [0, stack.key_width()].map(|first| Columns { value: made.key_values, first });
    let rows = g.shape(qkv).rows;
    Ok(Projected { columns: [queries, keys, values], keys: rows, visible: Visible::Ranges(made.ranges) })
}

/// To the nearest matrices of a rank.
fn nearest(
    g: &mut Graph,
    stack: &StackConfig,
    qkv: Value,
    sequences: &Sequences,
    rank: usize,
) -> Result<Projected, GraphError> {
    let [queries, keys, values] = qkv_columns(stack).map(|first| Columns { value: qkv, first });
    let &Sequences { batch, length, visible, .. } = sequences;
    let mask = visible.mask().ok_or_else(|| g.no_gradient("low_rank"))?;
    let shape = LowRankShape { batch, length, width: stack.key_width(), rank };
    let keys = g.low_rank(keys, mask, shape)?;
    let values = g.low_rank(values, mask, LowRankShape { width: stack.value_width(), ..shape })?;
    let [keys, values] = [keys, values].map(|value| Columns { value, first: 0 });
    Ok(Projected { columns: [queries, keys, values], keys: length, visible })
}
