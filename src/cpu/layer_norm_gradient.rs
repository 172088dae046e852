//! Gradients of `y = (z - mean) / √(variance + ε) · γ + β` with `z = x + residual`

use pulp::{Arch, NullaryFnOnce};

use super::parallel::{for_each_block, for_each_row};
use super::vector::in_widest_vectors;

/// Inputs of the norm, and the gradient of its output.
#[derive(Clone, Copy, Debug)]
pub struct NormGradient<'a> {
    /// `[rows, width]`
    pub x: &'a [f32],
    /// `[rows, width]`
    pub residual: Option<&'a [f32]>,
    /// `[width]`
    pub gamma: &'a [f32],
    /// Whether the mean is subtracted: true for layer norm, false for RMS norm.
    pub centered: bool,
    /// Number added to the variance.
    pub epsilon: f32,
    /// `[rows, width]`
    pub dy: &'a [f32],
}

/// Computes `dz`, plus `earlier`, and each row's mean and `1 / √(variance + ε)`.
///
/// * `earlier`, `dz`: `[rows, width]`; `statistics`: `[rows, 2]`
pub fn layer_norm_gradient(
    norm: NormGradient,
    earlier: Option<&[f32]>,
    statistics: &mut [f32],
    dz: &mut [f32],
) {
    let (width, arch) = (norm.gamma.len(), Arch::new());
    for_each_row(statistics, 2, 4 * width, |row, statistics| {
        let range = row * width..(row + 1) * width;
        let residual = norm.residual.map(|residual| &residual[range.clone()]);
        statistics.copy_from_slice(&arch.dispatch(Statistics { norm, x: &norm.x[range], residual }));
    });
    let statistics = &*statistics;
    for_each_row(dz, width, 8 * width, |row, dz| {
        let earlier = earlier.map(|earlier| &earlier[row * width..][..width]);
        arch.dispatch(InputGradient { norm, row, statistics: &statistics[2 * row..], earlier, dz });
    });
}

/// Adds to the gradients of γ and β: `dγ += Σ_rows dy ⊙ (z - mean) / σ`, `dβ += Σ_rows dy`. `statistics`: those of
/// [`layer_norm_gradient`].
pub fn layer_norm_weight_gradient(norm: NormGradient, statistics: &[f32], dgamma: &mut [f32]) {
    let width = norm.gamma.len();
    let rows = statistics.len() / 2;
    let whole = width / COLUMNS * COLUMNS;
    let (blocks, tail) = dgamma.split_at_mut(whole);
    let add = |first: usize, sums: &mut [f32]| {
        in_widest_vectors(
            #[inline(always)]
            || add_columns(norm, statistics, first, sums),
        );
    };
    for_each_block(blocks, COLUMNS, 2 * rows * COLUMNS, |block, sums| add(block * COLUMNS, sums));
    add(whole, tail);
}

/// Columns of a block.
const COLUMNS: usize = 64;

/// Adds to the gradients of γ of columns from `first` on.
#[inline(always)]
fn add_columns(norm: NormGradient, statistics: &[f32], first: usize, dgamma: &mut [f32]) {
    let width = norm.gamma.len();
    for (row, statistics) in statistics.chunks_exact(2).enumerate() {
        let range = row * width + first..row * width + first + dgamma.len();
        let (x, dy) = (&norm.x[range.clone()], &norm.dy[range.clone()]);
        let (mean, factor) = (statistics[0], statistics[1]);
        match norm.residual.map(|residual| &residual[range]) {
            Some(residual) => {
                for (((sum, x), residual), dy) in dgamma.iter_mut().zip(x).zip(residual).zip(dy) {
                    *sum += dy * (x + residual - mean) * factor;
                }
            }
            None => {
                for ((sum, x), dy) in dgamma.iter_mut().zip(x).zip(dy) {
                    *sum += dy * (x - mean) * factor;
                }
            }
        }
    }
}

struct Statistics<'a> {
    norm: NormGradient<'a>,
    x: &'a [f32],
    residual: Option<&'a [f32]>,
}

impl NullaryFnOnce for Statistics<'_> {
    type Output = [f32; 2];

    #[inline(always)]
    fn call(self) -> [f32; 2] {
        let Self { norm, x, residual } = self;
        let mean = match norm.centered {
            true => (sum_of(x, residual, |z| z) / x.len() as f64) as f32,
            false => 0.0,
        };
        let variance = (sum_of(x, residual, |z| (z - mean) * (z - mean)) / x.len() as f64) as f32;
        [mean, 1.0 / (variance + norm.epsilon).sqrt()]
    }
}

/// The sum in f64, in eight sums at a time, which compilers turn into vectors.
#[inline(always)]
fn sum_of(x: &[f32], residual: Option<&[f32]>, of: impl Fn(f32) -> f32) -> f64 {
    let mut sums = [0.0; 8];
    match residual {
        Some(residual) => {
            for (x, residual) in x.chunks(8).zip(residual.chunks(8)) {
                for ((sum, x), residual) in sums.iter_mut().zip(x).zip(residual) {
                    *sum += f64::from(of(x + residual));
                }
            }
        }
        None => {
            for x in x.chunks(8) {
                for (sum, x) in sums.iter_mut().zip(x) {
                    *sum += f64::from(of(*x));
                }
            }
        }
    }
    sums.iter().sum()
}

struct InputGradient<'a> {
    norm: NormGradient<'a>,
    row: usize,
    statistics: &'a [f32],
    earlier: Option<&'a [f32]>,
    dz: &'a mut [f32],
}

impl NullaryFnOnce for InputGradient<'_> {
    type Output = ();

    /// With `n = (z - mean) / σ` and `g = dy ⊙ γ`: `dz = (g - mean(g) - n · mean(g ⊙ n)) / σ`; RMS norms have no
    /// `mean(g)`.
    #[inline(always)]
    fn call(self) {
        let Self { norm, row, statistics, earlier, dz } = self;
        let range = row * dz.len()..(row + 1) * dz.len();
        let (dy, width) = (&norm.dy[range.clone()], dz.len() as f32);
        let (mean, factor) = (statistics[0], statistics[1]);
        // dz holds n at first
        dz.copy_from_slice(&norm.x[range.clone()]);
        if let Some(residual) = norm.residual {
            dz.iter_mut().zip(&residual[range]).for_each(|(z, residual)| *z += residual);
        }
        dz.iter_mut().for_each(|z| *z = (*z - mean) * factor);
        let (mut sums, mut products) = ([0.0f64; 8], [0.0f64; 8]);
        for ((n, dy), gamma) in dz.chunks(8).zip(dy.chunks(8)).zip(norm.gamma.chunks(8)) {
            for i in 0..n.len() {
                let g = dy[i] * gamma[i];
                sums[i] += f64::from(g);
                products[i] += f64::from(g * n[i]);
            }
        }
        let mean_of_g = match norm.centered {
            true => sums.iter().sum::<f64>() as f32 / width,
            false => 0.0,
        };
        let slope = products.iter().sum::<f64>() as f32 / width;
        for ((n, dy), gamma) in dz.iter_mut().zip(dy).zip(norm.gamma) {
            *n = (dy * gamma - mean_of_g - *n * slope) * factor;
        }
        if let Some(earlier) = earlier {
            dz.iter_mut().zip(earlier).for_each(|(dz, earlier)| *dz += earlier);
        }
    }
}
