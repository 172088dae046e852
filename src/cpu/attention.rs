//! `softmax(scale · Q Kᵀ + bias + mask) V` for each head

use pulp::{Arch, Simd, WithSimd};

use super::Columns;
use super::parallel::for_each_row;
use super::vector::{add_scaled, inner_products};
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
    let &AttentionShape { heads, d_head, d_value, scale, .. } = shape;
    let arch = Arch::new();
    let work = shape.keys * heads * (d_head + d_value);
    for_each_row(context, heads * d_value, work, |row, context| {
        let visible = visible(shape, key_mask, row);
        let mut weights = Vec::with_capacity(shape.keys);
        for (head, context) in context.chunks_exact_mut(d_value).enumerate() {
            let query = Query {
                query: queries.head(head, d_head).row(row, d_head),
                scale,
                keys: keys.head(head, d_head),
                visible: visible.clone(),
                bias: DistanceBias::new(distance_bias, heads, head, row % shape.queries),
            };
            let values = values.head(head, d_value);
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
    distance_bias: Option<&[f32]>,
    weights: &mut [f32],
) {
    let &AttentionShape { heads, d_head, scale, .. } = shape;
    let arch = Arch::new();
    for_each_row(weights, shape.keys, shape.keys * d_head, |row, out| {
        let (sentence, head) = (row / shape.queries / heads, row / shape.queries % heads);
        let row = sentence * shape.queries + row % shape.queries;
        let visible = visible(shape, key_mask, row);
        let query = Query {
            query: queries.head(head, d_head).row(row, d_head),
            scale,
            keys: keys.head(head, d_head),
            visible: visible.clone(),
            bias: DistanceBias::new(distance_bias, heads, head, row % shape.queries),
        };
        let mut weights = Vec::with_capacity(shape.keys);
        arch.dispatch(Weigh { query, weights: &mut weights });
        out.fill(0.0);
        for (key, weight) in visible.zip(weights) {
            out[key.position] = weight;
        }
    });
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
fn visible<'a>(
    shape: &AttentionShape,
    key_mask: &'a [u32],
    row: usize,
) -> impl Iterator<Item = Key> + Clone + use<'a> {
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
pub(super) struct Query<'a, Visible> {
    /// `[d_head]`
    pub query: &'a [f32],
    /// Factor of the scores.
    pub scale: f32,
    /// The head's columns of all keys.
    pub keys: Columns<'a>,
    /// The keys that the query sees.
    pub visible: Visible,
    /// Added to the scaled scores.
    pub bias: Option<DistanceBias<'a>>,
}

impl<Visible: Iterator<Item = Key> + Clone> Query<'_, Visible> {
    #[inline(always)]
    fn weigh<S: Simd>(&self, simd: S, weights: &mut Vec<f32>) {
        weights.clear();
        weights.extend(self.visible.clone().map(|key| {
            let row = self.keys.row(key.row, self.query.len());
            let score = self.scale * inner_products(simd, [self.query], [row])[0][0];
            self.bias.map_or(score, |bias| score + bias.of(key.position))
        }));
        softmax(weights);
    }
}

/// The weights of a query, one for each visible key.
struct Weigh<'a, Visible> {
    query: Query<'a, Visible>,
    weights: &'a mut Vec<f32>,
}

impl<Visible: Iterator<Item = Key> + Clone> WithSimd for Weigh<'_, Visible> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.query.weigh(simd, self.weights);
    }
}

/// The values that a query sees, summed up by weight.
pub(super) struct Attend<'a, Visible> {
    pub query: Query<'a, Visible>,
    /// The head's columns of all values.
    pub values: Columns<'a>,
    /// Room for the weights.
    pub weights: &'a mut Vec<f32>,
    /// `[d_value]`
    pub context: &'a mut [f32],
}

impl<Visible: Iterator<Item = Key> + Clone> WithSimd for Attend<'_, Visible> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        self.query.weigh(simd, self.weights);
        self.context.fill(0.0);
        for (key, &weight) in self.query.visible.zip(&*self.weights) {
            let value = self.values.row(key.row, self.context.len());
            add_scaled(simd, self.context, weight, value);
        }
    }
}

fn softmax(scores: &mut [f32]) {
    let max = scores.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    scores.iter_mut().for_each(|score| *score = (*score - max).exp());
    let sum: f32 = scores.iter().sum();
    scores.iter_mut().for_each(|score| *score /= sum);
}
