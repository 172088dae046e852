//! `softmax(scale · Q Kᵀ + bias + mask) V` for each head

use std::cell::Cell;

use pulp::{Arch, Simd, WithSimd};

use super::Columns;
use super::parallel::{for_each_block, for_each_row};
use super::vector::{
    add_scaled, exp, inner_products, inner_products_side_by_side, largest, rows_times_matrix, sum,
};
use crate::kernels::attention::AttentionShape;

/// Attention.
///
/// * `queries`: `[batch * queries, …]`; `keys`, `values`: `[batch * keys, …]`; `key_mask`: `[batch, keys]`,
///   nonzero = visible
/// * `distance_bias`: `[2 * reach + 1, heads]`, of which the scores get row `clamp(key - query, -reach, reach) + reach`
/// * `context`: `[batch * queries, heads * d_value]`; zeros where no key is visible
pub fn attention(
    shape: &AttentionShape,
    queries: Columns,
    keys: Columns,
    values: Columns,
    key_mask: &[u32],
    distance_bias: Option<&[f32]>,
    context: &mut [f32],
) {
    let &AttentionShape { heads, d_head, d_value, .. } = shape;
    let arch = Arch::new();
    let (width, work) = (heads * d_value, shape.keys * heads * (d_head + d_value));
    for_each_block(context, width, work, |mut row, mut context| {
        // one sentence after the other, each with keys of its own
        while !context.is_empty() {
            let count = (shape.queries - row % shape.queries).min(context.len() / width);
            let (of_sentence, others) = context.split_at_mut(count * width);
            with_scratch(|Scratch { keys: visible, weights, packed_keys, packed_values }| {
                visible.extend(visible_keys(shape, key_mask, row + count - 1));
                for head in 0..heads {
                    let bias = |query| DistanceBias::new(distance_bias, heads, head, query % shape.queries);
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

/// Neighbouring queries of one head in one sentence. What they see of keys and values is packed for them first, keys
/// side by side in as many as a vector has lanes, so that nothing is added up across a vector. The results are those of [`Attend`], to
/// the last bit: a pass over a text and a search that finds it have the same attention.
struct AttendAll<'a, B> {
    shape: &'a AttentionShape,
    /// The first of the queries.
    first: usize,
    /// The head's columns.
    queries: Columns<'a>,
    keys: Columns<'a>,
    values: Columns<'a>,
    /// What the last of them sees.
    visible: &'a [Key],
    /// For a query, what its scores get by distance.
    bias: B,
    head: usize,
    /// Room for `[visible / lanes, d_head, lanes]`, `[visible, d_value]` and `[queries at a time, visible]`
    packed_keys: &'a mut Vec<f32>,
    packed_values: &'a mut Vec<f32>,
    weights: &'a mut Vec<f32>,
    /// `[queries, heads * d_value]`
    context: &'a mut [f32],
}

/// Queries at a time.
const QUERIES: usize = 4;

impl<'a, B: Fn(usize) -> Option<DistanceBias<'a>>> WithSimd for AttendAll<'a, B> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        let &AttentionShape { heads, d_head, d_value, .. } = self.shape;
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
        let width = heads * d_value;
        let context = std::mem::take(&mut self.context);
        let mut groups = context.chunks_exact_mut(QUERIES * width);
        let mut query = self.first;
        for group in &mut groups {
            self.attend::<S, QUERIES>(simd, query, group);
            query += QUERIES;
        }
        for context in groups.into_remainder().chunks_exact_mut(width) {
            self.attend::<S, 1>(simd, query, context);
            query += 1;
        }
    }
}

impl<'a, B: Fn(usize) -> Option<DistanceBias<'a>>> AttendAll<'a, B> {
    #[inline(always)]
    fn attend<S: Simd, const ROWS: usize>(&mut self, simd: S, first: usize, context: &mut [f32]) {
        let &AttentionShape { d_head, d_value, heads, scale, .. } = self.shape;
        let count = self.visible.len();
        let mut contexts = context.chunks_exact_mut(heads * d_value);
        let contexts: [&mut [f32]; ROWS] = std::array::from_fn(|_| match contexts.next() {
            Some(row) => &mut row[self.head * d_value..][..d_value],
            None => unreachable!("as many rows as queries"),
        });
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
            // later queries of a causal sentence see more
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

/// The weights of that attention, `[batch * heads * queries, keys]`; zero where a key is not visible.
pub fn attention_weights(
    shape: &AttentionShape,
    queries: Columns,
    keys: Columns,
    key_mask: &[u32],
    distance_bias: Option<&[f32]>,
    weights: &mut [f32],
) {
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
                bias: DistanceBias::new(distance_bias, heads, head, row % shape.queries),
            };
            arch.dispatch(Weigh { query, weights });
            out.fill(0.0);
            for (key, &weight) in visible.iter().zip(&*weights) {
                out[key.position] = weight;
            }
        });
    });
}

