//! Rows of x as whole numbers, byte by byte.

use super::parallel::for_each_row;
use super::rounded_rows::{Rounding, WHOLE};
use super::vector::in_widest_vectors;

/// Summand that leaves no sign.
pub const SHIFT: i32 = 1 << 15;

/// Cost of rounding a number, multiplications.
const ROUND_WORK: usize = 8;

/// Rows `[rows, inputs]` as whole numbers of 16 bits, [`SHIFT`] above their values, with one scale each.
#[derive(Debug, Default)]
pub struct RoundedBytes {
    /// Words of a row's high bytes, as many of its low bytes, then its scale.
    words: Vec<u32>,
    /// Words of a row's high bytes.
    quads: usize,
}

impl RoundedBytes {
    /// Rounds x to multiples of each row's scale, to the same numbers as [`RoundedRows`](super::rounded_rows::RoundedRows).
    pub fn set(&mut self, x: &[f32], inputs: usize) {
        self.quads = inputs.div_ceil(4);
        let width = self.width();
        self.words.resize(x.len() / inputs * width, 0);
        for_each_row(&mut self.words, width, ROUND_WORK * inputs, |row, words| {
            let x = &x[row * inputs..][..inputs];
            let (bytes, scale) = words.split_at_mut(width - 1);
            let (high, low) = bytes.split_at_mut(width / 2);
            let [high, low] = [high, low].map(|words| &mut bytemuck::cast_slice_mut(words)[..inputs]);
            let rounded = in_widest_vectors(
                #[inline(always)]
                || round_row(x, high, low),
            );
            scale[0] = rounded.to_bits();
        });
    }

    /// Words of a row.
    fn width(&self) -> usize {
        2 * self.quads + 1
    }

    fn row(&self, row: usize) -> &[u32] {
        &self.words[row * self.width()..][..self.width()]
    }

    /// The high and the low bytes of a row, four inputs in a word.
    pub fn planes(&self, row: usize) -> [&[u32]; 2] {
        let (high, rest) = self.row(row).split_at(self.quads);
        [high, &rest[..self.quads]]
    }

    /// The scale of a row; NaN if the row has NaN or an infinity.
    pub fn scale(&self, row: usize) -> f32 {
        f32::from_bits(self.row(row)[2 * self.quads])
    }
}

/// Numbers at a time: a vector of them.
const TOGETHER: usize = 16;

/// Returns the scale.
#[inline(always)]
fn round_row(row: &[f32], high: &mut [u8], low: &mut [u8]) -> f32 {
    let Rounding { most, factor, scale } = Rounding::of(row);
    let (x, rest) = row.as_chunks::<TOGETHER>();
    let (high, high_rest) = high.as_chunks_mut();
    let (low, low_rest) = low.as_chunks_mut();
    for ((x, high), low) in x.iter().zip(high).zip(low) {
        [*high, *low] = round(*x, most, factor);
    }
    let mut last = [0.0; TOGETHER];
    last[..rest.len()].copy_from_slice(rest);
    let [high, low] = round(last, most, factor);
    high_rest.copy_from_slice(&high[..rest.len()]);
    low_rest.copy_from_slice(&low[..rest.len()]);
    scale
}

/// The high and the low bytes of whole numbers, [`SHIFT`] above their values.
#[inline(always)]
fn round(x: [f32; TOGETHER], most: f32, factor: f32) -> [[u8; TOGETHER]; 2] {
    let (mut high, mut low) = ([0; TOGETHER], [0; TOGETHER]);
    for i in 0..TOGETHER {
        // the low bits of the sum are the nearest whole number; a row of nearly zeros has an infinite factor, and 0 times it
        // is NaN, whose low bits are 0
        let whole = ((x[i] * factor).clamp(-most, most) + WHOLE).to_bits().wrapping_add(SHIFT as u32);
        high[i] = (whole >> 8) as u8;
        low[i] = whole as u8;
    }
    [high, low]
}

#[cfg(test)]
mod tests {
    use super::super::rounded_rows::RoundedRows;
    use super::*;

    #[test]
    fn bytes_are_those_of_the_rounded_numbers() {
        for inputs in [1, 3, 4, 255, 256, 5000] {
            let mut x: Vec<f32> = (0..4 * inputs).map(|i| (i as f32 * 0.618).fract() - 0.6).collect();
            x[2 * inputs..3 * inputs].fill(0.0);
            x[3 * inputs] = f32::NAN;
            let (mut bytes, mut rows) = (RoundedBytes::default(), RoundedRows::default());
            bytes.set(&x, inputs);
            rows.set(&x, inputs);
            for row in 0..4 {
                assert_eq!(bytes.scale(row).to_bits(), rows.scales[row].to_bits());
                let [high, low] = bytes.planes(row).map(bytemuck::cast_slice::<u32, u8>);
                for (i, want) in rows.values[row * inputs..][..inputs].iter().enumerate() {
                    let got = i32::from(high[i]) * 256 + i32::from(low[i]) - SHIFT;
                    assert_eq!(got, i32::from(*want), "{i} of {inputs}");
                }
            }
        }
    }
}
