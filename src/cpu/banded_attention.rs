//! Attention to the keys of a band and to side keys: sliding windows and global tokens (Beltagy et al. 2020,
//! "Longformer", section 3.1), blocks (Zaheer et al. 2020, "BigBird"), and sums of blocks (Guo et al. 2022, "LongT5").
//!
//! A block of queries at a time has one matrix of scores, `[queries, side keys + keys of their bands]`, so memory does not
//! grow with the square of the length.

use std::cell::Cell;
use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::Columns;
use super::matrix_product::{Strided, product_on_one_core};
use super::parallel::for_each_block;
use super::vector::{exp, largest, sum};
use crate::shape::{BandedShape, SideBlocks};

/// The inputs of the weights.
#[derive(Clone, Copy, Debug)]
pub struct BandedScores<'a> {
    /// Sizes and switches.
    pub shape: BandedShape,
    /// `[batch * length, …]`
    pub queries: Columns<'a>,
    /// `[batch * length, …]`
    pub keys: Columns<'a>,
    /// `[batch, length]`, nonzero = visible in bands
    pub key_mask: &'a [u32],
    /// `[bias_rows, heads]`: the bias of a band's key at distance `clamp(key - query, -reach, reach) + reach`, then that
    /// of a side key by its distance in blocks
    pub distance_bias: Option<&'a [f32]>,
    /// `[…, …]`, the keys that `side_rows` names
    pub side_keys: Columns<'a>,
    /// `[batch, 2 + most_sides]`: number of side keys, number of the first of them that count `side_copies` times, then
    /// their rows
    pub side_rows: &'a [u32],
}

impl<'a> BandedScores<'a> {
    /// Rows of a sentence's side keys.
    fn sides(&self, sentence: usize) -> &'a [u32] {
        let most = self.shape.most_sides;
        if most == 0 {
            return &[];
        }
        let own = &self.side_rows[sentence * (2 + most)..][..2 + most];
        &own[2..][..most.min(own[0] as usize)]
    }

    /// Number of a sentence's side keys that count `side_copies` times.
    fn repeated(&self, sentence: usize) -> usize {
        match self.shape {
            BandedShape { most_sides: 0, .. } | BandedShape { side_copies: 1, .. } => 0,
            BandedShape { most_sides, .. } => self.side_rows[sentence * (2 + most_sides) + 1] as usize,
        }
    }

    /// Bias of a head's scores for the band's key at `distance` from the query.
    fn band_bias(&self, head: usize, distance: isize) -> f32 {
        match (self.distance_bias, self.shape.reach) {
            (Some(table), Some(reach)) => table[clamped(distance, reach) * self.shape.heads + head],
            _ => 0.0,
        }
    }

    /// Bias of a head's scores for side key `key` of `count`.
    fn side_bias(&self, head: usize, query: usize, key: usize, count: usize) -> f32 {
        let (Some(table), Some(SideBlocks { tokens, reach })) = (self.distance_bias, self.shape.side_blocks)
        else {
            return 0.0;
        };
        let first = self.shape.reach.map_or(0, |reach| 2 * reach + 1);
        let block = (query / tokens).min(count.saturating_sub(1));
        let row = first + clamped(key as isize - block as isize, reach);
        table[row * self.shape.heads + head]
    }
}

/// Row of a distance in a table for distances up to `reach`.
fn clamped(distance: isize, reach: usize) -> usize {
    (distance + reach as isize).clamp(0, 2 * reach as isize) as usize
}

/// Queries that share a product.
const QUERIES: usize = 64;

/// Memory of a block of queries, kept by each thread.
#[derive(Default)]
struct Scratch {
    /// `[queries, side keys + keys]`
    scores: Vec<f32>,
    /// `[side keys, d_head or d_value]`
    sides: Vec<f32>,
    /// 1 / sum of a query's weights.
    factors: Vec<f32>,
}

fn with_scratch(work: impl FnOnce(&mut Scratch)) {
    thread_local!(static SCRATCH: Cell<Scratch> = Cell::default());
    let mut scratch = SCRATCH.take();
    work(&mut scratch);
    SCRATCH.set(scratch);
}

/// Neighbouring queries of one sentence, and one head.
#[derive(Clone, Copy)]
struct Block {
    sentence: usize,
    /// First query in the sentence.
    first: usize,
    count: usize,
    head: usize,
}

