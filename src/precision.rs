//! Storage of weight matrices on a device, and the rounding of their values.
//!
//! Only matrices of linear layers and embedding tables have a choice: they are nearly all bytes of a model and of a decoding
//! step. Vectors and position tables stay f32. Arithmetic is f32: a stored number is widened before it is multiplied. Two
//! exceptions: a training in [`Products::Bf16`], and on the CPU, matrices in [`WeightPrecision::Q8`] are multiplied in integers, and inputs
//! are rounded as [`InputRounding`] says (see [`linear`](crate::cpu::linear())).

use std::fmt;
use std::str::FromStr;

use half::f16;

/// Storage of a weight matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum WeightPrecision {
    /// Four bytes per value, exact.
    #[default]
    F32,
    /// Two bytes per value: rounded to the nearest half-precision number, ties to even. Values of an f16 file stay exact.
    F16,
    /// One byte per value, an integer in -127 … 127, and an f32 scale for each row `[inputs]` of the matrix: a token of an
    /// embedding table, or an output of a linear layer. See [`row_scale`] and [`quantize`].
    Q8,
}

impl WeightPrecision {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::F32, Self::F16, Self::Q8];

    /// The name in the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::F32 => "f32",
            Self::F16 => "f16",
            Self::Q8 => "q8",
        }
    }

    /// Bytes per value.
    pub const fn value_bytes(self) -> usize {
        match self {
            Self::F32 => 4,
            Self::F16 => 2,
            Self::Q8 => 1,
        }
    }

    /// Bytes of a matrix `[rows, width]`, with scales, without padding.
    pub const fn matrix_bytes(self, rows: usize, width: usize) -> u64 {
        let scales = match self {
            Self::F32 | Self::F16 => 0,
            Self::Q8 => 4 * rows as u64,
        };
        rows as u64 * width as u64 * self.value_bytes() as u64 + scales
    }

    /// The first value that storing would change beyond rounding: a finite one that would become infinite in f16, or in 8 bits one
    /// that is no number or infinite, beside which its row would become zeros.
    pub fn overflow(self, values: &[f32]) -> Option<f32> {
        let mut values = values.iter().copied();
        match self {
            Self::F32 => None,
            // half way between the largest f16 and the next step
            Self::F16 => values.find(|value| value.is_finite() && value.abs() >= 65_520.0),
            Self::Q8 => values.find(|value| !value.is_finite()),
        }
    }

    /// Rounds the values of a matrix's row as storing does, for tests and comparisons.
    pub fn round_row(self, row: &mut [f32]) {
        match self {
            Self::F32 => {}
            Self::F16 => row.iter_mut().for_each(|value| *value = f16::from_f32(*value).to_f32()),
            Self::Q8 => {
                let scale = row_scale(row);
                row.iter_mut().for_each(|value| *value = f32::from(quantize(*value, scale)) * scale);
            }
        }
    }
}

impl fmt::Display for WeightPrecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Rounding of the inputs of products with [`WeightPrecision::Q8`] weights on the CPU, to whole numbers times a scale for each row.
/// Weights that come with factors of their inputs, as Firefox's do, keep to these.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum InputRounding {
    /// 15 bits and a sign; fewer for rows of more than 2,064 inputs, so that 32 bits hold a fourth of their sum.
    #[default]
    SixteenBits,
    /// -127 … 127: half the work on processors that multiply bytes.
    EightBits,
}

/// How a training multiplies matrices. Weights, moments and sums are f32 either way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Products {
    /// In f32.
    #[default]
    F32,
    /// Operands are rounded to bf16, products and sums are f32. On the CPU only; several times as fast on processors with
    /// AMX, slower on others. Micikevicius et al. 2018, "Mixed Precision Training"; Kalamkar et al. 2019.
    Bf16,
}

/// The user's choice of a precision.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum PrecisionChoice {
    /// A lossless precision that suits the device: see [`PrecisionChoice::resolve`].
    #[default]
    Auto,
    /// A fixed precision.
    Is(WeightPrecision),
    /// [`WeightPrecision::Q8`] with [`InputRounding::EightBits`], on the CPU: the fastest on processors that multiply bytes, and the least exact.
    W8A8,
}

impl PrecisionChoice {
    /// The precision for a file whose matrices can be `stored` without loss, on a device that `gains` by it (a hardware GPU)
    /// or a model that is trained in 8 bits, on the CPU) or not.
    ///
    /// | chosen | file | gains | does not |
    /// |---|---|---|---|
    /// | `auto` | f16 | f16 | f32 |
    /// | `auto` | 8 bits | 8 bits | f32 |
    /// | `auto` | other | f32 | f32 |
    /// | any other | | as chosen | as chosen |
    ///
    /// So `auto` changes no weight. A GPU reads half the bytes in f16. The CPU and software adapters would spend more time on
    /// unpacking than they save.
    pub fn resolve(self, stored: WeightPrecision, gains: bool) -> WeightPrecision {
        match self {
            Self::Is(precision) => precision,
            Self::W8A8 => WeightPrecision::Q8,
            Self::Auto if gains => stored,
            Self::Auto => WeightPrecision::F32,
        }
    }

