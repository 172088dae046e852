//! Attention with the scores v · tanh(q + k), and its weights: the CPU function and the kernels, both against a plain loop in f64.

use wordloom::cpu::{self, AttentionScores, Columns};
use wordloom::gpu::Gpu;
use wordloom::kernels::attention::{self, AttentionShape};
use wordloom::kernels::{AdapterClass, ColumnLayout, attention_weights, stride};

use crate::common::{assert_close, device_test, gpu};
use crate::{pad, random, read, run, unpad, untouched, upload, upload_u32};

struct Case {
    shape: AttentionShape,
    /// Queries, keys and values of a token, `[batch * length, …]`
    fused: Vec<f32>,
    mask: Vec<u32>,
    reach: Option<usize>,
    bias: Vec<f32>,
}

impl Case {
    fn random(shape: AttentionShape, reach: Option<usize>, visible: impl Fn(usize, usize) -> bool) -> Self {
        let AttentionShape { batch, heads, queries, keys, d_head, d_value, .. } = shape;
        let numbers = random(1, batch * queries * heads * (2 * d_head + d_value));
        Self {
            shape,
            // also beyond the range in which tanh is not ±1
            fused: numbers.into_iter().map(|x| 30.0 * x * x * x).collect(),
            mask: (0..batch * keys).map(|i| visible(i / keys, i % keys).into()).collect(),
            reach,
            bias: random(2, (2 * reach.unwrap_or(0) + 1) * heads),
        }
    }

    /// First columns of queries, keys and values, and the row's width.
    fn columns(&self) -> [usize; 4] {
        let AttentionShape { heads, d_head, d_value, .. } = self.shape;
        [0, heads * d_head, 2 * heads * d_head, heads * (2 * d_head + d_value)]
    }

    /// Contexts and weights by the formula.
    fn by_hand(&self) -> (Vec<f32>, Vec<f32>) {
        let AttentionShape { batch, heads, queries, keys, d_head, d_value, scale, .. } = self.shape;
        let [_, k_first, v_first, width] = self.columns();
        let mut context = vec![0.0; batch * queries * heads * d_value];
        let mut weights = vec![0.0; batch * heads * queries * keys];
        for (sentence, head, query) in
            (0..batch * heads * queries).map(|i| (i / queries / heads, i / queries % heads, i % queries))
        {
            let row = sentence * queries + query;
            let at = |row: usize, column: usize| f64::from(self.fused[row * width + column]);
            let scores: Vec<Option<f64>> = (0..keys)
                .map(|key| {
                    let key_row = sentence * keys + key;
                    let tangents = (head * d_head..(head + 1) * d_head)
                        .map(|d| (at(row, d) + at(key_row, k_first + d)).tanh());
                    let reach = self.reach.unwrap_or(0) as i64;
                    let place = (key as i64 - query as i64).clamp(-reach, reach) + reach;
                    let bias = self.reach.map_or(0.0, |_| self.bias[place as usize * heads + head]);
                    let score = f64::from(scale) * tangents.sum::<f64>() + f64::from(bias);
                    (self.mask[key_row] != 0).then_some(score)
                })
                .collect();
            let sum: f64 = scores.iter().flatten().map(|score| score.exp()).sum();
            for (key, score) in scores.iter().enumerate() {
                let Some(score) = score else { continue };
                let weight = score.exp() / sum;
                weights[((sentence * heads + head) * queries + query) * keys + key] = weight as f32;
                for d in 0..d_value {
                    let value = at(sentence * keys + key, v_first + head * d_value + d);
                    context[row * heads * d_value + head * d_value + d] += (weight * value) as f32;
                }
            }
        }
        (context, weights)
    }

    fn on_cpu(&self) -> (Vec<f32>, Vec<f32>) {
        let AttentionShape { batch, heads, queries, keys, d_value, .. } = self.shape;
        let [q, k, v, stride] = self.columns();
        let columns = |first| Columns { data: &self.fused, stride, first };
        let scores = AttentionScores {
            shape: self.shape,
            queries: columns(q),
            keys: columns(k),
            key_mask: &self.mask,
            distance_bias: self.reach.map(|_| &self.bias[..]),
        };
        let mut context = vec![f32::NAN; batch * queries * heads * d_value];
        let mut weights = vec![f32::NAN; batch * heads * queries * keys];
        cpu::additive_attention(&scores, columns(v), &mut context);
        cpu::additive_attention_weights(&scores, &mut weights);
        (context, weights)
    }

    async fn on_gpu(&self, gpu: &Gpu, class: AdapterClass) -> (Vec<f32>, Vec<f32>) {
        let AttentionShape { batch, heads, queries, keys, d_value, .. } = self.shape;
        let [q, k, v, width] = self.columns();
        let layout = |first| ColumnLayout { stride: stride(width), first };
        let fused = upload(gpu, &pad(&self.fused, width, 7.0));
        let mask = upload_u32(gpu, &self.mask);
        let bias = upload(gpu, &pad(&self.bias, heads, 7.0));
        let context = untouched(gpu, batch * queries * stride(heads * d_value));
        let weights = untouched(gpu, batch * heads * queries * stride(keys));
        let [q, k, v] = [q, k, v].map(layout);
        let attend = attention::additive_dispatch(&self.shape, q, k, v, self.reach, class);
        let weigh = attention_weights::additive_dispatch(&self.shape, q, k, self.reach);
        run(
            gpu,
            &[
                (attend, vec![&fused, &fused, &fused, &mask, &bias, &context]),
                (weigh, vec![&fused, &fused, &mask, &bias, &weights]),
            ],
        );
        (
            unpad("context", &read(gpu, &context).await, batch * queries, heads * d_value),
            unpad("weights", &read(gpu, &weights).await, batch * heads * queries, keys),
        )
    }
}

#[device_test]
async fn additive_scores_are_those_of_the_formula() {
    let gpu = gpu().await;
    for (heads, length, d_head, d_value, reach) in [
        (1, 1, 1, 1, None),
        (2, 7, 5, 12, None),
        (3, 17, 16, 16, Some(2)),
        (1, 65, 33, 64, None),
        (2, 9, 64, 7, Some(20)),
        (2, 10, 80, 80, None),
    ] {
        let shape = AttentionShape {
            batch: 3,
            heads,
            queries: length,
            keys: length,
            d_head,
            d_value,
            scale: 0.4,
            causal: false,
        };
        // the second sentence begins late, the third ends early
        let case = Case::random(shape, reach, |sentence, token| match sentence {
            1 => token > 0 || length == 1,
            2 => token + 2 < length,
            _ => true,
        });
        let (context, weights) = case.by_hand();
        let place = format!("{shape:?}, reach {reach:?}");
        let check = |place: String, (got, got_weights): (Vec<f32>, Vec<f32>)| {
            assert_close(&place, &got, &context, (1e-4, 1e-4));
            assert_close(&format!("weights, {place}"), &got_weights, &weights, (1e-5, 1e-4));
        };
        check(format!("{place}, on the CPU"), case.on_cpu());
        for class in [AdapterClass::Software, AdapterClass::Hardware] {
            check(format!("{place}, {class:?}"), case.on_gpu(&gpu, class).await);
        }
    }
}
