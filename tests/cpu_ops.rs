//! The CPU operators against results computed in f64 (`tests/data/kernels`, see its README for the tolerances).

mod common;

use common::{Tensors, assert_close, data, heads_to_columns, portable_test, split_top};
use wordloom::activation::Activation;
use wordloom::cpu::{self, AttentionScores, Cache, Columns, Linear, StoredMatrix, WeightMatrix};
use wordloom::join::Join;
use wordloom::kernels::attention::AttentionShape;
use wordloom::kernels::cached_attention::CachedAttentionShape;
use wordloom::kernels::log_softmax_top_k::TopKShape;
use wordloom::precision::WeightPrecision;
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
            let layer = Linear { weight: WeightMatrix::F32(&weight), inputs, bias, scale: 1.0 };
            let mut y = vec![f32::NAN; want.len()];
            cpu::linear(&x, layer, Activation::Identity, None, &mut y);
            assert_close(&case, &y, &want, tolerance);

            let mut added = vec![f32::NAN; want.len()];
            cpu::linear(&x, layer, Activation::Relu, Some((Join::Add, &want)), &mut added);
            let sums: Vec<f32> = want.iter().map(|y| y.max(0.0) + y).collect();
            assert_close(&format!("{case} with ReLU and residual"), &added, &sums, (2.0 * tolerance.0, 0.0));

            let mut gated = vec![f32::NAN; want.len()];
            cpu::linear(&x, layer, Activation::Relu, Some((Join::Multiply, &want)), &mut gated);
            let products: Vec<f32> = want.iter().map(|y| y.max(0.0) * y).collect();
            assert_close(
                &format!("{case} with ReLU and gate"),
                &gated,
                &products,
                (tolerance.0, tolerance.0),
            );
        }
    }
}

/// The scale applies to the product, not to the bias.
#[portable_test]
fn linear_scales_the_product() {
    let tensors = fixture("matmul");
    let tensor = |name: &str| tensors.f32(&format!("linear.3.{name}"));
    let (x, weight, bias) = (tensor("x"), tensor("weight"), tensor("bias"));
    let inputs = tensors.shape("linear.3.x")[1];
    let layer = Linear { weight: WeightMatrix::F32(&weight), inputs, bias: Some(&bias), scale: 0.25 };
    let products = tensor("y_nobias");
    let mut y = vec![f32::NAN; products.len()];
    cpu::linear(&x, layer, Activation::Identity, None, &mut y);
    let want: Vec<f32> = products.iter().zip(bias.iter().cycle()).map(|(y, bias)| 0.25 * y + bias).collect();
    assert_close("scaled", &y, &want, (1e-5 * (inputs as f32).sqrt(), 0.0));
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
            let layer =
                Linear { weight: WeightMatrix::F32(&transposed), inputs: inner, bias: None, scale: 1.0 };
            cpu::linear(a, layer, Activation::Identity, None, &mut y);
            assert_close(case, &y, want, (1e-5 * (inner as f32).sqrt(), 0.0));
        }
    }
}

