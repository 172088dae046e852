//! Gradients of `y = scale·x·Wᵀ + b`

use pulp::Arch;

use super::matrix_product::{Strided, product};
use super::parallel::for_each_block;

/// `dx = z + scale·dy·W`
///
/// * `dy`: `[rows, outputs]`; `weight`: `[outputs, inputs]`; `z`, `dx`: `[rows, inputs]`
pub fn linear_input_gradient(
    dy: &[f32],
    (weight, inputs): (&[f32], usize),
    scale: f32,
    z: Option<&[f32]>,
    dx: &mut [f32],
) {
    let outputs = weight.len() / inputs;
    if let Some(z) = z {
        dx.copy_from_slice(z);
    }
    let (dy, weight) = (Strided::row_major(dy, outputs), Strided::row_major(weight, inputs));
    product(dy, weight, scale, z.is_some(), dx);
}

/// `dW += scale·dyᵀ·x`
///
/// * `dy`: `[rows, outputs]`; `x`: `[rows, inputs]`; `dweight`: `[outputs, inputs]`
pub fn linear_weight_gradient(dy: &[f32], (x, inputs): (&[f32], usize), scale: f32, dweight: &mut [f32]) {
    let outputs = dweight.len() / inputs;
    let (dy, x) = (Strided::row_major(dy, outputs), Strided::row_major(x, inputs));
    product(dy.transposed(), x, scale, true, dweight);
}

/// Columns of a block.
const COLUMNS: usize = 64;

/// `sums += Σ_rows x`: the gradient of a bias. `x`: `[rows, width]`; `sums`: `[width]`
pub fn column_sums(x: &[f32], sums: &mut [f32]) {
    let (width, arch) = (sums.len(), Arch::new());
    let rows = x.len() / width;
    let whole = width / COLUMNS * COLUMNS;
    let (blocks, tail) = sums.split_at_mut(whole);
    let add = |first: usize, sums: &mut [f32]| {
        arch.dispatch(
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
