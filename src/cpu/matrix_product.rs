//! `y = x·Wᵀ` for many rows, by the f32 part of the `gemm` library. Its parts for complex numbers and f64 compile too
//! slowly.

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
