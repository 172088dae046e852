//! The gradients of linear layers.

use wordloom::gpu::Gpu;
use wordloom::kernels::linear_gradient::{
    Earlier, LinearGradientShape, Variant, choose, input_dispatch, input_dispatch_variant, weight_dispatch,
    weight_dispatch_variant,
};
use wordloom::kernels::{AdapterClass, PANEL, stride};

use super::{TOLERANCE, assert_near, dot, from_panels, run_twice, to_panels};
use crate::common::{device_test, gpu, portable_test};
use crate::{UNTOUCHED, pad, random, read, run, unpad, untouched, upload};

/// Rows, inputs and outputs on both sides of every tile.
const SIZES: [[usize; 3]; 12] = [
    [1, 1, 1],
    [1, 63, 130],
    [3, 5, 7],
    [15, 64, 16],
    [16, 65, 17],
    [17, 4, 63],
    [63, 61, 64],
    [64, 128, 65],
    [65, 66, 127],
    [129, 30, 129],
    [200, 67, 100],
    [517, 36, 70],
];

struct Case {
    shape: LinearGradientShape,
    x: Vec<f32>,
    dy: Vec<f32>,
    weight: Vec<f32>,
    /// As x, and as the weight.
    earlier: [Vec<f32>; 2],
}

impl Case {
    fn random([rows, inputs, outputs]: [usize; 3]) -> Self {
        Self {
            shape: LinearGradientShape { rows, inputs, outputs, scale: 0.75 },
            x: random(1, rows * inputs),
            dy: random(2, rows * outputs),
            weight: random(3, outputs * inputs),
            earlier: [random(4, rows * inputs), random(5, outputs * inputs)],
        }
    }

    fn input_gradient(&self, earlier: bool) -> Vec<f64> {
        let LinearGradientShape { rows, inputs, outputs, .. } = self.shape;
        let element = |at: usize| {
            let (row, input) = (at / inputs, at % inputs);
            let product = dot(outputs, |o| (self.dy[row * outputs + o], self.weight[o * inputs + input]));
            0.75 * product + if earlier { f64::from(self.earlier[0][at]) } else { 0.0 }
        };
        (0..rows * inputs).map(element).collect()
    }

    /// With the earlier gradient.
    fn weight_gradient(&self) -> Vec<f64> {
        let LinearGradientShape { rows, inputs, outputs, .. } = self.shape;
        let element = |at: usize| {
            let (output, input) = (at / inputs, at % inputs);
            let product = dot(rows, |row| (self.dy[row * outputs + output], self.x[row * inputs + input]));
            f64::from(self.earlier[1][at]) + 0.75 * product
        };
        (0..outputs * inputs).map(element).collect()
    }
}

#[device_test]
async fn input_gradients_are_products_with_the_weights() {
    let gpu = gpu().await;
    for size in SIZES {
        let case = Case::random(size);
        let [rows, inputs, outputs] = size;
        let dy = upload(&gpu, &pad(&case.dy, outputs, 7.0));
        let weight = upload(&gpu, &to_panels(&case.weight, outputs, inputs));
        let earlier = upload(&gpu, &pad(&case.earlier[0], inputs, 7.0));
        for (mode, before) in [
            (Earlier::Nothing, vec![UNTOUCHED; rows * stride(inputs)]),
            (Earlier::Buffer, vec![UNTOUCHED; rows * stride(inputs)]),
            (Earlier::Output, pad(&case.earlier[0], inputs, 7.0)),
        ] {
            let want = case.input_gradient(mode != Earlier::Nothing);
            for variant in Variant::ALL {
                let dispatch = input_dispatch_variant(&case.shape, 0..outputs, mode, variant);
                let buffers = [&dy, &weight, &earlier];
                let got = run_twice(&gpu, &dispatch, &buffers, std::slice::from_ref(&before)).await;
                let what = format!("{size:?}, {mode:?}, {variant:?}");
                assert_near(&what, &unpad(&what, &got[0], rows, inputs), &want, TOLERANCE);
            }
        }
    }
}

