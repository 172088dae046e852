//! Linear layers that normalize their inputs, compared with a norm and a linear layer on the CPU.

use wordloom::activation::Activation;
use wordloom::cpu::{self, Linear, WeightMatrix};
use wordloom::gpu::Gpu;
use wordloom::kernels::layer_norm::{self, LayerNormShape};
use wordloom::kernels::linear::{self, LinearShape, Variant};
use wordloom::kernels::normalized_linear::fuse;
use wordloom::kernels::{AdapterClass, Dispatch, PANEL, panels, stride};
use wordloom::precision::WeightPrecision;

use crate::common::{assert_close, device_test, gpu, one_in_browsers, portable_test};
use crate::{UNTOUCHED, pad, random, read, run, unpad, untouched, upload, upload_u32};

#[derive(Clone, Copy, Debug)]
struct NormalizedLinearShape {
    linear: LinearShape,
    epsilon: f32,
    residual: bool,
    centered: bool,
    keeps: bool,
}

impl NormalizedLinearShape {
    fn norm(&self, class: AdapterClass) -> Dispatch {
        let Self { linear, epsilon, residual, centered, .. } = *self;
        let shape = LayerNormShape { rows: linear.rows, width: linear.inputs, epsilon, residual, centered };
        layer_norm::dispatch(&shape, class)
    }
}

struct Case {
    shape: NormalizedLinearShape,
    x: Vec<f32>,
    residual: Vec<f32>,
    gamma: Vec<f32>,
    beta: Vec<f32>,
    weight: Vec<f32>,
    bias: Vec<f32>,
}

impl Case {
    fn random(shape: NormalizedLinearShape) -> Self {
        let LinearShape { rows, inputs, outputs, .. } = shape.linear;
        Self {
            shape,
            // nonzero mean
            x: random(1, rows * inputs).iter().map(|value| value + 0.7).collect(),
            residual: random(2, rows * inputs),
            gamma: random(3, inputs),
            beta: random(4, inputs),
            weight: random(5, outputs * inputs),
            bias: random(6, outputs),
        }
    }

    fn row(&self, row: usize) -> Self {
        let mut shape = self.shape;
        shape.linear.rows = 1;
        let of_row = |data: &[f32]| data[row * shape.linear.inputs..][..shape.linear.inputs].to_vec();
        let (x, residual) = (of_row(&self.x), of_row(&self.residual));
        let [gamma, beta, weight, bias] =
            [&self.gamma, &self.beta, &self.weight, &self.bias].map(|data| data.clone());
        Self { shape, x, residual, gamma, beta, weight, bias }
    }

    fn on_cpu(&self) -> [Vec<f32>; 2] {
        let NormalizedLinearShape { linear, epsilon, residual, centered, .. } = self.shape;
        let mut normalized = vec![0.0; self.x.len()];
        let residual = residual.then_some(&self.residual[..]);
        let beta = centered.then_some(&self.beta[..]);
        cpu::layer_norm(&self.x, residual, &self.gamma, beta, epsilon, &mut normalized);
        // the rounded weights in f32: with 8-bit weights the CPU also rounds x, and a GPU does not
        let mut weight = self.weight.clone();
        weight.chunks_exact_mut(linear.inputs).for_each(|row| linear.precision.round_row(row));
        let weight = WeightMatrix::F32(&weight);
        let bias = linear.bias.then_some(&self.bias[..]);
        let layer = Linear { weight, inputs: linear.inputs, bias, scale: linear.scale };
        let mut y = vec![0.0; linear.rows * linear.outputs];
        cpu::linear(&normalized, layer, linear.activation, None, &mut y);
        [normalized, y]
    }

    /// As `on_cpu`; `panels_per_part`: size of the parts of the weights.
    async fn on_gpu(&self, gpu: &Gpu, variant: Variant, panels_per_part: usize) -> [Vec<f32>; 2] {
        let LinearShape { rows, inputs, outputs, precision, .. } = self.shape.linear;
        let [x, residual] = [&self.x, &self.residual].map(|data| upload(gpu, &pad(data, inputs, 7.0)));
        let [gamma, beta] = [&self.gamma, &self.beta].map(|data| upload(gpu, &pad(data, inputs, 0.0)));
        let bias = upload(gpu, &pad(&self.bias, outputs, 0.0));
        let y = untouched(gpu, rows * stride(outputs));
        let normalized = untouched(gpu, rows * stride(inputs));
        let parts: Vec<_> = (0..outputs)
            .step_by(panels_per_part * PANEL)
            .map(|first| {
                let part = first..outputs.min(first + panels_per_part * PANEL);
                let rows = &self.weight[part.start * inputs..part.end * inputs];
                (part.clone(), upload_u32(gpu, &panels::pack(rows, part.len(), inputs, precision)))
            })
            .collect();
        let launches: Vec<_> = parts
            .iter()
            .map(|(part, weight)| {
                let bound = vec![&x, weight, &bias, &residual, &gamma, &beta, &y, &normalized];
                let norm = self.shape.norm(AdapterClass::Hardware);
                let layer = linear::dispatch_variant(&self.shape.linear, part.clone(), variant);
                (fuse(&norm, &layer, self.shape.keeps).expect("has a form that normalizes"), bound)
            })
            .collect();
        run(gpu, &launches);
        let what = format!("{variant:?} of {:?}", self.shape);
        let kept = read(gpu, &normalized).await;
        let normalized = match self.shape.keeps {
            true => unpad(&what, &kept, rows, inputs),
            false => kept,
        };
        [normalized, unpad(&what, &read(gpu, &y).await, rows, outputs)]
    }
}

