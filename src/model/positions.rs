//! Sinusoidal positions: computed, not learned.

use std::ops::Range;

/// Order of sines and cosines in a position's row, and their frequencies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SinusoidalLayout {
    /// All sines, then all cosines: Marian (`MarianSinusoidalPositionalEmbedding`) and Pegasus.
    Halves,
    /// Sine and cosine in turn, as in the paper.
    Interleaved,
    /// All sines, then all cosines, with exactly 1/10,000 as the last frequency, as in the paper's code: M2M-100
    /// (`M2M100SinusoidalPositionalEmbedding`).
    Tensor2Tensor,
}

/// The position table of Vaswani et al. 2017, section 3.5: `sin(p / 10000^(2i/d_model))` and `cos` of the same. Returns
/// `[positions.len(), d_model]`, row-major; positions count from 0. An odd `d_model` has one more sine than cosines, in
/// the layout `Tensor2Tensor` a zero at the end.
pub fn sinusoidal_positions(layout: SinusoidalLayout, positions: Range<usize>, d_model: usize) -> Vec<f32> {
    let mut table = vec![0.0; positions.len() * d_model];
    if layout == SinusoidalLayout::Tensor2Tensor {
        tensor2tensor(positions, d_model, &mut table);
        return table;
    }
    let sines = d_model.div_ceil(2);
    let column = |i: usize, is_cosine: bool| match layout {
        SinusoidalLayout::Interleaved => 2 * i + usize::from(is_cosine),
        _ => i + if is_cosine { sines } else { 0 },
    };
    // in f64: in f32, an angle of some hundred radians lacks the digits that its sine needs
    let frequencies: Vec<f64> =
        (0..sines).map(|i| 10_000f64.powf(-2.0 * i as f64 / d_model as f64)).collect();
    for (position, row) in positions.zip(table.chunks_exact_mut(d_model.max(1))) {
        for (i, frequency) in frequencies.iter().enumerate() {
            let (sine, cosine) = (position as f64 * frequency).sin_cos();
            row[column(i, false)] = sine as f32;
            if i < d_model / 2 {
                row[column(i, true)] = cosine as f32;
            }
        }
    }
    table
}

/// Frequencies and angles are rounded to f32 as in training; at position 1,000 this changes the fifth digit.
fn tensor2tensor(positions: Range<usize>, d_model: usize, table: &mut [f32]) {
    let half = d_model / 2;
    let step = -((10_000f64.ln() / (half.max(2) - 1) as f64) as f32);
    let frequencies: Vec<f32> = (0..half).map(|i| f64::from(i as f32 * step).exp() as f32).collect();
    for (position, row) in positions.zip(table.chunks_exact_mut(d_model.max(1))) {
        for (i, frequency) in frequencies.iter().enumerate() {
            let (sine, cosine) = f64::from(position as f32 * frequency).sin_cos();
            (row[i], row[half + i]) = (sine as f32, cosine as f32);
        }
    }
}
