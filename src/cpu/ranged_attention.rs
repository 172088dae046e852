//! Attention over sentences that are packed one after the other: each query sees a range of rows of keys. With its
//! gradients. Vaswani et al. 2017, section 3.2.1.

use std::cell::Cell;

use pulp::{Arch, Simd, WithSimd};

use super::Columns;
use super::attend::DistanceBias;
use super::dropout::{DropoutKey, DropoutShare};
use super::parallel::for_each_block;
use super::turned_rows::TurnedRows;
use super::vector::{add_scaled, exp, largest, sum};

/// Sizes and options of the attention.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RangedShape {
    /// Heads.
    pub heads: usize,
    /// Width of a query and of a key of one head: d_k.
    pub d_head: usize,
    /// Width of a value of one head: d_v.
    pub d_value: usize,
    /// Factor of the scores.
    pub scale: f32,
}

/// Inputs of the attention.
#[derive(Clone, Copy, Debug)]
pub struct RangedAttention<'a> {
    /// Sizes.
    pub shape: RangedShape,
    /// `[queries, …]`
    pub queries: Columns<'a>,
    /// `[keys, …]`
    pub keys: Columns<'a>,
    /// `[keys, …]`
    pub values: Columns<'a>,
    /// `[queries, 2]`: first key that the query sees, and the end.
    pub key_ranges: &'a [u32],
    /// `[2 * reach + 1, heads]`; row `clamp(key - query, -reach, reach) + reach` is added to the scores.
    pub distance_bias: Option<&'a [f32]>,
    /// Dropout of the weights.
    pub dropout: Option<(DropoutShare, DropoutKey)>,
}

impl<'a> RangedAttention<'a> {
    fn key_rows(&self) -> usize {
        self.keys.data.len() / self.keys.stride
    }

    fn bias(&self, head: usize, query: usize) -> Option<DistanceBias<'a>> {
        DistanceBias::new(self.distance_bias, self.shape.heads, head, query)
    }

    /// The factor that dropout gives a weight.
    fn kept(&self, head: usize, query: usize, key: usize) -> f32 {
        self.dropout.map_or(1.0, |(share, numbers)| {
            let element = (query * self.key_rows() + key) * self.shape.heads + head;
            share.factor_of(numbers, element as u32)
        })
    }

    /// The keys of all heads.
    fn all_keys(&self) -> (Columns<'a>, usize) {
        (self.keys, self.shape.heads * self.shape.d_head)
    }

    /// The values of all heads.
    fn all_values(&self) -> (Columns<'a>, usize) {
        (self.values, self.shape.heads * self.shape.d_value)
    }

    fn query(&self, head: usize, row: usize) -> &'a [f32] {
        self.queries.head(head, self.shape.d_head).row(row, self.shape.d_head)
    }

    fn key(&self, head: usize, row: usize) -> &'a [f32] {
        self.keys.head(head, self.shape.d_head).row(row, self.shape.d_head)
    }

    fn value(&self, head: usize, row: usize) -> &'a [f32] {
        self.values.head(head, self.shape.d_value).row(row, self.shape.d_value)
    }
}

fn range(ranges: &[u32], row: usize) -> std::ops::Range<usize> {
    ranges[2 * row] as usize..ranges[2 * row + 1] as usize
}

/// Memory of a thread, so that a pass allocates nothing.
#[derive(Default)]
struct Scratch {
    weights: Vec<f32>,
    dscores: Vec<f32>,
    /// Keys or queries, for the scores.
    turned: TurnedRows,
    /// Values or gradients of contexts, for the gradients of weights.
    turned_values: TurnedRows,
}

