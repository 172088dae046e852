//! Attention, its weights, and attention over a cache.

use wordloom::answers::sizes::{self, MASKS, Mask};
use wordloom::cpu::{self, AttentionScores, Cache, Columns};
use wordloom::gpu::Gpu;
use wordloom::kernels::append_rows::{self, MAX_PARTS};
use wordloom::kernels::attention::{self, AttentionShape, Variant};
use wordloom::kernels::cached_attention::{self, CachedAttentionShape};
use wordloom::kernels::{ColumnLayout, append_kv, attention_scores, attention_weights, stride};

use crate::common::{assert_close, device_test, gpu, heads_to_columns, one_in_browsers};
use crate::{fixture, pad, random, read, run, unpad, untouched, upload, upload_u32};

fn random_bias(reach: usize, heads: usize) -> Vec<f32> {
    random(4, (2 * reach + 1) * heads)
}

/// Queries, keys and values of an attention as columns of one fused buffer or of three.
struct AttentionCase {
    shape: AttentionShape,
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
    mask: Vec<u32>,
    reach: Option<usize>,
}

impl AttentionCase {
    fn random(shape: AttentionShape, mask: Mask) -> Self {
        let (width, keys) = (shape.heads * shape.d_head, shape.batch * shape.keys);
        Self {
            shape,
            q: random(1, shape.batch * shape.queries * width),
            k: random(2, keys * width),
            v: random(3, keys * shape.heads * shape.d_value),
            mask: (0..keys).map(|i| mask(i / shape.keys, i % shape.keys).into()).collect(),
            reach: None,
        }
    }

    fn widths(&self) -> (usize, usize) {
        (self.shape.heads * self.shape.d_head, self.shape.heads * self.shape.d_value)
    }

    fn bias(&self) -> Option<Vec<f32>> {
        self.reach.map(|reach| random_bias(reach, self.shape.heads))
    }

    fn scores<'a>(&'a self, distance_bias: Option<&'a [f32]>) -> AttentionScores<'a> {
        let [queries, keys] =
            [&self.q, &self.k].map(|data| Columns { data, stride: self.widths().0, first: 0 });
        AttentionScores { shape: self.shape, queries, keys, key_mask: &self.mask, distance_bias }
    }

    fn context_on_cpu(&self) -> Vec<f32> {
        let (_, value_width) = self.widths();
        let mut context = vec![0.0; self.shape.batch * self.shape.queries * value_width];
        let values = Columns { data: &self.v, stride: value_width, first: 0 };
        cpu::attention(&self.scores(self.bias().as_deref()), values, &mut context);
        context
    }

    fn weights_on_cpu(&self) -> Vec<f32> {
        let AttentionShape { batch, heads, queries, keys, .. } = self.shape;
        let mut weights = vec![0.0; batch * heads * queries * keys];
        cpu::attention_weights(&self.scores(self.bias().as_deref()), &mut weights);
        weights
    }

    /// Runs the case; `offset` unrelated columns come first.
    async fn on_gpu(&self, gpu: &Gpu, variant: Variant, offset: usize) -> (Vec<f32>, Vec<f32>) {
        let AttentionShape { batch, heads, queries, keys, .. } = self.shape;
        let (width, value_width) = self.widths();
        let shifted = |data: &[f32], width: usize| {
            let rows = data.chunks_exact(width);
            let wide: Vec<f32> =
                rows.flat_map(|row| std::iter::repeat_n(7.0, offset).chain(row.iter().copied())).collect();
            let layout = ColumnLayout { stride: stride(offset + width), first: offset };
            (upload(gpu, &pad(&wide, offset + width, 7.0)), layout)
        };
        let ((q, q_layout), (k, k_layout)) = (shifted(&self.q, width), shifted(&self.k, width));
        let (v, v_layout) = shifted(&self.v, value_width);
        let mask = upload_u32(gpu, &self.mask);
        let bias = upload(gpu, &self.bias().map_or(vec![7.0; 4], |bias| pad(&bias, heads, 7.0)));
        let context = untouched(gpu, batch * queries * stride(value_width));
        let weights = untouched(gpu, batch * heads * queries * stride(keys));
        let attend =
            attention::dispatch_variant(&self.shape, q_layout, k_layout, v_layout, self.reach, variant);
        let weigh = attention_weights::dispatch(&self.shape, q_layout, k_layout, self.reach);
        run(
            gpu,
            &[
                (attend, vec![&q, &k, &v, &mask, &bias, &context]),
                (weigh, vec![&q, &k, &mask, &bias, &weights]),
            ],
        );
        let what = format!("{variant:?} of {:?}", self.shape);
        (
            unpad(&what, &read(gpu, &context).await, batch * queries, value_width),
            unpad(&what, &read(gpu, &weights).await, batch * heads * queries, keys),
        )
    }

