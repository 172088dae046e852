//! The CPU operators against results computed in f64 (`tests/data/kernels`, see its README for the tolerances).

mod common;

use common::{Tensors, assert_close, data, heads_to_columns, portable_test, split_top};
use wordloom::activation::Activation;
use wordloom::cpu::{self, Columns, Linear};
use wordloom::kernels::attention::AttentionShape;
use wordloom::kernels::cached_attention::CachedAttentionShape;
use wordloom::kernels::log_softmax_top_k::TopKShape;
use wordloom::scores::{EditKind, NO_TOKEN, ScoreEdit, ScoreRules, ScoreSpace};

fn fixture(name: &str) -> Tensors {
    Tensors::open(&data("kernels").join(name).with_extension("safetensors"))
}

fn whole(data: &[f32], width: usize) -> Columns<'_> {
    Columns { data, stride: width, first: 0 }
}

#[portable_test]
fn linear_is_a_matrix_product() {
    let tensors = fixture("matmul");
    for case in (0..).map(|i| format!("linear.{i}")).take_while(|case| tensors.has(&format!("{case}.x"))) {
        let tensor = |name: &str| tensors.f32(&format!("{case}.{name}"));
        let (x, weight, bias) = (tensor("x"), tensor("weight"), tensor("bias"));
        let inputs = tensors.shape(&format!("{case}.x"))[1];
        let tolerance = (1e-5 * (inputs as f32).sqrt(), 0.0);
        for (bias, want) in [(Some(&bias[..]), tensor("y")), (None, tensor("y_nobias"))] {
            let layer = Linear { weight: &weight, inputs, bias };
            let mut y = vec![f32::NAN; want.len()];
            cpu::linear(&x, layer, Activation::Identity, None, &mut y);
            assert_close(&case, &y, &want, tolerance);

            let mut added = vec![f32::NAN; want.len()];
            cpu::linear(&x, layer, Activation::Relu, Some(&want), &mut added);
            let want: Vec<f32> = want.iter().map(|y| y.max(0.0) + y).collect();
            assert_close(&format!("{case} with ReLU and residual"), &added, &want, (2.0 * tolerance.0, 0.0));
        }
    }
}

#[portable_test]
fn linear_multiplies_batches() {
    let tensors = fixture("matmul");
    for case in ["bmm.0", "bmm.1"] {
        let tensor = |name: &str| tensors.f32(&format!("{case}.{name}"));
        let (a, b, want) = (tensor("a"), tensor("b"), tensor("y"));
        let shape = tensors.shape(&format!("{case}.b"));
        let (inner, columns) = (shape[1], shape[2]);
        let rows = tensors.shape(&format!("{case}.a"))[1];
        for ((a, b), want) in
            a.chunks(rows * inner).zip(b.chunks(inner * columns)).zip(want.chunks(rows * columns))
        {
            let transposed: Vec<f32> =
                (0..columns).flat_map(|n| (0..inner).map(move |k| b[k * columns + n])).collect();
            let mut y = vec![f32::NAN; rows * columns];
            let layer = Linear { weight: &transposed, inputs: inner, bias: None };
            cpu::linear(a, layer, Activation::Identity, None, &mut y);
            assert_close(case, &y, want, (1e-5 * (inner as f32).sqrt(), 0.0));
        }
    }
}

/// Bit by bit among few rows; with the library for many rows to within the rounding of a sum of 259 terms.
#[portable_test]
fn a_row_does_not_depend_on_its_neighbours() {
    let (inputs, outputs, rows) = (259, 301, cpu::LIBRARY_ROWS - 1);
    let value = |i: usize| (i as f32 * 0.618).fract() - 0.5;
    let x: Vec<f32> = (0..rows * inputs).map(value).collect();
    let weight: Vec<f32> = (0..outputs * inputs).map(|i| value(i * 7)).collect();
    let layer = Linear { weight: &weight, inputs, bias: None };
    let mut together = vec![0.0; rows * outputs];
    cpu::linear(&x, layer, Activation::Identity, None, &mut together);
    for count in [1, 2, 3, 4, 5, 9] {
        for first in (0..rows - count).step_by(13) {
            let mut alone = vec![0.0; count * outputs];
            let x = &x[first * inputs..(first + count) * inputs];
            cpu::linear(x, layer, Activation::Identity, None, &mut alone);
            assert_eq!(
                alone,
                together[first * outputs..(first + count) * outputs],
                "{count} rows from {first}"
            );
        }
    }
    let many = [&x[..], &x[..]].concat();
    let mut by_library = vec![0.0; 2 * rows * outputs];
    cpu::linear(&many, layer, Activation::Identity, None, &mut by_library);
    let twice = [&together[..], &together[..]].concat();
    assert_close("many rows", &by_library, &twice, (1e-5 * (inputs as f32).sqrt(), 0.0));
}

