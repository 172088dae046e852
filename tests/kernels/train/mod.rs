//! The kernels of training against plain loops in f64. Each case runs twice: the bits are the same.

mod attention;
mod batch_norm;
mod elements;
mod linear;
mod loss;
mod norm;
mod optimizer;
mod philox;
mod projection;
mod tables;

use wordloom::gpu::{Buffer, Gpu};
use wordloom::kernels::{Access, Dispatch, PANEL, stride};

use crate::{read, run, upload};

/// Error of a result, as a share of its largest element.
const TOLERANCE: f64 = 1e-5;

/// Checks `|got - want| <= tolerance · max |want|`; a miss names the worst element.
#[track_caller]
pub(crate) fn assert_near(what: &str, got: &[f32], want: &[f64], tolerance: f64) {
    assert_eq!(got.len(), want.len(), "{what}: number of elements");
    let largest = want.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    for (i, (&got, &want)) in got.iter().zip(want).enumerate() {
        let near = (f64::from(got) - want).abs() <= tolerance * largest;
        assert!(near, "{what}: element {i} is {got}, not {want}; the largest is {largest}"); // a NaN is not near
    }
}

/// Runs a launch twice from the same content and checks that the bits are equal. `inputs`: the buffers that it only
/// reads; `outputs`: the content of the others before the launch. Returns what they hold after it.
async fn run_twice(
    gpu: &Gpu,
    dispatch: &Dispatch,
    inputs: &[&Buffer],
    outputs: &[Vec<f32>],
) -> Vec<Vec<f32>> {
    let mut results = Vec::new();
    for _ in 0..2 {
        let written: Vec<Buffer> = outputs.iter().map(|content| upload(gpu, content)).collect();
        let mut rest = (inputs.iter().copied(), written.iter());
        let buffers = dispatch.kernel.storage.iter().map(|access| match access {
            Access::Read => rest.0.next().expect("as many inputs as the kernel reads"),
            Access::Write => rest.1.next().expect("as many outputs as the kernel writes"),
        });
        run(gpu, &[(dispatch.clone(), buffers.collect())]);
        let mut contents = Vec::new();
        for buffer in &written {
            contents.push(read::<f32>(gpu, buffer).await);
        }
        results.push(contents);
    }
    let bits = |contents: &Vec<Vec<f32>>| -> Vec<u32> {
        contents.iter().flatten().map(|value| value.to_bits()).collect()
    };
    assert_eq!(bits(&results[0]), bits(&results[1]), "{}: two runs differ", dispatch.kernel.name);
    results.swap_remove(0)
}

fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().copied().map(f64::from).collect()
}

/// Sum of `a[i] * b[i]` over the places that `at` gives.
fn dot(count: usize, at: impl Fn(usize) -> (f32, f32)) -> f64 {
    (0..count).map(&at).map(|(a, b)| f64::from(a) * f64::from(b)).sum()
}

/// The row-major matrix of f32 panels, whose padding must be zero.
fn from_panels(panels: &[f32], outputs: usize, inputs: usize) -> Vec<f32> {
    let depth = stride(inputs);
    assert_eq!(panels.len(), outputs.div_ceil(PANEL) * PANEL * depth, "size of the panels");
    let mut rest = panels.to_vec();
    let mut matrix = Vec::with_capacity(outputs * inputs);
    for output in 0..outputs {
        for input in 0..inputs {
            let at = output / PANEL * PANEL * depth + input * PANEL + output % PANEL;
            matrix.push(std::mem::take(&mut rest[at]));
        }
    }
    assert!(rest.iter().all(|&padding| padding == 0.0), "padding of panels [{outputs}, {inputs}]");
    matrix
}

/// The f32 panels of a row-major matrix.
fn to_panels(matrix: &[f32], outputs: usize, inputs: usize) -> Vec<f32> {
    let precision = wordloom::precision::WeightPrecision::F32;
    let words = wordloom::kernels::panels::pack(matrix, outputs, inputs, precision);
    words.into_iter().map(f32::from_bits).collect()
}