/// Calls `work` for each row, with the thread's memory.
fn for_each_row_with_scratch<T: Send>(
    data: &mut [T],
    width: usize,
    cost: usize,
    work: impl Fn(usize, &mut [T], &mut Scratch) + Sync,
) {
    thread_local!(static SCRATCH: Cell<Scratch> = Cell::default());
    for_each_block(data, width, cost, |first, block| {
        let mut scratch = SCRATCH.take();
        // of another operator
        scratch.turned.clear();
        scratch.turned_values.clear();
        for (row, values) in block.chunks_exact_mut(width).enumerate() {
            work(first + row, values, &mut scratch);
        }
        SCRATCH.set(scratch);
    });
}

/// Computes the context, and the logarithm of each row's sum of exponentials.
///
/// * `context`: `[queries, heads * d_value]`; zeros if a query sees no key
/// * `log_sums`: `[queries, heads]`; zero if a query sees no key
pub fn ranged_attention(attention: &RangedAttention, log_sums: &mut [f32], context: &mut [f32]) {
    let RangedShape { heads, d_value, .. } = attention.shape;
    let (width, arch) = (heads * d_value, Arch::new());
    let work = work(attention);
    let rows = context.chunks_exact_mut(width).zip(log_sums.chunks_exact_mut(heads));
    let mut rows: Vec<_> = rows.collect();
    for_each_row_with_scratch(&mut rows, 1, work, |row, outputs, scratch| {
        let [(context, log_sums)] = outputs else { unreachable!("one row") };
        arch.dispatch(Attend { attention, row, scratch, context, log_sums });
    });
}

/// Multiplications of a row, about.
fn work(attention: &RangedAttention) -> usize {
    let RangedShape { heads, d_head, d_value, .. } = attention.shape;
    let keys =
        attention.key_ranges.chunks_exact(2).take(64).map(|range| (range[1] - range[0]) as usize).max();
    keys.unwrap_or(0) * heads * (d_head + d_value + 16)
}

struct Attend<'a> {
    attention: &'a RangedAttention<'a>,
    row: usize,
    scratch: &'a mut Scratch,
    context: &'a mut [f32],
    log_sums: &'a mut [f32],
}

impl WithSimd for Attend<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { attention, row, scratch, context, log_sums } = self;
        let keys = range(attention.key_ranges, row);
        let RangedShape { heads, d_value, .. } = attention.shape;
        scratch.turned.cover(&keys, attention.all_keys());
        let Scratch { weights: scores, turned, .. } = scratch;
        for head in 0..heads {
            score(simd, attention, (head, row), (&keys, turned), scores);
            let most = largest(simd, scores);
            scores.iter_mut().for_each(|score| *score -= most);
            exp(simd, scores);
            let total = sum(simd, scores);
            log_sums[head] = if scores.is_empty() { 0.0 } else { most + total.ln() };
            scores.iter_mut().for_each(|score| *score /= total);
            let kept = |key| attention.kept(head, row, key);
            scores.iter_mut().zip(keys.clone()).for_each(|(weight, key)| *weight *= kept(key));
            let context = &mut context[head * d_value..][..d_value];
            weighted_sum(simd, context, scores, |index| attention.value(head, keys.start + index));
        }
    }
}

/// `y = Σ factors[i]·row(i)`, four rows at a time, so that y is read and written a quarter as often.
#[inline(always)]
fn weighted_sum<'a, S: Simd>(simd: S, y: &mut [f32], factors: &[f32], row: impl Fn(usize) -> &'a [f32]) {
    y.fill(0.0);
    let (fours, rest) = factors.as_chunks();
    for (four, factors) in fours.iter().enumerate() {
        add_scaled(simd, y, *factors, [0, 1, 2, 3].map(|next| row(4 * four + next)));
    }
    for (index, factor) in rest.iter().enumerate() {
        add_scaled(simd, y, [*factor], [row(4 * fours.len() + index)]);
    }
}

/// The scores of a query's keys.
#[inline(always)]
fn score<S: Simd>(
    simd: S,
    attention: &RangedAttention,
    (head, query): (usize, usize),
    (keys, turned): (&std::ops::Range<usize>, &TurnedRows),
    scores: &mut Vec<f32>,
) {
    turned.products(simd, attention.query(head, query), (keys, head * attention.shape.d_head), scores);
    scores.iter_mut().for_each(|score| *score *= attention.shape.scale);
    if let Some(bias) = attention.bias(head, query) {
        scores.iter_mut().zip(keys.clone()).for_each(|(score, key)| *score += bias.of(key));
    }
}

