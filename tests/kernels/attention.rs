//! Attention, its weights, and attention over a cache.

use wordloom::cpu::{self, Columns};
use wordloom::gpu::Gpu;
use wordloom::kernels::attention::{self, AttentionShape, Variant};
use wordloom::kernels::cached_attention::{self, CachedAttentionShape};
use wordloom::kernels::{ColumnLayout, append_kv, attention_weights, stride};

use crate::common::{assert_close, device_test, gpu, heads_to_columns};
use crate::{fixture, pad, random, read, run, unpad, untouched, upload, upload_u32};

const VARIANTS: [Variant; 2] = [Variant::Invocation, Variant::Workgroup];

/// Queries, keys and values of an attention as columns of one fused buffer or of three.
struct AttentionCase {
    shape: AttentionShape,
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
    mask: Vec<u32>,
}

impl AttentionCase {
    fn random(shape: AttentionShape, mask: Mask) -> Self {
        let width = shape.heads * shape.d_head;
        let keys = shape.batch * shape.keys;
        Self {
            shape,
            q: random(1, shape.batch * shape.queries * width),
            k: random(2, keys * width),
            v: random(3, keys * width),
            mask: (0..keys).map(|i| mask(i / shape.keys, i % shape.keys).into()).collect(),
        }
    }

    fn width(&self) -> usize {
        self.shape.heads * self.shape.d_head
    }

    fn columns<'a>(&self, data: &'a [f32]) -> Columns<'a> {
        Columns { data, stride: self.width(), first: 0 }
    }

    fn context_on_cpu(&self) -> Vec<f32> {
        let mut context = vec![0.0; self.q.len()];
        let [q, k, v] = [&self.q, &self.k, &self.v].map(|data| self.columns(data));
        cpu::attention(&self.shape, q, k, v, &self.mask, &mut context);
        context
    }

    fn weights_on_cpu(&self) -> Vec<f32> {
        let AttentionShape { batch, heads, queries, keys, .. } = self.shape;
        let mut weights = vec![0.0; batch * heads * queries * keys];
        cpu::attention_weights(
            &self.shape,
            self.columns(&self.q),
            self.columns(&self.k),
            &self.mask,
            &mut weights,
        );
        weights
    }

    /// `offset` columns that belong to something else come first.
    async fn on_gpu(&self, gpu: &Gpu, variant: Variant, offset: usize) -> (Vec<f32>, Vec<f32>) {
        let AttentionShape { batch, heads, queries, keys, .. } = self.shape;
        let width = self.width();
        let layout = ColumnLayout { stride: stride(offset + width), first: offset };
        let shifted = |data: &[f32]| {
            let rows = data.chunks_exact(width);
            let wide: Vec<f32> =
                rows.flat_map(|row| std::iter::repeat_n(7.0, offset).chain(row.iter().copied())).collect();
            upload(gpu, &pad(&wide, offset + width, 7.0))
        };
        let [q, k, v] = [&self.q, &self.k, &self.v].map(|data| shifted(data));
        let mask = upload_u32(gpu, &self.mask);
        let context = untouched(gpu, batch * queries * stride(width));
        let weights = untouched(gpu, batch * heads * queries * stride(keys));
        let attend = attention::dispatch_variant(&self.shape, layout, layout, layout, variant);
        let weigh = attention_weights::dispatch(&self.shape, layout, layout);
        run(gpu, &[(attend, vec![&q, &k, &v, &mask, &context]), (weigh, vec![&q, &k, &mask, &weights])]);
        let what = format!("{variant:?} of {:?}", self.shape);
        (
            unpad(&what, &read(gpu, &context).await, batch * queries, width),
            unpad(&what, &read(gpu, &weights).await, batch * heads * queries, keys),
        )
    }
}

/// Whether a key of a sentence is visible.
type Mask = fn(usize, usize) -> bool;

/// Hides nothing; the end of each sentence; the beginning; everything of the second sentence.
const MASKS: [(&str, Mask); 4] = [
    ("none", |_, _| true),
    ("right padding", |sentence, key| key < 3 + sentence),
    ("left padding", |sentence, key| key > sentence),
    ("one sentence hidden", |sentence, _| sentence != 1),
];

#[device_test]
async fn attention_agrees_for_every_mask() {
    let gpu = gpu().await;
    for (queries, keys) in [(1, 1), (1, 70), (7, 9), (8, 64), (9, 65), (17, 5)] {
        for causal in [false, true] {
            for (name, mask) in MASKS {
                let shape =
                    AttentionShape { batch: 3, heads: 2, queries, keys, d_head: 12, scale: 0.3, causal };
                let case = AttentionCase::random(shape, mask);
                for variant in VARIANTS {
                    let what = format!("{variant:?}, mask {name}, {shape:?}");
                    let (context, weights) = case.on_gpu(&gpu, variant, 0).await;
                    assert_close(&what, &context, &case.context_on_cpu(), (2e-6, 1e-5));
                    assert_close(&format!("weights, {what}"), &weights, &case.weights_on_cpu(), (1e-6, 1e-5));
                }
            }
        }
    }
}

#[device_test]
async fn attention_agrees_for_every_width_of_a_head() {
    let gpu = gpu().await;
    for (d_head, offset) in
        [(1, 0), (3, 5), (15, 0), (16, 8), (17, 1), (33, 0), (63, 2), (64, 64), (65, 0), (130, 3)]
    {
        let shape =
            AttentionShape { batch: 2, heads: 3, queries: 5, keys: 6, d_head, scale: 0.5, causal: false };
        let case = AttentionCase::random(shape, |sentence, key| key < 6 - sentence);
        for variant in VARIANTS {
            let what = format!("{variant:?}, columns from {offset}, {shape:?}");
            let (context, weights) = case.on_gpu(&gpu, variant, offset).await;
            assert_close(&what, &context, &case.context_on_cpu(), (2e-6, 1e-5));
            assert_close(&format!("weights, {what}"), &weights, &case.weights_on_cpu(), (1e-6, 1e-5));
        }
    }
}

