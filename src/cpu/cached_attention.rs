//! Attention of one query per row over a key–value cache, in the order of an index table

use pulp::Arch;

use super::Columns;
use super::attention::{Attend, Query};
use super::parallel::for_each_row;
use crate::kernels::cached_attention::CachedAttentionShape;

/// Cached attention.
///
/// * `queries`: `[rows, …]`; `key_cache`, `value_cache`: `[rows * capacity, heads * d_head]`
/// * `slots`: `[rows, capacity]`, of which the first `key_counts[row]` are the caches' rows that a query sees, in order
/// * `context`: `[rows, heads * d_head]`
pub fn cached_attention(
    shape: &CachedAttentionShape,
    queries: Columns,
    key_cache: &[f32],
    value_cache: &[f32],
    slots: &[u32],
    key_counts: &[u32],
    context: &mut [f32],
) {
    let &CachedAttentionShape { heads, d_head, capacity, scale, .. } = shape;
    let cache = |data| Columns { data, stride: heads * d_head, first: 0 };
    let (keys, values) = (cache(key_cache), cache(value_cache));
    let most_keys = key_counts.iter().copied().max().unwrap_or(0) as usize;
    let arch = Arch::new();
    for_each_row(context, heads * d_head, 2 * most_keys * heads * d_head, |row, context| {
        let visible = slots[row * capacity..][..key_counts[row] as usize].iter().map(|&slot| slot as usize);
        let mut weights = Vec::with_capacity(most_keys);
        for (head, context) in context.chunks_exact_mut(d_head).enumerate() {
            let first = head * d_head;
            let query = queries.slice(row, first, d_head);
            let query = Query { query, scale, keys, first, visible: visible.clone() };
            arch.dispatch(Attend { query, values, weights: &mut weights, context });
        }
    });
}
