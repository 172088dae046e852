//! `y = x·Wᵀ` for many rows, by the `gemm` library.

/// Writes the product of `x` `[rows, inputs]` and the transpose of `weight` `[outputs, inputs]` to `y`
/// `[rows, outputs]`, on all cores.
///
/// # Panics
/// When the slices' lengths do not agree.
#[expect(unsafe_code, reason = "the library takes pointers")]
pub fn matrix_product(x: &[f32], weight: &[f32], inputs: usize, y: &mut [f32]) {
    let (rows, outputs) = (x.len() / inputs, weight.len() / inputs);
    assert_eq!(x.len(), rows * inputs, "x is [{rows}, {inputs}]");
    assert_eq!(weight.len(), outputs * inputs, "the weight is [{outputs}, {inputs}]");
    assert_eq!(y.len(), rows * outputs, "y is [{rows}, {outputs}]");
    #[cfg(not(target_arch = "wasm32"))]
    let parallelism = gemm::Parallelism::Rayon(0); // as many threads as there are
    #[cfg(target_arch = "wasm32")]
    let parallelism = gemm::Parallelism::None;
    let (row_stride, column_stride) = (inputs as isize, 1);
    // SAFETY: with these strides the library reads `rows * inputs` elements of `x`, `outputs * inputs` of `weight`, and
    // writes `rows * outputs` of `y`: just what the assertions above say is there. `y` is borrowed mutably, so it
    // overlaps neither. It is not read (`read_dst` is false).
    unsafe {
        gemm::gemm(
            rows,
            outputs,
            inputs,
            y.as_mut_ptr(),
            1,
            outputs as isize,
            false,
            x.as_ptr(),
            column_stride,
            row_stride,
            weight.as_ptr(),
            row_stride, // transposed
            column_stride,
            0.0,
            1.0,
            false,
            false,
            false,
            parallelism,
        );
    }
}