/// The weights of one head whose keys are the identity matrix are the softmax of its queries.
#[portable_test]
fn attention_weights_are_a_softmax() {
    let tensors = fixture("softmax");
    for case in ["softmax.0", "softmax.1", "softmax.2"] {
        let tensor = |name: &str| tensors.f32(&format!("{case}.{name}"));
        let (x, mask, want) = (tensor("x"), tensor("mask"), tensor("y_zeros"));
        let keys = tensors.shape(&format!("{case}.x"))[2];
        let mask: Vec<u32> = mask.iter().map(|&keep| (keep != 0.0).into()).collect();
        check_softmax(case, &x, &mask, keys, &want);
    }
    let x = tensors.f32("softmax_extreme.x");
    check_softmax("softmax_extreme", &x, &vec![1; x.len()], 3, &tensors.f32("softmax_extreme.y"));
}

fn check_softmax(case: &str, x: &[f32], mask: &[u32], keys: usize, want: &[f32]) {
    // a query of its own batch, because each has its own mask
    let batch = x.len() / keys;
    let shape = AttentionShape { batch, heads: 1, queries: 1, keys, d_head: keys, scale: 1.0, causal: false };
    let identity: Vec<f32> =
        (0..batch * keys * keys).map(|i| f32::from((i % (keys * keys)).is_multiple_of(keys + 1))).collect();
    let mut weights = vec![f32::NAN; x.len()];
    cpu::attention_weights(&shape, whole(x, keys), whole(&identity, keys), mask, &mut weights);
    assert_close(case, &weights, want, (1e-6, 0.0));
}

#[portable_test]
fn attention_follows_the_formula() {
    let tensors = fixture("softmax");
    let &[batch, heads, length, d_head] = &tensors.shape("attention.q")[..] else {
        panic!("four dimensions")
    };
    let columns = |name: &str| heads_to_columns(&tensors.f32(name), [batch, heads, length, d_head]);
    let (q, k, v) = (columns("attention.q"), columns("attention.k"), columns("attention.v"));
    let mask: Vec<u32> = tensors.f32("attention.key_mask").iter().map(|&keep| (keep != 0.0).into()).collect();
    let scale = 1.0 / (d_head as f32).sqrt();
    let shape = AttentionShape { batch, heads, queries: length, keys: length, d_head, scale, causal: true };
    let width = heads * d_head;

    let mut weights = vec![f32::NAN; batch * heads * length * length];
    cpu::attention_weights(&shape, whole(&q, width), whole(&k, width), &mask, &mut weights);
    assert_close("weights", &weights, &tensors.f32("attention.probs_causal"), (1e-5, 0.0));

    let want = columns("attention.y_causal");
    let mut context = vec![f32::NAN; q.len()];
    cpu::attention(&shape, whole(&q, width), whole(&k, width), whole(&v, width), &mask, &mut context);
    assert_close("context", &context, &want, (1e-5, 0.0));

    // the same from one fused projection
    let fused: Vec<f32> = (0..batch * length)
        .flat_map(|row| [&q, &k, &v].map(|part| part[row * width..(row + 1) * width].to_vec()).concat())
        .collect();
    let part = |first| Columns { data: &fused, stride: 3 * width, first };
    context.fill(f32::NAN);
    cpu::attention(&shape, part(0), part(width), part(2 * width), &mask, &mut context);
    assert_close("context from a fused projection", &context, &want, (1e-5, 0.0));
}

/// Steps one by one through a cache whose rows are in any order, and gets what causal attention gives at once.
#[portable_test]
fn cached_attention_is_causal_attention() {
    let (rows, heads, d_head, length) = (3, 2, 7, 5);
    let width = heads * d_head;
    let value = |i: usize| (i as f32 * 0.37).sin();
    let qkv: Vec<f32> = (0..rows * length * 3 * width).map(value).collect();
    let shape = AttentionShape {
        batch: rows,
        heads,
        queries: length,
        keys: length,
        d_head,
        scale: 0.4,
        causal: true,
    };
    let part = |first| Columns { data: &qkv, stride: 3 * width, first };
    let mut want = vec![f32::NAN; rows * length * width];
    cpu::attention(&shape, part(0), part(width), part(2 * width), &vec![1; rows * length], &mut want);

    let capacity = length + 1;
    let (mut keys, mut values) =
        (vec![f32::NAN; rows * capacity * width], vec![f32::NAN; rows * capacity * width]);
    let mut slots = vec![u32::MAX; rows * capacity];
    for step in 0..length {
        let of_step: Vec<f32> = (0..rows)
            .flat_map(|row| &qkv[(row * length + step) * 3 * width..][..3 * width])
            .copied()
            .collect();
        // row r writes to the cache rows of row r + 1
        let cache_slots: Vec<u32> =
            (0..rows).map(|row| ((row + 1) % rows * capacity + step) as u32).collect();
        cpu::append_kv(&of_step, &cache_slots, width, &mut keys, &mut values);
        for (row, &slot) in cache_slots.iter().enumerate() {
            slots[row * capacity + step] = slot;
        }
        let mut context = vec![f32::NAN; rows * width];
        cpu::cached_attention(
            &CachedAttentionShape { rows, heads, d_head, capacity, scale: 0.4 },
            whole(&of_step, 3 * width),
            &keys,
            &values,
            &slots,
            &vec![step as u32 + 1; rows],
            &mut context,
        );
        for row in 0..rows {
            let want = &want[(row * length + step) * width..][..width];
            assert_close(&format!("step {step}"), &context[row * width..][..width], want, (1e-6, 0.0));
        }
    }
}

