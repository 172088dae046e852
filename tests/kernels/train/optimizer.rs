//! The norm of gradients, and steps of Adam.

use wordloom::kernels::adam::{self, AdamShape};
use wordloom::kernels::clip::{factor_dispatch, partial_sums, sum_squares_dispatch};

use super::{TOLERANCE, assert_near, run_twice, wide};
use crate::common::{device_test, gpu};
use crate::{UNTOUCHED, random, read, run, untouched, upload, upload_u32};

#[device_test]
async fn norms_of_several_buffers_give_the_factor() {
    let gpu = gpu().await;
    for sizes in [&[4][..], &[4092, 4096, 4100], &[12, 100_000, 8]] {
        let gradients: Vec<Vec<f32>> =
            sizes.iter().zip(1..).map(|(&words, seed)| random(seed, words)).collect();
        let buffers: Vec<_> = gradients.iter().map(|gradient| upload(&gpu, gradient)).collect();
        let count: usize = sizes.iter().map(|&words| partial_sums(words)).sum();
        let partials = untouched(&gpu, count);
        let mut first = 0;
        let mut launches = Vec::new();
        for (buffer, &words) in buffers.iter().zip(sizes) {
            launches.push((sum_squares_dispatch(words, first), vec![buffer, &partials]));
            first += partial_sums(words);
        }
        run(&gpu, &launches);
        let norm = gradients.iter().flatten().map(|&g| f64::from(g).powi(2)).sum::<f64>().sqrt();
        for max_norm in [None, Some(1.0), Some(1e6)] {
            let dispatch = factor_dispatch(count, max_norm);
            let got = run_twice(&gpu, &dispatch, &[&partials], &[vec![UNTOUCHED; 2]]).await;
            let factor = max_norm.map_or(1.0, |max| (f64::from(max) / (norm + 1e-6)).min(1.0));
            let what = format!("{sizes:?}, at most {max_norm:?}");
            assert_near(&what, &got[0][..1], &[norm], TOLERANCE);
            assert_near(&what, &got[0][1..2], &[factor], TOLERANCE);
        }
        let untouched: Vec<f32> = read(&gpu, &partials).await;
        assert!(untouched[..count].iter().all(|&partial| partial >= 0.0), "{sizes:?}: each block is summed");
    }
}

/// Several steps, with the moments of each step from the one before.
#[device_test]
async fn adam_is_that_of_the_papers() {
    let gpu = gpu().await;
    for (words, weight_decay) in [(4, 0.0f32), (256, 0.01), (5000, 0.1)] {
        let shape = AdamShape {
            beta1: 0.9,
            beta2: 0.999,
            epsilon: 1e-8,
            weight_decay,
            rate_word: 4,
            correction_words: [5, 6],
        };
        let clip_state = upload(&gpu, &[3.0, 0.5]);
        // the last four words are padding
        let padded = |mut values: Vec<f32>| {
            values[words - 4..].fill(0.0);
            values
        };
        let mut state = [padded(random(1, words)), vec![], vec![0.0; words], vec![0.0; words]];
        let mut exact = [wide(&state[0]), vec![0.0; words], vec![0.0; words]];
        for t in 1..=4 {
            let rate = 1e-3 * t as f32;
            let corrections = [0.9f64, 0.999].map(|beta| (1.0 / (1.0 - beta.powi(t))) as f32);
            let words = [rate, corrections[0], corrections[1]].map(f32::to_bits);
            let step_state = upload_u32(&gpu, &[&[1, 2, 3, 4], &words[..]].concat());
            state[1] = padded(random(10 + t as u32, state[0].len()));
            adam_step(&mut exact, &state[1], f64::from(rate), f64::from(weight_decay), t);
            let dispatch = adam::dispatch(&shape, state[0].len());
            let got = run_twice(&gpu, &dispatch, &[&step_state, &clip_state], &state).await;
            state = got.try_into().expect("four buffers");
            for (name, got, want) in [("weight", 0, 0), ("first moment", 2, 1), ("second moment", 3, 2)] {
                assert_near(&format!("step {t}: {name}"), &state[got], &exact[want], TOLERANCE);
            }
            assert!(state[1].iter().all(|&gradient| gradient == 0.0), "the gradient is reset");
            let padding = state.iter().flat_map(|values| &values[values.len() - 4..]);
            assert!(padding.clone().all(|&value| value == 0.0), "padding stays zero");
        }
    }
}

/// One step in f64: weights, first moments, second moments. Half of the gradient is clipped.
fn adam_step([w, m, v]: &mut [Vec<f64>; 3], gradient: &[f32], rate: f64, weight_decay: f64, t: i32) {
    for (i, &gradient) in gradient.iter().enumerate() {
        let g = 0.5 * f64::from(gradient);
        m[i] = 0.9 * m[i] + 0.1 * g;
        v[i] = 0.999 * v[i] + 0.001 * g * g;
        w[i] -= rate * weight_decay * w[i];
        let (corrected_m, corrected_v) = (m[i] / (1.0 - 0.9f64.powi(t)), v[i] / (1.0 - 0.999f64.powi(t)));
        w[i] -= rate * corrected_m / (corrected_v.sqrt() + 1e-8);
    }
}