/// Rows, inputs and outputs on both sides of every tile, and of a lane's part of a row.
const SIZES: [[usize; 3]; 10] = [
    [1, 1, 1],
    [1, 37, 203],
    [2, 5, 3],
    [3, 64, 65],
    [4, 65, 63],
    [5, 255, 64],
    [7, 256, 129],
    [8, 257, 31],
    [16, 1024, 66],
    [2, 1031, 64],
];

#[device_test]
async fn a_norm_before_a_layer_is_a_norm_and_a_layer() {
    let gpu = gpu().await;
    let options = [
        (1.0, false, Activation::Identity, false, true, false),
        (1.0, true, Activation::Relu, true, true, true),
        (0.3, true, Activation::GeluTanh, false, false, false),
        (1.0, false, Activation::Identity, true, false, true),
    ];
    for (i, [rows, inputs, outputs]) in SIZES.into_iter().enumerate() {
        for (j, (scale, bias, activation, residual, centered, keeps)) in options.into_iter().enumerate() {
            for precision in one_in_browsers(i / 5 + j, WeightPrecision::ALL) {
                let linear =
                    LinearShape { rows, inputs, outputs, scale, bias, activation, join: None, precision };
                let shape = NormalizedLinearShape { linear, epsilon: 1e-5, residual, centered, keeps };
                let case = Case::random(shape);
                let [want_normalized, want] = case.on_cpu();
                let mut first: Option<[Vec<f32>; 2]> = None;
                for variant in Variant::SPLIT {
                    let what = format!("{variant:?} of {shape:?}");
                    let got = case.on_gpu(&gpu, variant, usize::MAX / PANEL).await;
                    assert_close(&what, &got[1], &want, (1e-6 + 4e-6 * (inputs as f32).sqrt(), 0.0));
                    match keeps {
                        true => assert_close(&what, &got[0], &want_normalized, (1e-5, 1e-5)),
                        false => assert!(got[0].iter().all(|&value| value == UNTOUCHED), "{what}"),
                    }
                    let first = first.get_or_insert_with(|| got.clone());
                    // a hardware driver fuses other multiplications and additions in each kernel
                    let same_bits = gpu.class() == AdapterClass::Software;
                    assert!(!same_bits || *first == got, "{what} differs from the other variant");
                }
            }
        }
    }
}

/// A row alone, beside others, or with split weights: the same bits.
#[device_test]
async fn a_normalized_row_does_not_depend_on_its_neighbours() {
    let gpu = gpu().await;
    for precision in WeightPrecision::ALL {
        let (rows, inputs, outputs) = (6, 75, 203);
        let activation = Activation::Relu;
        let linear =
            LinearShape { rows, inputs, outputs, scale: 1.0, bias: true, activation, join: None, precision };
        let shape =
            NormalizedLinearShape { linear, epsilon: 1e-5, residual: true, centered: true, keeps: true };
        let case = Case::random(shape);
        let [normalized, y] = case.on_gpu(&gpu, Variant::Matvec4RowsSplit, 8).await;
        for panels_per_part in [1, 3] {
            let parts = case.on_gpu(&gpu, Variant::Matvec4RowsSplit, panels_per_part).await;
            assert!(parts == [normalized.clone(), y.clone()], "{precision}, {panels_per_part} panels a part");
        }
        for row in 0..rows {
            let alone = case.row(row).on_gpu(&gpu, Variant::MatvecSplit, 2).await;
            assert!(alone[0] == normalized[row * inputs..][..inputs], "{precision}: inputs of row {row}");
            assert!(alone[1] == y[row * outputs..][..outputs], "{precision}: row {row}");
        }
    }
}

/// One launch on a GPU with few rows, unless the layer is as large as a vocabulary; else two.
#[portable_test]
fn few_rows_on_hardware_are_normalized_by_who_reads_them() {
    let linear = |rows, outputs| LinearShape {
        rows,
        inputs: 512,
        outputs,
        scale: 1.0,
        bias: true,
        activation: Activation::Identity,
        join: None,
        precision: WeightPrecision::F32,
    };
    let chosen = |rows, outputs, class| {
        let linear = linear(rows, outputs);
        let shape =
            NormalizedLinearShape { linear, epsilon: 1e-5, residual: true, centered: true, keeps: true };
        let layer = linear::dispatch(&linear, 0..outputs, class);
        fuse(&shape.norm(class), &layer, true).map(|fused| fused.kernel.name)
    };
    let hardware = |rows, outputs| chosen(rows, outputs, AdapterClass::Hardware);
    assert_eq!(hardware(1, 2048), Some("normalized_matvec_split_f32"));
    assert_eq!(hardware(16, 2048), Some("normalized_matvec_4rows_split_f32"));
    assert_eq!(hardware(33, 2048), None);
    assert_eq!(hardware(1, 32_000), None);
    assert_eq!(chosen(1, 2048, AdapterClass::Software), None);
}