/// What the gradients need besides the inputs.
#[derive(Clone, Copy, Debug)]
pub struct ContextGradient<'a> {
    /// `[keys, 2]`: first query that sees the key, and the end.
    pub query_ranges: &'a [u32],
    /// Of [`ranged_attention`].
    pub log_sums: &'a [f32],
    /// Of [`context_products`].
    pub products: &'a [f32],
    /// Gradient of the context, `[queries, heads * d_value]`.
    pub dcontext: &'a [f32],
}

/// `[queries, heads]`: the inner products of each head's context with its gradient.
pub fn context_products(shape: RangedShape, context: &[f32], dcontext: &[f32], products: &mut [f32]) {
    let heads = context.chunks_exact(shape.d_value).zip(dcontext.chunks_exact(shape.d_value));
    for (product, (context, dcontext)) in products.iter_mut().zip(heads) {
        *product = context.iter().zip(dcontext).map(|(a, b)| a * b).sum();
    }
}

/// Computes the gradients of the queries: columns from `first` on of `gradient`, `[queries, stride]`.
pub fn ranged_query_gradient(
    attention: &RangedAttention,
    of: &ContextGradient,
    (gradient, stride, first): (&mut [f32], usize, usize),
) {
    let RangedShape { heads, d_head, .. } = attention.shape;
    let arch = Arch::new();
    for_each_row_with_scratch(gradient, stride, 2 * work(attention), |row, gradient, scratch| {
        let gradient = &mut gradient[first..][..heads * d_head];
        arch.dispatch(QueryGradient { attention, of, row, scratch, gradient });
    });
}

struct QueryGradient<'a> {
    attention: &'a RangedAttention<'a>,
    of: &'a ContextGradient<'a>,
    row: usize,
    scratch: &'a mut Scratch,
    gradient: &'a mut [f32],
}

impl WithSimd for QueryGradient<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { attention, of, row, scratch, gradient } = self;
        let RangedShape { heads, d_head, scale, .. } = attention.shape;
        let keys = range(attention.key_ranges, row);
        for head in 0..heads {
            dscores_of_query(simd, attention, of, (head, row), scratch);
            let dscores = &mut scratch.dscores;
            dscores.iter_mut().for_each(|dscore| *dscore *= scale);
            let gradient = &mut gradient[head * d_head..][..d_head];
            weighted_sum(simd, gradient, dscores, |index| attention.key(head, keys.start + index));
        }
    }
}

/// The gradients of a query's scores: `P ⊙ (dcontext · Vᵀ - product)`.
#[inline(always)]
fn dscores_of_query<S: Simd>(
    simd: S,
    attention: &RangedAttention,
    of: &ContextGradient,
    (head, row): (usize, usize),
    scratch: &mut Scratch,
) {
    let RangedShape { heads, d_value, .. } = attention.shape;
    let keys = range(attention.key_ranges, row);
    scratch.turned.cover(&keys, attention.all_keys());
    scratch.turned_values.cover(&keys, attention.all_values());
    let Scratch { weights, dscores, turned, turned_values } = scratch;
    score(simd, attention, (head, row), (&keys, turned), weights);
    let (log_sum, product) = (of.log_sums[row * heads + head], of.products[row * heads + head]);
    weights.iter_mut().for_each(|score| *score -= log_sum);
    exp(simd, weights);
    let dcontext = &of.dcontext[(row * heads + head) * d_value..][..d_value];
    turned_values.products(simd, dcontext, (&keys, head * d_value), dscores);
    for ((dscore, weight), key) in dscores.iter_mut().zip(&*weights).zip(keys) {
        *dscore = weight * (*dscore * attention.kept(head, row, key) - product);
    }
}

