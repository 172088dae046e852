//! Attention of one query, and the common parts of attention: visible keys, bias by distance, softmax

use std::cell::Cell;

use pulp::{Arch, Simd, WithSimd};

use super::Columns;
use super::vector::{add_scaled, exp, inner_products, largest, sum};

/// Memory for a query's keys and weights, kept so that a step of decoding allocates nothing.
#[derive(Default)]
pub struct Scratch {
    /// Empty at first.
    pub keys: Vec<Key>,
    pub weights: Vec<f32>,
    /// Used by [`AttendAll`](super::attend_all::AttendAll).
    pub packed_keys: Vec<f32>,
    pub packed_values: Vec<f32>,
}

pub fn with_scratch(work: impl FnOnce(&mut Scratch)) {
    thread_local!(static SCRATCH: Cell<Scratch> = Cell::default());
    // taken, not borrowed: a thread that waits for another may start a second row meanwhile
    let mut scratch = SCRATCH.take();
    scratch.keys.clear();
    work(&mut scratch);
    SCRATCH.set(scratch);
}

#[derive(Clone, Copy, Debug)]
pub struct Key {
    /// Row of the key.
    pub row: usize,
    /// Position in the sentence.
    pub position: usize,
}

/// Bias of a head's scores by the distance from query to key. Raffel et al. 2020 (T5), section 2.1.
#[derive(Clone, Copy, Debug)]
pub struct DistanceBias<'a> {
    /// `[2 * reach + 1, heads]`
    table: &'a [f32],
    heads: usize,
    head: usize,
    reach: usize,
    /// Position of the query.
    query: usize,
}

impl<'a> DistanceBias<'a> {
    pub fn new(table: Option<&'a [f32]>, heads: usize, head: usize, query: usize) -> Option<Self> {
        table.map(|table| Self { table, heads, head, reach: (table.len() / heads - 1) / 2, query })
    }

    pub fn of(&self, key: usize) -> f32 {
        let row = (key + self.reach).saturating_sub(self.query).min(2 * self.reach);
        self.table[row * self.heads + self.head]
    }
}

pub struct Query<'a> {
    /// `[d_head]`
    pub query: &'a [f32],
    pub scale: f32,
    /// Columns of the head in all keys.
    pub keys: Columns<'a>,
    pub visible: &'a [Key],
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
        // loops: compilers keep closures out of the function with the widest vectors
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

pub struct Weigh<'a> {
    pub query: Query<'a>,
    pub weights: &'a mut Vec<f32>,
}

impl WithSimd for Weigh<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.query.weigh(simd, self.weights);
    }
}

pub struct Attend<'a> {
    pub query: Query<'a>,
    /// Columns of the head in all values.
    pub values: Columns<'a>,
    pub weights: &'a mut Vec<f32>,
    /// `[d_value]`
    pub context: &'a mut [f32],
}

impl Attend<'_> {
    /// Computes the context in the widest vectors.
    #[inline(never)] // several operators share the code
    pub fn run(self) {
        Arch::new().dispatch(self);
    }
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
pub fn softmax<S: Simd>(simd: S, scores: &mut [f32]) {
    let max = largest(simd, scores);
    scores.iter_mut().for_each(|score| *score -= max);
    exp(simd, scores);
    let sum = sum(simd, scores);
    scores.iter_mut().for_each(|score| *score /= sum);
}
