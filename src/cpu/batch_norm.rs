//! `y = (x - mean) / √(variance + ε) · γ + β` with mean and variance of each column, and the gradients. Ioffe & Szegedy
//! 2015, algorithm 1.

use super::parallel::for_each_row;

/// Share of a batch's statistics in the new running ones, as in torch.
pub const BATCH_NORM_MOMENTUM: f32 = 0.1;

/// Columns whose sums are made together: a line of memory.
const COLUMNS: usize = 16;

/// Inputs of the norm, and the gradient of its output.
#[derive(Clone, Copy, Debug)]
pub struct BatchNormGradient<'a> {
    /// `[rows, width]`
    pub x: &'a [f32],
    /// First row and end of the sentence of each row; equal if the row belongs to none.
    pub ranges: &'a [u32],
    /// `[2 * width]`: means, then variances.
    pub statistics: &'a [f32],
    /// `[width]`
    pub gamma: &'a [f32],
    /// Number added to the variance.
    pub epsilon: f32,
    /// `[rows, width]`
    pub dy: &'a [f32],
}

/// Whether a row belongs to a sentence. Others fill the batch, and count in no statistics.
fn is_used(ranges: &[u32], row: usize) -> bool {
    ranges[2 * row] != ranges[2 * row + 1]
}

/// Computes the mean and the variance of each column over the rows of sentences, and moves the running ones towards them:
/// the mean, and the variance with n - 1 in its denominator.
///
/// * `x`: `[rows, width]`; `statistics`, `running`: `[2 * width]`, means, then variances
pub fn batch_statistics(x: &[f32], ranges: &[u32], statistics: &mut [f32], running: &mut [f32]) {
    let width = statistics.len() / 2;
    let rows = || x.chunks_exact(width).enumerate().filter(|(row, _)| is_used(ranges, *row));
    let n = rows().count() as f64;
    if n == 0.0 {
        return statistics.fill(0.0);
    }
    for first in (0..width).step_by(COLUMNS) {
        let columns = first..width.min(first + COLUMNS);
        let (mut sums, mut squares) = ([0.0f64; COLUMNS], [0.0f64; COLUMNS]);
        for (_, x) in rows() {
            sums.iter_mut().zip(&x[columns.clone()]).for_each(|(sum, x)| *sum += f64::from(*x));
        }
        let means = sums.map(|sum| sum / n);
        for (_, x) in rows() {
            for ((square, mean), x) in squares.iter_mut().zip(means).zip(&x[columns.clone()]) {
                *square += (f64::from(*x) - mean).powi(2);
            }
        }
        for ((column, mean), squares) in columns.zip(means).zip(squares) {
            (statistics[column], statistics[width + column]) = (mean as f32, (squares / n) as f32);
            let unbiased = (squares / (n - 1.0).max(1.0)) as f32;
            for (at, new) in [(column, mean as f32), (width + column, unbiased)] {
                running[at] += BATCH_NORM_MOMENTUM * (new - running[at]);
            }
        }
    }
}

/// Computes the norm with given statistics.
///
/// * `x`, `y`: `[rows, width]`; `statistics`: `[2 * width]`, means, then variances; `gamma`, `beta`: `[width]`
pub fn batch_norm(x: &[f32], statistics: &[f32], [gamma, beta]: [&[f32]; 2], epsilon: f32, y: &mut [f32]) {
    let width = gamma.len();
    let (means, variances) = statistics.split_at(width);
    for_each_row(y, width, 4 * width, |row, y| {
        let x = &x[row * width..][..width];
        for (column, y) in y.iter_mut().enumerate() {
            let factor = gamma[column] / (variances[column] + epsilon).sqrt();
            *y = (x[column] - means[column]) * factor + beta[column];
        }
    });
}

/// Computes the sums over rows that the gradient of x needs: with `n = (x - mean) / σ`, the means of dy and of dy · n.
/// `dgamma`: the sums of dy · n, the gradient of γ.
///
/// * `means`: `[2 * width]`; `dgamma`: `[width]`
pub fn batch_norm_sums(norm: BatchNormGradient, means: &mut [f32], dgamma: &mut [f32]) {
    let BatchNormGradient { x, ranges, statistics, epsilon, dy, .. } = norm;
    let width = dgamma.len();
    let used = || (0..ranges.len() / 2).filter(|row| is_used(ranges, *row));
    let count = used().count().max(1) as f64;
    for first in (0..width).step_by(COLUMNS) {
        let columns = first..width.min(first + COLUMNS);
        let (mut sums, mut products) = ([0.0f64; COLUMNS], [0.0f64; COLUMNS]);
        for row in used() {
            let (x, dy) = (&x[row * width..][columns.clone()], &dy[row * width..][columns.clone()]);
            let mean = &statistics[columns.clone()];
            for ((((sum, product), x), dy), mean) in
                sums.iter_mut().zip(&mut products).zip(x).zip(dy).zip(mean)
            {
                *sum += f64::from(*dy);
                *product += f64::from(dy * (x - mean));
            }
        }
        for ((column, sum), product) in columns.zip(sums).zip(products) {
            let product = product / f64::from(statistics[width + column] + epsilon).sqrt();
            (means[column], means[width + column]) = ((sum / count) as f32, (product / count) as f32);
            dgamma[column] = product as f32;
        }
    }
}

/// Computes `dx = (dy - mean(dy) - n · mean(dy · n)) · γ / σ` for rows of sentences, and 0 for others, which no loss depends
/// on. `means`: those of [`batch_norm_sums`].
pub fn batch_norm_gradient(norm: BatchNormGradient, means: &[f32], dx: &mut [f32]) {
    let BatchNormGradient { x, ranges, statistics, gamma, epsilon, dy } = norm;
    let width = gamma.len();
    for_each_row(dx, width, 6 * width, |row, dx| {
        if !is_used(ranges, row) {
            return dx.fill(0.0);
        }
        let (x, dy) = (&x[row * width..][..width], &dy[row * width..][..width]);
        for (column, dx) in dx.iter_mut().enumerate() {
            let factor = 1.0 / (statistics[width + column] + epsilon).sqrt();
            let n = (x[column] - statistics[column]) * factor;
            *dx = (dy[column] - means[column] - n * means[width + column]) * gamma[column] * factor;
        }
    });
}
