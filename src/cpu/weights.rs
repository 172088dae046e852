//! Weight matrices in host memory, in every precision. Row-major `[rows, width]`, as in the file, unless a layout says otherwise.

use half::f16;
use half::slice::HalfFloatSliceExt;
use pulp::Arch;

use super::memory::Memory;
use super::panels::{self, Panels};
use super::quads::{self, Quads};
use super::stored_value::StoredValue;
use crate::precision::{InputRounding, WeightPrecision, quantize, row_scale};

/// A weight matrix `[rows, width]`.
#[derive(Clone, Copy, Debug)]
pub enum WeightMatrix<'a> {
    /// [`WeightPrecision::F32`], as in the file
    F32(&'a [f32]),
    /// [`WeightPrecision::F32`], as products read it
    Panels(Panels<'a>),
    /// [`WeightPrecision::F16`]
    F16(Panels<'a, f16>),
    /// [`WeightPrecision::Q8`]
    Q8 {
        /// `[rows, width]`
        values: &'a [i8],
        /// `[rows]`
        scales: &'a [f32],
        /// How inputs are rounded.
        rounding: InputRounding,
        /// Factors from inputs to whole numbers from -127 to 127, by parts of the rows: number of rows, factor. Empty:
        /// inputs are rounded by their own size.
        input_multipliers: &'a [(usize, f32)],
    },
    /// [`WeightPrecision::Q8`], as processors with instructions for bytes read it
    Quads {
        /// The values.
        values: Quads<'a>,
        /// `[rows]`
        scales: &'a [f32],
    },
}

impl WeightMatrix<'_> {
    /// Number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::F32(values) => values.len(),
            Self::Panels(panels) => panels.outputs * panels.inputs,
            Self::F16(panels) => panels.outputs * panels.inputs,
            Self::Q8 { values, .. } => values.len(),
            Self::Quads { values, .. } => values.outputs * values.inputs,
        }
    }

    /// Whether it has no values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Widens the values of a row, as many as `out` has, without their scale.
    #[inline(always)]
    pub(super) fn widen_row(&self, row: usize, out: &mut [f32]) {
        let range = row * out.len()..(row + 1) * out.len();
        match self {
            Self::F32(values) => out.copy_from_slice(&values[range]),
            Self::Panels(panels) => panels.widen_row(row, out),
            Self::F16(panels) => panels.widen_row(row, out),
            Self::Q8 { values, .. } => StoredValue::widen(&values[range], out),
            Self::Quads { values, .. } => {
                out.iter_mut().zip(values.row(row)).for_each(|(out, value)| *out = value.into());
            }
        }
    }

    /// The scale of a row's values.
    pub(super) fn row_scale(&self, row: usize) -> f32 {
        match self {
            Self::F32(_) | Self::Panels(_) | Self::F16(_) => 1.0,
            Self::Q8 { scales, .. } | Self::Quads { scales, .. } => scales[row],
        }
    }
}

/// The memory of a weight matrix `[rows, width]`, filled row by row.
#[derive(Debug)]
pub enum StoredMatrix {
    /// See [`WeightMatrix::F32`].
    F32(Memory<f32>),
    /// See [`WeightMatrix::Panels`].
    Panels {
        /// `[rows / 32, width, 32]`
        values: Memory<f32>,
        rows: usize,
        width: usize,
    },
    /// [`WeightPrecision::F16`]
    F16 {
        /// `[rows / 32, width, 32]`
        values: Memory<f16>,
        rows: usize,
        width: usize,
    },
    /// [`WeightPrecision::Q8`]
    Q8 {
        /// `[rows, width]`
        values: Memory<i8>,
        /// `[rows]`
        scales: Memory<f32>,
        rounding: InputRounding,
        /// See [`WeightMatrix::Q8`].
        input_multipliers: Vec<(usize, f32)>,
    },
    /// See [`WeightMatrix::Quads`].
    Quads {
        /// `[rows / 16, width / 4, 16]`, four values each
        values: Memory<u32>,
        /// What the shift of inputs adds to each row's sums.
        shifts: Memory<f64>,
        /// `[rows]`
        scales: Memory<f32>,
        width: usize,
        rounding: InputRounding,
    },
}

impl StoredMatrix {
    /// Allocates zeros; `None` if there is no memory.
    pub fn zeros(rows: usize, width: usize, precision: WeightPrecision) -> Option<Self> {
        let elements = rows * width;
        Some(match precision {
            WeightPrecision::F32 => Self::F32(Memory::zeros(elements)?),
            WeightPrecision::F16 => {
                Self::F16 { values: Memory::zeros(panels::elements(rows, width))?, rows, width }
            }
            WeightPrecision::Q8 if quads::suit(width) => Self::Quads {
                values: Memory::zeros(quads::elements(rows, width))?,
                shifts: Memory::zeros(quads::filled(rows))?,
                scales: Memory::zeros(rows)?,
                width,
                rounding: InputRounding::default(),
            },
            WeightPrecision::Q8 => {
                let (rounding, input_multipliers) = Default::default();
                Self::Q8 {
                    values: Memory::zeros(elements)?,
                    scales: Memory::zeros(rows)?,
                    rounding,
                    input_multipliers,
                }
            }
        })
    }

    /// Allocates zeros in f32, in panels; `None` if there is no memory.
    pub fn panels(rows: usize, width: usize) -> Option<Self> {
        Some(Self::Panels { values: Memory::zeros(panels::elements(rows, width))?, rows, width })
    }