#[device_test]
async fn weight_gradients_are_added_in_panels() {
    let gpu = gpu().await;
    for size in SIZES {
        let case = Case::random(size);
        let [_, inputs, outputs] = size;
        let dy = upload(&gpu, &pad(&case.dy, outputs, 7.0));
        let x = upload(&gpu, &pad(&case.x, inputs, 7.0));
        let before = to_panels(&case.earlier[1], outputs, inputs);
        for variant in Variant::ALL {
            let dispatch = weight_dispatch_variant(&case.shape, 0..outputs, variant);
            let got = run_twice(&gpu, &dispatch, &[&dy, &x], std::slice::from_ref(&before)).await;
            let got = from_panels(&got[0], outputs, inputs);
            assert_near(&format!("{size:?}, {variant:?}"), &got, &case.weight_gradient(), TOLERANCE);
        }
    }
}

#[device_test]
async fn weights_in_parts_have_the_same_gradients() {
    let gpu = gpu().await;
    let case = Case::random([70, 37, 203]);
    for (panels, class) in
        [(1, AdapterClass::Software), (2, AdapterClass::Hardware), (3, AdapterClass::Software)]
    {
        let (dx, weight_gradient) = in_parts(&gpu, &case, panels * PANEL, class).await;
        assert_near("dx", &dx, &case.input_gradient(false), TOLERANCE);
        assert_near("dW", &weight_gradient, &case.weight_gradient(), TOLERANCE);
    }
}

async fn in_parts(gpu: &Gpu, case: &Case, part_outputs: usize, class: AdapterClass) -> (Vec<f32>, Vec<f32>) {
    let LinearGradientShape { rows, inputs, outputs, .. } = case.shape;
    let dy = upload(gpu, &pad(&case.dy, outputs, 7.0));
    let x = upload(gpu, &pad(&case.x, inputs, 7.0));
    let dx = untouched(gpu, rows * stride(inputs));
    let mut weight_gradient = Vec::new();
    for first in (0..outputs).step_by(part_outputs) {
        let part = first..outputs.min(first + part_outputs);
        let rows_of_part = part.start * inputs..part.end * inputs;
        let weight = upload(gpu, &to_panels(&case.weight[rows_of_part.clone()], part.len(), inputs));
        let gradient = upload(gpu, &to_panels(&case.earlier[1][rows_of_part], part.len(), inputs));
        let earlier = if first == 0 { Earlier::Nothing } else { Earlier::Output };
        let launches = [
            (input_dispatch(&case.shape, part.clone(), earlier, class), vec![&dy, &weight, &x, &dx]),
            (weight_dispatch(&case.shape, part.clone(), class), vec![&dy, &x, &gradient]),
        ];
        run(gpu, &launches);
        weight_gradient.extend(from_panels(&read(gpu, &gradient).await, part.len(), inputs));
    }
    (unpad("dx", &read(gpu, &dx).await, rows, inputs), weight_gradient)
}

/// A sum of f32 over thousands of rows: the error grows with its length.
#[device_test]
async fn long_sums_stay_near() {
    let gpu = gpu().await;
    let case = Case::random([5000, 3, 2]);
    let dy = upload(&gpu, &pad(&case.dy, 2, 0.0));
    let x = upload(&gpu, &pad(&case.x, 3, 0.0));
    let before = to_panels(&case.earlier[1], 2, 3);
    for variant in Variant::ALL {
        let dispatch = weight_dispatch_variant(&case.shape, 0..2, variant);
        let got = run_twice(&gpu, &dispatch, &[&dy, &x], std::slice::from_ref(&before)).await;
        assert_near("5000 rows", &from_panels(&got[0], 2, 3), &case.weight_gradient(), 3e-5);
    }

    let case = Case::random([2, 3, 9000]);
    let dy = upload(&gpu, &pad(&case.dy, 9000, 0.0));
    let weight = upload(&gpu, &to_panels(&case.weight, 9000, 3));
    let earlier = upload(&gpu, &[0.0; 8]);
    let want = case.input_gradient(false);
    for variant in Variant::ALL {
        let dispatch = input_dispatch_variant(&case.shape, 0..9000, Earlier::Nothing, variant);
        let got = run_twice(&gpu, &dispatch, &[&dy, &weight, &earlier], &[vec![UNTOUCHED; 8]]).await;
        assert_near("9000 outputs", &unpad("dx", &got[0], 2, 3), &want, 3e-5);
    }
}

#[portable_test]
fn small_matrices_are_sliced_on_hardware() {
    assert_eq!(choose(512, 512, AdapterClass::Hardware), Variant::Slices);
    assert_eq!(choose(32_000, 512, AdapterClass::Hardware), Variant::Tiles);
    assert_eq!(choose(512, 512, AdapterClass::Software), Variant::Tiles);
}
