//! Cross-entropy with label smoothing, and its gradient. Szegedy et al. 2016, section 7; Vaswani et al. 2017, section
//! 5.4.

use pulp::{Arch, Simd, WithSimd};

use super::parallel::for_each_row;
use super::vector::{exp_and_sum, largest, sum};

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
    let rows = logits.chunks_exact_mut(vocabulary.max(1)).zip(losses.chunks_exact_mut(LOSS_COLUMNS));
    let mut rows: Vec<_> = rows.collect();
    for_each_row(&mut rows, 1, 32 * vocabulary, |row, outputs| {
        let [(logits, losses)] = outputs else { unreachable!("one row") };
        match labels[row] {
            NO_LABEL => {
                logits.fill(0.0);
                losses.fill(0.0);
            }
            label => {
                losses.copy_from_slice(&arch.dispatch(RowLoss { logits, label, smoothing, factor }));
            }
        }
    });
}

struct RowLoss<'a> {
    logits: &'a mut [f32],
    label: u32,
    smoothing: f32,
    factor: f32,
}

impl WithSimd for RowLoss<'_> {
    type Output = [f32; LOSS_COLUMNS];

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> [f32; LOSS_COLUMNS] {
        let Self { logits, label, smoothing, factor } = self;
        let label = label as usize;
        let most = largest(simd, logits);
        let mut sum_of_logits = 0.0;
        for chunk in logits.chunks(1024) {
            sum_of_logits += f64::from(sum(simd, chunk));
        }
        let own = logits[label];
        let total = exp_and_sum(simd, logits, most);
        let log_sum = f64::from(most) + total.ln();
        let loss = log_sum - f64::from(own);
        let mean = log_sum - sum_of_logits / logits.len() as f64;
        // the gradient: probabilities minus the smoothed label
        let (of_total, share) = ((1.0 / total) as f32, smoothing / logits.len() as f32);
        logits.iter_mut().for_each(|p| *p = factor * (*p * of_total - share));
        logits[label] -= factor * (1.0 - smoothing);
        let smoothing = f64::from(smoothing);
        let smoothed = (1.0 - smoothing) * loss + smoothing * mean;
        [loss as f32, smoothed as f32, f32::from(own == most), 1.0]
    }
}