    /// The scores by plain code.
    fn scores_by_hand(&self, masked: bool) -> Vec<f32> {
        let AttentionShape { batch, heads, queries, keys, d_head, scale, causal, .. } = self.shape;
        let (width, bias) = (heads * d_head, self.bias());
        let mut scores = Vec::new();
        for (sentence, head) in (0..batch).flat_map(|sentence| (0..heads).map(move |head| (sentence, head))) {
            for (query, key) in (0..queries).flat_map(|query| (0..keys).map(move |key| (query, key))) {
                let q = &self.q[(sentence * queries + query) * width + head * d_head..][..d_head];
                let k = &self.k[(sentence * keys + key) * width + head * d_head..][..d_head];
                let product: f64 = q.iter().zip(k).map(|(&q, &k)| f64::from(q) * f64::from(k)).sum();
                let is_hidden = self.mask[sentence * keys + key] == 0 || (causal && key > query);
                let of_distance = self.reach.zip(bias.as_ref()).map_or(0.0, |(reach, bias)| {
                    let distance = (key as isize - query as isize).clamp(-(reach as isize), reach as isize);
                    bias[(distance + reach as isize) as usize * heads + head]
                });
                let score = (product * f64::from(scale)) as f32;
                scores.push(match (masked, is_hidden) {
                    (false, _) => score,
                    (true, true) => cpu::MASKED,
                    (true, false) => score + of_distance,
                });
            }
        }
        scores
    }

    async fn check_scores(&self, gpu: &Gpu) {
        let AttentionShape { batch, heads, queries, keys, .. } = self.shape;
        let rows = batch * heads * queries;
        let width = self.widths().0;
        let layout = ColumnLayout { stride: stride(width), first: 0 };
        let [q, k] = [&self.q, &self.k].map(|data| upload(gpu, &pad(data, width, 7.0)));
        let mask = upload_u32(gpu, &self.mask);
        let bias = upload(gpu, &self.bias().map_or(vec![7.0; 4], |bias| pad(&bias, heads, 7.0)));
        for masked in [false, true] {
            let what = format!("masked {masked}, reach {:?}, {:?}", self.reach, self.shape);
            let want = self.scores_by_hand(masked);
            let reach = self.reach.filter(|_| masked);
            let made = untouched(gpu, rows * stride(keys));
            let dispatch = attention_scores::dispatch(&self.shape, layout, layout, reach, masked);
            run(gpu, &[(dispatch, vec![&q, &k, &mask, &bias, &made])]);
            let got = unpad(&what, &read(gpu, &made).await, rows, keys);
            assert_close(&what, &got, &want, (2e-6, 1e-5));
            let mut on_cpu = vec![f32::NAN; rows * keys];
            let own = self.bias().filter(|_| masked);
            cpu::attention_scores(&self.scores(own.as_deref()), masked, &mut on_cpu);
            assert_close(&format!("CPU, {what}"), &on_cpu, &want, (2e-6, 1e-5));
        }
    }

    async fn check(&self, gpu: &Gpu, offset: usize) {
        let (want, want_weights) = (self.context_on_cpu(), self.weights_on_cpu());
        for variant in Variant::ALL {
            let what =
                format!("{variant:?}, columns from {offset}, reach {:?}, {:?}", self.reach, self.shape);
            let (context, weights) = self.on_gpu(gpu, variant, offset).await;
            assert_close(&what, &context, &want, (2e-6, 1e-5));
            assert_close(&format!("weights, {what}"), &weights, &want_weights, (1e-6, 1e-5));
        }
    }
}

#[device_test]
async fn scores_agree_for_every_mask() {
    let gpu = gpu().await;
    for (queries, keys, d_head) in [(1, 1, 3), (7, 9, 12), (8, 64, 16), (9, 65, 17), (17, 5, 70)] {
        for (causal, mask) in [false, true].into_iter().flat_map(|causal| MASKS.map(|mask| (causal, mask))) {
            let d_value = d_head;
            let shape =
                AttentionShape { batch: 3, heads: 2, queries, keys, d_head, d_value, scale: 0.3, causal };
            for reach in [None, Some(3)] {
                AttentionCase { reach, ..AttentionCase::random(shape, mask) }.check_scores(&gpu).await;
            }
        }
    }
}

