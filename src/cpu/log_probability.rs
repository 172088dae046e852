//! `log_softmax(logits)[target]` of each row

use super::parallel::for_each_row;

/// Computes log-probabilities of given tokens.
///
/// * `logits`: `[rows, vocabulary]`; `targets`: `[rows]`
/// * `result`: `[rows]`; 0 if a target is not in the vocabulary
pub fn log_probability(logits: &[f32], targets: &[u32], result: &mut [f32]) {
    let vocabulary = logits.len().checked_div(targets.len()).unwrap_or(0);
    assert_eq!(logits.len(), targets.len() * vocabulary, "logits are [{}, {vocabulary}]", targets.len());
    // an exponential costs about a hundred multiplications of a matrix product
    for_each_row(result, 1, 100 * vocabulary, |row, result| {
        let logits = &logits[row * vocabulary..][..vocabulary];
        result[0] = match logits.get(targets[row] as usize) {
            Some(&logit) => (f64::from(logit) - log_sum_exp(logits)) as f32,
            None => 0.0,
        };
    });
}

/// `ln Σ exp(x)`, summed in f64.
fn log_sum_exp(row: &[f32]) -> f64 {
    let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = row.iter().map(|&x| f64::from((x - max).exp())).sum();
    f64::from(max) + sum.ln()
}
