//! A known-answer test: checks that a device reads packed weights correctly.
//!
//! Few programs unpack small numbers, so drivers may have bugs there. Such a bug gives noise, not an error. So the test
//! multiplies and looks up packed values once, and compares with the CPU's result, before a model's weights are
//! uploaded.

use crate::activation::Activation;
use crate::cpu::{self, StoredMatrix, WeightMatrix};
use crate::gpu::{Buffer, Gpu, GpuError};
use crate::kernels::embed::{self, EmbedShape};
use crate::kernels::linear::{self, LinearShape};
use crate::kernels::{panels, stride};
use crate::precision::WeightPrecision;

/// Numbers of rows, one for each kernel that a model may use on a device.
const ROWS: [usize; 4] = [1, 3, 6, 19];
/// Inputs and outputs: neither fills its last quad, and the outputs take two panels.
const INPUTS: usize = 27;
const OUTPUTS: usize = 70;

/// Checks that a device reads weights stored in `precision`; f32 needs no test.
/// Returns [`GpuError::WrongAnswer`] if it does not.
pub async fn check_known_answers(gpu: &Gpu, precision: WeightPrecision) -> Result<(), GpuError> {
    match precision {
        WeightPrecision::F32 => Ok(()),
        WeightPrecision::F16 | WeightPrecision::Q8 => check(gpu, precision, precision).await,
    }
}

/// Stores weights in `stored`, reads them as `precision`, and compares.
async fn check(gpu: &Gpu, precision: WeightPrecision, stored: WeightPrecision) -> Result<(), GpuError> {
    let weights = weights();
    let bias: Vec<f32> = (0..OUTPUTS).map(|n| n as f32 - 35.0).collect();
    let matrix = StoredMatrix::of(&weights, INPUTS, stored);
    let packed = gpu.upload("known answers", &panels::pack(&weights, OUTPUTS, INPUTS, stored))?;
    let bias_buffer = gpu.upload("known answers", &pad(&bias, OUTPUTS))?;
    let nothing = gpu.buffer("known answers", 4)?;
    let tokens: Vec<u32> = (0..OUTPUTS as u32).rev().collect();
    let token_buffer = gpu.upload("known answers", &tokens)?;
    let mut tests: Vec<(Buffer, Vec<f32>)> = Vec::new();
    let mut launches = Vec::new();

    for rows in ROWS {
        let x: Vec<f32> = (0..rows * INPUTS).map(|i| (i * 5 % 17) as f32 - 8.0).collect();
        let mut want = vec![0.0; rows * OUTPUTS];
        // every precision holds these weights exactly; in f32, because for 8 bits the CPU rounds x
        let weight = WeightMatrix::F32(&weights);
        let layer = cpu::Linear { weight, inputs: INPUTS, bias: Some(&bias), scale: 1.0 };
        cpu::linear(&x, layer, Activation::Identity, None, &mut want);
        let x = gpu.upload("known answers", &pad(&x, INPUTS))?;
        let y = gpu.buffer("known answers", rows * stride(OUTPUTS))?;
        let shape = LinearShape {
            rows,
            inputs: INPUTS,
            outputs: OUTPUTS,
            scale: 1.0,
            bias: true,
            activation: Activation::Identity,
            join: None,
            precision,
        };
        let own = gpu.class();
        let alternatives = [own, own.other()].map(|class| linear::dispatch(&shape, 0..OUTPUTS, class));
        let dispatch = gpu.passed_over().better(alternatives, |dispatch| dispatch.kernel);
        launches.push((dispatch, [x, y.clone()]));
        tests.push((y, pad(&want, OUTPUTS)));
    }
    let mut want = vec![0.0; OUTPUTS * INPUTS];
    cpu::embed(&tokens, None, matrix.view(), INPUTS, 2.0, &mut want);
    let embedded = gpu.buffer("known answers", OUTPUTS * stride(INPUTS))?;
    let shape = EmbedShape {
        rows: OUTPUTS,
        d_model: INPUTS,
        scale: 2.0,
        positions: false,
        zero_start: false,
        precision,
    };

    let mut bound: Vec<_> = launches
        .iter()
        .map(|(dispatch, [x, y])| (dispatch.clone(), vec![x, &packed, &bias_buffer, &nothing, y]))
        .collect();
    let looked_up = vec![&token_buffer, &packed, &nothing, &nothing, &embedded];
    bound.push((embed::dispatch(&shape, 0..OUTPUTS), looked_up));
    gpu.submit(&gpu.record("known answers", &bound)?, 1, &[]);
    tests.push((embedded.clone(), pad(&want, INPUTS)));

    for (buffer, want) in &tests {
        // whole numbers times powers of two: all exact, so no tolerance
        if gpu.read::<f32>(buffer).await? != *want {
            return Err(GpuError::WrongAnswer { adapter: gpu.adapter().name().to_owned(), precision });
        }
    }
    Ok(())
}

/// `[OUTPUTS, INPUTS]`: 8-bit whole numbers, one of them the largest, times a power of two for each row. Every
/// precision holds them exactly.
fn weights() -> Vec<f32> {
    let value = |i: usize| {
        let (n, k) = (i / INPUTS, i % INPUTS);
        let number = if k == n % INPUTS { 127.0 } else { (i * 37 % 255) as f32 - 127.0 };
        number * [1.0, 0.125, 4.0, 0.5][n % 4]
    };
    (0..OUTPUTS * INPUTS).map(value).collect()
}

fn pad(rows: &[f32], width: usize) -> Vec<f32> {
    let padding = stride(width) - width;
    rows.chunks_exact(width)
        .flat_map(|row| row.iter().copied().chain(std::iter::repeat_n(0.0, padding)))
        .collect()
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::gpu;
    use crate::kernels::AdapterClass;

    #[test]
    fn every_precision_has_every_weight() {
        for precision in WeightPrecision::ALL {
            let mut rounded = weights();
            rounded.chunks_exact_mut(INPUTS).for_each(|row| precision.round_row(row));
            assert_eq!(rounded, weights(), "{precision}");
        }
    }

    #[pollster::test]
    async fn a_device_that_reads_otherwise_is_refused() {
        let adapter = gpu::any().await.expect("a GPU adapter");
        for class in [AdapterClass::Software, AdapterClass::Hardware] {
            let mut gpu = Gpu::open(adapter.clone()).await.expect("opens");
            gpu.force_class(class);
            for precision in WeightPrecision::ALL {
                check_known_answers(&gpu, precision).await.expect("reads what was stored");
            }
            for (precision, stored) in [
                (WeightPrecision::F16, WeightPrecision::F32),
                (WeightPrecision::Q8, WeightPrecision::F16),
                (WeightPrecision::Q8, WeightPrecision::F32),
            ] {
                let error = check(&gpu, precision, stored).await.expect_err("reads something else");
                let message = error.to_string();
                assert!(matches!(error, GpuError::WrongAnswer { .. }), "{message}");
                let named = [gpu.adapter().name(), precision.name(), "--weights f32"];
                assert!(named.iter().all(|name| message.contains(name)), "{message}");
            }
        }
    }
}