/// Computes the gradients of keys and values: columns of `gradient`, `[keys, stride]`, from `firsts` on.
pub fn ranged_key_gradient(
    attention: &RangedAttention,
    of: &ContextGradient,
    (gradient, stride, firsts): (&mut [f32], usize, [usize; 2]),
) {
    let arch = Arch::new();
    for_each_row_with_scratch(gradient, stride, 2 * work(attention), |row, gradient, scratch| {
        arch.dispatch(KeyGradient { attention, of, row, scratch, gradient, firsts });
    });
}

struct KeyGradient<'a> {
    attention: &'a RangedAttention<'a>,
    of: &'a ContextGradient<'a>,
    row: usize,
    scratch: &'a mut Scratch,
    gradient: &'a mut [f32],
    firsts: [usize; 2],
}

impl WithSimd for KeyGradient<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { attention, of, row, scratch, gradient, firsts } = self;
        let RangedShape { heads, d_head, d_value, scale } = attention.shape;
        let queries = range(of.query_ranges, row);
        scratch.turned.cover(&queries, (attention.queries, heads * d_head));
        let dcontexts = Columns { data: of.dcontext, stride: heads * d_value, first: 0 };
        scratch.turned_values.cover(&queries, (dcontexts, heads * d_value));
        let Scratch { weights, dscores, turned, turned_values } = scratch;
        for head in 0..heads {
            let (key, value) = (attention.key(head, row), attention.value(head, row));
            let query = |index| attention.query(head, queries.start + index);
            let dcontext =
                |index| &of.dcontext[((queries.start + index) * heads + head) * d_value..][..d_value];
            turned.products(simd, key, (&queries, head * d_head), weights);
            for (weight, query) in weights.iter_mut().zip(queries.clone()) {
                let bias = attention.bias(head, query).map_or(0.0, |bias| bias.of(row));
                *weight = *weight * scale + bias - of.log_sums[query * heads + head];
            }
            exp(simd, weights);
            turned_values.products(simd, value, (&queries, head * d_value), dscores);
            for ((dscore, weight), query) in dscores.iter_mut().zip(&mut *weights).zip(queries.clone()) {
                let kept = attention.kept(head, query, row);
                *dscore = *weight * (*dscore * kept - of.products[query * heads + head]) * scale;
                *weight *= kept;
            }
            let dkey = &mut gradient[firsts[0] + head * d_head..][..d_head];
            weighted_sum(simd, dkey, dscores, query);
            let dvalue = &mut gradient[firsts[1] + head * d_value..][..d_value];
            weighted_sum(simd, dvalue, weights, dcontext);
        }
    }
}

/// Adds to the gradient of the bias by distance, `[2 * reach + 1, heads]`.
pub fn ranged_bias_gradient(attention: &RangedAttention, of: &ContextGradient, gradient: &mut [f32]) {
    let (arch, width) = (Arch::new(), gradient.len());
    // one row: all sums in one order
    for_each_row_with_scratch(gradient, width, 0, |_, gradient, scratch| {
        arch.dispatch(BiasGradient { attention, of, scratch, gradient });
    });
}

struct BiasGradient<'a> {
    attention: &'a RangedAttention<'a>,
    of: &'a ContextGradient<'a>,
    scratch: &'a mut Scratch,
    gradient: &'a mut [f32],
}

impl WithSimd for BiasGradient<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { attention, of, scratch, gradient } = self;
        let heads = attention.shape.heads;
        let reach = (gradient.len() / heads - 1) / 2;
        for row in 0..attention.key_ranges.len() / 2 {
            let keys = range(attention.key_ranges, row);
            for head in 0..heads {
                dscores_of_query(simd, attention, of, (head, row), scratch);
                for (key, dscore) in keys.clone().zip(&scratch.dscores) {
                    let distance = (key + reach).saturating_sub(row).min(2 * reach);
                    gradient[distance * heads + head] += dscore;
                }
            }
        }
    }
}
