//! The gradients of linear layers.

use wordloom::gpu::{Buffer, Gpu};
use wordloom::kernels::linear_gradient::{Earlier, LinearGradientShape, input_dispatch, weight_dispatch};
use wordloom::kernels::shares::Shares;
use wordloom::kernels::{AdapterClass, Dispatch, PANEL, stride, sum_shares};

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

/// The ways to share out the summands that are tried.
const SHARES: [usize; 4] = [1, 2, 3, 9];

/// dx, twice, with the outputs shared out among workgroups.
async fn input_gradient(
    gpu: &Gpu,
    case: &Case,
    [dy, weight, earlier]: [&Buffer; 3],
    (mode, before): (Earlier, &[f32]),
    shares: Shares,
) -> Vec<f32> {
    let shape = &case.shape;
    let all = 0..shape.outputs;
    if shares.count == 1 {
        let dispatch = input_dispatch(shape, all, mode, shares);
        return run_twice(gpu, &dispatch, &[dy, weight, earlier], &[before.to_vec()]).await.remove(0);
    }
    let dispatch = input_dispatch(shape, all, Earlier::Nothing, shares);
    let sums = vec![UNTOUCHED; shares.count * shape.input_elements()];
    let sums = run_twice(gpu, &dispatch, &[dy, weight, earlier], &[sums]).await.remove(0);
    summed(gpu, &sums, shares, earlier, (mode, before)).await
}

/// The sum of shares, twice.
async fn summed(
    gpu: &Gpu,
    sums: &[f32],
    shares: Shares,
    earlier: &Buffer,
    (mode, before): (Earlier, &[f32]),
) -> Vec<f32> {
    let dispatch = sum_shares::dispatch(sums.len() / shares.count, shares.count, mode);
    run_twice(gpu, &dispatch, &[&upload(gpu, sums), earlier], &[before.to_vec()]).await.remove(0)
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
            (Earlier::Output, pad(&case.earlier[0], inputs, 0.0)),
        ] {
            let want = case.input_gradient(mode != Earlier::Nothing);
            for shares in SHARES.map(|count| Shares::new(outputs, count)) {
                let bound = [&dy, &weight, &earlier];
                let got = input_gradient(&gpu, &case, bound, (mode, &before), shares).await;
                let what = format!("{size:?}, {mode:?}, {shares:?}");
                let got = match (shares.count, mode) {
                    // what is added in the padding is not read
                    (2.., Earlier::Buffer) => cut(&got, rows, inputs),
                    _ => unpad(&what, &got, rows, inputs),
                };
                assert_near(&what, &got, &want, TOLERANCE);
            }
        }
    }
}

/// Rows without their padding, whatever it holds.
fn cut(padded: &[f32], rows: usize, inputs: usize) -> Vec<f32> {
    let of_row = |row: usize| padded[row * stride(inputs)..][..inputs].to_vec();
    (0..rows).flat_map(of_row).collect()
}

#[device_test]
async fn weight_gradients_are_added_in_panels() {
    let gpu = gpu().await;
    for size in SIZES {
        let case = Case::random(size);
        let [rows, inputs, outputs] = size;
        for shares in SHARES.map(|count| Shares::new(rows, count)) {
            let got = weight_gradient(&gpu, &case, shares).await;
            let got = from_panels(&got, outputs, inputs);
            assert_near(&format!("{size:?}, {shares:?}"), &got, &case.weight_gradient(), TOLERANCE);
        }
    }
}

/// dW, twice, with the rows shared out among workgroups.
async fn weight_gradient(gpu: &Gpu, case: &Case, shares: Shares) -> Vec<f32> {
    let LinearGradientShape { inputs, outputs, .. } = case.shape;
    let dy = upload(gpu, &pad(&case.dy, outputs, 7.0));
    let x = upload(gpu, &pad(&case.x, inputs, 7.0));
    let before = to_panels(&case.earlier[1], outputs, inputs);
    let dispatch = weight_dispatch(&case.shape, 0..outputs, shares);
    add_shares(gpu, (&dispatch, shares), &[&dy, &x], before).await
}

