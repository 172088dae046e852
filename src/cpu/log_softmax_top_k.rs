//! From logits to the best few tokens of each row and their log-probabilities

use super::parallel::for_each_row;
use crate::kernels::log_softmax_top_k::TopKShape;
use crate::scores::{ScoreEdit, process_row, top_scores};

/// * `logits`: `[rows, vocabulary]`, overwritten with the scores
/// * `edits`: of all rows
/// * `top`: `[rows, 2 * candidates]`; each row has the bits of its values, then its tokens
pub fn log_softmax_top_k(shape: &TopKShape, logits: &mut [f32], edits: &[ScoreEdit], top: &mut [u32]) {
    let &TopKShape { vocabulary, candidates, rules, .. } = shape;
    // an exponential takes as long as a hundred multiplications of a matrix product
    for_each_row(logits, vocabulary, 100 * vocabulary, |row, logits| {
        let edits: Vec<_> = edits.iter().filter(|edit| edit.row as usize == row).copied().collect();
        process_row(logits, rules, &edits);
    });
    let mut values = vec![0.0; candidates];
    for (logits, top) in logits.chunks_exact(vocabulary).zip(top.chunks_exact_mut(2 * candidates)) {
        let (bits, tokens) = top.split_at_mut(candidates);
        top_scores(logits, &mut values, tokens);
        bits.iter_mut().zip(&values).for_each(|(bits, value)| *bits = value.to_bits());
    }
}
