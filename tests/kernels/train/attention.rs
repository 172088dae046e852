//! Attention over ranges of rows, and its gradients: fused and separate projections, causal ranges, empty ranges, distance
//! biases, dropout.

use wordloom::gpu::Gpu;
use wordloom::kernels::dropout::Dropout;
use wordloom::kernels::ranged_attention::{self as ranged, RangedAttentionShape};
use wordloom::kernels::stride;

use super::philox::word;
use super::{TOLERANCE, assert_near, run_twice};
use crate::common::{device_test, gpu, one_in_browsers};
use crate::{UNTOUCHED, pad, random, unpad, upload, upload_u32};

const STATE: [u32; 4] = [11, 12, 13, 14];

struct Case {
    shape: RangedAttentionShape,
    /// Whether Q is also KV.
    fused: bool,
    q: Vec<f32>,
    kv: Vec<f32>,
    key_ranges: Vec<[u32; 2]>,
    query_ranges: Vec<[u32; 2]>,
    bias: Vec<f32>,
    context_gradient: Vec<f32>,
}

/// All results in f64. Columns of a gradient that no head has are `UNTOUCHED`.
struct Exact {
    context: Vec<f64>,
    row_statistics: Vec<f64>,
    statistics: Vec<f64>,
    q_gradient: Vec<f64>,
    kv_gradient: Vec<f64>,
    bias_gradient: Vec<f64>,
}

/// What a case varies. `sentences`: queries and keys of each.
#[derive(Clone, Debug)]
struct Variation {
    sentences: Vec<[usize; 2]>,
    causal: bool,
    heads: usize,
    d_head: usize,
    d_value: usize,
    reach: Option<usize>,
    dropout: Option<Dropout>,
}

impl Case {
    fn new(variation: &Variation) -> Self {
        let &Variation { causal, heads, d_head, d_value, reach, dropout, .. } = variation;
        let fused = variation.sentences.iter().all(|[queries, keys]| queries == keys);
        let [q_rows, key_rows] = [0, 1].map(|i| variation.sentences.iter().map(|lengths| lengths[i]).sum());
        // columns that belong to nothing before and after
        let (keys, values) = (heads * d_head, heads * d_value);
        let (q_width, kv_width) =
            if fused { (2 * keys + values + 1, 2 * keys + values + 1) } else { (keys, keys + values) };
        let k_first = if fused { keys } else { 0 };
        let shape = RangedAttentionShape {
            q_rows,
            key_rows,
            heads,
            d_head,
            d_value,
            q_width,
            q_first: 0,
            kv_width,
            k_first,
            v_first: k_first + keys,
            scale: 1.0 / (d_head as f32).sqrt(),
            reach,
            dropout,
        };
        let (key_ranges, query_ranges) = ranges(&variation.sentences, causal);
        let q = random(1, q_rows * q_width).iter().map(|q| 2.0 * q).collect::<Vec<f32>>();
        let kv = if fused { q.clone() } else { random(2, key_rows * kv_width) };
        let bias = random(3, (2 * reach.unwrap_or(0) + 1) * heads);
        let context_gradient = random(4, q_rows * values);
        Self { shape, fused, q, kv, key_ranges, query_ranges, bias, context_gradient }
    }

    fn query(&self, row: usize, head: usize) -> &[f32] {
        let shape = &self.shape;
        &self.q[row * shape.q_width + shape.q_first + head * shape.d_head..][..shape.d_head]
    }

    fn key(&self, row: usize, head: usize) -> &[f32] {
        let shape = &self.shape;
        &self.kv[row * shape.kv_width + shape.k_first + head * shape.d_head..][..shape.d_head]
    }

    fn value(&self, row: usize, head: usize) -> &[f32] {
        let shape = &self.shape;
        &self.kv[row * shape.kv_width + shape.v_first + head * shape.d_value..][..shape.d_value]
    }

    fn context_gradient_of(&self, row: usize, head: usize) -> &[f32] {
        let shape = &self.shape;
        &self.context_gradient[(row * shape.heads + head) * shape.d_value..][..shape.d_value]
    }

