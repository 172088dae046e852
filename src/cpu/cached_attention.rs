//! Attention of one query per row over a key–value cache, in the order of an index table

use super::Columns;
use super::attend::{Attend, DistanceBias, Key, Scratch, with_scratch};
use super::parallel::for_each_row;
use crate::shape::CachedAttentionShape;

/// The key–value cache of a decoder layer, and its rows that each query sees.
#[derive(Clone, Copy, Debug)]
pub struct Cache<'a> {
    /// `[rows * capacity, heads * d_head]`
    pub keys: &'a [f32],
    /// `[rows * capacity, heads * d_value]`
    pub values: &'a [f32],
    /// `[rows, capacity]`; the first `key_counts[row]` are the rows of the cache that a query sees, in order
    pub slots: &'a [u32],
    /// `[rows]`
    pub key_counts: &'a [u32],
}

/// Computes attention over a cache.
///
/// * `queries`: `[rows, …]`
/// * `distance_bias`: as in [`AttentionScores`](super::AttentionScores); the query's position is that of its last key
/// * `context`: `[rows, heads * d_value]`
pub fn cached_attention(
    shape: &CachedAttentionShape,
    queries: Columns,
    cache: Cache,
    distance_bias: Option<&[f32]>,
    context: &mut [f32],
) {
    let &CachedAttentionShape { heads, d_head, d_value, capacity, scale, .. } = shape;
    let Cache { slots, key_counts, .. } = cache;
    let keys = Columns { data: cache.keys, stride: heads * d_head, first: 0 };
    let values = Columns { data: cache.values, stride: heads * d_value, first: 0 };
    let most_keys = key_counts.iter().copied().max().unwrap_or(0) as usize;
    let work = most_keys * heads * (d_head + d_value);
    for_each_row(context, heads * d_value, work, |row, context| {
        let count = key_counts[row] as usize;
        with_scratch(|Scratch { keys: visible, weights, .. }| {
            let slots = slots[row * capacity..][..count].iter().enumerate();
            visible.extend(slots.map(|(position, &slot)| Key { row: slot as usize, position }));
            let bias = DistanceBias::new(distance_bias, heads, 0, count.saturating_sub(1));
            let queries = queries.row(row, heads * d_head);
            Attend { heads, queries, scale, bias, keys, values, visible, weights, context }.run();
        });
    });
}
