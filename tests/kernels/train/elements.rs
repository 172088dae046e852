//! Activations, dropout, sums of columns, copies of rows.

use wordloom::activation::Activation;
use wordloom::kernels::activate::{ActivateShape, dispatch, gradient_dispatch};
use wordloom::kernels::dropout::{self, Dropout};
use wordloom::kernels::shares::Shares;
use wordloom::kernels::{column_sums, copy_rows, stride};

use super::linear::add_shares;
use super::philox::word;
use super::{TOLERANCE, assert_near, run_twice};
use crate::common::{device_test, gpu};
use crate::{UNTOUCHED, pad, random, unpad, upload, upload_u32};

const ACTIVATIONS: [Activation; 8] = [
    Activation::Identity,
    Activation::Relu,
    Activation::Gelu,
    Activation::GeluTanh,
    Activation::QuickGelu,
    Activation::Silu,
    Activation::Sigmoid,
    Activation::Tanh,
];

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

/// Value and derivative in f64.
fn exact(activation: Activation, x: f64) -> (f64, f64) {
    let swish = |a: f64| {
        let s = sigmoid(a * x);
        (x * s, s + a * x * s * (1.0 - s))
    };
    match activation {
        Activation::Identity => (x, 1.0),
        Activation::Relu => (x.max(0.0), if x > 0.0 { 1.0 } else { 0.0 }),
        Activation::Gelu => {
            let phi = 0.5 * (1.0 + libm::erf(x / 2f64.sqrt()));
            let density = (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
            (x * phi, phi + x * density)
        }
        Activation::GeluTanh => {
            let root = (2.0 / std::f64::consts::PI).sqrt();
            let t = (root * (x + 0.044715 * x.powi(3))).tanh();
            let slope = root * (1.0 + 3.0 * 0.044715 * x * x);
            (0.5 * x * (1.0 + t), 0.5 * (1.0 + t) + 0.5 * x * (1.0 - t * t) * slope)
        }
        Activation::QuickGelu => swish(1.702),
        Activation::Silu => swish(1.0),
        Activation::Sigmoid => (sigmoid(x), sigmoid(x) * (1.0 - sigmoid(x))),
        Activation::Tanh => (x.tanh(), 1.0 - x.tanh().powi(2)),
    }
}

#[device_test]
async fn activations_and_their_gradients_are_those_of_the_formulas() {
    let gpu = gpu().await;
    for (case, activation) in ACTIVATIONS.into_iter().enumerate() {
        let (rows, width) = [(1, 1), (3, 6), (70, 65), (9, 64)][case % 4];
        for (factor, earlier) in [(false, false), (true, false), (false, true), (true, true)] {
            let mut z: Vec<f32> = random(1, rows * width).iter().map(|z| 6.0 * z).collect();
            z[0] = 0.0;
            let [dy, factors, earliers] = [2, 3, 4].map(|seed| random(seed, rows * width));
            let inputs = [&dy, &z, &factors, &earliers].map(|data| upload(&gpu, &pad(data, width, 7.0)));
            let shape = ActivateShape { rows, width, activation, factor, earlier };
            let outputs = [vec![UNTOUCHED; rows * stride(width)]];
            let of_z = [&inputs[1], &inputs[2], &inputs[3]];
            let y = run_twice(&gpu, &dispatch(&shape), &of_z, &outputs).await;
            let dz = run_twice(&gpu, &gradient_dispatch(&shape), &inputs.each_ref(), &outputs).await;
            let want = |of: fn(f64, f64, f64) -> f64| -> Vec<f64> {
                let element = |i: usize| {
                    let (value, slope) = exact(activation, z[i].into());
                    let product = of(value, slope, dy[i].into());
                    product * if factor { factors[i].into() } else { 1.0 }
                        + if earlier { earliers[i].into() } else { 0.0 }
                };
                (0..rows * width).map(element).collect()
            };
            let what = format!("{shape:?}");
            assert_near(&what, &unpad(&what, &y[0], rows, width), &want(|value, _, _| value), TOLERANCE);
            let dz = unpad(&what, &dz[0], rows, width);
            assert_near(&what, &dz, &want(|_, slope, dy| slope * dy), TOLERANCE);
        }
    }
}

/// Squares and cubes of large inputs overflow; the derivative does not.
#[device_test]
async fn gradients_of_huge_inputs_are_the_limits() {
    let gpu = gpu().await;
    let z = [-1e30f32, -1e10, -200.0, -20.0, 20.0, 200.0, 1e10, 1e30];
    let inputs =
        [upload(&gpu, &[1.0; 8]), upload(&gpu, &z), upload(&gpu, &[0.0; 8]), upload(&gpu, &[0.0; 8])];
    for activation in ACTIVATIONS {
        let shape = ActivateShape { rows: 1, width: 8, activation, factor: false, earlier: false };
        let dispatch = gradient_dispatch(&shape);
        let got = run_twice(&gpu, &dispatch, &inputs.each_ref(), &[vec![UNTOUCHED; 8]]).await;
        let (low, high) = match activation {
            Activation::Identity => (1.0, 1.0),
            Activation::Sigmoid | Activation::Tanh => (0.0, 0.0),
            _ => (0.0, 1.0),
        };
        let want: Vec<f64> = z.iter().map(|&z| if z < 0.0 { low } else { high }).collect();
        let far = got[0].iter().zip(want).all(|(&got, want)| (f64::from(got) - want).abs() < 1e-6);
        assert!(far, "{activation:?}: {:?}", got[0]);
    }
}

#[device_test]
async fn columns_are_summed_over_rows() {
    let gpu = gpu().await;
    for (rows, width) in [(1, 1), (2, 3), (63, 16), (64, 17), (65, 4), (700, 15), (130, 100)] {
        let (x, before) = (random(1, rows * width), random(2, width));
        let buffer = upload(&gpu, &pad(&x, width, 7.0));
        let column = |c: usize| -> f64 { (0..rows).map(|r| f64::from(x[r * width + c])).sum() };
        let want: Vec<f64> = (0..width).map(|c| f64::from(before[c]) + column(c)).collect();
        for shares in [1, 2, 9].map(|count| Shares::new(rows, count)) {
            let what = format!("[{rows}, {width}], {shares:?}");
            let dispatch = column_sums::dispatch(rows, width, shares);
            let got = add_shares(&gpu, (&dispatch, shares), &[&buffer], pad(&before, width, 0.0)).await;
            assert_near(&what, &unpad(&what, &got, 1, width), &want, TOLERANCE);
        }
    }
}

#[device_test]
async fn rows_are_copied() {
    let gpu = gpu().await;
    for (rows, width, first, at) in [(1, 1, 0, 0), (3, 5, 2, 1), (40, 64, 7, 9), (33, 66, 0, 4)] {
        let source = random(1, (first + rows + 2) * stride(width));
        let before = random(2, (at + rows + 3) * stride(width));
        let dispatch = copy_rows::dispatch(rows, width, first, at);
        let got = run_twice(&gpu, &dispatch, &[&upload(&gpu, &source)], std::slice::from_ref(&before)).await;
        let mut want = before;
        let count = rows * stride(width);
        want[at * stride(width)..][..count].copy_from_slice(&source[first * stride(width)..][..count]);
        assert_eq!(got[0], want, "{rows} rows of {width} from {first} to {at}");
    }
}

#[device_test]
async fn dropout_has_the_words_of_its_elements() {
    let gpu = gpu().await;
    let state = [0x1234_5678u32, 0x9abc_def0, 77, 1];
    let step_state = upload_u32(&gpu, &state);
    for (rows, width) in [(1, 1), (2, 3), (5, 64), (33, 65), (7, 66), (9, 67)] {
        for (probability, earlier) in [(0.1, false), (0.5, true), (0.0, true), (0.0, false)] {
            let dropout = Dropout { probability, place: 19 };
            let (x, addend) = (random(1, rows * width), random(2, rows * width));
            let inputs = [&x, &addend].map(|data| upload(&gpu, &pad(data, width, 7.0)));
            let dispatch = dropout::dispatch(rows, width, dropout, earlier);
            let outputs = [vec![UNTOUCHED; rows * stride(width)]];
            let got = run_twice(&gpu, &dispatch, &[&inputs[0], &inputs[1], &step_state], &outputs).await;
            let mut dropped = 0;
            let element = |i: usize| {
                let drop = f64::from(word(state, 19, i as u32)) < f64::from(probability) * 2f64.powi(32);
                dropped += usize::from(drop);
                let kept = if drop { 0.0 } else { f64::from(x[i]) / (1.0 - f64::from(probability)) };
                kept + if earlier { f64::from(addend[i]) } else { 0.0 }
            };
            let want: Vec<f64> = (0..rows * width).map(element).collect();
            let what = format!("[{rows}, {width}] with {dropout:?}");
            assert_near(&what, &unpad(&what, &got[0], rows, width), &want, 1e-6);
            if rows * width > 300 {
                let share = dropped as f32 / (rows * width) as f32;
                assert!((share - probability).abs() < 0.1, "{what}: {share} dropped");
            }
        }
    }
}
