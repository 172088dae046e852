//! Attention whose scores are v · tanh(q + k). Bahdanau et al. 2015, appendix A.1.2: q and k are W s and U h there, and v is
//! learned. Here v is `scale · (1, …, 1)`.

use pulp::{Arch, Simd, WithSimd};

use super::Columns;
use super::attend::{DistanceBias, Key, Scratch, softmax, with_scratch};
use super::attention::{AttentionScores, visible_keys};
use super::parallel::for_each_row;
use super::vector::{add_scaled, exp, sum};
use crate::shape::AttentionShape;

/// Computes attention; zeros if no key is visible.
///
/// * `values`: `[batch * keys, …]`
/// * `context`: `[batch * queries, heads * d_value]`
pub fn additive_attention(scores: &AttentionScores, values: Columns, context: &mut [f32]) {
    let AttentionShape { heads, d_head, d_value, keys, .. } = scores.shape;
    let arch = Arch::new();
    for_each_row(context, heads * d_value, keys * heads * (8 * d_head + d_value), |row, context| {
        with_scratch(|scratch| {
            for (head, context) in context.chunks_exact_mut(d_value).enumerate() {
                weigh(arch, scores, (row, head), scratch);
                let values = values.head(head, d_value);
                arch.dispatch(Sum { values, keys: &scratch.keys, weights: &scratch.weights, context });
            }
        });
    });
}

/// Computes the weights of that attention, `[batch * heads * queries, keys]`; zero for invisible keys.
pub fn additive_attention_weights(scores: &AttentionScores, weights: &mut [f32]) {
    let AttentionShape { heads, queries, keys, d_head, .. } = scores.shape;
    let arch = Arch::new();
    for_each_row(weights, keys, 8 * keys * d_head, |row, out| {
        let (sentence, head) = (row / queries / heads, row / queries % heads);
        with_scratch(|scratch| {
            weigh(arch, scores, (sentence * queries + row % queries, head), scratch);
            out.fill(0.0);
            for (key, &weight) in scratch.keys.iter().zip(&scratch.weights) {
                out[key.position] = weight;
            }
        });
    });
}

/// Computes the visible keys of a query, and their weights.
fn weigh(arch: Arch, scores: &AttentionScores, (row, head): (usize, usize), scratch: &mut Scratch) {
    let &AttentionScores { shape, queries, keys, key_mask, distance_bias } = scores;
    let AttentionShape { heads, d_head, scale, .. } = shape;
    scratch.keys.clear();
    scratch.keys.extend(visible_keys(&shape, key_mask, row));
    arch.dispatch(Weigh {
        query: queries.head(head, d_head).row(row, d_head),
        keys: keys.head(head, d_head),
        scale,
        bias: DistanceBias::new(distance_bias, heads, head, row % shape.queries),
        visible: &scratch.keys,
        tangents: &mut scratch.packed_keys,
        weights: &mut scratch.weights,
    });
}

struct Weigh<'a> {
    query: &'a [f32],
    keys: Columns<'a>,
    scale: f32,
    bias: Option<DistanceBias<'a>>,
    visible: &'a [Key],
    /// Scratch memory.
    tangents: &'a mut Vec<f32>,
    weights: &'a mut Vec<f32>,
}

impl WithSimd for Weigh<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { query, keys, scale, bias, visible, tangents, weights } = self;
        tangents.resize(query.len(), 0.0);
        weights.clear();
        for key in visible {
            let own = keys.row(key.row, query.len());
            // tanh |x| = (1 - e⁻²ˣ) / (1 + e⁻²ˣ)
            for ((power, q), k) in tangents.iter_mut().zip(query).zip(own) {
                *power = -2.0 * (q + k).abs();
            }
            exp(simd, tangents);
            for ((power, q), k) in tangents.iter_mut().zip(query).zip(own) {
                *power = ((1.0 - *power) / (1.0 + *power)).copysign(q + k);
            }
            let bias = bias.map_or(0.0, |bias| bias.of(key.position));
            weights.push(scale * sum(simd, tangents) + bias);
        }
        softmax(simd, weights);
    }
}

/// The weighted sum of the visible values of a head.
struct Sum<'a> {
    values: Columns<'a>,
    keys: &'a [Key],
    weights: &'a [f32],
    context: &'a mut [f32],
}

impl WithSimd for Sum<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { values, keys, weights, context } = self;
        context.fill(0.0);
        for (key, &weight) in keys.iter().zip(weights) {
            add_scaled(simd, context, [weight], [values.row(key.row, context.len())]);
        }
    }
}
