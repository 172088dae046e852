//! Matrix products for many rows, by the f32 part of the `gemm` library. Its parts for complex numbers and f64 compile
//! too slowly.

use std::ops::Range;

use gemm_common::Parallelism;
use gemm_f32::gemm::f32::get_gemm_fn;

/// Multiplies `x` `[rows, inputs]` by the transpose of `weight` `[columns, inputs]` on all cores, into columns of `y`,
/// whose rows have `width` elements. Panics if the lengths do not agree.
#[expect(unsafe_code, reason = "the library takes pointers")]
pub fn matrix_product(
    x: &[f32],
    weight: &[f32],
    inputs: usize,
    y: &mut [f32],
    width: usize,
    columns: Range<usize>,
) {
    let (rows, outputs) = (x.len() / inputs, columns.len());
    assert_eq!(x.len(), rows * inputs, "x is [{rows}, {inputs}]");
    assert_eq!(weight.len(), outputs * inputs, "the weight is [{outputs}, {inputs}]");
    assert_eq!(y.len(), rows * width, "y is [{rows}, {width}]");
    assert!(columns.start <= columns.end && columns.end <= width, "columns {columns:?} of {width}");
    let y = &mut y[columns.start..];
    #[cfg(not(target_arch = "wasm32"))]
    let parallelism = Parallelism::Rayon(0); // as many threads as there are
    #[cfg(target_arch = "wasm32")]
    let parallelism = Parallelism::None;
    let stride = |elements: usize| elements as isize;
    let multiply = get_gemm_fn();
    // the library works on columns: yᵀ `[outputs, rows]` = W · xᵀ
    // SAFETY: with these strides the library reads `outputs * inputs` elements of `weight` and `rows * inputs` of `x`,
    // and writes `outputs` of every `width` elements of `y`, `rows` times: within the lengths asserted above. `y` is
    // borrowed mutably, so it overlaps neither. It is not read (`read_dst` is false).
    unsafe {
        multiply(
            outputs,
            rows,
            inputs,
            y.as_mut_ptr(),
            stride(width),
            1,
            false,
            weight.as_ptr(),
            1,
            stride(inputs),
            x.as_ptr(),
            stride(inputs),
            1,
            0.0,
            1.0,
            false,
            false,
            false,
            parallelism,
        );
    }
}

/// A matrix in any order of its elements.
#[derive(Clone, Copy, Debug)]
pub struct Strided<'a> {
    data: &'a [f32],
    rows: usize,
    columns: usize,
    /// Distance between rows, and between columns, in elements.
    strides: [usize; 2],
}

impl<'a> Strided<'a> {
    /// A row-major matrix with `columns` columns.
    pub fn row_major(data: &'a [f32], columns: usize) -> Self {
        let rows = data.len().checked_div(columns).unwrap_or(0);
        assert_eq!(data.len(), rows * columns, "the matrix is [{rows}, {columns}]");
        Self { data, rows, columns, strides: [columns, 1] }
    }

    /// The same elements as the transposed matrix.
    pub fn transposed(self) -> Self {
        let Self { data, rows, columns, strides: [row, column] } = self;
        Self { data, rows: columns, columns: rows, strides: [column, row] }
    }
}

/// Computes `y = scale·a·b`, or adds it to y, on all cores. `y`: row-major `[rows of a, columns of b]`. Panics if the
/// sizes do not agree.
#[expect(unsafe_code, reason = "the library takes pointers")]
pub fn product(a: Strided, b: Strided, scale: f32, adds: bool, y: &mut [f32]) {
    let (rows, columns) = (a.rows, b.columns);
    assert_eq!(a.columns, b.rows, "[{rows}, {}] times [{}, {columns}]", a.columns, b.rows);
    assert_eq!(y.len(), rows * columns, "y is [{rows}, {columns}]");
    #[cfg(not(target_arch = "wasm32"))]
    let parallelism = Parallelism::Rayon(0); // as many threads as there are
    #[cfg(target_arch = "wasm32")]
    let parallelism = Parallelism::None;
    let [[a_row, a_column], [b_row, b_column]] = [a.strides, b.strides].map(|s| s.map(|s| s as isize));
    let multiply = get_gemm_fn();
    // the library works on columns: yᵀ = bᵀ · aᵀ
    // SAFETY: a `Strided` has `rows * columns` elements, and its strides reach each of them and no other. `y` has as
    // many elements as the library writes, and is borrowed mutably, so it overlaps neither operand.
    unsafe {
        multiply(
            columns,
            rows,
            a.columns,
            y.as_mut_ptr(),
            columns as isize,
            1,
            adds,
            b.data.as_ptr(),
            b_row,
            b_column,
            a.data.as_ptr(),
            a_row,
            a_column,
            1.0,
            scale,
            false,
            false,
            false,
            parallelism,
        );
    }
}