    /// A matrix of the given values, stored as products read it.
    pub fn of(values: &[f32], width: usize, precision: WeightPrecision) -> Self {
        let rows = values.len() / width.max(1);
        let memory = match precision {
            WeightPrecision::F32 => Self::panels(rows, width),
            WeightPrecision::F16 | WeightPrecision::Q8 => Self::zeros(rows, width, precision),
        };
        let mut matrix = memory.unwrap_or_else(|| panic!("no memory"));
        matrix.set_rows(0, width, values, None);
        matrix
    }

    /// Stores rows from `row` on, rounded to the precision. `known`: 8-bit scales of the rows, if any.
    pub fn set_rows(&mut self, row: usize, width: usize, rows: &[f32], known: Option<&[f32]>) {
        let range = row * width..row * width + rows.len();
        match self {
            Self::F32(values) => values[range].copy_from_slice(rows),
            Self::Panels { values, .. } => panels::set_rows(values, width, row, rows),
            Self::F16 { values, .. } => {
                let mut rounded = vec![f16::ZERO; rows.len()];
                rounded.convert_from_f32_slice(rows);
                panels::set_rows(values, width, row, &rounded);
            }
            Self::Q8 { values, scales, .. } => Arch::new().dispatch(|| {
                quantize_rows(rows, known, &mut values[range], &mut scales[row..], width);
            }),
            Self::Quads { values, shifts, scales, .. } => {
                let mut rounded = vec![0; rows.len()];
                Arch::new().dispatch(|| quantize_rows(rows, known, &mut rounded, &mut scales[row..], width));
                quads::set_rows((values, shifts), width, row, &rounded);
            }
        }
    }

    /// Sets how inputs are rounded; only an 8-bit matrix rounds them.
    #[must_use]
    pub fn with_input_rounding(mut self, to: InputRounding) -> Self {
        if let Self::Q8 { rounding, .. } | Self::Quads { rounding, .. } = &mut self {
            *rounding = to;
        }
        self
    }

    /// Sets the factors of inputs, see [`WeightMatrix::Q8`]; only an 8-bit matrix has them.
    pub fn set_input_multipliers(&mut self, multipliers: Vec<(usize, f32)>) {
        if let (Self::Quads { values, shifts, scales, width, rounding }, false) =
            (&mut *self, multipliers.is_empty())
        {
            let (scales, rounding) = (std::mem::take(scales), *rounding);
            let quads = Quads::new((values, shifts), scales.len(), *width, rounding);
            let values: Vec<i8> = (0..quads.outputs).flat_map(|row| quads.row(row)).collect();
            *self = Self::Q8 { values: values.into(), scales, rounding, input_multipliers: Vec::new() };
        }
        if let Self::Q8 { input_multipliers, .. } = self {
            *input_multipliers = multipliers;
        }
    }

    /// Bytes of the matrix.
    pub fn bytes(&self) -> u64 {
        let bytes = match self {
            Self::F32(values) | Self::Panels { values, .. } => size_of_val(&values[..]),
            Self::F16 { values, .. } => size_of_val(&values[..]),
            Self::Q8 { values, scales, .. } => size_of_val(&values[..]) + size_of_val(&scales[..]),
            Self::Quads { values, shifts, scales, .. } => {
                size_of_val(&values[..]) + size_of_val(&shifts[..]) + size_of_val(&scales[..])
            }
        };
        bytes as u64
    }

    /// A view to read from.
    pub fn view(&self) -> WeightMatrix<'_> {
        match self {
            Self::F32(values) => WeightMatrix::F32(values),
            Self::Panels { values, rows, width } => WeightMatrix::Panels(Panels::new(values, *rows, *width)),
            Self::F16 { values, rows, width } => WeightMatrix::F16(Panels::new(values, *rows, *width)),
            Self::Q8 { values, scales, rounding, input_multipliers } => {
                WeightMatrix::Q8 { values, scales, rounding: *rounding, input_multipliers }
            }
            Self::Quads { values, shifts, scales, width, rounding } => {
                let values = Quads::new((values, shifts), scales.len(), *width, *rounding);
                WeightMatrix::Quads { values, scales }
            }
        }
    }
}

/// Rounds rows of `width` numbers. `known`: their scales, if any.
#[inline(always)]
fn quantize_rows(rows: &[f32], known: Option<&[f32]>, values: &mut [i8], scales: &mut [f32], width: usize) {
    let stored = values.chunks_exact_mut(width).zip(scales);
    for (n, ((values, scale), row)) in stored.zip(rows.chunks_exact(width)).enumerate() {
        *scale = known.map_or_else(|| row_scale(row), |scales| scales[n]);
        for (value, &exact) in values.iter_mut().zip(row) {
            *value = quantize(exact, *scale);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stored_row_is_the_rounded_row() {
        let (rows, width) = (3, 37);
        let values: Vec<f32> = (0..rows * width).map(|i| (i as f32 * 0.618).fract() - 0.5).collect();
        for precision in WeightPrecision::ALL {
            let matrix = StoredMatrix::of(&values, width, precision);
            let mut widened = vec![0.0; width];
            for (row, values) in values.chunks_exact(width).enumerate() {
                let mut want = values.to_vec();
                precision.round_row(&mut want);
                matrix.view().widen_row(row, &mut widened);
                widened.iter_mut().for_each(|value| *value *= matrix.view().row_scale(row));
                assert_eq!(widened, want, "{precision}, row {row}");
            }
        }
    }
}