#[device_test]
async fn attention_agrees_for_every_mask() {
    let gpu = gpu().await;
    for (queries, keys) in sizes::ATTENTION {
        for causal in [false, true] {
            for (mask, width) in MASKS.into_iter().flat_map(|mask| [(mask, 12), (mask, 24)]) {
                let (d_head, d_value) = (width, width);
                let shape =
                    AttentionShape { batch: 3, heads: 2, queries, keys, d_head, d_value, scale: 0.3, causal };
                AttentionCase::random(shape, mask).check(&gpu, 0).await;
            }
        }
    }
}

#[device_test]
async fn attention_agrees_for_every_width_of_a_head() {
    let gpu = gpu().await;
    for (d_head, offset) in sizes::HEADS {
        let d_value = d_head;
        let (queries, keys) = (5, 6);
        let shape =
            AttentionShape { batch: 2, heads: 3, queries, keys, d_head, d_value, scale: 0.5, causal: false };
        AttentionCase::random(shape, |sentence, key| key < 6 - sentence).check(&gpu, offset).await;
    }
}

/// The paper's table 3, row (B), has keys of 16 and values of 64 elements.
#[device_test]
async fn attention_agrees_for_values_of_another_width() {
    let gpu = gpu().await;
    for (i, (d_head, d_value)) in sizes::KEYS_AND_VALUES.into_iter().enumerate() {
        for (j, (heads, queries, keys)) in [(1, 7, 1), (3, 1, 65), (8, 9, 7)].into_iter().enumerate() {
            let shape =
                AttentionShape { batch: 2, heads, queries, keys, d_head, d_value, scale: 0.5, causal: false };
            let case = AttentionCase::random(shape, |sentence, key| sentence == 0 || key > 0);
            for offset in one_in_browsers(i + j, [0, 6, 8]) {
                case.check(&gpu, offset).await;
            }
        }
    }
}

#[device_test]
async fn attention_agrees_with_a_bias_by_distance() {
    let gpu = gpu().await;
    for (i, (reach, heads)) in sizes::REACHES.into_iter().enumerate() {
        for (j, (queries, keys)) in sizes::BIASED.into_iter().enumerate() {
            for (causal, mask) in one_in_browsers(i + j, [false, true, false, true].into_iter().zip(MASKS)) {
                let (d_head, d_value) = if causal { (12, 12) } else { (5, 20) };
                let shape =
                    AttentionShape { batch: 3, heads, queries, keys, d_head, d_value, scale: 0.3, causal };
                let case = AttentionCase { reach: Some(reach), ..AttentionCase::random(shape, mask) };
                case.check(&gpu, 0).await;
            }
        }
    }
}

/// If all scores are equal, the weights are the softmax of the biases.
#[device_test]
async fn a_bias_by_distance_belongs_to_its_distance() {
    let gpu = gpu().await;
    let (length, reach) = (5, 2);
    let shape = AttentionShape {
        batch: 1,
        heads: 1,
        queries: length,
        keys: length,
        d_head: 4,
        d_value: 4,
        scale: 0.0,
        causal: false,
    };
    let case = AttentionCase { reach: Some(reach), ..AttentionCase::random(shape, |_, _| true) };
    let table = random_bias(reach, 1);
    let mut want = Vec::new();
    for query in 0..5i32 {
        let biases = (0..5i32).map(|key| match key - query {
            ..=-2 => table[0],
            -1 => table[1],
            0 => table[2],
            1 => table[3],
            2.. => table[4],
        });
        let exponentials: Vec<f32> = biases.map(f32::exp).collect();
        let sum: f32 = exponentials.iter().sum();
        want.extend(exponentials.iter().map(|value| value / sum));
    }
    let (_, weights) = case.on_gpu(&gpu, Variant::Invocation, 0).await;
    assert_close("weights", &weights, &want, (1e-6, 0.0));
    assert_close("weights on the CPU", &case.weights_on_cpu(), &want, (1e-6, 0.0));
}

/// More than 65,535 products for one query: lavapipe allows no more iterations of a loop.
#[device_test]
async fn attention_agrees_for_many_keys() {
    let gpu = gpu().await;
    for (keys, d_head) in [(2100, 33), (1100, 65), (600, 128)] {
        let d_value = d_head;
        let shape = AttentionShape {
            batch: 1,
            heads: 2,
            queries: 3,
            keys,
            d_head,
            d_value,
            scale: 0.2,
            causal: false,
        };
        let case = AttentionCase::random(shape, |_, _| true);
        let (context, weights) = case.on_gpu(&gpu, Variant::Invocation, 0).await;
        assert_close(&format!("{shape:?}"), &context, &case.context_on_cpu(), (1e-5, 1e-5));
        assert_close(&format!("weights, {shape:?}"), &weights, &case.weights_on_cpu(), (1e-6, 1e-5));
    }
}