/// More than 65,535 products for one query: lavapipe lets no invocation loop more often than that.
#[device_test]
async fn attention_agrees_for_many_keys() {
    let gpu = gpu().await;
    for (keys, d_head) in [(2100, 33), (1100, 65), (600, 128)] {
        let shape =
            AttentionShape { batch: 1, heads: 2, queries: 3, keys, d_head, scale: 0.2, causal: false };
        let case = AttentionCase::random(shape, |_, _| true);
        let (context, weights) = case.on_gpu(&gpu, Variant::Invocation, 0).await;
        assert_close(&format!("{shape:?}"), &context, &case.context_on_cpu(), (1e-5, 1e-5));
        assert_close(&format!("weights, {shape:?}"), &weights, &case.weights_on_cpu(), (1e-6, 1e-5));
    }
}

/// The weights of one head whose keys are the identity matrix are the softmax of its queries.
#[device_test]
async fn attention_weights_are_a_softmax() {
    let gpu = gpu().await;
    let tensors = fixture("softmax");
    let check = async |name: &str, x: Vec<f32>, mask: Vec<u32>, keys: usize, want: &[f32]| {
        // a query of its own sentence, because each has its own mask
        let batch = x.len() / keys;
        let k = (0..batch * keys * keys)
            .map(|i| f32::from((i % (keys * keys)).is_multiple_of(keys + 1)))
            .collect();
        let shape =
            AttentionShape { batch, heads: 1, queries: 1, keys, d_head: keys, scale: 1.0, causal: false };
        let case = AttentionCase { shape, v: vec![0.0; batch * keys * keys], q: x, k, mask };
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
    let case = AttentionCase {
        shape: AttentionShape { batch, heads, queries: length, keys: length, d_head, scale, causal: true },
        q: columns("attention.q"),
        k: columns("attention.k"),
        v: columns("attention.v"),
        mask: tensors.f32("attention.key_mask").iter().map(|&keep| (keep != 0.0).into()).collect(),
    };
    for variant in VARIANTS {
        let (context, weights) = case.on_gpu(&gpu, variant, 3).await;
        assert_close("context", &context, &columns("attention.y_causal"), (1e-5, 0.0));
        assert_close("weights", &weights, &tensors.f32("attention.probs_causal"), (1e-5, 0.0));
    }
}

#[device_test]
async fn the_cache_is_filled_and_attended() {
    let gpu = gpu().await;
    for (rows, heads, d_head, capacity) in [(1, 1, 5, 3), (4, 2, 16, 70), (9, 3, 33, 8), (2, 1, 130, 4)] {
        let width = heads * d_head;
        let qkv = random(1, rows * 3 * width);
        let (mut keys, mut values) = (random(2, rows * capacity * width), random(3, rows * capacity * width));
        // every row sees slots of other rows, in no particular order, and writes to the last that it sees
        let key_counts: Vec<u32> = (0..rows).map(|row| 1 + (row * 23 % capacity) as u32).collect();
        let mut slots: Vec<u32> = (0..rows * capacity).map(|i| (i * 7 % (rows * capacity)) as u32).collect();
        let cache_slots: Vec<u32> = (0..rows).map(|row| (row * capacity) as u32).collect();
        for row in 0..rows {
            slots[row * capacity + key_counts[row] as usize - 1] = cache_slots[row];
        }
        let qkv_buffer = upload(&gpu, &pad(&qkv, 3 * width, 7.0));
        let [key_cache, value_cache] = [&keys, &values].map(|cache| upload(&gpu, &pad(cache, width, 0.0)));
        let [slot_buffer, count_buffer, cache_slot_buffer] =
            [&slots, &key_counts, &cache_slots].map(|words| upload_u32(&gpu, words));

        let shape = CachedAttentionShape { rows, heads, d_head, capacity, scale: 0.4 };
        let mut want = vec![0.0; rows * width];
        cpu::append_kv(&qkv, &cache_slots, width, &mut keys, &mut values);
        let queries = Columns { data: &qkv, stride: 3 * width, first: 0 };
        cpu::cached_attention(&shape, queries, &keys, &values, &slots, &key_counts, &mut want);

        for variant in VARIANTS {
            let what = format!("{variant:?} of {shape:?}");
            let context = untouched(&gpu, rows * stride(width));
            let append = append_kv::dispatch(rows, width);
            let layout = ColumnLayout { stride: stride(3 * width), first: 0 };
            let attend = cached_attention::dispatch_variant(&shape, layout, variant);
            run(
                &gpu,
                &[
                    (append, vec![&qkv_buffer, &cache_slot_buffer, &key_cache, &value_cache]),
                    (
                        attend,
                        vec![&qkv_buffer, &key_cache, &value_cache, &slot_buffer, &count_buffer, &context],
                    ),
                ],
            );
            let context = unpad(&what, &read(&gpu, &context).await, rows, width);
            assert_close(&what, &context, &want, (2e-6, 1e-5));
            let cached = unpad(&what, &read(&gpu, &key_cache).await, rows * capacity, width);
            assert!(cached == keys, "{what}: key cache");
            let cached = unpad(&what, &read(&gpu, &value_cache).await, rows * capacity, width);
            assert!(cached == values, "{what}: value cache");
        }
    }
}