    fn bias_at(&self, query: usize, key: usize, head: usize) -> Option<usize> {
        let reach = self.shape.reach? as isize;
        let row = (key as isize - query as isize).clamp(-reach, reach) + reach;
        Some(row as usize * self.shape.heads + head)
    }

    /// The factor of a weight: 0 if it is dropped.
    fn kept(&self, query: usize, key: usize, head: usize) -> f64 {
        let Some(Dropout { probability, place }) = self.shape.dropout else { return 1.0 };
        let element = (query * self.shape.key_rows + key) * self.shape.heads + head;
        let drop = f64::from(word(STATE, place, element as u32)) < f64::from(probability) * 2f64.powi(32);
        if drop { 0.0 } else { 1.0 / (1.0 - f64::from(probability)) }
    }

    fn exact(&self) -> Exact {
        let shape = self.shape;
        let heads = shape.heads;
        let mut exact = Exact {
            context: vec![0.0; shape.q_rows * heads * shape.d_value],
            row_statistics: vec![0.0; shape.q_rows * heads],
            statistics: vec![0.0; shape.q_rows * 2 * heads],
            q_gradient: vec![f64::from(UNTOUCHED); shape.q_rows * shape.q_width],
            kv_gradient: vec![f64::from(UNTOUCHED); shape.key_rows * shape.kv_width],
            bias_gradient: vec![0.0; self.bias.len()],
        };
        for row in exact.q_gradient.chunks_exact_mut(shape.q_width) {
            row[shape.q_first..][..heads * shape.d_head].fill(0.0);
        }
        for row in exact.kv_gradient.chunks_exact_mut(shape.kv_width) {
            row[shape.k_first..][..heads * shape.d_head].fill(0.0);
            row[shape.v_first..][..heads * shape.d_value].fill(0.0);
        }
        for query in 0..shape.q_rows {
            for head in 0..heads {
                self.add_query(&mut exact, query, head);
            }
        }
        exact
    }

    /// Forward and backward of one query and head.
    fn add_query(&self, exact: &mut Exact, query: usize, head: usize) {
        let shape = self.shape;
        let scale = f64::from(shape.scale);
        let [begin, end] = self.key_ranges[query].map(|row| row as usize);
        if begin >= end {
            return;
        }
        let q = self.query(query, head);
        let score = |key: usize| {
            let bias = self.bias_at(query, key, head).map_or(0.0, |at| f64::from(self.bias[at]));
            scale * product(q, self.key(key, head)) + bias
        };
        let scores: Vec<f64> = (begin..end).map(score).collect();
        let log_sum = scores.iter().map(|score| score.exp()).sum::<f64>().ln();
        let weights: Vec<f64> = scores.iter().map(|score| (score - log_sum).exp()).collect();
        let gradient = self.context_gradient_of(query, head);
        let at = (query * shape.heads + head) * shape.d_value;
        let context = &mut exact.context[at..][..shape.d_value];
        for (key, weight) in (begin..end).zip(&weights) {
            for (sum, &value) in context.iter_mut().zip(self.value(key, head)) {
                *sum += weight * self.kept(query, key, head) * f64::from(value);
            }
        }
        let delta: f64 = context.iter().zip(gradient).map(|(c, &g)| c * f64::from(g)).sum();
        exact.row_statistics[query * shape.heads + head] = log_sum;
        exact.statistics[query * 2 * shape.heads + head] = log_sum;
        exact.statistics[(query * 2 + 1) * shape.heads + head] = delta;
        for (key, weight) in (begin..end).zip(&weights) {
            let kept = self.kept(query, key, head);
            let score_gradient = weight * (product(gradient, self.value(key, head)) * kept - delta);
            if let Some(at) = self.bias_at(query, key, head) {
                exact.bias_gradient[at] += score_gradient;
            }
            let of_query = query * shape.q_width + shape.q_first + head * shape.d_head;
            let of_key = key * shape.kv_width + shape.k_first + head * shape.d_head;
            for (d, (&q, &k)) in q.iter().zip(self.key(key, head)).enumerate() {
                exact.q_gradient[of_query + d] += scale * score_gradient * f64::from(k);
                exact.kv_gradient[of_key + d] += scale * score_gradient * f64::from(q);
            }
            let of_value = key * shape.kv_width + shape.v_first + head * shape.d_value;
            for (d, &g) in gradient.iter().enumerate() {
                exact.kv_gradient[of_value + d] += weight * kept * f64::from(g);
            }
        }
    }