/// Room for a query's keys and weights, kept so that a step of decoding allocates nothing.
#[derive(Default)]
pub(super) struct Scratch {
    /// Empty at first.
    pub keys: Vec<Key>,
    pub weights: Vec<f32>,
    /// Of [`AttendAll`].
    packed_keys: Vec<f32>,
    packed_values: Vec<f32>,
}

/// Calls `work` with the thread's scratch.
pub(super) fn with_scratch(work: impl FnOnce(&mut Scratch)) {
    thread_local!(static SCRATCH: Cell<Scratch> = Cell::default());
    // taken, not borrowed: a thread that waits for another may be given a second row meanwhile
    let mut scratch = SCRATCH.take();
    scratch.keys.clear();
    work(&mut scratch);
    SCRATCH.set(scratch);
}

/// A key that a query sees.
#[derive(Clone, Copy, Debug)]
pub(super) struct Key {
    /// Its row.
    pub row: usize,
    /// Where it stands in the sentence.
    pub position: usize,
}

/// The keys that a query sees.
fn visible_keys<'a>(
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

/// What a head's scores get for the distance from the query to a key.  Raffel et al. 2020 (T5), section 2.1.
#[derive(Clone, Copy, Debug)]
pub(super) struct DistanceBias<'a> {
    /// `[2 * reach + 1, heads]`
    table: &'a [f32],
    heads: usize,
    head: usize,
    reach: usize,
    /// Where the query stands.
    query: usize,
}

impl<'a> DistanceBias<'a> {
    pub fn new(table: Option<&'a [f32]>, heads: usize, head: usize, query: usize) -> Option<Self> {
        table.map(|table| Self { table, heads, head, reach: (table.len() / heads - 1) / 2, query })
    }

    fn of(&self, key: usize) -> f32 {
        let row = (key + self.reach).saturating_sub(self.query).min(2 * self.reach);
        self.table[row * self.heads + self.head]
    }
}

/// One query of one head.
pub(super) struct Query<'a> {
    /// `[d_head]`
    pub query: &'a [f32],
    /// Factor of the scores.
    pub scale: f32,
    /// The head's columns of all keys.
    pub keys: Columns<'a>,
    /// The keys that the query sees.
    pub visible: &'a [Key],
    /// Added to the scaled scores.
    pub bias: Option<DistanceBias<'a>>,
}

impl Query<'_> {
    #[inline(always)]
    fn weigh<S: Simd>(&self, simd: S, weights: &mut Vec<f32>) {
        weights.clear();
        let (fours, rest) = self.visible.as_chunks::<4>();
        for keys in fours {
            weights.extend(self.scores(simd, keys));
        }
        for &key in rest {
            weights.extend(self.scores(simd, &[key]));
        }
        softmax(simd, weights);
    }

    #[inline(always)]
    fn scores<S: Simd, const KEYS: usize>(&self, simd: S, keys: &[Key; KEYS]) -> [f32; KEYS] {
        // loops, because compilers keep closures out of the function that has the processor's widest vectors
        let mut rows = [&[][..]; KEYS];
        for (row, key) in rows.iter_mut().zip(keys) {
            *row = self.keys.row(key.row, self.query.len());
        }
        let [mut scores] = inner_products(simd, [self.query], rows);
        for (score, key) in scores.iter_mut().zip(keys) {
            *score *= self.scale;
            if let Some(bias) = self.bias {
                *score += bias.of(key.position);
            }
        }
        scores
    }
}

/// The weights of a query, one for each visible key.
struct Weigh<'a> {
    query: Query<'a>,
    weights: &'a mut Vec<f32>,
}

impl WithSimd for Weigh<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.query.weigh(simd, self.weights);
    }
}

/// The values that a query sees, summed up by weight.
pub(super) struct Attend<'a> {
    pub query: Query<'a>,
    /// The head's columns of all values.
    pub values: Columns<'a>,
    /// Room for the weights.
    pub weights: &'a mut Vec<f32>,
    /// `[d_value]`
    pub context: &'a mut [f32],
}

impl WithSimd for Attend<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { query, values, weights, context } = self;
        query.weigh(simd, weights);
        context.fill(0.0);
        let width = context.len();
        let value = |key: Key| values.row(key.row, width);
        let (fours, rest) = query.visible.as_chunks::<4>();
        let (weight_fours, weight_rest) = weights.as_chunks::<4>();
        for (keys, &weights) in fours.iter().zip(weight_fours) {
            add_scaled(simd, context, weights, keys.map(value));
        }
        for (&key, &weight) in rest.iter().zip(weight_rest) {
            add_scaled(simd, context, [weight], [value(key)]);
        }
    }
}

#[inline(always)]
fn softmax<S: Simd>(simd: S, scores: &mut [f32]) {
    let max = largest(simd, scores);
    scores.iter_mut().for_each(|score| *score -= max);
    exp(simd, scores);
    let sum = sum(simd, scores);
    scores.iter_mut().for_each(|score| *score /= sum);
}