/// What a launch adds to `before`, twice, with the summands shared out among workgroups.
pub(super) async fn add_shares(
    gpu: &Gpu,
    (dispatch, shares): (&Dispatch, Shares),
    inputs: &[&Buffer],
    before: Vec<f32>,
) -> Vec<f32> {
    if shares.count == 1 {
        return run_twice(gpu, dispatch, inputs, &[before]).await.remove(0);
    }
    let sums = vec![UNTOUCHED; shares.count * before.len()];
    let sums = run_twice(gpu, dispatch, inputs, &[sums]).await.remove(0);
    summed(gpu, &sums, shares, inputs[0], (Earlier::Output, &before)).await
}

#[device_test]
async fn weights_in_parts_have_the_same_gradients() {
    let gpu = gpu().await;
    let case = Case::random([70, 37, 203]);
    for panels in 1..=3 {
        let (dx, weight_gradient) = in_parts(&gpu, &case, panels * PANEL).await;
        assert_near("dx", &dx, &case.input_gradient(false), TOLERANCE);
        assert_near("dW", &weight_gradient, &case.weight_gradient(), TOLERANCE);
    }
}

async fn in_parts(gpu: &Gpu, case: &Case, part_outputs: usize) -> (Vec<f32>, Vec<f32>) {
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
        let [of_outputs, of_rows] = [part.len(), rows].map(|summands| Shares::new(summands, 1));
        let launches = [
            (input_dispatch(&case.shape, part.clone(), earlier, of_outputs), vec![&dy, &weight, &x, &dx]),
            (weight_dispatch(&case.shape, part.clone(), of_rows), vec![&dy, &x, &gradient]),
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
    for shares in [1, 40].map(|count| Shares::new(5000, count)) {
        let got = weight_gradient(&gpu, &case, shares).await;
        assert_near("5000 rows", &from_panels(&got, 2, 3), &case.weight_gradient(), 3e-5);
    }

    let case = Case::random([2, 3, 9000]);
    let dy = upload(&gpu, &pad(&case.dy, 9000, 0.0));
    let weight = upload(&gpu, &to_panels(&case.weight, 9000, 3));
    let earlier = upload(&gpu, &[0.0; 8]);
    let want = case.input_gradient(false);
    for shares in [1, 40].map(|count| Shares::new(9000, count)) {
        let before = (Earlier::Nothing, &[UNTOUCHED; 8][..]);
        let got = input_gradient(&gpu, &case, [&dy, &weight, &earlier], before, shares).await;
        assert_near("9000 outputs", &unpad("dx", &got, 2, 3), &want, 3e-5);
    }
}

#[portable_test]
fn workgroups_share_out_the_summands_of_few_tiles_on_hardware() {
    let shape = |rows, outputs| LinearGradientShape { rows, inputs: 512, outputs, scale: 1.0 };
    let shares = |rows, outputs, class| {
        let shape = shape(rows, outputs);
        let all = 0..outputs;
        [shape.input_shares(&all, class).count, shape.weight_shares(&all, class).count]
    };
    let (hardware, software) = (AdapterClass::Hardware, AdapterClass::Software);
    assert_eq!(shares(8192, 512, hardware), [1, 8]);
    assert_eq!(shares(64, 32_000, hardware), [63, 1]);
    assert_eq!(shares(64, 512, hardware), [2, 1], "256 summands each");
    assert_eq!(shares(8192, 512, software), [1, 1]);
    assert_eq!(Shares::new(100, 4), Shares { length: 32, count: 4 });
    assert_eq!(Shares::new(100, 5), Shares { length: 32, count: 4 }, "whole steps");
    assert_eq!(Shares::new(5, 9), Shares { length: 32, count: 1 });
}