    async fn check(&self, gpu: &Gpu, what: &str) {
        let shape = self.shape;
        let exact = self.exact();
        let heads = shape.heads;
        let values = heads * shape.d_value;
        let q = upload(gpu, &pad(&self.q, shape.q_width, 7.0));
        let other = (!self.fused).then(|| upload(gpu, &pad(&self.kv, shape.kv_width, 7.0)));
        let kv = other.as_ref().unwrap_or(&q);
        let key_ranges = upload_u32(gpu, self.key_ranges.as_flattened());
        let query_ranges = upload_u32(gpu, self.query_ranges.as_flattened());
        let bias = upload(gpu, &pad(&self.bias, heads, 7.0));
        let state = upload_u32(gpu, &STATE);
        let blank = |rows: usize, width: usize| vec![UNTOUCHED; rows * stride(width)];

        let outputs = [blank(shape.q_rows, values), blank(shape.q_rows, heads)];
        let inputs = [&q, kv, &key_ranges, &bias, &state];
        let forward = run_twice(gpu, &ranged::dispatch(&shape), &inputs, &outputs).await;
        let near = |name: &str, got: &[f32], [rows, width]: [usize; 2], want: &[f64]| {
            let what = format!("{name} of {what}");
            assert_near(&what, &unpad(&what, got, rows, width), want, TOLERANCE);
        };
        near("context", &forward[0], [shape.q_rows, values], &exact.context);
        near("row statistics", &forward[1], [shape.q_rows, heads], &exact.row_statistics);

        let [context, row_statistics] = [0, 1].map(|i| upload(gpu, &forward[i]));
        let context_gradient = upload(gpu, &pad(&self.context_gradient, values, 7.0));
        let inputs = [&row_statistics, &context, &context_gradient];
        let outputs = [blank(shape.q_rows, 2 * heads)];
        let got = run_twice(gpu, &ranged::statistics_dispatch(&shape), &inputs, &outputs).await;
        near("statistics", &got[0], [shape.q_rows, 2 * heads], &exact.statistics);
        let statistics = upload(gpu, &got[0]);

        let inputs = [&q, kv, &key_ranges, &bias, &statistics, &context_gradient, &state];
        let outputs = [blank(shape.q_rows, shape.q_width)];
        let got = run_twice(gpu, &ranged::query_gradient_dispatch(&shape), &inputs, &outputs).await;
        near_touched(&format!("dQ of {what}"), &got[0], [shape.q_rows, shape.q_width], &exact.q_gradient);
        if shape.reach.is_some() {
            let before = random(5, self.bias.len());
            let dispatch = ranged::bias_gradient_dispatch(&shape);
            let got = run_twice(gpu, &dispatch, &inputs, &[pad(&before, heads, 0.0)]).await;
            let added = exact.bias_gradient.iter().zip(&before).map(|(sum, &before)| sum + f64::from(before));
            let want: Vec<f64> = added.collect();
            near("bias gradient", &got[0], [self.bias.len() / heads, heads], &want);
        }
        let inputs = [&q, kv, &query_ranges, &bias, &statistics, &context_gradient, &state];
        let outputs = [blank(shape.key_rows, shape.kv_width)];
        let got = run_twice(gpu, &ranged::key_gradient_dispatch(&shape), &inputs, &outputs).await;
        near_touched(
            &format!("dKV of {what}"),
            &got[0],
            [shape.key_rows, shape.kv_width],
            &exact.kv_gradient,
        );
    }
}

/// Compares the columns that the kernel writes, and checks that the others are untouched.
fn near_touched(what: &str, got: &[f32], [rows, width]: [usize; 2], want: &[f64]) {
    let untouched = |want: &f64| *want == f64::from(UNTOUCHED);
    let got = unpad(what, got, rows, width);
    let stray = got.iter().zip(want).any(|(got, want)| untouched(want) && *got != UNTOUCHED);
    assert!(!stray, "{what}: a column of nothing was written");
    let pairs = got.iter().zip(want).filter(|(_, want)| !untouched(want));
    let (got, want): (Vec<f32>, Vec<f64>) = pairs.map(|(&got, &want)| (got, want)).unzip();
    assert_near(what, &got, &want, TOLERANCE);
}