/// Few rows agree bit by bit. Many rows use a library and agree within the rounding of a sum of 259 terms.
#[portable_test]
fn a_row_does_not_depend_on_its_neighbours() {
    let (inputs, outputs, rows) = (259, 301, cpu::LIBRARY_ROWS - 1);
    let value = |i: usize| (i as f32 * 0.618).fract() - 0.5;
    let x: Vec<f32> = (0..rows * inputs).map(value).collect();
    let weight: Vec<f32> = (0..outputs * inputs).map(|i| value(i * 7)).collect();
    let layer = Linear { weight: WeightMatrix::F32(&weight), inputs, bias: None, scale: 1.0 };
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

/// The vector code and the library multiply by the rounded weights. The library gets a part of them at a time.
#[portable_test]
fn stored_weights_are_the_rounded_ones() {
    let inputs = 1031; // more outputs than are widened at a time
    let value = |i: usize| (i as f32 * 0.618).fract() - 0.5;
    for (rows, outputs) in [(1, 37), (3, 64), (cpu::LIBRARY_ROWS - 1, 17), (cpu::LIBRARY_ROWS + 1, 1021)] {
        let x: Vec<f32> = (0..rows * inputs).map(|i| value(i * 3)).collect();
        let weight: Vec<f32> = (0..outputs * inputs).map(|i| value(i * 7)).collect();
        let bias: Vec<f32> = (0..outputs).map(value).collect();
        for precision in WeightPrecision::ALL {
            let mut rounded = weight.clone();
            rounded.chunks_exact_mut(inputs).for_each(|row| precision.round_row(row));
            let stored = StoredMatrix::of(&weight, inputs, precision);
            let product = |x: &[f32], weight: WeightMatrix| {
                let layer = Linear { weight, inputs, bias: Some(&bias), scale: 0.5 };
                let mut y = vec![0.0; rows * outputs];
                cpu::linear(x, layer, Activation::Identity, None, &mut y);
                y
            };
            // with 8-bit weights, rows are rounded, too: to 15-bit integers times a scale
            let mut rounded_x = x.clone();
            if precision == WeightPrecision::Q8 {
                rounded_x.chunks_exact_mut(inputs).for_each(|row| {
                    let step = row.iter().fold(0.0f32, |most, x| most.max(x.abs())) / 32_767.0;
                    row.iter_mut().for_each(|x| *x = (*x / step).round() * step);
                });
            }
            let got = product(&x, stored.view());
            let want = product(&rounded_x, StoredMatrix::of(&rounded, inputs, WeightPrecision::F32).view());
            let what = format!("{precision}, {rows} rows, {outputs} outputs");
            match precision {
                // scales of 8-bit weights multiply the sum, not the terms
                WeightPrecision::Q8 => assert_close(&what, &got, &want, (1e-5, 1e-5)),
                WeightPrecision::F32 | WeightPrecision::F16 => assert_eq!(got, want, "{what}"),
            }
        }
    }
}

/// With 8-bit weights, rows are multiplied in exact integers, so a row's result does not depend on other rows.
#[portable_test]
fn a_row_of_whole_numbers_is_summed_up_alike_in_any_company() {
    let value = |i: usize| (i as f32 * 0.618).fract() - 0.5;
    for (inputs, outputs, rows) in [(259, 301, cpu::LIBRARY_ROWS + 20), (5000, 67, 6)] {
        let x: Vec<f32> = (0..rows * inputs).map(value).collect();
        let weight: Vec<f32> = (0..outputs * inputs).map(|i| value(i * 7)).collect();
        let stored = StoredMatrix::of(&weight, inputs, WeightPrecision::Q8);
        let product = |x: &[f32]| {
            let layer = Linear { weight: stored.view(), inputs, bias: None, scale: 1.0 };
            let mut y = vec![0.0; x.len() / inputs * outputs];
            cpu::linear(x, layer, Activation::Identity, None, &mut y);
            y
        };
        let together = product(&x);
        for count in 1..6 {
            for first in (0..rows - count).step_by(5) {
                let alone = product(&x[first * inputs..(first + count) * inputs]);
                let want = &together[first * outputs..(first + count) * outputs];
                assert_eq!(alone, want, "{count} rows from {first}");
            }
        }
        // for each input, half a step of x times a weight; 32-bit sums leave 14 bits for long rows
        let bits = if inputs <= 2064 { 32_767.0 } else { (i32::MAX as usize / 127 / (inputs / 4)) as f32 };
        let mut wide = weight.clone();
        wide.chunks_exact_mut(inputs).for_each(|row| WeightPrecision::Q8.round_row(row));
        for (x, y) in x.chunks_exact(inputs).zip(together.chunks_exact(outputs)) {
            let step = x.iter().fold(0.0f32, |most, x| most.max(x.abs())) / bits;
            for (w, y) in wide.chunks_exact(inputs).zip(y) {
                let exact: f64 = x.iter().zip(w).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum();
                let bound = f64::from(step) * w.iter().map(|w| f64::from(w.abs())).sum::<f64>() / 2.0 + 1e-5;
                assert!((f64::from(*y) - exact).abs() <= bound, "{y} is not within {bound} of {exact}");
            }
        }
    }
}

#[portable_test]
fn stored_embeddings_are_the_rounded_ones() {
    let table: Vec<f32> = (0..5 * 7).map(|i| (i as f32 * 0.618).fract() - 0.5).collect();
    for precision in WeightPrecision::ALL {
        let mut want = table[3 * 7..4 * 7].to_vec();
        precision.round_row(&mut want);
        want.iter_mut().for_each(|value| *value *= 2.0);
        let mut y = [0.0; 7];
        cpu::embed(&[3], None, StoredMatrix::of(&table, 7, precision).view(), 7, 2.0, &mut y);
        assert_close(precision.name(), &y, &want, (0.0, 1e-6));
    }
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
    // each query is a batch, because each has its own mask
    let batch = x.len() / keys;
    let (queries, d_head, d_value) = (1, keys, keys);
    let shape = AttentionShape { batch, heads: 1, queries, keys, d_head, d_value, scale: 1.0, causal: false };
    let identity: Vec<f32> =
        (0..batch * keys * keys).map(|i| f32::from((i % (keys * keys)).is_multiple_of(keys + 1))).collect();
    let mut weights = vec![f32::NAN; x.len()];
    let (queries, keys) = (whole(x, keys), whole(&identity, keys));
    let scores = AttentionScores { shape, queries, keys, key_mask: mask, distance_bias: None };
    cpu::attention_weights(&scores, &mut weights);
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
    let (queries, keys, d_value) = (length, length, d_head);
    let shape = AttentionShape { batch, heads, queries, keys, d_head, d_value, scale, causal: true };
    let width = heads * d_head;

    let mut weights = vec![f32::NAN; batch * heads * length * length];
    let scores =
        |queries, keys| AttentionScores { shape, queries, keys, key_mask: &mask, distance_bias: None };
    let separate = scores(whole(&q, width), whole(&k, width));
    cpu::attention_weights(&separate, &mut weights);
    assert_close("weights", &weights, &tensors.f32("attention.probs_causal"), (1e-5, 0.0));

    let want = columns("attention.y_causal");
    let mut context = vec![f32::NAN; q.len()];
    cpu::attention(&separate, whole(&v, width), &mut context);
    assert_close("context", &context, &want, (1e-5, 0.0));

    // the same from one fused projection
    let fused: Vec<f32> = (0..batch * length)
        .flat_map(|row| [&q, &k, &v].map(|part| part[row * width..(row + 1) * width].to_vec()).concat())
        .collect();
    let part = |first| Columns { data: &fused, stride: 3 * width, first };
    context.fill(f32::NAN);
    cpu::attention(&scores(part(0), part(width)), part(2 * width), &mut context);
    assert_close("context from a fused projection", &context, &want, (1e-5, 0.0));
}

/// `softmax(scale · Q Kᵀ + bias + mask) V` in f64, written from the formula. `bias` gets head, query and key.
fn attention_in_f64(
    shape: &AttentionShape,
    [q, k, v]: [&[f32]; 3],
    mask: &[u32],
    bias: impl Fn(usize, usize, usize) -> f64,
) -> (Vec<f32>, Vec<f32>) {
    let &AttentionShape { batch, heads, queries, keys, d_head, d_value, scale, causal } = shape;
    let mut all_weights = vec![0.0; batch * heads * queries * keys];
    let mut context = vec![0.0; batch * queries * heads * d_value];
    for (sentence, head, query) in
        (0..batch * heads * queries).map(|i| (i / queries / heads, i / queries % heads, i % queries))
    {
        let row = sentence * queries + query;
        let visible: Vec<usize> =
            (0..keys).filter(|&key| mask[sentence * keys + key] != 0 && (!causal || key <= query)).collect();
        let exponential = |&key: &usize| {
            let product: f64 = (0..d_head)
                .map(|i| {
                    let key_row = sentence * keys + key;
                    f64::from(q[(row * heads + head) * d_head + i])
                        * f64::from(k[(key_row * heads + head) * d_head + i])
                })
                .sum();
            (f64::from(scale) * product + bias(head, query, key)).exp()
        };
        let exponentials: Vec<f64> = visible.iter().map(exponential).collect();
        let sum: f64 = exponentials.iter().sum();
        for (&key, weight) in visible.iter().zip(exponentials) {
            all_weights[((sentence * heads + head) * queries + query) * keys + key] = (weight / sum) as f32;
        }
        for i in 0..d_value {
            let element = |key: usize| f64::from(v[((sentence * keys + key) * heads + head) * d_value + i]);
            let weights = &all_weights[((sentence * heads + head) * queries + query) * keys..][..keys];
            let value: f64 =
                weights.iter().enumerate().map(|(key, &weight)| f64::from(weight) * element(key)).sum();
            context[(row * heads + head) * d_value + i] = value as f32;
        }
    }
    (context, all_weights)
}

fn wave(count: usize, step: f32) -> Vec<f32> {
    (0..count).map(|i| (i as f32 * step).sin()).collect()
}

#[portable_test]
fn attention_has_values_of_any_width_and_a_bias_by_distance() {
    for (heads, d_head, d_value) in [(1, 5, 12), (3, 16, 64), (8, 65, 7), (2, 80, 80)] {
        for (queries, keys, causal) in [(1, 1, false), (7, 7, true), (7, 65, false), (65, 7, false)] {
            let batch = 2;
            let shape = AttentionShape { batch, heads, queries, keys, d_head, d_value, scale: 0.4, causal };
            let q = wave(batch * queries * heads * d_head, 0.37);
            let k = wave(batch * keys * heads * d_head, 0.53);
            let v = wave(batch * keys * heads * d_value, 0.71);
            let mask: Vec<u32> = (0..batch * keys).map(|i| u32::from(i == 0 || i % 5 != 4)).collect();
            for reach in [None, Some(0), Some(1), Some(40)] {
                let table = reach.map(|reach| wave((2 * reach + 1) * heads, 1.3));
                let (want, want_weights) =
                    attention_in_f64(&shape, [&q, &k, &v], &mask, |head, query, key| {
                        let (Some(reach), Some(table)) = (reach, &table) else { return 0.0 };
                        let reach = reach as isize;
                        let distance = (key as isize - query as isize).clamp(-reach, reach);
                        table[(distance + reach) as usize * heads + head].into()
                    });
                let what = format!("reach {reach:?}, {shape:?}");
                let [queries, keys] = [&q, &k].map(|data| whole(data, heads * d_head));
                let distance_bias = table.as_deref();
                let scores = AttentionScores { shape, queries, keys, key_mask: &mask, distance_bias };
                let mut context = vec![f32::NAN; want.len()];
                cpu::attention(&scores, whole(&v, heads * d_value), &mut context);
                assert_close(&what, &context, &want, (2e-6, 0.0));
                let mut weights = vec![f32::NAN; want_weights.len()];
                cpu::attention_weights(&scores, &mut weights);
                assert_close(&format!("weights, {what}"), &weights, &want_weights, (2e-6, 0.0));
            }
        }
    }
}

/// Cores share the work by heads, or by sentences and their queries.
#[portable_test]
fn attention_that_cores_share_follows_the_formula() {
    for (heads, queries, keys, causal) in [(3, 5, 700, false), (3, 160, 160, true), (1, 300, 300, true)] {
        let (batch, d_head, d_value) = (2, 64, 40);
        let shape = AttentionShape { batch, heads, queries, keys, d_head, d_value, scale: 0.4, causal };
        let q = wave(batch * queries * heads * d_head, 0.37);
        let k = wave(batch * keys * heads * d_head, 0.53);
        let v = wave(batch * keys * heads * d_value, 0.71);
        let mask: Vec<u32> = (0..batch * keys).map(|i| u32::from(i % 5 != 4)).collect();
        let (want, _) = attention_in_f64(&shape, [&q, &k, &v], &mask, |_, _, _| 0.0);
        let [queries, keys] = [&q, &k].map(|data| whole(data, heads * d_head));
        let scores = AttentionScores { shape, queries, keys, key_mask: &mask, distance_bias: None };
        let mut context = vec![f32::NAN; want.len()];
        cpu::attention(&scores, whole(&v, heads * d_value), &mut context);
        assert_close(&format!("{shape:?}"), &context, &want, (2e-6, 0.0));
    }
}

/// Single steps through a cache with rows in any order give the same as causal attention.
/// Queries are processed in groups. A query alone, or with a longer sentence's padding, gives the same bits.
#[portable_test]
fn a_query_does_not_depend_on_its_neighbours() {
    let (heads, d_head, d_value, queries, keys) = (3, 20, 37, 11, 29);
    let shape = AttentionShape { batch: 1, heads, queries, keys, d_head, d_value, scale: 0.3, causal: false };
    let q = wave(queries * heads * d_head, 0.37);
    let k = wave(keys * heads * d_head, 0.53);
    let v = wave(keys * heads * d_value, 0.71);
    let attend = |shape: &AttentionShape, q: &[f32], k: &[f32], v: &[f32], mask: &[u32]| {
        let mut context = vec![f32::NAN; shape.batch * shape.queries * heads * d_value];
        let [queries, keys] = [q, k].map(|data| whole(data, heads * d_head));
        let scores = AttentionScores { shape: *shape, queries, keys, key_mask: mask, distance_bias: None };
        cpu::attention(&scores, whole(v, heads * d_value), &mut context);
        context
    };
    let together = attend(&shape, &q, &k, &v, &[1; 29]);
    for (q, together) in q.chunks_exact(heads * d_head).zip(together.chunks_exact(heads * d_value)) {
        let alone = attend(&AttentionShape { queries: 1, ..shape }, q, &k, &v, &[1; 29]);
        assert!(alone == together);
    }
    // two copies, each followed by five masked keys
    let padded = |data: &[f32], width: usize| [data, &vec![1e3; 5 * width]].concat().repeat(2);
    let mask = [vec![1; keys], vec![0; 5]].concat().repeat(2);
    let shape = AttentionShape { batch: 2, keys: keys + 5, ..shape };
    let [k, v] = [padded(&k, heads * d_head), padded(&v, heads * d_value)];
    assert!(attend(&shape, &q.repeat(2), &k, &v, &mask) == together.repeat(2));
}

#[portable_test]
fn cached_attention_is_causal_attention() {
    for (d_head, d_value, reach) in
        [(7, 7, None), (7, 7, Some(2)), (3, 8, None), (8, 3, Some(40)), (4, 4, Some(0))]
    {
        let (rows, heads, length) = (3, 2, 5);
        let (width, value_width) = (heads * d_head, heads * d_value);
        let fused_width = 2 * width + value_width;
        let qkv = wave(rows * length * fused_width, 0.37);
        let table = reach.map(|reach| wave((2 * reach + 1) * heads, 1.3));
        let bias = table.as_deref();
        let (queries, keys, scale, causal) = (length, length, 0.4, true);
        let shape = AttentionShape { batch: rows, heads, queries, keys, d_head, d_value, scale, causal };
        let part = |first| Columns { data: &qkv, stride: fused_width, first };
        let mut want = vec![f32::NAN; rows * length * value_width];
        let mask = vec![1; rows * length];
        let scores = AttentionScores {
            shape,
            queries: part(0),
            keys: part(width),
            key_mask: &mask,
            distance_bias: bias,
        };
        cpu::attention(&scores, part(2 * width), &mut want);

        let capacity = length + 1;
        let mut keys = vec![f32::NAN; rows * capacity * width];
        let mut values = vec![f32::NAN; rows * capacity * value_width];
        let mut slots = vec![u32::MAX; rows * capacity];
        for step in 0..length {
            let of_step: Vec<f32> = (0..rows)
                .flat_map(|row| &qkv[(row * length + step) * fused_width..][..fused_width])
                .copied()
                .collect();
            // row r writes to the cache rows of row r + 1
            let cache_slots: Vec<u32> =
                (0..rows).map(|row| ((row + 1) % rows * capacity + step) as u32).collect();
            cpu::append_kv(&of_step, &cache_slots, [width, value_width], &mut keys, &mut values);
            for (row, &slot) in cache_slots.iter().enumerate() {
                slots[row * capacity + step] = slot;
            }
            let mut context = vec![f32::NAN; rows * value_width];
            let shape = CachedAttentionShape { rows, heads, d_head, d_value, capacity, scale };
            let key_counts = vec![step as u32 + 1; rows];
            let cache = Cache { keys: &keys, values: &values, slots: &slots, key_counts: &key_counts };
            cpu::cached_attention(&shape, whole(&of_step, fused_width), cache, bias, &mut context);
            for row in 0..rows {
                let what = format!("step {step}, widths {d_head} and {d_value}, reach {reach:?}");
                let want = &want[(row * length + step) * value_width..][..value_width];
                // one query and many use the same order of sums, except for the processor's sum of a vector
                let exact = cfg!(any(target_arch = "x86_64", target_arch = "wasm32"));
                let tolerance = if exact { 0.0 } else { 1e-6 };
                assert_close(&what, &context[row * value_width..][..value_width], want, (tolerance, 0.0));
            }
        }
    }
}

/// A slot beyond the caches means padding.
#[portable_test]
fn padding_is_not_cached() {
    let (mut keys, mut values) = ([0.0; 4], [0.0; 2]);
    let qkv: Vec<f32> = (1..=20).map(|i| i as f32).collect();
    cpu::append_kv(&qkv, &[u32::MAX, 1, 2, 0], [2, 1], &mut keys, &mut values);
    assert_eq!(keys, [18.0, 19.0, 8.0, 9.0]);
    assert_eq!(values, [20.0, 10.0]);
}

/// Copies the first columns of two matrices side by side, in the order of the slots; padding is skipped.
#[portable_test]
fn rows_go_where_their_slots_say() {
    let (first, second): ([f32; 6], [f32; 9]) =
        ([1.0, 2.0, 3.0, 4.0, 5.0, 6.0], [10.0, 11.0, 12.0, 20.0, 21.0, 22.0, 30.0, 31.0, 32.0]);
    let mut cache = [0.0; 12];
    cpu::append_rows(&[(&first, 2), (&second, 3)], &[2, u32::MAX, 0], 2, &mut cache);
    assert_eq!(cache, [5.0, 6.0, 30.0, 31.0, 0.0, 0.0, 0.0, 0.0, 1.0, 2.0, 10.0, 11.0]);
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
    cpu::embed(&[3, 0], Some((&[1, 0], &positions)), WeightMatrix::F32(&table), 3, 2.0, &mut y);
    assert_eq!(y, [18.0 + 300.0, 20.0 + 400.0, 22.0 + 500.0, 0.0, 2.0 + 100.0, 4.0 + 200.0]);
    cpu::embed(&[1, 2], None, WeightMatrix::F32(&table), 3, 1.0, &mut y);
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

#[portable_test]
fn the_log_probabilities_of_given_tokens_are_those_of_the_reference() {
    let tensors = fixture("topk");
    for case in ["topk.0", "topk.1"] {
        let x = tensors.f32(&format!("{case}.x"));
        let dims = tensors.shape(&format!("{case}.x"));
        let (rows, vocabulary) = (dims[0], dims[1]);
        let log_softmax = tensors.f32(&format!("{case}.log_softmax"));
        for token in [0, 5, vocabulary - 1] {
            let mut result = vec![f32::NAN; rows];
            cpu::log_probability(&x, &vec![token as u32; rows], &mut result);
            let want: Vec<f32> = (0..rows).map(|row| log_softmax[row * vocabulary + token]).collect();
            assert_close(case, &result, &want, (1e-5, 0.0));
        }
        let mut result = vec![f32::NAN; rows];
        cpu::log_probability(&x, &vec![vocabulary as u32; rows], &mut result);
        assert_eq!(result, vec![0.0; rows], "{case}: no such token");
    }
}

/// c = f·c₋₁ + (1 − f)·x and y = max(c, 0) in float64: a whole sequence, and the same in steps over a cache.
#[portable_test]
fn a_recurrent_unit_keeps_its_cells() {
    let (length, width) = (9, 37);
    let number = |i: usize| 3.0 * ((i as f32 * 0.618_034).fract() - 0.5);
    let projected: Vec<f32> = (0..length * 2 * width).map(number).collect();
    let (mut cells, mut want, mut want_cells) = (vec![0.0f64; width], Vec::new(), Vec::new());
    for row in projected.chunks_exact(2 * width) {
        for (cell, (&x, &gate)) in cells.iter_mut().zip(row[..width].iter().zip(&row[width..])) {
            let forget = 1.0 / (1.0 + (-f64::from(gate)).exp());
            *cell = forget * *cell + (1.0 - forget) * f64::from(x);
            want.push(cell.max(0.0) as f32);
        }
        want_cells.extend(cells.iter().map(|&cell| cell as f32));
    }
    let mut whole = vec![f32::NAN; length * width];
    cpu::ssru(&projected, length, width, None, &mut whole);
    assert_close("a sequence", &whole, &want, (1e-6, 1e-6));
    assert!(want.contains(&0.0) && want_cells.iter().any(|&cell| cell < -0.1), "cells below zero");

    // token t is stored at slot 2t, and one slot more is none
    let slots: Vec<u32> = (0..length as u32).map(|token| 2 * token).collect();
    let mut cache = vec![f32::NAN; 2 * length * width];
    for (token, (row, want)) in projected.chunks_exact(2 * width).zip(want.chunks_exact(width)).enumerate() {
        let history = cpu::CellHistory { slots: &slots, capacity: length, counts: &[token as u32 + 1] };
        let cells =
            cpu::Cells { cells: &mut cache, cache_slots: &slots[token..=token], history: Some(history) };
        let mut y = vec![f32::NAN; width];
        cpu::ssru(row, 1, width, Some(cells), &mut y);
        assert_close("a step", &y, want, (1e-6, 1e-6));
        assert_close(
            "its cell",
            &cache[2 * token * width..][..width],
            &want_cells[token * width..][..width],
            (1e-6, 1e-6),
        );
    }
}

/// Selected outputs are those of the whole layer, to the last bit, in every precision.
#[portable_test]
fn selected_outputs_are_outputs() {
    let (inputs, outputs, width) = (70, 90, 24);
    let number = |i: usize| (i as f32 * 0.618_034).fract() - 0.5;
    let weight: Vec<f32> = (0..outputs * inputs).map(number).collect();
    let bias: Vec<f32> = (0..outputs).map(number).collect();
    let x: Vec<f32> = (0..6 * inputs).map(|i| number(i + 7)).collect();
    let lists = [vec![3, 4, 50, 89], (0..90).step_by(4).collect::<Vec<u32>>(), vec![0]];
    let columns: Vec<u32> = lists
        .iter()
        .flat_map(|list| list.iter().copied().chain(std::iter::repeat(NO_TOKEN)).take(width))
        .collect();
    for precision in WeightPrecision::ALL {
        let mut stored = StoredMatrix::of(&weight, inputs, precision);
        for multipliers in [vec![], vec![(outputs, 200.0)]] {
            stored.set_input_multipliers(multipliers);
            let layer = Linear { weight: stored.view(), inputs, bias: Some(&bias), scale: 0.75 };
            let mut whole = vec![f32::NAN; 6 * outputs];
            cpu::linear(&x, layer, Activation::Identity, None, &mut whole);
            let mut selected = vec![f32::NAN; 6 * width];
            cpu::selected_linear(&x, layer, &columns, width, &mut selected);
            for (row, selected) in selected.chunks_exact(width).enumerate() {
                let list = &lists[row / 2];
                for (place, &got) in selected.iter().enumerate() {
                    let want = list
                        .get(place)
                        .map_or(f32::NEG_INFINITY, |&column| whole[row * outputs + column as usize]);
                    assert_eq!(got, want, "{precision}, row {row}, column {place}");
                }
            }
        }
    }
}

/// With multipliers, inputs are rounded to whole numbers from -127 to 127 as Marian does it, each part of the outputs by
/// its own; sums are exact.
#[portable_test]
fn inputs_are_rounded_by_their_multipliers() {
    let (inputs, rows) = (45, 3);
    let number = |i: usize| (i as f32 * 0.618_034).fract() - 0.5;
    let weight: Vec<f32> = (0..12 * inputs).map(number).collect();
    let x: Vec<f32> = (0..rows * inputs).map(|i| 4.0 * number(i + 3)).collect();
    let mut stored = StoredMatrix::of(&weight, inputs, WeightPrecision::Q8);
    for parts in [vec![(12, 100.0)], vec![(4, 100.0), (4, 100.0), (4, 100.0)], vec![(5, 100.0), (7, 31.5)]] {
        stored.set_input_multipliers(parts.clone());
        let WeightMatrix::Q8 { values, scales, .. } = stored.view() else { panic!("8 bits") };
        let layer = Linear { weight: stored.view(), inputs, bias: None, scale: 1.0 };
        let mut y = vec![f32::NAN; rows * 12];
        cpu::linear(&x, layer, Activation::Identity, None, &mut y);
        let multiplier_of = |output: usize| {
            let mut end = 0;
            parts.iter().find(|(count, _)| {
                end += count;
                output < end
            })
        };
        for (row, y) in y.chunks_exact(12).enumerate() {
            for (output, &y) in y.iter().enumerate() {
                let multiplier = multiplier_of(output).expect("a part").1;
                let rounded = |x: f32| f64::from((x * multiplier).round_ties_even().clamp(-127.0, 127.0));
                let sum: f64 = (0..inputs)
                    .map(|i| rounded(x[row * inputs + i]) * f64::from(values[output * inputs + i]))
                    .sum();
                let want = (sum / f64::from(multiplier) * f64::from(scales[output])) as f32;
                assert_close("rounded", &[y], &[want], (0.0, 1e-6));
            }
        }
    }
}
