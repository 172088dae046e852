//! Rows of x as whole numbers, for weights that are whole numbers.

use pulp::Arch;

use super::bytes;
use super::integers::largest;
use crate::precision::InputRounding;

/// Rows `[rows, inputs]` as whole numbers with one scale each.
#[derive(Debug, Default)]
pub struct RoundedRows {
    /// `[rows, inputs]`
    pub values: Vec<i16>,
    /// `[rows, inputs]`, instead of `values`: numbers from -127 to 127, plus 127
    pub bytes: Vec<u8>,
    /// `[rows]`
    pub scales: Vec<f32>,
}

impl RoundedRows {
    /// Rounds x to multiples of each row's scale; the row's largest magnitude becomes [`largest`], or 127. A row with NaN or
    /// an infinity gets the scale NaN.
    pub fn set(&mut self, x: &[f32], inputs: usize, rounding: InputRounding) {
        self.values.resize(x.len(), 0);
        self.scales.resize(x.len() / inputs, 0.0);
        let rows = self.values.chunks_exact_mut(inputs).zip(&mut self.scales).zip(x.chunks_exact(inputs));
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for ((values, scale), row) in rows {
                    *scale = round_row(row, rounding, values);
                }
            },
        );
    }

    /// Multiplies x by `multiplier` and rounds it to whole numbers from -127 to 127, in [`bytes`](Self::bytes) if the
    /// processor [multiplies](bytes::multiplies) these and there are several rows, else in [`values`](Self::values). Returns whether in bytes. A row
    /// with NaN or an infinity gets the scale NaN.
    pub fn set_by(&mut self, x: &[f32], inputs: usize, multiplier: f32) -> bool {
        // for a single row the sums across lanes would cost more than the products save
        let in_bytes = x.len() > inputs && bytes::multiplies(inputs);
        match in_bytes {
            true => self.set_bytes(x, inputs, multiplier),
            false => self.set_values(x, inputs, multiplier),
        }
        in_bytes
    }

    fn set_bytes(&mut self, x: &[f32], inputs: usize, multiplier: f32) {
        self.bytes.resize(x.len(), 0);
        self.scales.resize(x.len() / inputs, 0.0);
        let rows = self.bytes.chunks_exact_mut(inputs).zip(&mut self.scales).zip(x.chunks_exact(inputs));
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for ((bytes, scale), row) in rows {
                    for (byte, x) in bytes.iter_mut().zip(row) {
                        let rounded = (x * multiplier).clamp(-MOST, MOST) + WHOLE - WHOLE;
                        *byte = (rounded + f32::from(bytes::SHIFT)) as u8;
                    }
                    *scale = if magnitude(row).is_finite() { 1.0 / multiplier } else { f32::NAN };
                }
            },
        );
    }

    fn set_values(&mut self, x: &[f32], inputs: usize, multiplier: f32) {
        self.values.resize(x.len(), 0);
        self.scales.resize(x.len() / inputs, 0.0);
        let rows = self.values.chunks_exact_mut(inputs).zip(&mut self.scales).zip(x.chunks_exact(inputs));
        Arch::new().dispatch(
            #[inline(always)]
            || {
                for ((values, scale), row) in rows {
                    for (value, x) in values.iter_mut().zip(row) {
                        *value = ((x * multiplier).clamp(-MOST, MOST) + WHOLE - WHOLE) as i16;
                    }
                    *scale = if magnitude(row).is_finite() { 1.0 / multiplier } else { f32::NAN };
                }
            },
        );
    }
}

/// Largest magnitude of an 8-bit number.
const MOST: f32 = 127.0;

/// Summand that leaves the nearest whole number of a small number, ties to even.
pub(super) const WHOLE: f32 = (3 << 22) as f32;

/// The largest magnitude; NaN if there is one.
#[inline(always)]
fn magnitude(row: &[f32]) -> f32 {
    // magnitudes compare like their bits, with NaN above infinity: the maximum of integers is a vector instruction that
    // keeps NaN
    f32::from_bits(row.iter().fold(0, |most, x| (x.to_bits() & !(1 << 31)).max(most)))
}

/// How a row becomes whole numbers.
pub(super) struct Rounding {
    /// Their largest magnitude.
    pub most: f32,
    /// From numbers of the row to whole numbers.
    pub factor: f32,
    /// From whole numbers to numbers of the row.
    pub scale: f32,
}

impl Rounding {
    #[inline(always)]
    pub fn of(row: &[f32], rounding: InputRounding) -> Self {
        let most = match rounding {
            InputRounding::SixteenBits => f32::from(largest(row.len())),
            InputRounding::EightBits => MOST,
        };
        let magnitude = magnitude(row);
        let scale = if magnitude.is_finite() { magnitude / most } else { f32::NAN };
        Self { most, factor: most / magnitude, scale }
    }
}

#[inline(always)]
fn round_row(row: &[f32], rounding: InputRounding, values: &mut [i16]) -> f32 {
    let Rounding { most, factor, scale } = Rounding::of(row, rounding);
    for (value, x) in values.iter_mut().zip(row) {
        // in a row of nearly zeros the factor is infinite; 0 times it is NaN, which becomes 0
        let scaled = (x * factor).clamp(-most, most);
        *value = (scaled + WHOLE - WHOLE) as i16;
    }
    scale
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rounded(row: &[f32]) -> (Vec<i16>, f32) {
        rounded_to(InputRounding::SixteenBits, row)
    }

    fn rounded_to(rounding: InputRounding, row: &[f32]) -> (Vec<i16>, f32) {
        let mut rows = RoundedRows::default();
        rows.set(row, row.len(), rounding);
        (rows.values, rows.scales[0])
    }

    #[test]
    fn a_row_is_off_by_half_a_step_at_most() {
        for inputs in [1, 7, 512, 2048, 5000] {
            let row: Vec<f32> = (0..inputs).map(|i| (i as f32 * 0.618).fract() - 0.6).collect();
            for (rounding, most) in
                [(InputRounding::SixteenBits, largest(inputs)), (InputRounding::EightBits, 127)]
            {
                let (values, scale) = rounded_to(rounding, &row);
                assert!(values.iter().any(|value| value.abs() == most), "{inputs}");
                for (value, x) in values.iter().zip(&row) {
                    let error = (f32::from(*value) * scale - x).abs();
                    assert!(error <= 0.501 * scale, "{inputs}: {x} is off by {error}, a step is {scale}");
                }
            }
        }
    }

    #[test]
    fn odd_rows_are_seen_or_do_no_harm() {
        assert_eq!(rounded(&[0.0, -0.0]), (vec![0, 0], 0.0));
        for tiny in [f32::MIN_POSITIVE, 1e-36, 1e-45] {
            let (values, scale) = rounded(&[tiny, 0.0, -tiny]);
            assert_eq!(values, [i16::MAX, 0, -i16::MAX]);
            assert!(scale <= 2.0 * tiny, "{scale}");
        }
        let (values, scale) = rounded(&[f32::MAX, -1.0]);
        assert_eq!((values[0], scale.is_finite()), (i16::MAX, true));
        for broken in [f32::NAN, f32::INFINITY, f32::NEG_INFINITY] {
            let (values, scale) = rounded(&[1.0, broken, 3.0]);
            assert!(scale.is_nan() && values.iter().all(|value| *value >= -i16::MAX));
        }
    }
}
