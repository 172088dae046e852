//! Gradients of `y = scale·x·Wᵀ + b`

use super::bf16_product::{Finish, OnRows, bf16_product};
use super::matrix_product::{Strided, product};
use super::parallel::for_each_block;
use super::vector::in_widest_vectors;
use crate::precision::Products;

/// `dx = z + scale·dy·W`
///
/// * `dy`: `[rows, outputs]`; `weight`: `[outputs, inputs]`; `z`, `dx`: `[rows, inputs]`
pub fn linear_input_gradient(
    dy: &[f32],
    (weight, inputs): (&[f32], usize),
    (scale, products): (f32, Products),
    z: Option<&[f32]>,
    dx: &mut [f32],
) {
    let outputs = weight.len() / inputs;
    let (dy, weight) = (Strided::row_major(dy, outputs), Strided::row_major(weight, inputs));
    let copy = |first: usize, dx: &mut [f32]| {
        if let Some(z) = z {
            dx.copy_from_slice(&z[first * inputs..][..dx.len()]);
        }
    };
    let addend = z.is_some().then_some(&copy as OnRows);
    products.run(dy, weight, Finish { scale, addend, then: None }, dx);
}

/// `dW += scale·dyᵀ·x`
///
/// * `dy`: `[rows, outputs]`; `x`: `[rows, inputs]`; `dweight`: `[outputs, inputs]`
pub fn linear_weight_gradient(
    dy: &[f32],
    (x, inputs): (&[f32], usize),
    (scale, products): (f32, Products),
    dweight: &mut [f32],
) {
    let outputs = dweight.len() / inputs;
    let (dy, x) = (Strided::row_major(dy, outputs), Strided::row_major(x, inputs));
    let keep = |_: usize, _: &mut [f32]| {};
    products.run(dy.transposed(), x, Finish { scale, addend: Some(&keep), then: None }, dweight);
}

impl Products {
    /// Computes `y = scale·a·b`, or adds it to y.
    pub(super) fn run(self, a: Strided, b: Strided, finish: Finish, y: &mut [f32]) {
        let Finish { scale, addend, then } = finish;
        match self {
            Self::Bf16 => bf16_product(a, b, finish, y),
            Self::F32 => {
                if let Some(addend) = addend {
                    addend(0, y);
                }
                product(a, b, scale, addend.is_some(), y);
                if let Some(then) = then {
                    then(0, y);
                }
            }
        }
    }
}

/// Columns of a block.
const COLUMNS: usize = 64;

/// `sums += Σ_rows x`: the gradient of a bias. `x`: `[rows, width]`; `sums`: `[width]`
pub fn column_sums(x: &[f32], sums: &mut [f32]) {
    let width = sums.len();
    let rows = x.len() / width;
    let whole = width / COLUMNS * COLUMNS;
    let (blocks, tail) = sums.split_at_mut(whole);
    let add = |first: usize, sums: &mut [f32]| {
        in_widest_vectors(
            #[inline(always)]
            || {
                for row in x.chunks_exact(width) {
                    sums.iter_mut().zip(&row[first..]).for_each(|(sum, x)| *sum += x);
                }
            },
        );
    };
    for_each_block(blocks, COLUMNS, rows * COLUMNS, |block, sums| add(block * COLUMNS, sums));
    add(whole, tail);
}
