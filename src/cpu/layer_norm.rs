//! `y = (z - mean) / √(variance + ε) * γ + β` with `z = x + residual`

use pulp::{Arch, NullaryFnOnce};

use super::parallel::for_each_row;

/// Normalizes rows; without β it is RMS normalization, which does not subtract the mean.
///
/// * `x`, `residual`, `y`: `[rows, width]`; `gamma`, `beta`: `[width]`
pub fn layer_norm(
    x: &[f32],
    residual: Option<&[f32]>,
    gamma: &[f32],
    beta: Option<&[f32]>,
    epsilon: f32,
    y: &mut [f32],
) {
    let (width, arch) = (gamma.len(), Arch::new());
    for_each_row(y, width, 4 * width, |row, y| {
        let range = row * width..(row + 1) * width;
        y.copy_from_slice(&x[range.clone()]);
        let residual = residual.map(|residual| &residual[range]);
        arch.dispatch(Normalize { residual, gamma, beta, epsilon, y });
    });
}

struct Normalize<'a> {
    residual: Option<&'a [f32]>,
    gamma: &'a [f32],
    beta: Option<&'a [f32]>,
    epsilon: f32,
    /// Row of x at first.
    y: &'a mut [f32],
}

impl NullaryFnOnce for Normalize<'_> {
    type Output = ();

    #[inline(always)]
    fn call(self) {
        let Self { residual, gamma, beta, epsilon, y } = self;
        if let Some(residual) = residual {
            y.iter_mut().zip(residual).for_each(|(y, residual)| *y += residual);
        }
        if beta.is_some() {
            let mean = mean(y, |y| y);
            y.iter_mut().for_each(|y| *y -= mean);
        }
        let variance = mean(y, |y| y * y);
        let factor = 1.0 / (variance + epsilon).sqrt();
        y.iter_mut().zip(gamma).for_each(|(y, gamma)| *y = *y * factor * gamma);
        if let Some(beta) = beta {
            y.iter_mut().zip(beta).for_each(|(y, beta)| *y += beta);
        }
    }
}

/// The mean in f64, in eight sums at a time, which compilers turn into vectors.
#[inline(always)]
fn mean(values: &[f32], of: impl Fn(f32) -> f32) -> f32 {
    let (eights, rest) = values.as_chunks::<8>();
    let mut sums = [0.0; 8];
    for values in eights {
        for (sum, &value) in sums.iter_mut().zip(values) {
            *sum += f64::from(of(value));
        }
    }
    let rest: f64 = rest.iter().map(|&value| f64::from(of(value))).sum();
    ((sums.iter().sum::<f64>() + rest) / values.len() as f64) as f32
}
