//! Linear layers: all kernels, precisions, split weights, activations.

use wordloom::activation::Activation;
use wordloom::answers::sizes;
use wordloom::cpu::{self, Linear, WeightMatrix};
use wordloom::gpu::Gpu;
use wordloom::join::Join;
use wordloom::kernels::linear::{LinearShape, Variant, dispatch_variant};
use wordloom::kernels::{PANEL, panels, stride};
use wordloom::precision::WeightPrecision;

use crate::common::{assert_close, device_test, gpu, one_in_browsers};
use crate::{fixture, pad, random, read, run, unpad, untouched, upload, upload_u32};

struct LinearCase {
    shape: LinearShape,
    x: Vec<f32>,
    weight: Vec<f32>,
    bias: Vec<f32>,
    z: Vec<f32>,
}

impl LinearCase {
    fn random(shape: LinearShape) -> Self {
        let LinearShape { rows, inputs, outputs, .. } = shape;
        let weight = random(2, outputs * inputs);
        let (x, bias, z) = (random(1, rows * inputs), random(3, outputs), random(4, rows * outputs));
        Self { shape, x, weight, bias, z }
    }

    fn on_cpu(&self) -> Vec<f32> {
        let shape = self.shape;
        let mut y = vec![0.0; shape.rows * shape.outputs];
        let bias = shape.bias.then_some(&self.bias[..]);
        // the rounded weights in f32: with 8-bit weights the CPU also rounds x, and a GPU does not
        let mut weight = self.weight.clone();
        weight.chunks_exact_mut(shape.inputs).for_each(|row| shape.precision.round_row(row));
        let weight = WeightMatrix::F32(&weight);
        let layer = Linear { weight, inputs: shape.inputs, bias, scale: shape.scale };
        let join = shape.join.map(|join| (join, &self.z[..]));
        cpu::linear(&self.x, layer, shape.activation, join, &mut y);
        y
    }

    /// `panels_per_part`: size of the parts of the weights.
    async fn on_gpu(&self, gpu: &Gpu, variant: Variant, panels_per_part: usize) -> Vec<f32> {
        let LinearShape { rows, inputs, outputs, precision, .. } = self.shape;
        let x = upload(gpu, &pad(&self.x, inputs, 7.0));
        let bias = upload(gpu, &pad(&self.bias, outputs, 0.0));
        let z = upload(gpu, &pad(&self.z, outputs, 7.0));
        let y = untouched(gpu, rows * stride(outputs));
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
                let dispatch = dispatch_variant(&self.shape, part.clone(), variant);
                (dispatch, vec![&x, weight, &bias, &z, &y])
            })
            .collect();
        run(gpu, &launches);
        unpad(&format!("{variant:?}, {:?}", self.shape), &read(gpu, &y).await, rows, outputs)
    }
}

#[device_test]
async fn linear_agrees_in_every_variant_bit_by_bit() {
    let gpu = gpu().await;
    let options = [
        (1.0, false, Activation::Identity, None),
        (1.0, true, Activation::Relu, Some(Join::Add)),
        (0.3, true, Activation::GeluTanh, Some(Join::Multiply)),
    ];
    for (place, [rows, inputs, outputs]) in sizes::LINEAR.into_iter().enumerate() {
        for (scale, bias, activation, join) in one_in_browsers(place, options) {
            for precision in one_in_browsers(place / 3, WeightPrecision::ALL) {
                let shape = LinearShape { rows, inputs, outputs, scale, bias, activation, join, precision };
                let case = LinearCase::random(shape);
                let want = case.on_cpu();
                let mut first: [Option<Vec<f32>>; 2] = [None, None];
                for variant in Variant::ALL {
                    let what = format!("{variant:?} of {shape:?}");
                    let y = case.on_gpu(&gpu, variant, usize::MAX / PANEL).await;
                    // products of numbers below 1: the error grows with the number of summands
                    assert_close(&what, &y, &want, (1e-6 + 4e-6 * (inputs as f32).sqrt(), 0.0));
                    let first = first[usize::from(variant.splits_inputs())].get_or_insert_with(|| y.clone());
                    assert!(*first == y, "{what} differs from the variants that sum in the same order");
                }
            }
        }
    }
}

