//! `softmax(scale · Q Kᵀ + mask) V` for each head

use pulp::{Arch, Simd, WithSimd};

use super::Columns;
use super::parallel::for_each_row;
use super::vector::{add_scaled, inner_products};
use crate::kernels::attention::AttentionShape;

/// Attention.
///
/// * `queries`: `[batch * queries, …]`; `keys`, `values`: `[batch * keys, …]`; `key_mask`: `[batch, keys]`,
///   nonzero = visible
/// * `context`: `[batch * queries, heads * d_head]`; zeros where no key is visible
pub fn attention(
    shape: &AttentionShape,
    queries: Columns,
    keys: Columns,
    values: Columns,
    key_mask: &[u32],
    context: &mut [f32],
) {
    let &AttentionShape { heads, d_head, scale, .. } = shape;
    let arch = Arch::new();
    for_each_row(context, heads * d_head, 2 * shape.keys * heads * d_head, |row, context| {
        let visible = visible(shape, key_mask, row);
        let mut weights = Vec::with_capacity(shape.keys);
        for (head, context) in context.chunks_exact_mut(d_head).enumerate() {
            let first = head * d_head;
            let query = queries.slice(row, first, d_head);
            let query = Query { query, scale, keys, first, visible: visible.clone() };
            arch.dispatch(Attend { query, values, weights: &mut weights, context });
        }
    });
}

/// The weights of that attention, `[batch * heads * queries, keys]`; zero where a key is not visible.
pub fn attention_weights(
    shape: &AttentionShape,
    queries: Columns,
    keys: Columns,
    key_mask: &[u32],
    weights: &mut [f32],
) {
    let &AttentionShape { heads, d_head, scale, .. } = shape;
    let arch = Arch::new();
    for_each_row(weights, shape.keys, shape.keys * d_head, |row, out| {
        let (sentence, head) = (row / shape.queries / heads, row / shape.queries % heads);
        let row = sentence * shape.queries + row % shape.queries;
        let first = head * d_head;
        let visible = visible(shape, key_mask, row);
        let query =
            Query { query: queries.slice(row, first, d_head), scale, keys, first, visible: visible.clone() };
        let mut weights = Vec::with_capacity(shape.keys);
        arch.dispatch(Weigh { query, weights: &mut weights });
        out.fill(0.0);
        for (key, weight) in visible.zip(weights) {
            out[key - sentence * shape.keys] = weight;
        }
    });
}

/// The rows of the keys that a query sees.
fn visible<'a>(
    shape: &AttentionShape,
    key_mask: &'a [u32],
    row: usize,
) -> impl Iterator<Item = usize> + Clone + use<'a> {
    let (sentence, query) = (row / shape.queries, row % shape.queries);
    let count = if shape.causal { shape.keys.min(query + 1) } else { shape.keys };
    let first = sentence * shape.keys;
    (first..first + count).filter(|&key| key_mask[key] != 0)
}

/// One query of one head.
pub(super) struct Query<'a, Visible> {
    /// `[d_head]`
    pub query: &'a [f32],
    /// Factor of the scores.
    pub scale: f32,
    /// All keys.
    pub keys: Columns<'a>,
    /// First column of the head.
    pub first: usize,
    /// The rows of the keys that the query sees.
    pub visible: Visible,
}

impl<Visible: Iterator<Item = usize> + Clone> Query<'_, Visible> {
    #[inline(always)]
    fn weigh<S: Simd>(&self, simd: S, weights: &mut Vec<f32>) {
        weights.clear();
        weights.extend(self.visible.clone().map(|key| {
            let key = self.keys.slice(key, self.first, self.query.len());
            self.scale * inner_products(simd, [self.query], [key])[0][0]
        }));
        softmax(weights);
    }
}

/// The weights of a query, one for each visible key.
struct Weigh<'a, Visible> {
    query: Query<'a, Visible>,
    weights: &'a mut Vec<f32>,
}

impl<Visible: Iterator<Item = usize> + Clone> WithSimd for Weigh<'_, Visible> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.query.weigh(simd, self.weights);
    }
}

/// The values that a query sees, summed up by weight.
pub(super) struct Attend<'a, Visible> {
    pub query: Query<'a, Visible>,
    pub values: Columns<'a>,
    /// Room for the weights.
    pub weights: &'a mut Vec<f32>,
    /// `[d_head]`
    pub context: &'a mut [f32],
}

impl<Visible: Iterator<Item = usize> + Clone> WithSimd for Attend<'_, Visible> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.query.weigh(simd, self.weights);
        self.context.fill(0.0);
        for (value, &weight) in self.query.visible.zip(&*self.weights) {
            add_scaled(
                simd,
                self.context,
                weight,
                self.values.slice(value, self.query.first, self.context.len()),
            );
        }
    }
}

fn softmax(scores: &mut [f32]) {
    let max = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    scores.iter_mut().for_each(|score| *score = (*score - max).exp());
    let sum: f32 = scores.iter().sum();
    scores.iter_mut().for_each(|score| *score /= sum);
}