/// Computes the contexts, `[batch * length, heads * d_value]`; zeros for a query without visible keys.
///
/// * `values`: `[batch * length, …]`; `side_values`: `[…, …]`, in the rows of the side keys
pub fn banded_attention(scores: &BandedScores, values: Columns, side_values: Columns, context: &mut [f32]) {
    let BandedShape { heads, length, d_head, d_value, band, most_sides, .. } = scores.shape;
    let width = heads * d_value;
    let work = (band.width().min(length) + most_sides) * heads * (d_head + d_value);
    for_each_block(context, width, work, |mut row, mut context| {
        while !context.is_empty() {
            let (sentence, first) = (row / length, row % length);
            let count = QUERIES.min(length - first).min(context.len() / width);
            let (of_block, others) = context.split_at_mut(count * width);
            for head in 0..heads {
                let block = Block { sentence, first, count, head };
                let out = &mut of_block[head * d_value..];
                with_scratch(|scratch| attend(scores, [values, side_values], block, scratch, out));
            }
            (row, context) = (row + count, others);
        }
    });
}

/// Computes the contexts of a block; rows of `context` are as wide as all heads.
fn attend(
    scores: &BandedScores,
    [values, side_values]: [Columns; 2],
    block: Block,
    scratch: &mut Scratch,
    context: &mut [f32],
) {
    let BandedShape { heads, length, d_value, .. } = scores.shape;
    let Block { sentence, count, head, .. } = block;
    let sides = scores.sides(sentence);
    let keys = weigh(scores, block, scratch);
    let (columns, width) = (sides.len() + keys.len(), heads * d_value);
    let Scratch { scores: weights, sides: packed, factors } = scratch;
    let own = values.head(head, d_value);
    let from = (sentence * length + keys.start) * own.stride + own.first;
    product_on_one_core(
        Strided::columns_of(&weights[sides.len()..], count, keys.len(), columns),
        Strided::columns_of(&own.data[from..], keys.len(), d_value, own.stride),
        1.0,
        false,
        (context, width),
    );
    if !sides.is_empty() {
        pack(packed, side_values.head(head, d_value), sides, d_value);
        product_on_one_core(
            Strided::columns_of(weights, count, sides.len(), columns),
            Strided::row_major(packed, d_value),
            1.0,
            true,
            (context, width),
        );
    }
    for (row, &factor) in context.chunks_mut(width).zip(&*factors) {
        row[..d_value].iter_mut().for_each(|value| *value *= factor);
    }
}

fn pack(packed: &mut Vec<f32>, columns: Columns, rows: &[u32], width: usize) {
    packed.clear();
    for &row in rows {
        packed.extend_from_slice(columns.row(row as usize, width));
    }
}

/// Computes the weights of a block before their division by the sums, `[queries, side keys + keys]`. Returns the keys of
/// all bands.
fn weigh(scores: &BandedScores, block: Block, scratch: &mut Scratch) -> Range<usize> {
    let BandedShape { length, d_head, scale, band, .. } = scores.shape;
    let Block { sentence, first, count, head } = block;
    let keys = band.keys(first, length).start..band.keys(first + count - 1, length).end;
    let sides = scores.sides(sentence);
    let columns = sides.len() + keys.len();
    let Scratch { scores: products, sides: packed, factors } = scratch;
    products.resize(count * columns, 0.0);
    factors.resize(count, 0.0);
    let (queries, own) = (scores.queries.head(head, d_head), scores.keys.head(head, d_head));
    let row =
        |columns: Columns<'_>, token: usize| (sentence * length + token) * columns.stride + columns.first;
    let queries = Strided::columns_of(&queries.data[row(queries, first)..], count, d_head, queries.stride);
    if !sides.is_empty() {
        pack(packed, scores.side_keys.head(head, d_head), sides, d_head);
        let side_keys = Strided::row_major(packed, d_head).transposed();
        product_on_one_core(queries, side_keys, scale, false, (products, columns));
    }
    let from = row(own, keys.start);
    let own = Strided::columns_of(&own.data[from..], keys.len(), d_head, own.stride).transposed();
    product_on_one_core(queries, own, scale, false, (&mut products[sides.len()..], columns));
    bias_and_mask(scores, block, &keys, products);
    Arch::new().dispatch(Exponentials { scores, block, keys: keys.clone(), products, factors });
    keys
}