#[device_test]
async fn linear_is_right_for_weights_in_parts() {
    let gpu = gpu().await;
    let cases =
        WeightPrecision::ALL.into_iter().flat_map(|precision| [1, 4, 9, 70].map(|rows| (precision, rows)));
    for (precision, rows) in cases {
        let activation = Activation::Identity;
        let shape = LinearShape {
            precision,
            rows,
            inputs: 33,
            outputs: 203,
            scale: 0.7,
            bias: true,
            activation,
            join: Some(Join::Add),
        };
        let case = LinearCase::random(shape);
        for variant in Variant::ALL {
            let whole = case.on_gpu(&gpu, variant, 8).await;
            for panels_per_part in [1, 2, 3] {
                let parts = case.on_gpu(&gpu, variant, panels_per_part).await;
                assert!(
                    whole == parts,
                    "{variant:?}, {precision}, {rows} rows, {panels_per_part} panels a part"
                );
            }
        }
    }
}

/// A layer of f32 weights without a factor or a join.
fn plain(rows: usize, inputs: usize, outputs: usize, bias: bool, activation: Activation) -> LinearShape {
    let precision = WeightPrecision::F32;
    LinearShape { rows, inputs, outputs, scale: 1.0, bias, activation, join: None, precision }
}

/// Rounded weights give the same result as weights that the precision rounds.
#[device_test]
async fn stored_weights_are_the_rounded_ones() {
    let gpu = gpu().await;
    for precision in WeightPrecision::ALL {
        for rows in [1, 4, 12, 65] {
            let exact = LinearCase::random(plain(rows, 75, 131, true, Activation::Identity));
            let mut rounded = LinearCase::random(exact.shape);
            rounded.weight.chunks_exact_mut(75).for_each(|row| precision.round_row(row));
            let stored = LinearCase { shape: LinearShape { precision, ..exact.shape }, ..exact };
            for variant in Variant::ALL {
                let got = stored.on_gpu(&gpu, variant, 2).await;
                let want = rounded.on_gpu(&gpu, variant, 2).await;
                // the 8-bit scale comes after the sum, not before
                let tolerance = if precision == WeightPrecision::Q8 { 1e-5 } else { 0.0 };
                assert_close(&format!("{variant:?} of {precision}"), &got, &want, (tolerance, 0.0));
            }
        }
    }
}

#[device_test]
async fn linear_is_a_matrix_product() {
    let gpu = gpu().await;
    let tensors = fixture("matmul");
    for case in (0..9).map(|i| format!("linear.{i}")) {
        let tensor = |name: &str| tensors.f32(&format!("{case}.{name}"));
        let dims = tensors.shape(&format!("{case}.weight"));
        let (outputs, inputs) = (dims[0], dims[1]);
        let x = tensor("x");
        let rows = x.len() / inputs;
        for (bias, want) in [(true, tensor("y")), (false, tensor("y_nobias"))] {
            let activation = Activation::Identity;
            let shape = plain(rows, inputs, outputs, bias, activation);
            let (x, weight, bias) = (x.clone(), tensor("weight"), tensor("bias"));
            let z = vec![0.0; rows * outputs];
            let layer = LinearCase { shape, x, weight, bias, z };
            for variant in Variant::ALL {
                let y = layer.on_gpu(&gpu, variant, 100).await;
                let tolerance = 1e-5 * (inputs as f32).sqrt();
                assert_close(&format!("{case} by {variant:?}"), &y, &want, (tolerance, 0.0));
            }
        }
    }
}

/// A layer of one input with the weight 1 equals its activation.
#[device_test]
async fn activations_are_those_of_the_reference() {
    let gpu = gpu().await;
    let tensors = fixture("activations");
    let x = tensors.f32("x");
    for (name, activation) in [
        ("relu", Activation::Relu),
        ("gelu_erf", Activation::Gelu),
        ("gelu_tanh", Activation::GeluTanh),
        ("quick_gelu", Activation::QuickGelu),
        ("silu", Activation::Silu),
        ("sigmoid", Activation::Sigmoid),
        ("tanh", Activation::Tanh),
    ] {
        let rows = x.len();
        let shape = plain(rows, 1, 1, false, activation);
        let case = LinearCase { shape, x: x.clone(), weight: vec![1.0], bias: vec![0.0], z: vec![0.0; rows] };
        let y = case.on_gpu(&gpu, Variant::MatmulRegisters, 1).await;
        assert_close(name, &y, &tensors.f32(name), (2e-6, 2e-6));
    }
}

/// Folded launches: an axis of a dispatch holds 65,535 workgroups.
#[device_test]
async fn linear_of_more_rows_than_an_axis_holds() {
    let gpu = gpu().await;
    let shape = plain(70_001, 4, 4, false, Activation::Identity);
    let case = LinearCase::random(shape);
    let y = case.on_gpu(&gpu, Variant::MatvecWide, 1).await;
    assert_close("matvec", &y, &case.on_cpu(), (1e-5, 0.0));
}
