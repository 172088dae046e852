//! `softmax(scale · Q Kᵀ + bias + mask) V` for each head

use std::cell::Cell;

use pulp::Arch;

use super::Columns;
use super::attend::{Attend, DistanceBias, Key, Query, Scratch, Weigh, with_scratch};
use super::attend_all::AttendAll;
use super::parallel::{Budget, for_each_block_of, for_each_row};
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

/// Fewest queries that share packed keys and values, if there are enough. Packing a key costs as much as some ten queries.
const SHARING: usize = 128;

/// Fewest queries for which packing keys and values pays.
const WORTH_PACKING: usize = 4;

/// Computes attention.
///
/// * `values`: `[batch * keys, …]`
/// * `context`: `[batch * queries, heads * d_value]`; zeros if no key is visible
pub fn attention(scores: &AttentionScores, values: Columns, context: &mut [f32]) {
    let &AttentionShape { heads, d_head, d_value, queries, keys, .. } = &scores.shape;
    let (width, work) = (heads * d_value, keys * heads * (d_head + d_value));
    if queries < WORTH_PACKING {
        return for_each_row(context, width, work, |row, context| attend_row(scores, values, row, context));
    }
    let is_shared = Budget::new(context.len() / width.max(1) * work).allows_split();
    if is_shared && queries < SHARING * heads {
        return by_head(scores, values, context);
    }
    for_each_block_of(SHARING, (context, width), work, |mut row, mut context| {
        // one sentence at a time, because each has its own keys
        while !context.is_empty() {
            let count = (queries - row % queries).min(context.len() / width);
            let (of_sentence, others) = context.split_at_mut(count * width);
            with_scratch(|scratch| {
                scratch.keys.extend(visible_keys(&scores.shape, scores.key_mask, row + count - 1));
                for head in 0..heads {
                    let context = (&mut of_sentence[head * d_value..], width);
                    attend_head(scores, values, (row, head), scratch, context);
                }
            });
            (row, context) = (row + count, others);
        }
    });
}

/// Computes the context of one row of queries.
fn attend_row(scores: &AttentionScores, values: Columns, row: usize, context: &mut [f32]) {
    let AttentionScores { shape, queries, keys, key_mask, distance_bias } = scores;
    let &AttentionShape { heads, d_head, scale, .. } = shape;
    with_scratch(|Scratch { keys: visible, weights, .. }| {
        visible.extend(visible_keys(shape, key_mask, row));
        let bias = DistanceBias::new(*distance_bias, heads, 0, row % shape.queries);
        let queries = queries.row(row, heads * d_head);
        Attend { heads, queries, scale, bias, keys: *keys, values, visible, weights, context }.run();
    });
}

/// As [`attention`]: a core takes all queries of a head in a sentence, so that it packs their keys and values once.
fn by_head(scores: &AttentionScores, values: Columns, context: &mut [f32]) {
    thread_local!(static CONTEXTS: Cell<Vec<f32>> = const { Cell::new(Vec::new()) });
    let &AttentionShape { heads, d_head, d_value, queries, keys, .. } = &scores.shape;
    let mut contexts = CONTEXTS.take();
    contexts.resize(context.len(), 0.0);
    let size = queries * d_value;
    for_each_row(&mut contexts, size, queries * keys * (d_head + d_value), |row, context| {
        let (sentence, head) = (row / heads, row % heads);
        with_scratch(|scratch| {
            let last = (sentence + 1) * queries - 1;
            scratch.keys.extend(visible_keys(&scores.shape, scores.key_mask, last));
            attend_head(scores, values, (sentence * queries, head), scratch, (context, d_value));
        });
    });
    for (row, context) in context.chunks_exact_mut(heads * d_value).enumerate() {
        let (sentence, query) = (row / queries, row % queries);
        let of_heads = contexts[sentence * heads * size..].chunks_exact(size);
        for (context, of_head) in context.chunks_exact_mut(d_value).zip(of_heads) {
            context.copy_from_slice(&of_head[query * d_value..][..d_value]);
        }
    }
    CONTEXTS.set(contexts);
}

/// Computes the contexts of a head for neighbouring queries of a sentence, whose visible keys are in `scratch`.
///
/// * `first`: row of the first query
/// * `context`: a row for each query, and the distance between rows
fn attend_head(
    scores: &AttentionScores,
    values: Columns,
    (first, head): (usize, usize),
    scratch: &mut Scratch,
    (context, stride): (&mut [f32], usize),
) {
    let AttentionScores { shape, queries, keys, distance_bias, .. } = scores;
    let &AttentionShape { heads, d_head, d_value, .. } = shape;
    let Scratch { keys: visible, weights, packed_keys, packed_values } = scratch;
    Arch::new().dispatch(AttendAll {
        shape,
        first,
        queries: queries.head(head, d_head),
        keys: keys.head(head, d_head),
        values: values.head(head, d_value),
        visible,
        bias: |query| DistanceBias::new(*distance_bias, heads, head, query % shape.queries),
        packed_keys,
        packed_values,
        weights,
        context,
        stride,
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
