//! Attention of neighbouring queries, which share reads of keys and values

use std::slice::ChunksMut;

use pulp::{Simd, WithSimd};

use super::Columns;
use super::attend::{DistanceBias, Key, softmax};
use super::vector::{inner_products_side_by_side, rows_times_matrix};
use crate::shape::AttentionShape;

/// Neighbouring queries of one head in one sentence. Keys and values are packed first, with as many keys side by side
/// as a vector has lanes, so that no sum crosses a vector. The results equal those of [`Attend`](super::attend::Attend)
/// to the last bit, so that a pass over a text shows the same attention as the search.
pub struct AttendAll<'a, B> {
    pub shape: &'a AttentionShape,
    /// First query.
    pub first: usize,
    /// Columns of the head.
    pub queries: Columns<'a>,
    pub keys: Columns<'a>,
    pub values: Columns<'a>,
    /// Keys visible to the last query.
    pub visible: &'a [Key],
    /// Function from a query to its bias by distance.
    pub bias: B,
    /// Scratch memory: `[visible / lanes, d_head, lanes]`, `[visible, d_value]`, `[queries at a time, visible]`
    pub packed_keys: &'a mut Vec<f32>,
    pub packed_values: &'a mut Vec<f32>,
    pub weights: &'a mut Vec<f32>,
    /// A row of `d_value` for each query; rows are `stride` elements apart, and the last one may end with its values.
    pub context: &'a mut [f32],
    pub stride: usize,
}

/// Queries at a time.
const QUERIES: usize = 4;

impl<'a, B: Fn(usize) -> Option<DistanceBias<'a>>> WithSimd for AttendAll<'a, B> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let &AttentionShape { d_head, d_value, .. } = self.shape;
        let count = self.visible.len();
        self.packed_keys.resize(d_head * count.next_multiple_of(S::F32_LANES), 0.0);
        let blocks = self.packed_keys.chunks_exact_mut(d_head * S::F32_LANES);
        for (block, keys) in blocks.zip(self.visible.chunks(S::F32_LANES)) {
            for (lane, key) in keys.iter().enumerate() {
                let row = self.keys.row(key.row, d_head);
                for (place, &value) in block[lane..].iter_mut().step_by(S::F32_LANES).zip(row) {
                    *place = value;
                }
            }
        }
        self.packed_values.clear();
        for key in self.visible {
            self.packed_values.extend_from_slice(self.values.row(key.row, d_value));
        }
        self.weights.resize(QUERIES * count, 0.0);
        let context = std::mem::take(&mut self.context);
        let mut rows = context.chunks_mut(self.stride);
        let mut query = self.first;
        while rows.len() >= QUERIES {
            let group = std::array::from_fn(|_| next(&mut rows, d_value));
            self.attend::<S, QUERIES>(simd, query, group);
            query += QUERIES;
        }
        while rows.len() > 0 {
            self.attend::<S, 1>(simd, query, [next(&mut rows, d_value)]);
            query += 1;
        }
    }
}

/// The next context of `d_value` elements.
#[inline(always)]
fn next<'a>(rows: &mut ChunksMut<'a, f32>, d_value: usize) -> &'a mut [f32] {
    match rows.next() {
        Some(row) => &mut row[..d_value],
        None => unreachable!("as many rows as queries"),
    }
}

impl<'a, B: Fn(usize) -> Option<DistanceBias<'a>>> AttendAll<'a, B> {
    #[inline(always)]
    fn attend<S: Simd, const ROWS: usize>(&mut self, simd: S, first: usize, contexts: [&mut [f32]; ROWS]) {
        let &AttentionShape { d_head, scale, .. } = self.shape;
        let count = self.visible.len();
        if count == 0 {
            contexts.into_iter().for_each(|context| context.fill(0.0));
            return;
        }
        let queries: [&[f32]; ROWS] = std::array::from_fn(|i| self.queries.row(first + i, d_head));
        let mut rows = self.weights.chunks_exact_mut(count);
        let mut weights: [&mut [f32]; ROWS] = std::array::from_fn(|_| match rows.next() {
            Some(row) => row,
            None => unreachable!("room for as many rows"),
        });
        for (block, keys) in self.packed_keys.chunks_exact(d_head * S::F32_LANES).enumerate() {
            let keys_of_block = block * S::F32_LANES..count.min((block + 1) * S::F32_LANES);
            for (query, weights) in queries.into_iter().zip(&mut weights) {
                let scores = inner_products_side_by_side(simd, query, keys);
                simd.partial_store_f32s(&mut weights[keys_of_block.clone()], scores);
            }
        }
        for (i, weights) in weights.iter_mut().enumerate() {
            let query = first + i;
            // in a causal sentence, later queries see more
            let own = match self.shape.causal {
                true => self.visible.partition_point(|key| key.position <= query % self.shape.queries),
                false => count,
            };
            let (own, hidden) = weights.split_at_mut(own);
            hidden.fill(0.0);
            own.iter_mut().for_each(|score| *score *= scale);
            if let Some(bias) = (self.bias)(query) {
                own.iter_mut().zip(self.visible).for_each(|(score, key)| *score += bias.of(key.position));
            }
            softmax(simd, own);
        }
        rows_times_matrix(simd, weights.map(|row| &*row), self.packed_values, contexts);
    }
}
