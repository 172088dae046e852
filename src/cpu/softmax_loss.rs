//! Cross-entropy with label smoothing, and its gradient. Szegedy et al. 2016, section 7; Vaswani et al. 2017, section
//! 5.4.

use pulp::{Arch, Simd, WithSimd};

use super::parallel::{for_each_block, for_each_row};
use super::vector::{exp, largest, sum, sum_of_exp};

/// A label that has no loss: a row without a token.
pub const NO_LABEL: u32 = u32::MAX;

/// Numbers of a row's losses.
pub const LOSS_COLUMNS: usize = 4;

/// Computes the losses of rows, and replaces the logits by the gradient of the smoothed losses times `factor`.
///
/// The smoothed loss is torch's `CrossEntropyLoss(label_smoothing=ε)`: `(1 - ε)` of the label's loss, and ε of the mean
/// loss of all tokens.
///
/// * `logits`: `[rows, vocabulary]`; `labels`: `[rows]`
/// * `losses`: `[rows, 4]`: minus the label's log-probability, the smoothed loss, 1 if the label has the best logit, 1;
///   zeros for [`NO_LABEL`], whose gradient is zero
pub fn softmax_loss(logits: &mut [f32], labels: &[u32], (smoothing, factor): (f32, f32), losses: &mut [f32]) {
    let (rows, arch) = (labels.len(), Arch::new());
    let vocabulary = logits.len() / rows.max(1);
    for_each_row(losses, LOSS_COLUMNS, 16 * vocabulary, |row, losses| {
        let logits = &logits[row * vocabulary..][..vocabulary];
        losses.copy_from_slice(&match labels[row] {
            NO_LABEL => [0.0; LOSS_COLUMNS],
            label => arch.dispatch(RowLoss { logits, label, smoothing }),
        });
    });
    let losses = &*losses;
    for_each_block(logits, vocabulary, 16 * vocabulary, |first, block| {
        for (row, logits) in block.chunks_exact_mut(vocabulary).enumerate() {
            match labels[first + row] {
                NO_LABEL => logits.fill(0.0),
                label => {
                    let log_probability = -losses[(first + row) * LOSS_COLUMNS];
                    arch.dispatch(RowGradient { logits, label, smoothing, factor, log_probability });
                }
            }
        }
    });
}

struct RowLoss<'a> {
    logits: &'a [f32],
    label: u32,
    smoothing: f32,
}

impl WithSimd for RowLoss<'_> {
    type Output = [f32; LOSS_COLUMNS];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [f32; LOSS_COLUMNS] {
        let Self { logits, label, smoothing } = self;
        let most = largest(simd, logits);
        let log_sum = f64::from(most) + sum_of_exp(simd, logits, most).ln();
        let own = logits[label as usize];
        let loss = log_sum - f64::from(own);
        let mut mean = log_sum;
        for chunk in logits.chunks(1024) {
            mean -= f64::from(sum(simd, chunk)) / logits.len() as f64;
        }
        let share = f64::from(smoothing);
        let smoothed = (1.0 - share) * loss + share * mean;
        [loss as f32, smoothed as f32, f32::from(own == most), 1.0]
    }
}

struct RowGradient<'a> {
    logits: &'a mut [f32],
    label: u32,
    smoothing: f32,
    factor: f32,
    /// The label's.
    log_probability: f32,
}

impl WithSimd for RowGradient<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { logits, label, smoothing, factor, log_probability } = self;
        let label = label as usize;
        let log_sum = logits[label] - log_probability;
        logits.iter_mut().for_each(|logit| *logit -= log_sum);
        exp(simd, logits);
        let share = smoothing / logits.len() as f32;
        logits.iter_mut().for_each(|p| *p = factor * (*p - share));
        logits[label] -= factor * (1.0 - smoothing);
    }
}
