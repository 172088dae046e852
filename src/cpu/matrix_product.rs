//! Matrix products for many rows, by the f32 part of the `gemm` library. Its parts for complex numbers and f64 compile
//! too slowly. A page without training does without the library, which would be 9 kB of its download.

#[cfg(any(feature = "training", not(target_arch = "wasm32")))]
use gemm_common::Parallelism;
#[cfg(any(feature = "training", not(target_arch = "wasm32")))]
use gemm_f32::gemm::f32::get_gemm_fn;

#[cfg(all(not(feature = "training"), target_arch = "wasm32"))]
use super::panels::{self, Panels};
#[cfg(all(not(feature = "training"), target_arch = "wasm32"))]
use super::shared_product::PANEL;

/// Multiplies `x` `[rows, inputs]` by the transpose of `weight` `[outputs, inputs]` on all cores. Panics if the lengths do
/// not agree.
#[cfg(feature = "training")]
pub fn matrix_product(x: &[f32], weight: &[f32], inputs: usize, y: &mut [f32]) {
    product(Strided::row_major(x, inputs), Strided::row_major(weight, inputs).transposed(), 1.0, false, y);
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

    pub fn data(self) -> &'a [f32] {
        self.data
    }

    pub fn rows(self) -> usize {
        self.rows
    }

    pub fn columns(self) -> usize {
        self.columns
    }

    pub fn strides(self) -> [usize; 2] {
        self.strides
    }

    /// Other elements in the same order.
    pub fn with_data(self, data: &[f32]) -> Strided<'_> {
        assert_eq!(data.len(), self.data.len(), "as many elements");
        Strided { data, ..self }
    }

    /// The first `columns` columns of a row-major matrix with `rows` rows, which are `stride` elements apart.
    pub fn columns_of(data: &'a [f32], rows: usize, columns: usize, stride: usize) -> Self {
        assert_fits(data.len(), rows, columns, stride);
        Self { data, rows, columns, strides: [stride, 1] }
    }

    /// The same elements as the transposed matrix.
    pub fn transposed(self) -> Self {
        let Self { data, rows, columns, strides: [row, column] } = self;
        Self { data, rows: columns, columns: rows, strides: [column, row] }
    }
}

/// Panics if a row-major matrix of this size has more than `length` elements.
fn assert_fits(length: usize, rows: usize, columns: usize, stride: usize) {
    let needed = rows.checked_sub(1).map_or(0, |above| above * stride + columns);
    assert!(
        columns <= stride && needed <= length,
        "[{rows}, {columns}], {stride} apart, in {length} elements"
    );
}

/// Computes `y = scale·a·b`, or adds it to y, on all cores. `y`: row-major `[rows of a, columns of b]`. Panics if the
/// sizes do not agree.
pub fn product(a: Strided, b: Strided, scale: f32, adds: bool, y: &mut [f32]) {
    assert_eq!(y.len(), a.rows * b.columns, "y is [{}, {}]", a.rows, b.columns);
    multiply(a, b, (scale, adds), (y, b.columns), true);
}

/// As [`product`], on the caller's core, into rows that are `stride` elements apart.
pub fn product_on_one_core(a: Strided, b: Strided, scale: f32, adds: bool, (y, stride): (&mut [f32], usize)) {
    multiply(a, b, (scale, adds), (y, stride), false);
}

#[cfg(all(not(feature = "training"), target_arch = "wasm32"))]
fn multiply(
    a: Strided,
    b: Strided,
    (scale, adds): (f32, bool),
    (y, stride): (&mut [f32], usize),
    _on_all_cores: bool,
) {
    let (rows, inner, columns) = (a.rows, a.columns, b.columns);
    assert_eq!(inner, b.rows, "[{rows}, {inner}] times [{}, {columns}]", b.rows);
    assert_fits(y.len(), rows, columns, stride);
    if rows == 0 || columns == 0 {
        return;
    }
    let mut packed = vec![0.0; panels::elements(columns, inner)];
    for (k, row) in (0..inner).zip((0..).step_by(b.strides[0])) {
        for column in 0..columns {
            let place = column / PANEL * PANEL * inner + k * PANEL + column % PANEL;
            packed[place] = b.data[row + column * b.strides[1]];
        }
    }
    let row = |row: usize| (0..inner).map(move |k| a.data[row * a.strides[0] + k * a.strides[1]]);
    let x: Vec<f32> = (0..rows).flat_map(row).collect();
    let mut products = vec![0.0; rows * columns];
    Panels::new(&packed, columns, inner).multiply(&x, &mut products, &|_, _, _| {});
    for (y, products) in y.chunks_mut(stride).zip(products.chunks_exact(columns)) {
        for (y, product) in y.iter_mut().zip(products) {
            *y = scale * product + if adds { *y } else { 0.0 };
        }
    }
}

#[cfg(any(feature = "training", not(target_arch = "wasm32")))]
#[expect(unsafe_code, reason = "the library takes pointers")]
fn multiply(
    a: Strided,
    b: Strided,
    (scale, adds): (f32, bool),
    (y, stride): (&mut [f32], usize),
    on_all_cores: bool,
) {
    let parallelism = match on_all_cores {
        #[cfg(not(target_arch = "wasm32"))]
        true => Parallelism::Rayon(0), // as many threads as there are
        _ => Parallelism::None,
    };
    let (rows, columns) = (a.rows, b.columns);
    assert_eq!(a.columns, b.rows, "[{rows}, {}] times [{}, {columns}]", a.columns, b.rows);
    assert_fits(y.len(), rows, columns, stride);
    let [[a_row, a_column], [b_row, b_column]] = [a.strides, b.strides].map(|s| s.map(|s| s as isize));
    let multiply = get_gemm_fn();
    // the library works on columns: yᵀ = bᵀ · aᵀ
    // SAFETY: a `Strided` has `rows * columns` elements, and its strides reach each of them and no element beyond its
    // data. `y` has the elements that the library writes, and is borrowed mutably, so it overlaps neither operand.
    unsafe {
        multiply(
            columns,
            rows,
            a.columns,
            y.as_mut_ptr(),
            stride as isize,
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