/// If a head's keys are the identity matrix, its weights are the softmax of its queries.
#[device_test]
async fn attention_weights_are_a_softmax() {
    let gpu = gpu().await;
    let tensors = fixture("softmax");
    let check = async |name: &str, x: Vec<f32>, mask: Vec<u32>, keys: usize, want: &[f32]| {
        // each query has its own sentence, because each has its own mask
        let batch = x.len() / keys;
        let k = (0..batch * keys * keys)
            .map(|i| f32::from((i % (keys * keys)).is_multiple_of(keys + 1)))
            .collect();
        let (queries, d_head, d_value) = (1, keys, 1);
        let shape =
            AttentionShape { batch, heads: 1, queries, keys, d_head, d_value, scale: 1.0, causal: false };
        let case = AttentionCase { shape, v: vec![0.0; batch * keys], q: x, k, mask, reach: None };
        let (_, weights) = case.on_gpu(&gpu, Variant::Invocation, 0).await;
        assert_close(name, &weights, want, (1e-6, 0.0));
    };
    for case in ["softmax.0", "softmax.1", "softmax.2"] {
        let tensor = |name: &str| tensors.f32(&format!("{case}.{name}"));
        let keys = tensors.shape(&format!("{case}.x"))[2];
        let mask = tensor("mask").iter().map(|&keep| (keep != 0.0).into()).collect();
        check(case, tensor("x"), mask, keys, &tensor("y_zeros")).await;
    }
    let x = tensors.f32("softmax_extreme.x");
    let mask = vec![1; x.len()];
    check("softmax_extreme", x, mask, 3, &tensors.f32("softmax_extreme.y")).await;
}

#[device_test]
async fn attention_is_that_of_the_reference() {
    let gpu = gpu().await;
    let tensors = fixture("softmax");
    let &[batch, heads, length, d_head] = &tensors.shape("attention.q")[..] else {
        panic!("four dimensions")
    };
    let columns = |name: &str| heads_to_columns(&tensors.f32(name), [batch, heads, length, d_head]);
    let scale = 1.0 / (d_head as f32).sqrt();
    let (queries, keys, d_value) = (length, length, d_head);
    let case = AttentionCase {
        shape: AttentionShape { batch, heads, queries, keys, d_head, d_value, scale, causal: true },
        q: columns("attention.q"),
        k: columns("attention.k"),
        v: columns("attention.v"),
        mask: tensors.f32("attention.key_mask").iter().map(|&keep| (keep != 0.0).into()).collect(),
        reach: None,
    };
    for variant in Variant::ALL {
        let (context, weights) = case.on_gpu(&gpu, variant, 3).await;
        assert_close("context", &context, &columns("attention.y_causal"), (1e-5, 0.0));
        assert_close("weights", &weights, &tensors.f32("attention.probs_causal"), (1e-5, 0.0));
    }
}

