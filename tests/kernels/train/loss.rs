//! Losses, and their sums.

use wordloom::kernels::softmax_loss::{SoftmaxLossShape, dispatch};
use wordloom::kernels::{stride, sum_losses};

use super::{TOLERANCE, assert_near, run_twice};
use crate::common::{device_test, gpu};
use crate::{UNTOUCHED, pad, random, unpad, upload, upload_u32};

const NO_LABEL: u32 = u32::MAX;

struct Case {
    shape: SoftmaxLossShape,
    logits: Vec<f32>,
    labels: Vec<u32>,
    weight: f32,
}

impl Case {
    fn random(shape: SoftmaxLossShape) -> Self {
        let SoftmaxLossShape { rows, vocabulary, .. } = shape;
        let logits = random(1, rows * vocabulary).iter().map(|logit| 5.0 * logit).collect();
        let label = |row: usize| if row % 4 == 3 { NO_LABEL } else { (row * 37 % vocabulary) as u32 };
        Self { shape, logits, labels: (0..rows).map(label).collect(), weight: 0.125 }
    }

    /// Losses `[rows, 4]` and gradient in f64.
    fn exact(&self) -> (Vec<f64>, Vec<f64>) {
        let (mut losses, mut gradient) = (Vec::new(), Vec::new());
        let smoothing = f64::from(self.shape.smoothing);
        let vocabulary = self.shape.vocabulary as f64;
        for (logits, &label) in self.logits.chunks_exact(self.shape.vocabulary).zip(&self.labels) {
            if label == NO_LABEL {
                losses.extend([0.0; 4]);
                gradient.extend(vec![0.0; logits.len()]);
                continue;
            }
            let label = label as usize;
            let log_sum = logits.iter().map(|&logit| f64::from(logit).exp()).sum::<f64>().ln();
            let loss = |token: usize| log_sum - f64::from(logits[token]);
            let mean = (0..logits.len()).map(loss).sum::<f64>() / vocabulary;
            let is_best = logits.iter().all(|&other| logits[label] >= other);
            let smoothed = (1.0 - smoothing) * loss(label) + smoothing * mean;
            losses.extend([loss(label), smoothed, f64::from(u8::from(is_best)), 1.0]);
            gradient.extend((0..logits.len()).map(|token| {
                let hot = if token == label { 1.0 - smoothing } else { 0.0 };
                f64::from(self.weight) * ((-loss(token)).exp() - hot - smoothing / vocabulary)
            }));
        }
        (losses, gradient)
    }
}

#[device_test]
async fn losses_and_gradients_are_those_of_the_formula() {
    let gpu = gpu().await;
    for (rows, vocabulary) in
        [(1, 1), (2, 2), (5, 7), (4, 64), (9, 255), (3, 1023), (7, 1025), (300, 37), (2, 5003)]
    {
        for (smoothing, gradient) in [(0.0, true), (0.1, true), (0.1, false)] {
            let shape = SoftmaxLossShape { rows, vocabulary, smoothing, weight_word: 2, gradient };
            let mut case = Case::random(shape);
            // a label that is the best
            case.logits[case.labels[0] as usize] = 6.0;
            let what = format!("{shape:?}");
            let (want, want_gradient) = case.exact();
            // three rows before them, and one after
            let labels = [&[7; 3][..], &case.labels, &[1]].concat();
            let inputs = [upload_u32(&gpu, &labels), upload_u32(&gpu, &[9, 9, case.weight.to_bits()])];
            let logits = pad(&case.logits, vocabulary, 7.0);
            let outputs = [logits.clone(), vec![UNTOUCHED; 4 * (rows + 4)]];
            let got = run_twice(&gpu, &dispatch(&shape, 3), &inputs.each_ref(), &outputs).await;
            if gradient {
                let got = unpad(&what, &got[0], rows, vocabulary);
                // a vocabulary of one token has the gradient 0, but for rounding
                if vocabulary > 1 {
                    assert_near(&what, &got, &want_gradient, TOLERANCE);
                }
            } else {
                assert_eq!(got[0], logits, "{what}: the logits stay");
            }
            assert_near(&what, &got[1][12..12 + 4 * rows], &want, TOLERANCE);
            let others = [&got[1][..12], &got[1][12 + 4 * rows..]].concat();
            assert!(others.iter().all(|&other| other == UNTOUCHED), "{what}: losses of other rows");
        }
    }
}

/// The first of equal logits is the best; huge logits do not overflow.
#[device_test]
async fn equal_and_huge_logits() {
    let gpu = gpu().await;
    let mut logits = vec![0.0f32; 4 * 600];
    logits[600] = 1e30;
    logits[2 * 600 + 599] = -1e30;
    let labels = [0, 0, 0, 1];
    let shape = SoftmaxLossShape { rows: 4, vocabulary: 600, smoothing: 0.0, weight_word: 0, gradient: true };
    let inputs = [upload_u32(&gpu, &labels), upload_u32(&gpu, &[1f32.to_bits()])];
    let outputs = [logits, vec![UNTOUCHED; 16]];
    let got = run_twice(&gpu, &dispatch(&shape, 0), &inputs.each_ref(), &outputs).await;
    let losses: Vec<&[f32]> = got[1].chunks_exact(4).collect();
    let near = |row: usize, want: f64| {
        assert!((f64::from(losses[row][0]) - want).abs() < 1e-5, "row {row}: {:?}", losses[row]);
    };
    near(0, 600f64.ln());
    near(1, 0.0);
    near(2, 599f64.ln());
    near(3, 600f64.ln());
    let correct: Vec<f32> = losses.iter().map(|row| row[2]).collect();
    assert_eq!(correct, [1.0, 1.0, 1.0, 0.0]);
    assert!(got[0].iter().all(|gradient| gradient.is_finite()));
}

#[device_test]
async fn losses_are_summed_into_a_slot() {
    let gpu = gpu().await;
    for rows in [1, 2, 255, 256, 257, 1000] {
        let losses = random(1, 4 * rows);
        let before = random(2, 3 * 4);
        for (slot, adds) in [(0, false), (1, true), (2, false), (3, true)] {
            let inputs = [upload(&gpu, &losses), upload_u32(&gpu, &[5, slot])];
            let dispatch = sum_losses::dispatch(rows, 3, 1, adds);
            let got = run_twice(&gpu, &dispatch, &inputs.each_ref(), std::slice::from_ref(&before)).await;
            let mut want: Vec<f64> = before.iter().copied().map(f64::from).collect();
            if slot < 3 {
                for (column, want) in want[4 * slot as usize..][..4].iter_mut().enumerate() {
                    let sum: f64 = losses.iter().skip(column).step_by(4).copied().map(f64::from).sum();
                    *want = sum + if adds { *want } else { 0.0 };
                }
            }
            assert_near(&format!("{rows} rows, slot {slot}"), &got[0], &want, TOLERANCE);
        }
    }
}

#[device_test]
async fn a_label_beyond_the_vocabulary_counts_nothing() {
    let gpu = gpu().await;
    let shape = SoftmaxLossShape { rows: 1, vocabulary: 5, smoothing: 0.1, weight_word: 0, gradient: true };
    let inputs = [upload_u32(&gpu, &[5]), upload_u32(&gpu, &[1f32.to_bits()])];
    let outputs = [random(1, stride(5)), vec![UNTOUCHED; 4]];
    let got = run_twice(&gpu, &dispatch(&shape, 0), &inputs.each_ref(), &outputs).await;
    assert_eq!(got, [vec![0.0; 8], vec![0.0; 4]]);
}
