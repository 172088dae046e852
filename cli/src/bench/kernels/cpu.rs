//! The same operators on the CPU runner.

use std::hint::black_box;

use wordloom::activation::Activation;
use wordloom::cpu::{self, AttentionScores, Cache, StoredMatrix};
use wordloom::kernels::attention::AttentionShape;
use wordloom::kernels::cached_attention::CachedAttentionShape;
use wordloom::model::config::{NormKind, StackConfig};

use super::{Case, HISTORY, LENGTHS, Measurement, ROWS, STEP_ROWS, Shape, WEIGHT_BYTES};
use crate::bench::Steps;
use crate::bench::limits::{call_seconds, numbers};

/// Measures speed; the CPU runner has one variant of everything.
pub fn run(measured: &Measurement<'_>, steps: &mut Steps) -> Vec<Case> {
    let &Measurement { config, stack, precision, repeats, .. } = measured;
    let mut cases = Vec::new();
    let mut add = |about: Shape, seconds: f64| {
        cases.push(about.case(vec![about.timing("cpu", Some(seconds))], Some("cpu")));
        steps.step();
    };
    for &(layer, inputs, outputs) in &measured.layers {
        let values = numbers(inputs * outputs);
        let mut weights = vec![StoredMatrix::of(&values, inputs, precision)];
        let copies = (WEIGHT_BYTES / weights[0].bytes() as usize).clamp(1, 64);
        weights.resize_with(copies, || StoredMatrix::of(&values, inputs, precision));
        for rows in ROWS {
            let (x, mut y) = (numbers(rows * inputs), vec![0.0; rows * outputs]);
            let mut turn = weights.iter().cycle();
            let seconds = call_seconds(repeats, || {
                let Some(weight) = turn.next() else { return };
                let layer = cpu::Linear { weight: weight.view(), inputs, bias: None, scale: 1.0 };
                cpu::linear(&x, layer, Activation::Identity, None, black_box(&mut y));
            });
            add(Shape::linear(layer, rows, inputs, outputs, precision), seconds);
        }
    }
    let &StackConfig { heads, d_k, d_v, .. } = stack;
    let [keys_width, values_width] = [stack.key_width(), stack.value_width()];
    let scale = 1.0 / (d_k as f32).sqrt();
    for length in LENGTHS {
        let (keys, values) = (numbers(length * keys_width), numbers(length * values_width));
        let (mask, mut context) = (vec![1; length], vec![0.0; length * values_width]);
        let shape = AttentionShape {
            batch: 1,
            heads,
            queries: length,
            keys: length,
            d_head: d_k,
            d_value: d_v,
            scale,
            causal: false,
        };
        let [queries, keys] = [&keys, &keys].map(|data| columns(data, keys_width));
        let scores = AttentionScores { shape, queries, keys, key_mask: &mask, distance_bias: None };
        let values = columns(&values, values_width);
        let seconds = call_seconds(repeats, || cpu::attention(&scores, values, black_box(&mut context)));
        add(Shape::attention("whole", length, length, false, values_width), seconds);
    }
    for rows in STEP_ROWS {
        let queries = numbers(rows * keys_width);
        let (keys, values) = (numbers(rows * HISTORY * keys_width), numbers(rows * HISTORY * values_width));
        let (slots, key_counts) =
            ((0..(rows * HISTORY) as u32).collect::<Vec<_>>(), vec![HISTORY as u32; rows]);
        let mut context = vec![0.0; rows * values_width];
        let shape = CachedAttentionShape { rows, heads, d_head: d_k, d_value: d_v, capacity: HISTORY, scale };
        let q = columns(&queries, keys_width);
        let cache = Cache { keys: &keys, values: &values, slots: &slots, key_counts: &key_counts };
        let seconds = call_seconds(repeats, || {
            cpu::cached_attention(&shape, q, cache, None, black_box(&mut context));
        });
        add(Shape::attention("cached", rows, HISTORY, true, values_width), seconds);
    }
    let width = config.d_model;
    let (gamma, beta) = (vec![1.0; width], vec![0.0; width]);
    let beta = (config.norm_kind != NormKind::Rms).then_some(&beta[..]);
    for rows in ROWS {
        let (x, residual, mut y) = (numbers(rows * width), numbers(rows * width), vec![0.0; rows * width]);
        let seconds = call_seconds(repeats, || {
            cpu::layer_norm(&x, Some(&residual), &gamma, beta, 1e-5, black_box(&mut y))
        });
        add(Shape::norm(rows, width), seconds);
    }
    cases
}

fn columns(data: &[f32], stride: usize) -> cpu::Columns<'_> {
    cpu::Columns { data, stride, first: 0 }
}
