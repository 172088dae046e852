//! Sinusoidal positions: computed, never learned.

use std::ops::Range;

/// Where the sines and cosines of a sinusoidal position stand in its row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SinusoidalLayout {
    /// All sines, then all cosines: Marian (`MarianSinusoidalPositionalEmbedding`) and Pegasus.
    Halves,
    /// Sine and cosine in turn, as the paper prints it.
    Interleaved,
}

/// The position table of Vaswani et al. 2017, section 3.5: `sin(p / 10000^(2i/d_model))` and `cos` of the same.
///
/// * returns `[positions.len(), d_model]`, row-major: a row for each of the positions, which are counted from 0
/// * an odd `d_model` has one more sine than cosines, in either layout
pub fn sinusoidal_positions(layout: SinusoidalLayout, positions: Range<usize>, d_model: usize) -> Vec<f32> {
    let sines = d_model.div_ceil(2);
    let column = |i: usize, is_cosine: bool| match layout {
        SinusoidalLayout::Halves => i + if is_cosine { sines } else { 0 },
        SinusoidalLayout::Interleaved => 2 * i + usize::from(is_cosine),
    };
    // In f64: an f32 angle of some hundred radians has lost the digits that its sine needs.
    let frequencies: Vec<f64> =
        (0..sines).map(|i| 10_000f64.powf(-2.0 * i as f64 / d_model as f64)).collect();
    let mut table = vec![0.0; positions.len() * d_model];
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