    /// The rounding of inputs.
    pub const fn input_rounding(self) -> InputRounding {
        match self {
            Self::Auto | Self::Is(_) => InputRounding::SixteenBits,
            Self::W8A8 => InputRounding::EightBits,
        }
    }
}

impl fmt::Display for PrecisionChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Auto => f.write_str("auto"),
            Self::Is(precision) => precision.fmt(f),
            Self::W8A8 => f.write_str("w8a8"),
        }
    }
}

impl FromStr for PrecisionChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim() {
            "auto" => Ok(Self::Auto),
            "w8a8" => Ok(Self::W8A8),
            name => match WeightPrecision::ALL.into_iter().find(|precision| precision.name() == name) {
                Some(precision) => Ok(Self::Is(precision)),
                None => Err("choose `auto`, `f32`, `f16`, `q8` or `w8a8`".into()),
            },
        }
    }
}

/// The scale of a row in [`WeightPrecision::Q8`]: its largest magnitude over 127. NaN if a value is not finite, so that a
/// broken weight is detected.
pub fn row_scale(row: &[f32]) -> f32 {
    let largest = row.iter().fold(0.0f32, |largest, value| {
        let magnitude = value.abs();
        if magnitude > largest || magnitude.is_nan() { magnitude } else { largest }
    });
    largest / 127.0
}

/// The stored integer of a value in [`WeightPrecision::Q8`]: the nearest multiple of the row's scale, ties to even.
#[inline]
pub fn quantize(value: f32, scale: f32) -> i8 {
    /// A number so large that its sum with a small number has no fraction. This rounds in vectors on every processor, unlike
    /// `round_ties_even`.
    const WHOLE: f32 = (3 << 22) as f32;
    // a row of zeros has the scale 0, and NaN becomes 0
    (value / scale + WHOLE - WHOLE) as i8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_of_8_bits_is_off_by_half_a_step_at_most() {
        let mut row: Vec<f32> = (0..100).map(|i| (i as f32 * 0.618).fract() - 0.4).collect();
        let (want, scale) = (row.clone(), row_scale(&row));
        WeightPrecision::Q8.round_row(&mut row);
        for (got, want) in row.iter().zip(&want) {
            assert!((got - want).abs() <= 0.5001 * scale, "{got}, not {want}");
        }
        let largest = want.iter().fold(0.0f32, |largest, value| largest.max(value.abs()));
        assert!(row.iter().any(|value| value.abs() == 127.0 * scale && (value.abs() - largest).abs() < 1e-6));
    }

    #[test]
    fn odd_rows_stay_what_they_are() {
        for row in [&[0.0, -0.0, 0.0][..], &[], &[-3.5], &[127.0, -127.0, 1.0, -126.0]] {
            let mut rounded = row.to_vec();
            WeightPrecision::Q8.round_row(&mut rounded);
            assert_eq!(rounded, row);
        }
        for broken in [f32::NAN, f32::INFINITY] {
            let mut row = [1.0, broken, 2.0, f32::MAX];
            WeightPrecision::Q8.round_row(&mut row);
            assert!(row.iter().any(|value| !value.is_finite()), "{broken} was lost: {row:?}");
        }
    }

    #[test]
    fn automatic_precision_loses_nothing() {
        use WeightPrecision::{F16, F32, Q8};
        let auto = PrecisionChoice::Auto;
        assert_eq!([true, false].map(|gpu| auto.resolve(F16, gpu)), [F16, F32]);
        assert_eq!([true, false].map(|gpu| auto.resolve(F32, gpu)), [F32, F32]);
        assert_eq!("q8".parse::<PrecisionChoice>().map(|choice| choice.resolve(F16, true)), Ok(Q8));
        for choice in [auto, PrecisionChoice::Is(F16), PrecisionChoice::W8A8] {
            assert_eq!(choice.to_string().parse(), Ok(choice));
        }
        assert_eq!(PrecisionChoice::W8A8.resolve(F16, false), Q8);
        assert!("int8".parse::<PrecisionChoice>().is_err_and(|message| message.contains("`q8`")));
    }

    #[test]
    fn half_precision_says_what_it_cannot_hold() {
        let values = [65_519.0, -65_504.0, f32::INFINITY, f32::NAN];
        assert_eq!(WeightPrecision::F16.overflow(&values), None);
        assert!(f16::from_f32(65_519.0).is_finite() && f16::from_f32(65_520.0).is_infinite());
        assert_eq!(WeightPrecision::F16.overflow(&[1.0, -65_520.0]), Some(-65_520.0));
        assert_eq!(WeightPrecision::F32.overflow(&[f32::MAX]), None);
        assert_eq!(WeightPrecision::Q8.overflow(&[1.0, f32::MAX]), None);
        assert_eq!(WeightPrecision::Q8.overflow(&[1.0, f32::INFINITY, f32::NAN]), Some(f32::INFINITY));
        assert!(WeightPrecision::Q8.overflow(&[1.0, f32::NAN]).is_some_and(f32::is_nan));
    }
}
