//! Attention of one row of queries, and the common parts of attention: visible keys, bias by distance, softmax

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

/// The attention of one row of queries in all heads. Rows of keys and of values are read from their start to their end, once each,
/// because they come from far memory. The results equal those of each head alone, to the last bit.
pub struct Attend<'a> {
    pub heads: usize,
    /// `[heads * d_head]`
    pub queries: &'a [f32],
    pub scale: f32,
    /// Bias of any head.
    pub bias: Option<DistanceBias<'a>>,
    /// Columns of all heads.
    pub keys: Columns<'a>,
    pub values: Columns<'a>,
    pub visible: &'a [Key],
    /// Scratch memory: `[heads, visible]`
    pub weights: &'a mut Vec<f32>,
    /// `[heads * d_value]`
    pub context: &'a mut [f32],
}

impl Attend<'_> {
    /// Computes the context in the widest vectors.
    #[inline(never)] // several operators share the code
    pub fn run(self) {
        Arch::new().dispatch(self);
    }

    /// Scores of some keys, from the `first` visible one on.
    #[inline(always)]
    fn score<S: Simd, const KEYS: usize>(&mut self, simd: S, first: usize, keys: &[Key; KEYS]) {
        let (count, d_head) = (self.visible.len(), self.queries.len() / self.heads);
        // loops: compilers keep closures out of the function with the widest vectors
        let mut rows = [&[][..]; KEYS];
        for (row, key) in rows.iter_mut().zip(keys) {
            *row = self.keys.row(key.row, self.queries.len());
        }
        for head in 0..self.heads {
            let columns = head * d_head..(head + 1) * d_head;
            let mut of_head = [&[][..]; KEYS];
            for (of_head, row) in of_head.iter_mut().zip(&rows) {
                *of_head = &row[columns.clone()];
            }
            let [products] = inner_products(simd, [&self.queries[columns]], of_head);
            let bias = self.bias.map(|bias| DistanceBias { head, ..bias });
            let scores = &mut self.weights[head * count + first..][..KEYS];
            for ((score, product), key) in scores.iter_mut().zip(products).zip(keys) {
                *score = product * self.scale;
                if let Some(bias) = bias {
                    *score += bias.of(key.position);
                }
            }
        }
    }

    /// Adds some values, from the `first` visible one on.
    #[inline(always)]
    fn add<S: Simd, const KEYS: usize>(&mut self, simd: S, first: usize, keys: &[Key; KEYS]) {
        let (count, width) = (self.visible.len(), self.context.len());
        let d_value = width / self.heads;
        let mut rows = [&[][..]; KEYS];
        for (row, key) in rows.iter_mut().zip(keys) {
            *row = self.values.row(key.row, width);
        }
        for (head, context) in self.context.chunks_exact_mut(d_value).enumerate() {
            let mut factors = [0.0; KEYS];
            factors.copy_from_slice(&self.weights[head * count + first..][..KEYS]);
            let mut of_head = [&[][..]; KEYS];
            for (of_head, row) in of_head.iter_mut().zip(&rows) {
                *of_head = &row[head * d_value..][..d_value];
            }
            add_scaled(simd, context, factors, of_head);
        }
    }
}

impl WithSimd for Attend<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        self.context.fill(0.0);
        let visible = self.visible;
        if visible.is_empty() {
            return;
        }
        self.weights.clear();
        self.weights.resize(self.heads * visible.len(), 0.0);
        let (fours, rest) = visible.as_chunks::<4>();
        let last = visible.len() - rest.len();
        for (four, keys) in fours.iter().enumerate() {
            self.score(simd, 4 * four, keys);
        }
        for (place, &key) in rest.iter().enumerate() {
            self.score(simd, last + place, &[key]);
        }
        for scores in self.weights.chunks_exact_mut(visible.len()) {
            softmax(simd, scores);
        }
        for (four, keys) in fours.iter().enumerate() {
            self.add(simd, 4 * four, keys);
        }
        for (place, &key) in rest.iter().enumerate() {
            self.add(simd, last + place, &[key]);
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
