//! `scale · Q Kᵀ` for each head, before or after bias and mask

use super::attend::DistanceBias;
use super::attention::AttentionScores;
use super::parallel::for_each_row;

/// The score of an invisible key, instead of minus infinity, which WGSL cannot express.
pub const MASKED: f32 = -1.0e38;

/// Computes the scores of an attention, `[batch * heads * queries, keys]`. `masked`: whether the bias by distance is added, and
/// invisible keys get [`MASKED`].
pub fn attention_scores(scores: &AttentionScores, masked: bool, made: &mut [f32]) {
    let AttentionScores { shape, queries, keys, key_mask, distance_bias } = scores;
    let heads = shape.heads;
    for_each_row(made, shape.keys, shape.keys * shape.d_head, |row, made| {
        let (sentence, head) = (row / shape.queries / heads, row / shape.queries % heads);
        let position = row % shape.queries;
        let query = queries.head(head, shape.d_head).row(sentence * shape.queries + position, shape.d_head);
        let bias = DistanceBias::new(*distance_bias, heads, head, position);
        for (key, made) in made.iter_mut().enumerate() {
            let row = sentence * shape.keys + key;
            let products = query.iter().zip(keys.head(head, shape.d_head).row(row, shape.d_head));
            let score = products.map(|(q, k)| q * k).sum::<f32>() * shape.scale;
            let is_visible = key_mask[row] != 0 && (!shape.causal || key <= position);
            *made = match masked {
                false => score,
                true if is_visible => score + bias.map_or(0.0, |bias| bias.of(key)),
                true => MASKED,
            };
        }
    });
}