fn product(a: &[f32], b: &[f32]) -> f64 {
    a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
}

/// The keys of each query, and the queries of each key.
fn ranges(sentences: &[[usize; 2]], causal: bool) -> (Vec<[u32; 2]>, Vec<[u32; 2]>) {
    let (mut key_ranges, mut query_ranges) = (Vec::new(), Vec::new());
    let (mut first_query, mut first_key) = (0, 0);
    for &[queries, keys] in sentences {
        let (queries, keys) = (queries as u32, keys as u32);
        // the last query sees every key
        let history = keys.saturating_sub(queries);
        key_ranges.extend((0..queries).map(|query| {
            let seen = if causal { keys.min(history + query + 1) } else { keys };
            [first_key, first_key + seen]
        }));
        query_ranges.extend((0..keys).map(|key| {
            let unseeing = if causal { queries.min(key.saturating_sub(history)) } else { 0 };
            [first_query + unseeing, first_query + queries]
        }));
        first_query += queries;
        first_key += keys;
    }
    (key_ranges, query_ranges)
}

fn sentences() -> [Vec<[usize; 2]>; 6] {
    let same = |lengths: &[usize]| lengths.iter().map(|&length| [length; 2]).collect();
    [
        // one row; a single pair would have the gradient zero, which is nothing but rounding
        vec![[1, 3]],
        same(&[5, 1, 7, 2]),
        same(&[15, 16, 17]),
        // sentences without keys, and without queries
        vec![[3, 5], [4, 0], [0, 6], [20, 33], [1, 1]],
        vec![[2, 40], [40, 2]],
        same(&[33, 100, 3, 64]),
    ]
}

#[device_test]
async fn attention_and_its_gradients_are_those_of_the_formulas() {
    let gpu = gpu().await;
    let heads = [(1, 1, 1), (3, 5, 6), (2, 64, 64), (2, 20, 8), (1, 128, 100)];
    let options = [
        (false, None, None),
        (true, Some(4), None),
        (false, Some(0), Some(Dropout { probability: 0.3, place: 3 })),
        (true, None, Some(Dropout { probability: 0.1, place: 4 })),
    ];
    for (i, sentences) in sentences().into_iter().enumerate() {
        for (j, (heads, d_head, d_value)) in heads.into_iter().enumerate() {
            // each pair has two of the options: a software adapter takes seconds to compile them all
            let pair = options.into_iter().skip((i + j) % 2).step_by(2);
            for (causal, reach, dropout) in one_in_browsers(j, pair) {
                let sentences = sentences.clone();
                let variation = Variation { sentences, causal, heads, d_head, d_value, reach, dropout };
                Case::new(&variation).check(&gpu, &format!("{variation:?}")).await;
            }
        }
    }
}

/// Scores far from zero: the statistics keep the weights in range.
#[device_test]
async fn large_scores_do_not_overflow() {
    let gpu = gpu().await;
    let variation = Variation {
        sentences: vec![[20, 20], [3, 3]],
        causal: true,
        heads: 2,
        d_head: 4,
        d_value: 4,
        reach: Some(2),
        dropout: None,
    };
    let mut case = Case::new(&variation);
    case.bias.iter_mut().for_each(|bias| *bias = 300.0 * bias.signum());
    let shape = case.shape;
    let [q, ranges] =
        [upload(&gpu, &pad(&case.q, shape.q_width, 0.0)), upload_u32(&gpu, case.key_ranges.as_flattened())];
    let [bias, state] = [upload(&gpu, &pad(&case.bias, 2, 0.0)), upload_u32(&gpu, &STATE)];
    let outputs = [vec![UNTOUCHED; 23 * 8], vec![UNTOUCHED; 23 * 4]];
    let inputs = [&q, &q, &ranges, &bias, &state];
    let got = run_twice(&gpu, &ranged::dispatch(&shape), &inputs, &outputs).await;
    assert!(got.iter().flatten().all(|value| value.is_finite()));
}
