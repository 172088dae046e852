//! Operators on single rows: embeddings and norms.

use wordloom::answers::sizes;
use wordloom::cpu::{self, StoredMatrix};
use wordloom::gpu::Gpu;
use wordloom::kernels::embed::{self, EmbedShape};
use wordloom::kernels::layer_norm::{LayerNormShape, Variant, dispatch_variant};
use wordloom::kernels::{PANEL, panels, stride};
use wordloom::precision::WeightPrecision;

use crate::common::{assert_close, device_test, gpu};
use crate::{fixture, pad, random, read, run, unpad, untouched, upload, upload_u32};

#[device_test]
async fn embeddings_are_looked_up() {
    let gpu = gpu().await;
    for (d_model, vocabulary, rows) in sizes::EMBEDDING {
        let table = random(1, vocabulary * d_model);
        let position_table = random(2, 40 * d_model);
        let tokens: Vec<u32> = (0..rows).map(|r| (r * 67 % vocabulary) as u32).collect();
        let positions: Vec<u32> = (0..rows).map(|r| (r * 7 % 40) as u32).collect();
        let switches = [(false, false), (true, false), (false, true), (true, true)];
        for (precision, (with_positions, zero_start)) in WeightPrecision::ALL
            .into_iter()
            .flat_map(|precision| switches.map(|switches| (precision, switches)))
        {
            let stored = StoredMatrix::of(&table, d_model, precision);
            let mut want = vec![0.0; rows * d_model];
            let position = with_positions.then_some((&positions[..], &position_table[..]));
            cpu::embed(&tokens, position, stored.view(), d_model, 1.5, &mut want);
            if zero_start {
                for (want, &position) in want.chunks_exact_mut(d_model).zip(&positions) {
                    match (position, with_positions) {
                        (0, true) => want.copy_from_slice(&position_table[..d_model]),
                        (0, false) => want.fill(0.0),
                        _ => {}
                    }
                }
            }

            let shape =
                EmbedShape { rows, d_model, scale: 1.5, positions: with_positions, zero_start, precision };
            let token_buffer = upload_u32(&gpu, &tokens);
            let position_buffer = upload_u32(&gpu, &positions);
            let rows_buffer = upload(&gpu, &pad(&position_table, d_model, 0.0));
            let y = untouched(&gpu, rows * stride(d_model));
            let parts: Vec<_> = (0..vocabulary)
                .step_by(PANEL)
                .map(|first| {
                    let part = first..vocabulary.min(first + PANEL);
                    let rows = &table[part.start * d_model..part.end * d_model];
                    (part.clone(), upload_u32(&gpu, &panels::pack(rows, part.len(), d_model, precision)))
                })
                .collect();
            let launches: Vec<_> = parts
                .iter()
                .map(|(part, table)| {
                    let bound = vec![&token_buffer, table, &position_buffer, &rows_buffer, &y];
                    (embed::dispatch(&shape, part.clone()), bound)
                })
                .collect();
            run(&gpu, &launches);
            let what = format!("{shape:?} of {vocabulary}");
            assert_close(&what, &unpad(&what, &read(&gpu, &y).await, rows, d_model), &want, (1e-6, 0.0));
        }
    }
}

const VARIANTS: [Variant; 2] = [Variant::Invocation, Variant::Workgroup];

async fn norm_on_gpu(
    gpu: &Gpu,
    shape: &LayerNormShape,
    [x, residual, gamma, beta]: [&[f32]; 4],
    variant: Variant,
) -> Vec<f32> {
    let y = untouched(gpu, shape.rows * stride(shape.width));
    let rows = |data| upload(gpu, &pad(data, shape.width, 7.0));
    let vector = |data| upload(gpu, &pad(data, shape.width, 0.0));
    let (x, residual, gamma, beta) = (rows(x), rows(residual), vector(gamma), vector(beta));
    run(gpu, &[(dispatch_variant(shape, variant), vec![&x, &residual, &gamma, &beta, &y])]);
    unpad(&format!("{variant:?} of {shape:?}"), &read(gpu, &y).await, shape.rows, shape.width)
}

#[device_test]
async fn norms_agree() {
    let gpu = gpu().await;
    for (rows, width) in sizes::NORM {
        let (x, residual) = (random(1, rows * width), random(2, rows * width));
        let (gamma, beta) = (random(3, width), random(4, width));
        for (with_residual, centered) in [(false, true), (true, true), (false, false), (true, false)] {
            let shape = LayerNormShape { rows, width, epsilon: 1e-5, residual: with_residual, centered };
            let mut want = vec![0.0; x.len()];
            let added = with_residual.then_some(&residual[..]);
            cpu::layer_norm(&x, added, &gamma, centered.then_some(&beta), 1e-5, &mut want);
            for variant in VARIANTS {
                let y = norm_on_gpu(&gpu, &shape, [&x, &residual, &gamma, &beta], variant).await;
                assert_close(&format!("{variant:?} of {shape:?}"), &y, &want, (1e-5, 1e-5));
            }
        }
    }
}

#[device_test]
async fn norms_are_those_of_the_reference() {
    let gpu = gpu().await;
    let tensors = fixture("norm");
    let mut compared = 0;
    for name in tensors.names() {
        let Some((case, kind)) = name.rsplit_once('.') else { continue };
        let Some((kind, epsilon)) = kind.split_once("_eps") else { continue };
        let dims = tensors.shape(&name);
        let (rows, width, epsilon) = (dims[0], dims[1], epsilon.parse().unwrap());
        let vector = |name: &str, default: f32| match tensors.has(&format!("{case}.weight")) {
            true => tensors.f32(&format!("{case}.{name}")),
            false => vec![default; width],
        };
        let (x, gamma, beta) =
            (tensors.f32(&format!("{case}.x")), vector("weight", 1.0), vector("bias", 0.0));
        let shape = LayerNormShape { rows, width, epsilon, residual: false, centered: kind == "layernorm" };
        let tolerance = if case == "norm_offset" { 5e-3 } else { 1e-5 };
        for variant in VARIANTS {
            let y = norm_on_gpu(&gpu, &shape, [&x, &x, &gamma, &beta], variant).await;
            assert_close(&format!("{name} by {variant:?}"), &y, &tensors.f32(&name), (tolerance, 0.0));
            compared += 1;
        }
    }
    assert!(compared >= 30, "{compared} cases");
}

/// Folded launches: an axis of a dispatch holds 65,535 workgroups.
#[device_test]
async fn norms_of_more_rows_than_an_axis_holds() {
    let gpu = gpu().await;
    let (rows, width) = (70_001, 4);
    let x = random(1, rows * width);
    let (gamma, beta) = (random(2, width), random(3, width));
    let shape = LayerNormShape { rows, width, epsilon: 1e-5, residual: false, centered: true };
    let mut want = vec![0.0; x.len()];
    cpu::layer_norm(&x, None, &gamma, Some(&beta), 1e-5, &mut want);
    let y = norm_on_gpu(&gpu, &shape, [&x, &x, &gamma, &beta], Variant::Workgroup).await;
    assert_close("layer norm", &y, &want, (1e-5, 1e-4));
}
