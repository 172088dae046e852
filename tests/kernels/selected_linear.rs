//! Selected outputs of a linear layer on a GPU against the CPU, in every precision, for both classes of adapter, with
//! weights in parts; and columns made tokens.

use wordloom::answers::sizes;
use wordloom::cpu::{self, Linear, StoredMatrix};
use wordloom::kernels::column_tokens::{self, Places};
use wordloom::kernels::selected_linear::{SelectedShape, dispatch};
use wordloom::kernels::{AdapterClass, PANEL, panels, stride};
use wordloom::precision::WeightPrecision;
use wordloom::scores::NO_TOKEN;

use crate::common::{assert_close, device_test, gpu};
use crate::{pad, random, read, run, upload, upload_u32};

/// Ascending outputs below `outputs`, a list for each sentence; the last lists are shorter.
fn lists(sentences: usize, columns: usize, outputs: usize) -> Vec<u32> {
    (0..sentences)
        .flat_map(|sentence| {
            let count = (columns - sentence % columns).min(outputs);
            let listed = (0..count).map(move |place| (place * outputs / count) as u32);
            listed.chain(std::iter::repeat(NO_TOKEN)).take(columns)
        })
        .collect()
}

#[device_test]
async fn selected_outputs_agree_with_the_cpu() {
    let gpu = gpu().await;
    for [sentences, beams, inputs, outputs, columns] in sizes::SHORTLISTS {
        let rows = sentences * beams;
        let (x, weight, bias) = (random(1, rows * inputs), random(2, outputs * inputs), random(3, outputs));
        let listed = lists(sentences, columns, outputs);
        for precision in WeightPrecision::ALL {
            // rounded weights in f32, because the CPU also rounds inputs of 8-bit weights
            let mut rounded = weight.clone();
            rounded.chunks_exact_mut(inputs).for_each(|row| precision.round_row(row));
            let stored = StoredMatrix::of(&rounded, inputs, WeightPrecision::F32);
            let layer = Linear { weight: stored.view(), inputs, bias: Some(&bias), scale: 0.5 };
            let mut want = vec![f32::NAN; rows * columns];
            cpu::selected_linear(&x, layer, &listed, columns, &mut want);

            let shape = SelectedShape { rows, beams, inputs, columns, scale: 0.5, bias: true, precision };
            let x_buffer = upload(&gpu, &pad(&x, inputs, 0.0));
            let (bias_buffer, list_buffer) = (upload(&gpu, &bias), upload_u32(&gpu, &listed));
            let parts: Vec<_> = (0..outputs)
                .step_by(2 * PANEL)
                .map(|first| {
                    let part = first..outputs.min(first + 2 * PANEL);
                    let rows = &weight[part.start * inputs..part.end * inputs];
                    (part.clone(), upload_u32(&gpu, &panels::pack(rows, part.len(), inputs, precision)))
                })
                .collect();
            for class in [AdapterClass::Software, AdapterClass::Hardware] {
                let y = upload(&gpu, &vec![f32::NAN; rows * stride(columns)]);
                let launches: Vec<_> = parts
                    .iter()
                    .map(|(part, weight)| {
                        let bound = vec![&x_buffer, weight, &bias_buffer, &list_buffer, &y];
                        (dispatch(&shape, part.clone(), class), bound)
                    })
                    .collect();
                run(&gpu, &launches);
                let got: Vec<f32> = read(&gpu, &y).await;
                let got: Vec<f32> =
                    got.chunks_exact(stride(columns)).flat_map(|row| &row[..columns]).copied().collect();
                let place = format!("{shape:?} for {class:?}");
                for (index, (got, want)) in got.iter().zip(&want).enumerate() {
                    if *want == f32::NEG_INFINITY {
                        assert!(*got < -1e30, "{place}: {got} at {index}, where there is no column");
                    }
                }
                let finite = |values: &[f32]| -> Vec<f32> {
                    values.iter().map(|&value| if value < -1e30 { 0.0 } else { value }).collect()
                };
                assert_close(&place, &finite(&got), &finite(&want), (2e-5, 1e-5));
            }
        }
    }
}

#[device_test]
async fn columns_become_tokens() {
    let gpu = gpu().await;
    let columns = upload_u32(&gpu, &[3, 5, 9, NO_TOKEN, 2, 4, 6, 8]);
    // two sentences of one row, two candidates: values, then columns
    let top = upload_u32(&gpu, &[70, 71, 2, NO_TOKEN, 72, 73, 3, 0]);
    let launch = column_tokens::dispatch(2, 1, Places::of_best(2), 4, AdapterClass::Software);
    run(&gpu, &[(launch, vec![&columns, &top])]);
    assert_eq!(read::<u32>(&gpu, &top).await, [70, 71, 9, NO_TOKEN, 72, 73, 8, 2]);
}
