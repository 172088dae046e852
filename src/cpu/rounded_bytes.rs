//! Rows of x as whole numbers, byte by byte.

use super::parallel::for_each_row;
use super::rounded_rows::{Rounding, WHOLE};
use super::vector::in_widest_vectors;
use crate::precision::InputRounding;

/// Summand that leaves no sign in 16 bits.
pub const SHIFT: i32 = 1 << 15;

/// Summand that leaves no sign in 8 bits.
pub const BYTE_SHIFT: i32 = 1 << 7;

/// Cost of rounding a number, multiplications.
const ROUND_WORK: usize = 8;

/// Rows `[rows, inputs]` as whole numbers with one scale each: of 16 bits, [`SHIFT`] above their values, or of 8, [`BYTE_SHIFT`] above.
#[derive(Debug, Default)]
pub struct RoundedBytes {
    /// Words of a row's high bytes, if numbers have 16 bits; as many of its low bytes; then its scale.
    words: Vec<u32>,
    /// Words of a row's low bytes.
    quads: usize,
    rounding: InputRounding,
}

impl RoundedBytes {
    /// Rounds x to multiples of each row's scale, to the same numbers as [`RoundedRows`](super::rounded_rows::RoundedRows).
    pub fn set(&mut self, x: &[f32], inputs: usize, rounding: InputRounding) {
        (self.quads, self.rounding) = (inputs.div_ceil(4), rounding);
        let width = self.width();
        self.words.resize(x.len() / inputs * width, 0);
        for_each_row(&mut self.words, width, ROUND_WORK * inputs, |row, words| {
            let x = &x[row * inputs..][..inputs];
            let (bytes, scale) = words.split_at_mut(width - 1);
            let bytes: &mut [u8] = bytemuck::cast_slice_mut(bytes);
            let rounded = match rounding {
                InputRounding::SixteenBits => {
                    let (high, low) = bytes.split_at_mut(bytes.len() / 2);
                    let [high, low] = [high, low].map(|bytes| &mut bytes[..inputs]);
                    in_widest_vectors(
                        #[inline(always)]
                        || round_row(x, high, low),
                    )
                }
                InputRounding::EightBits => in_widest_vectors(
                    #[inline(always)]
                    || round_row_to_bytes(x, &mut bytes[..inputs]),
                ),
            };
            scale[0] = rounded.to_bits();
        });
    }

    /// Bytes of a number.
    pub fn planes(&self) -> usize {
        match self.rounding {
            InputRounding::SixteenBits => 2,
            InputRounding::EightBits => 1,
        }
    }

    /// Words of a row.
    fn width(&self) -> usize {
        self.planes() * self.quads + 1
    }

    fn row(&self, row: usize) -> &[u32] {
        &self.words[row * self.width()..][..self.width()]
    }

    /// A byte of each number of a row, the highest first, four inputs in a word.
    pub fn plane(&self, row: usize, plane: usize) -> &[u32] {
        &self.row(row)[plane * self.quads..][..self.quads]
    }

    /// The scale of a row; NaN if the row has NaN or an infinity.
    pub fn scale(&self, row: usize) -> f32 {
        f32::from_bits(self.row(row)[self.width() - 1])
    }
}

/// Numbers at a time: a vector of them.
const TOGETHER: usize = 16;

/// Returns the scale.
#[inline(always)]
fn round_row(row: &[f32], high: &mut [u8], low: &mut [u8]) -> f32 {
    let Rounding { most, factor, scale } = Rounding::of(row, InputRounding::SixteenBits);
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

/// Returns the scale.
#[inline(always)]
fn round_row_to_bytes(row: &[f32], bytes: &mut [u8]) -> f32 {
    let Rounding { most, factor, scale } = Rounding::of(row, InputRounding::EightBits);
    for (byte, x) in bytes.iter_mut().zip(row) {
        *byte = shifted(*x, most, factor, BYTE_SHIFT) as u8;
    }
    scale
}

/// The high and the low bytes of whole numbers, [`SHIFT`] above their values.
#[inline(always)]
fn round(x: [f32; TOGETHER], most: f32, factor: f32) -> [[u8; TOGETHER]; 2] {
    let (mut high, mut low) = ([0; TOGETHER], [0; TOGETHER]);
    for i in 0..TOGETHER {
        let whole = shifted(x[i], most, factor, SHIFT);
        high[i] = (whole >> 8) as u8;
        low[i] = whole as u8;
    }
    [high, low]
}

/// A whole number above its value, in the low bits.
#[inline(always)]
fn shifted(x: f32, most: f32, factor: f32, shift: i32) -> u32 {
    // the low bits of the sum are the nearest whole number; a row of nearly zeros has an infinite factor, and 0 times it is NaN,
    // whose low bits are 0
    ((x * factor).clamp(-most, most) + WHOLE).to_bits().wrapping_add(shift as u32)
}

#[cfg(test)]
mod tests {
    use super::super::rounded_rows::RoundedRows;
    use super::*;

    #[test]
    fn bytes_are_those_of_the_rounded_numbers() {
        for (inputs, rounding) in [1, 3, 4, 255, 256, 5000]
            .into_iter()
            .flat_map(|inputs| [(inputs, InputRounding::SixteenBits), (inputs, InputRounding::EightBits)])
        {
            let mut x: Vec<f32> = (0..4 * inputs).map(|i| (i as f32 * 0.618).fract() - 0.6).collect();
            x[2 * inputs..3 * inputs].fill(0.0);
            x[3 * inputs] = f32::NAN;
            let (mut bytes, mut rows) = (RoundedBytes::default(), RoundedRows::default());
            bytes.set(&x, inputs, rounding);
            rows.set(&x, inputs, rounding);
            let shift = if bytes.planes() == 2 { SHIFT } else { BYTE_SHIFT };
            for row in 0..4 {
                assert_eq!(bytes.scale(row).to_bits(), rows.scales[row].to_bits());
                let planes: Vec<&[u8]> =
                    (0..bytes.planes()).map(|plane| bytemuck::cast_slice(bytes.plane(row, plane))).collect();
                for (i, want) in rows.values[row * inputs..][..inputs].iter().enumerate() {
                    let got =
                        planes.iter().fold(0, |number, plane| 256 * number + i32::from(plane[i])) - shift;
                    assert_eq!(got, i32::from(*want), "{i} of {inputs}, {rounding:?}");
                }
            }
        }
    }
}