fn bias_and_mask(scores: &BandedScores, block: Block, keys: &Range<usize>, products: &mut [f32]) {
    let BandedShape { length, .. } = scores.shape;
    let Block { sentence, first, head, .. } = block;
    let sides = scores.sides(sentence).len();
    if scores.distance_bias.is_some() {
        for (query, row) in (first..).zip(products.chunks_exact_mut(sides + keys.len())) {
            let (of_sides, of_band) = row.split_at_mut(sides);
            for (key, score) in of_sides.iter_mut().enumerate() {
                *score += scores.side_bias(head, query, key, sides);
            }
            for (key, score) in keys.clone().zip(of_band) {
                *score += scores.band_bias(head, key as isize - query as isize);
            }
        }
    }
    let repeated = scores.repeated(sentence).min(sides);
    if repeated > 0 {
        // m keys with the same score weigh m · exp(score) = exp(score + ln m)
        let copies = (scores.shape.side_copies as f32).ln();
        for row in products.chunks_exact_mut(sides + keys.len()) {
            row[..repeated].iter_mut().for_each(|score| *score += copies);
        }
    }
    let mask = &scores.key_mask[sentence * length..][keys.clone()];
    if mask.contains(&0) {
        for row in products.chunks_exact_mut(sides + keys.len()) {
            for (score, &visible) in row[sides..].iter_mut().zip(mask) {
                if visible == 0 {
                    *score = f32::NEG_INFINITY;
                }
            }
        }
    }
}

/// `exp(score - largest score)` of the keys that each query sees, 0 for other keys.
struct Exponentials<'a, 'b> {
    scores: &'a BandedScores<'a>,
    block: Block,
    keys: Range<usize>,
    products: &'b mut [f32],
    factors: &'b mut [f32],
}

impl WithSimd for Exponentials<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { scores, block, keys, products, factors } = self;
        let BandedShape { length, band, .. } = scores.shape;
        let sides = scores.sides(block.sentence).len();
        let rows = products.chunks_exact_mut(sides + keys.len());
        for ((query, row), factor) in (block.first..).zip(rows).zip(factors) {
            let own = band.keys(query, length);
            let (of_sides, of_band) = row.split_at_mut(sides);
            let (before, others) = of_band.split_at_mut(own.start - keys.start);
            let (seen, after) = others.split_at_mut(own.len());
            before.fill(0.0);
            after.fill(0.0);
            let maximum = largest(simd, seen).max(largest(simd, of_sides));
            if maximum == f32::NEG_INFINITY {
                seen.fill(0.0);
                *factor = 0.0;
                continue;
            }
            let mut total = 0.0;
            for part in [seen, of_sides] {
                part.iter_mut().for_each(|score| *score -= maximum);
                exp(simd, part);
                total += sum(simd, part);
            }
            *factor = 1.0 / total;
        }
    }
}

/// Computes the weights, `[batch * heads * length, most_sides + band width]`: of the side keys, then of the band, whose
/// column j is key `first - left + j` of the query's block that begins with `first`. Zero for invisible keys.
pub fn banded_attention_weights(scores: &BandedScores, weights: &mut [f32]) {
    let BandedShape { heads, length, d_head, band, most_sides, .. } = scores.shape;
    let width = scores.shape.weight_columns();
    for_each_block(weights, width, width * d_head, |mut row, mut weights| {
        while !weights.is_empty() {
            let (sentence, head, first) = (row / length / heads, row / length % heads, row % length);
            let count = QUERIES.min(length - first).min(weights.len() / width);
            let (of_block, others) = weights.split_at_mut(count * width);
            with_scratch(|scratch| {
                let keys = weigh(scores, Block { sentence, first, count, head }, scratch);
                let sides = scores.sides(sentence).len();
                let rows = scratch.scores.chunks_exact(sides + keys.len()).zip(&scratch.factors);
                for ((query, out), (row, factor)) in (first..).zip(of_block.chunks_exact_mut(width)).zip(rows)
                {
                    out.fill(0.0);
                    let seen = band.keys(query, length);
                    let column = most_sides + seen.start + band.left - query / band.block * band.block;
                    let of_band = &row[sides + seen.start - keys.start..][..seen.len()];
                    let parts = [(0, &row[..sides]), (column, of_band)];
                    for (first, part) in parts {
                        for (out, weight) in out[first..].iter_mut().zip(part) {
                            *out = weight * factor;
                        }
                    }
                }
            });
            (row, weights) = (row + count, others);
        }
    });
}