#[device_test]
async fn the_cache_is_filled_and_attended() {
    let gpu = gpu().await;
    for [rows, heads, d_head, d_value, capacity] in sizes::CACHES {
        let (width, value_width) = (heads * d_head, heads * d_value);
        let fused_width = 2 * width + value_width;
        let qkv = random(1, rows * fused_width);
        let mut keys = random(2, rows * capacity * width);
        let mut values = random(3, rows * capacity * value_width);
        // every row sees slots of other rows, in any order but for the first, which this run writes; a row writes to
        // its last slot
        let key_counts: Vec<u32> = (0..rows).map(|row| 1 + (row * 23 % capacity) as u32).collect();
        let earlier = |i| (i * 7 % rows * capacity + 1 + i * 3 % (capacity - 1)) as u32;
        let mut slots: Vec<u32> = (0..rows * capacity).map(earlier).collect();
        let mut cache_slots: Vec<u32> = (0..rows).map(|row| (row * capacity) as u32).collect();
        for row in 0..rows {
            slots[row * capacity + key_counts[row] as usize - 1] = cache_slots[row];
        }
        // padding, which must not change the caches
        for (row, slot) in cache_slots.iter_mut().enumerate() {
            match row % 4 {
                2 => *slot = u32::MAX,
                3 => *slot = (rows * capacity) as u32,
                _ => {}
            }
        }
        let qkv_buffer = upload(&gpu, &pad(&qkv, fused_width, 7.0));
        let (keys_before, values_before) = (pad(&keys, width, 0.0), pad(&values, value_width, 0.0));
        let [slot_buffer, count_buffer, cache_slot_buffer] =
            [&slots, &key_counts, &cache_slots].map(|words| upload_u32(&gpu, words));

        let shape = CachedAttentionShape { rows, heads, d_head, d_value, capacity, scale: 0.4 };
        cpu::append_kv(&qkv, &cache_slots, [width, value_width], &mut keys, &mut values);
        let queries = Columns { data: &qkv, stride: fused_width, first: 0 };
        for reach in [None, Some(0), Some(1), Some(40)] {
            let bias = reach.map(|reach| random_bias(reach, heads));
            let mut want = vec![0.0; rows * value_width];
            let cache = Cache { keys: &keys, values: &values, slots: &slots, key_counts: &key_counts };
            cpu::cached_attention(&shape, queries, cache, bias.as_deref(), &mut want);
            let bias_buffer = upload(&gpu, &bias.map_or(vec![7.0; 4], |bias| pad(&bias, heads, 7.0)));
            for variant in Variant::ALL {
                let what = format!("{variant:?}, reach {reach:?}, of {shape:?}");
                let context = untouched(&gpu, rows * stride(value_width));
                let [key_cache, value_cache] =
                    [&keys_before, &values_before].map(|cache| upload(&gpu, cache));
                let mut launches = Vec::new();
                if !cached_attention::appends(&shape, variant) {
                    let append = append_kv::dispatch(rows, rows * capacity, width, value_width);
                    launches.push((append, vec![&qkv_buffer, &cache_slot_buffer, &key_cache, &value_cache]));
                }
                let inputs = [&qkv_buffer, &cache_slot_buffer, &slot_buffer, &count_buffer, &bias_buffer];
                let attend = cached_attention::dispatch_variant(&shape, reach, variant);
                launches.push((attend, [&inputs[..], &[&key_cache, &value_cache, &context]].concat()));
                run(&gpu, &launches);
                let context = unpad(&what, &read(&gpu, &context).await, rows, value_width);
                assert_close(&what, &context, &want, (2e-6, 1e-5));
                let cached = unpad(&what, &read(&gpu, &key_cache).await, rows * capacity, width);
                assert!(cached == keys, "{what}: key cache");
                let cached = unpad(&what, &read(&gpu, &value_cache).await, rows * capacity, value_width);
                assert!(cached == values, "{what}: value cache");
            }
        }
    }
}

/// The first columns of several matrices, side by side in a cache; padding does not change it.
#[device_test]
async fn rows_are_put_into_a_cache() {
    let gpu = gpu().await;
    for (rows, width, widths, cache_rows) in [
        (1, 8, &[8][..], 4),
        (5, 7, &[7, 20, 9], 11),
        (3, 64, &[192, 64, 192, 64], 70),
        (67, 5, &[6, 5, 11, 8, 5, 13], 90),
    ] {
        let what = format!("{rows} rows of {widths:?} for {width} columns each");
        let matrices: Vec<Vec<f32>> =
            widths.iter().zip(1..).map(|(width, seed)| random(seed, rows * width)).collect();
        let mut cache_slots: Vec<u32> = (0..rows).map(|row| ((row * 7 + 3) % cache_rows) as u32).collect();
        if rows > 2 {
            (cache_slots[0], cache_slots[2]) = (u32::MAX, cache_rows as u32);
        }
        let all = widths.len() * width;
        let before = random(9, cache_rows * all);
        let mut want = before.clone();
        let parts: Vec<(&[f32], usize)> =
            matrices.iter().map(Vec::as_slice).zip(widths.iter().copied()).collect();
        cpu::append_rows(&parts, &cache_slots, width, &mut want);

        let buffers: Vec<_> =
            parts.iter().map(|(matrix, width)| upload(&gpu, &pad(matrix, *width, 7.0))).collect();
        let (nothing, slots) = (upload(&gpu, &[7.0; 4]), upload_u32(&gpu, &cache_slots));
        let cache = upload(&gpu, &pad(&before, all, 0.0));
        let mut bound: Vec<_> = buffers.iter().collect();
        bound.resize(MAX_PARTS, &nothing);
        bound.extend([&slots, &cache]);
        run(&gpu, &[(append_rows::dispatch(rows, widths, cache_rows, width), bound)]);
        assert_eq!(unpad(&what, &read(&gpu, &cache).await, cache_rows, all), want, "{what}");
    }
}