#[portable_test]
fn norms_are_those_of_the_reference() {
    let tensors = fixture("norm");
    for name in tensors.names() {
        let Some((case, kind)) = name.rsplit_once('.') else { continue };
        let Some((kind, epsilon)) = kind.split_once("_eps") else { continue };
        // "norm.0.layernorm_eps1e-05" has no further dot
        let epsilon: f32 = epsilon.parse().unwrap();
        let width = tensors.shape(&name)[1];
        let has_weights = tensors.has(&format!("{case}.weight"));
        let vector = |name: &str, default: f32| match has_weights {
            true => tensors.f32(&format!("{case}.{name}")),
            false => vec![default; width],
        };
        let (gamma, beta) = (vector("weight", 1.0), vector("bias", 0.0));
        let beta = (kind == "layernorm").then_some(&beta[..]);
        let x = tensors.f32(&format!("{case}.x"));
        let want = tensors.f32(&name);
        let tolerance = if case == "norm_offset" { 5e-3 } else { 1e-5 };

        let mut y = vec![f32::NAN; x.len()];
        cpu::layer_norm(&x, None, &gamma, beta, epsilon, &mut y);
        assert_close(&name, &y, &want, (tolerance, 0.0));

        let halves: Vec<f32> = x.iter().map(|x| x / 2.0).collect();
        cpu::layer_norm(&halves, Some(&halves), &gamma, beta, epsilon, &mut y);
        assert_close(&format!("{name} of a sum"), &y, &want, (tolerance, 0.0));
    }
}

#[portable_test]
fn embeddings_are_looked_up() {
    let table: Vec<f32> = (0..12).map(|i| i as f32).collect();
    let positions: Vec<f32> = (0..6).map(|i| 100.0 * i as f32).collect();
    let mut y = vec![f32::NAN; 6];
    cpu::embed(&[3, 0], Some((&[1, 0], &positions)), &table, 3, 2.0, &mut y);
    assert_eq!(y, [18.0 + 300.0, 20.0 + 400.0, 22.0 + 500.0, 0.0, 2.0 + 100.0, 4.0 + 200.0]);
    cpu::embed(&[1, 2], None, &table, 3, 1.0, &mut y);
    assert_eq!(y, [3.0, 4.0, 5.0, 6.0, 7.0, 8.0]);
}

fn top(shape: &TopKShape, logits: &[f32], edits: &[ScoreEdit]) -> (Vec<f32>, Vec<u32>) {
    let mut words = vec![0; shape.rows * 2 * shape.candidates];
    cpu::log_softmax_top_k(shape, &mut logits.to_vec(), edits, &mut words);
    split_top(&words, shape.candidates)
}

#[portable_test]
fn the_best_tokens_are_those_of_the_reference() {
    let tensors = fixture("topk");
    for case in ["topk.0", "topk.1"] {
        let x = tensors.f32(&format!("{case}.x"));
        let dims = tensors.shape(&format!("{case}.x"));
        let (rows, vocabulary) = (dims[0], dims[1]);
        let candidates = tensors.shape(&format!("{case}.indices"))[1];
        let log_softmax = tensors.f32(&format!("{case}.log_softmax"));
        let indices = tensors.u32(&format!("{case}.indices"));
        for space in [ScoreSpace::LogProbabilities, ScoreSpace::Logits] {
            let rules = ScoreRules { space, renormalize: space == ScoreSpace::Logits };
            let shape = TopKShape { rows, vocabulary, candidates, rules };
            let (values, tokens) = top(&shape, &x, &[]);
            assert_eq!(tokens, indices, "{case}");
            let want: Vec<f32> = indices
                .iter()
                .enumerate()
                .map(|(i, &token)| log_softmax[i / candidates * vocabulary + token as usize])
                .collect();
            assert_close(case, &values, &want, (1e-5, 0.0));
        }
    }
}

#[portable_test]
fn edits_and_missing_candidates() {
    let rules = ScoreRules { space: ScoreSpace::Logits, renormalize: true };
    let shape = TopKShape { rows: 1, vocabulary: 3, candidates: 4, rules };
    let edit = |token, kind| ScoreEdit { row: 0, token, kind };
    let edits = [edit(1, EditKind::Ban), edit(0, EditKind::Penalize(2.0))];
    let (values, tokens) = top(&shape, &[2.0, 9.0, -1.0], &edits);
    // the scores 1, banned, -1
    assert_eq!(tokens, [0, 2, NO_TOKEN, NO_TOKEN]);
    let log_sum = (1f32.exp() + (-1f32).exp()).ln();
    assert_close("values", &values[..2], &[1.0 - log_sum, -1.0 - log_sum], (1e-6, 0.0));
    assert!(values[2..].iter().all(|&value| value < -1e30));
}
