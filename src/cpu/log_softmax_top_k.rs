//! From logits to the best few tokens of each row and their log-probabilities

use pulp::{Arch, Simd, WithSimd};

use super::parallel::for_each_row;
use super::vector::{largest, sum_of_exp};
use crate::scores::{ScoreEdit, TopKShape, process_row_with, top_scores};

/// Edits scores and selects the best tokens.
///
/// * `logits`: `[rows, vocabulary]`, overwritten with the scores
/// * `edits`: edits of all rows, by ascending row
/// * `top`: `[rows, 2 * candidates]`: the bits of each row's values, then its tokens
pub fn log_softmax_top_k(shape: &TopKShape, logits: &mut [f32], edits: &[ScoreEdit], top: &mut [u32]) {
    let &TopKShape { vocabulary, candidates, rules, .. } = shape;
    // an exponential costs several multiplications of a matrix product
    for_each_row(logits, vocabulary, 16 * vocabulary, |row, logits| {
        let first = edits.partition_point(|edit| (edit.row as usize) < row);
        let end = edits.partition_point(|edit| edit.row as usize <= row);
        process_row_with(|row| Arch::new().dispatch(LogSoftmax(row)), logits, rules, &edits[first..end]);
    });
    for_each_row(top, 2 * candidates, vocabulary, |row, top| {
        let (bits, tokens) = top.split_at_mut(candidates);
        top_scores(&logits[row * vocabulary..][..vocabulary], bytemuck::cast_slice_mut(bits), tokens);
    });
}

/// `x - ln Σ exp(x)`, in place. A row of minus infinities does not change.
struct LogSoftmax<'a>(&'a mut [f32]);

impl WithSimd for LogSoftmax<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let max = largest(simd, self.0);
        if max == f32::NEG_INFINITY {
            return;
        }
        let log_sum = f64::from(max) + sum_of_exp(simd, self.0, max).ln();
        for x in self.0 {
            *x = (f64::from(*x) - log_sum) as f32;
        }
    }
}
