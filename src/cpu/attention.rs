//! `softmax(scale · Q Kᵀ + bias + mask) V` for each head

use pulp::Arch;

use super::Columns;
use super::attend::{DistanceBias, Key, Query, Scratch, Weigh, with_scratch};
use super::attend_all::AttendAll;
use super::parallel::{for_each_block, for_each_row};
use crate::shape::AttentionShape;

/// The inputs of the weights `softmax(scale · Q Kᵀ + bias + mask)`.
#[derive(Clone, Copy, Debug)]
pub struct AttentionScores<'a> {
    /// Batch, heads, lengths, widths of a head, scale, causal.
    pub shape: AttentionShape,
    /// `[batch * queries, …]`
    pub queries: Columns<'a>,
    /// `[batch * keys, …]`
    pub keys: Columns<'a>,
    /// `[batch, keys]`, nonzero = visible
    pub key_mask: &'a [u32],
    /// `[2 * reach + 1, heads]`; row `clamp(key - query, -reach, reach) + reach` is added to the scores
    pub distance_bias: Option<&'a [f32]>,
}

/// Computes attention.
///
/// * `values`: `[batch * keys, …]`
/// * `context`: `[batch * queries, heads * d_value]`; zeros if no key is visible
pub fn attention(scores: &AttentionScores, values: Columns, context: &mut [f32]) {
    let AttentionScores { shape, queries, keys, key_mask, distance_bias } = scores;
    let &AttentionShape { heads, d_head, d_value, .. } = shape;
    let arch = Arch::new();
    let (width, work) = (heads * d_value, shape.keys * heads * (d_head + d_value));
    for_each_block(context, width, work, |mut row, mut context| {
        // one sentence at a time, because each has its own keys
        while !context.is_empty() {
            let count = (shape.queries - row % shape.queries).min(context.len() / width);
            let (of_sentence, others) = context.split_at_mut(count * width);
            with_scratch(|Scratch { keys: visible, weights, packed_keys, packed_values }| {
                visible.extend(visible_keys(shape, key_mask, row + count - 1));
                for head in 0..heads {
                    let bias = |query| DistanceBias::new(*distance_bias, heads, head, query % shape.queries);
                    arch.dispatch(AttendAll {
                        shape,
                        first: row,
                        queries: queries.head(head, d_head),
                        keys: keys.head(head, d_head),
                        values: values.head(head, d_value),
                        visible,
                        bias,
                        head,
                        packed_keys,
                        packed_values,
                        weights,
                        context: of_sentence,
                    });
                }
            });
            (row, context) = (row + count, others);
        }
    });
}

/// Computes the weights of that attention, `[batch * heads * queries, keys]`; zero for invisible keys.
pub fn attention_weights(scores: &AttentionScores, weights: &mut [f32]) {
    let AttentionScores { shape, queries, keys, key_mask, distance_bias } = scores;
    let &AttentionShape { heads, d_head, scale, .. } = shape;
    let arch = Arch::new();
    for_each_row(weights, shape.keys, shape.keys * d_head, |row, out| {
        let (sentence, head) = (row / shape.queries / heads, row / shape.queries % heads);
        let row = sentence * shape.queries + row % shape.queries;
        with_scratch(|Scratch { keys: visible, weights, .. }| {
            visible.extend(visible_keys(shape, key_mask, row));
            let query = Query {
                query: queries.head(head, d_head).row(row, d_head),
                scale,
                keys: keys.head(head, d_head),
                visible,
                bias: DistanceBias::new(*distance_bias, heads, head, row % shape.queries),
            };
            arch.dispatch(Weigh { query, weights });
            out.fill(0.0);
            for (key, &weight) in visible.iter().zip(&*weights) {
                out[key.position] = weight;
            }
        });
    });
}

/// The visible keys of a query.
pub(super) fn visible_keys<'a>(
    shape: &AttentionShape,
    key_mask: &'a [u32],
    row: usize,
) -> impl Iterator<Item = Key> + use<'a> {
    let (sentence, query) = (row / shape.queries, row % shape.queries);
    let count = if shape.causal { shape.keys.min(query + 1) } else { shape.keys };
    let first = sentence * shape.keys;
    (0..count)
        .map(move |position| Key { row: first + position, position })
        .filter(|key| key_mask[key.row] != 0)
}
