//! `y = (z - mean) / √(variance + ε) * γ + β` with `z = x + residual`

use super::parallel::for_each_row;

/// Layer normalization; without β RMS normalization, which does not subtract the mean either.
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
    let width = gamma.len();
    for_each_row(y, width, 4 * width, |row, y| {
        let range = row * width..(row + 1) * width;
        y.copy_from_slice(&x[range.clone()]);
        if let Some(residual) = residual {
            y.iter_mut().zip(&residual[range]).for_each(|(y, residual)| *y += residual);
        }
        if beta.is_some() {
            let mean = mean(y.iter().copied());
            y.iter_mut().for_each(|y| *y -= mean);
        }
        let variance = mean(y.iter().map(|y| y * y));
        let factor = 1.0 / (variance + epsilon).sqrt();
        for (j, (y, gamma)) in y.iter_mut().zip(gamma).enumerate() {
            *y = *y * factor * gamma + beta.map_or(0.0, |beta| beta[j]);
        }
    });
}

fn mean(values: impl ExactSizeIterator<Item = f32>) -> f32 {
    let count = values.len() as f64;
    (values.map(f64::from).sum::<f64>() / count) as f32
}
