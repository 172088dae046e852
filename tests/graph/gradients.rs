//! The gradient of every operator on the CPU, against central differences in f64 of plain functions: odd shapes, empty
//! ranges, causal ranges, dropout.

use std::ops::Range;

use wordloom::answers::random;
use wordloom::cpu::{
    self, Columns, ContextGradient, DropoutKey, DropoutShare, NormGradient, RangedAttention, RangedShape,
};
use wordloom::ops::Activation;
use wordloom::precision::Products;

fn widen(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

/// The gradient of `loss` at `x`, by central differences.
fn differences(x: &[f32], loss: impl Fn(&[f64]) -> f64) -> Vec<f64> {
    const STEP: f64 = 1e-5;
    let mut x = widen(x);
    (0..x.len())
        .map(|i| {
            let middle = x[i];
            x[i] = middle + STEP;
            let above = loss(&x);
            x[i] = middle - STEP;
            let below = loss(&x);
            x[i] = middle;
            (above - below) / (2.0 * STEP)
        })
        .collect()
}

/// The sum of `y` weighted by `dy`: its gradient with respect to y is `dy`.
fn weighted(y: &[f64], dy: &[f32]) -> f64 {
    y.iter().zip(dy).map(|(y, dy)| y * f64::from(*dy)).sum()
}

/// Within 1e-5 of the largest gradient.
#[track_caller]
fn assert_gradient(what: &str, got: &[f32], want: &[f64]) {
    assert_eq!(got.len(), want.len(), "{what}");
    let most = want.iter().fold(1e-3f64, |most, value| most.max(value.abs()));
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        assert!(
            (f64::from(*got) - want).abs() <= 1e-5 * most,
            "{what} [{i}]: {got}, not {want} (largest {most})"
        );
    }
}

#[test]
fn linear_layers() {
    for (rows, inputs, outputs) in [(1, 1, 1), (3, 5, 2), (17, 33, 65), (40, 7, 130)] {
        let what = format!("{rows} × {inputs} → {outputs}");
        let (x, w) = (random(1, rows * inputs), random(2, outputs * inputs));
        let (dy, z) = (random(3, rows * outputs), random(4, rows * inputs));
        let scale = 0.7;
        let product = |x: &[f64], w: &[f64]| -> Vec<f64> {
            (0..rows * outputs)
                .map(|i| {
                    let (row, output) =
                        (&x[i / outputs * inputs..][..inputs], &w[i % outputs * inputs..][..inputs]);
                    f64::from(scale) * row.iter().zip(output).map(|(x, w)| x * w).sum::<f64>()
                })
                .collect()
        };
        let mut dx = vec![f32::NAN; x.len()];
        cpu::linear_input_gradient(&dy, (&w, inputs), (scale, Products::F32), None, &mut dx);
        let wide = widen(&w);
        let want = differences(&x, |x| weighted(&product(x, &wide), &dy));
        assert_gradient(&format!("{what}: dx"), &dx, &want);
        cpu::linear_input_gradient(&dy, (&w, inputs), (scale, Products::F32), Some(&z), &mut dx);
        let with_earlier: Vec<f64> = want.iter().zip(&z).map(|(want, z)| want + f64::from(*z)).collect();
        assert_gradient(&format!("{what}: dx and earlier"), &dx, &with_earlier);

        let mut dw = vec![0.5; w.len()];
        cpu::linear_weight_gradient(&dy, (&x, inputs), (scale, Products::F32), &mut dw);
        let wide = widen(&x);
        let want = differences(&w, |w| weighted(&product(&wide, w), &dy));
        let want: Vec<f64> = want.iter().map(|want| want + 0.5).collect();
        assert_gradient(&format!("{what}: dW"), &dw, &want);

        let mut db = vec![0.25; outputs];
        cpu::column_sums(&dy, &mut db);
        let want: Vec<f64> = (0..outputs)
            .map(|output| 0.25 + dy[output..].iter().step_by(outputs).map(|&dy| f64::from(dy)).sum::<f64>())
            .collect();
        assert_gradient(&format!("{what}: db"), &db, &want);
    }
}

/// The activations in f64, by their definitions.
fn activation(kind: Activation, x: f64) -> f64 {
    let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
    match kind {
        Activation::Identity => x,
        Activation::Relu => x.max(0.0),
        Activation::Gelu => 0.5 * x * (1.0 + libm::erf(x / 2f64.sqrt())),
        Activation::GeluTanh => {
            0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044715 * x.powi(3))).tanh())
        }
        Activation::QuickGelu => x * sigmoid(1.702 * x),
        Activation::Silu => x * sigmoid(x),
        Activation::Sigmoid => sigmoid(x),
        Activation::Tanh => x.tanh(),
    }
}

#[test]
fn activations_and_gates() {
    let z: Vec<f32> = random(5, 301).iter().map(|x| 6.0 * x).filter(|x| x.abs() > 1e-3).collect();
    let (dy, factor) = (random(6, z.len()), random(7, z.len()));
    for (name, kind) in Activation::HUGGING_FACE_NAMES {
        let mut dz = vec![f32::NAN; z.len()];
        cpu::activate_gradient(&dy, &z, kind, None, &mut dz);
        let apply = |z: &[f64]| -> Vec<f64> { z.iter().map(|&z| activation(kind, z)).collect() };
        assert_gradient(name, &dz, &differences(&z, |z| weighted(&apply(z), &dy)));

        cpu::activate_gradient(&dy, &z, kind, Some(&factor), &mut dz);
        let gate = |z: &[f64], factor: &[f64]| -> Vec<f64> {
            z.iter().zip(factor).map(|(&z, factor)| activation(kind, z) * factor).collect()
        };
        let wide = widen(&factor);
        assert_gradient(name, &dz, &differences(&z, |z| weighted(&gate(z, &wide), &dy)));

        // the gradient of the factor is the gate with dy in its place
        let mut dfactor = vec![f32::NAN; z.len()];
        cpu::activated(&z, kind, Some(&dy), &mut dfactor);
        let wide = widen(&z);
        let want = differences(&factor, |factor| weighted(&gate(&wide, factor), &dy));
        assert_gradient(name, &dfactor, &want);
    }
}

#[test]
fn every_derivative_is_finite() {
    for (name, kind) in Activation::HUGGING_FACE_NAMES {
        for x in [0.0, -0.0, 1e-38, 88.8, -88.8, 1e4, -1e4, 1e30, -1e30, f32::MAX, f32::MIN] {
            assert!(kind.derivative(x).is_finite(), "{name}'({x}) = {}", kind.derivative(x));
        }
    }
}

#[test]
fn norms() {
    for (rows, width) in [(1, 3), (3, 7), (5, 64), (4, 129)] {
        for (centered, with_residual) in [(true, false), (true, true), (false, false), (false, true)] {
            let what = format!("{rows} × {width}, centered {centered}, residual {with_residual}");
            let (x, other, gamma) = (random(1, rows * width), random(2, rows * width), random(3, width));
            let (dy, epsilon) = (random(4, rows * width), 1e-5);
            let residual = with_residual.then_some(&other[..]);
            let norm = |x: &[f64], gamma: &[f64]| -> Vec<f64> {
                let mut y = Vec::new();
                for (row, x) in x.chunks_exact(width).enumerate() {
                    let z: Vec<f64> = (x.iter().enumerate())
                        .map(|(i, x)| x + residual.map_or(0.0, |other| f64::from(other[row * width + i])))
                        .collect();
                    let mean = if centered { z.iter().sum::<f64>() / width as f64 } else { 0.0 };
                    let variance = z.iter().map(|z| (z - mean).powi(2)).sum::<f64>() / width as f64;
                    let sigma = (variance + f64::from(epsilon)).sqrt();
                    y.extend(z.iter().zip(gamma).map(|(z, gamma)| (z - mean) / sigma * gamma));
                }
                y
            };
            let inputs = NormGradient { x: &x, residual, gamma: &gamma, centered, epsilon, dy: &dy };
            let (mut statistics, mut dz) = (vec![0.0; 2 * rows], vec![f32::NAN; x.len()]);
            cpu::layer_norm_gradient(inputs, None, &mut statistics, &mut dz);
            let wide = widen(&gamma);
            let want = differences(&x, |x| weighted(&norm(x, &wide), &dy));
            assert_gradient(&format!("{what}: dz"), &dz, &want);
            cpu::layer_norm_gradient(inputs, Some(&other), &mut statistics, &mut dz);
            let with_earlier: Vec<f64> =
                want.iter().zip(&other).map(|(want, z)| want + f64::from(*z)).collect();
            assert_gradient(&format!("{what}: dz and earlier"), &dz, &with_earlier);

            let mut dgamma = vec![0.0; width];
            cpu::layer_norm_weight_gradient(inputs, &statistics, &mut dgamma);
            let wide = widen(&x);
            let want = differences(&gamma, |gamma| weighted(&norm(&wide, gamma), &dy));
            assert_gradient(&format!("{what}: dγ"), &dgamma, &want);
        }
    }
}

/// One attention: queries, keys and values of packed sentences, in columns of two values.
struct Attention {
    shape: RangedShape,
    key_ranges: Vec<u32>,
    query_ranges: Vec<u32>,
    bias_rows: usize,
    dropout: Option<(DropoutShare, DropoutKey)>,
}

impl Attention {
    fn queries(&self) -> usize {
        self.key_ranges.len() / 2
    }

    fn keys(&self) -> usize {
        self.query_ranges.len() / 2
    }

    fn range(&self, query: usize) -> Range<usize> {
        self.key_ranges[2 * query] as usize..self.key_ranges[2 * query + 1] as usize
    }

    /// The context, by the definition.
    fn context(&self, q: &[f64], k: &[f64], v: &[f64], bias: &[f64]) -> Vec<f64> {
        let RangedShape { heads, d_head, d_value, scale } = self.shape;
        let mut context = vec![0.0; self.queries() * heads * d_value];
        for query in 0..self.queries() {
            for head in 0..heads {
                let row =
                    |x: &[f64], row: usize, width: usize| x[(row * heads + head) * width..][..width].to_vec();
                let own = row(q, query, d_head);
                let scores: Vec<f64> = (self.range(query))
                    .map(|key| {
                        let product: f64 = own.iter().zip(row(k, key, d_head)).map(|(a, b)| a * b).sum();
                        let added = match self.bias_rows {
                            0 => 0.0,
                            rows => {
                                let reach = (rows as i64 - 1) / 2;
                                let distance = (key as i64 - query as i64).clamp(-reach, reach) + reach;
                                bias[distance as usize * heads + head]
                            }
                        };
                        product * f64::from(scale) + added
                    })
                    .collect();
                let most = scores.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let total: f64 = scores.iter().map(|score| (score - most).exp()).sum();
                for (key, score) in self.range(query).zip(&scores) {
                    let kept = self.dropout.map_or(1.0, |(share, numbers)| {
                        let element = (query * self.keys() + key) * heads + head;
                        f64::from(share.factor_of(numbers, element as u32))
                    });
                    let weight = (score - most).exp() / total * kept;
                    let start = (query * heads + head) * d_value;
                    for (sum, value) in context[start..start + d_value].iter_mut().zip(row(v, key, d_value)) {
                        *sum += weight * value;
                    }
                }
            }
        }
        context
    }

    fn check(&self, what: &str) {
        let RangedShape { heads, d_head, d_value, .. } = self.shape;
        let (q, kv) =
            (random(1, self.queries() * heads * d_head), random(2, self.keys() * heads * (d_head + d_value)));
        let bias = random(3, self.bias_rows * heads);
        let dcontext = random(4, self.queries() * heads * d_value);
        let stride = heads * (d_head + d_value);
        let columns = |first| Columns { data: &kv, stride, first };
        let attention = RangedAttention {
            shape: self.shape,
            queries: Columns { data: &q, stride: heads * d_head, first: 0 },
            keys: columns(0),
            values: columns(heads * d_head),
            key_ranges: &self.key_ranges,
            distance_bias: (self.bias_rows > 0).then_some(&bias[..]),
            dropout: self.dropout,
        };
        let part = |first: usize, width: usize| -> Vec<f32> {
            kv.chunks_exact(stride).flat_map(|row| &row[first..first + width]).copied().collect()
        };
        let (k, v) = (part(0, heads * d_head), part(heads * d_head, heads * d_value));

        let mut log_sums = vec![f32::NAN; self.queries() * heads];
        let mut context = vec![f32::NAN; dcontext.len()];
        cpu::ranged_attention(&attention, &mut log_sums, &mut context);
        let [wide_q, wide_k, wide_v, wide_bias] = [&q, &k, &v, &bias].map(|values| widen(values));
        let want = self.context(&wide_q, &wide_k, &wide_v, &wide_bias);
        assert_gradient(&format!("{what}: context"), &context, &want);

        let mut products = vec![f32::NAN; log_sums.len()];
        cpu::context_products(self.shape, &context, &dcontext, &mut products);
        let of = ContextGradient {
            query_ranges: &self.query_ranges,
            log_sums: &log_sums,
            products: &products,
            dcontext: &dcontext,
        };
        let mut dq = vec![f32::NAN; q.len()];
        cpu::ranged_query_gradient(&attention, &of, (&mut dq, heads * d_head, 0));
        let loss =
            |q: &[f64], k: &[f64], v: &[f64], bias: &[f64]| weighted(&self.context(q, k, v, bias), &dcontext);
        assert_gradient(
            &format!("{what}: dq"),
            &dq,
            &differences(&q, |q| loss(q, &wide_k, &wide_v, &wide_bias)),
        );

        let mut dkv = vec![f32::NAN; kv.len()];
        cpu::ranged_key_gradient(&attention, &of, (&mut dkv, stride, [0, heads * d_head]));
        let of_part = |first: usize, width: usize| -> Vec<f32> {
            dkv.chunks_exact(stride).flat_map(|row| &row[first..first + width]).copied().collect()
        };
        let want = differences(&k, |k| loss(&wide_q, k, &wide_v, &wide_bias));
        assert_gradient(&format!("{what}: dk"), &of_part(0, heads * d_head), &want);
        let want = differences(&v, |v| loss(&wide_q, &wide_k, v, &wide_bias));
        assert_gradient(&format!("{what}: dv"), &of_part(heads * d_head, heads * d_value), &want);

        let mut dbias = vec![0.0; bias.len()];
        if self.bias_rows > 0 {
            cpu::ranged_bias_gradient(&attention, &of, &mut dbias);
            let want = differences(&bias, |bias| loss(&wide_q, &wide_k, &wide_v, bias));
            assert_gradient(&format!("{what}: dbias"), &dbias, &want);
        }
    }
}

/// The ranges of sentences of these lengths, and `rest` rows that see nothing.
fn ranges(lengths: &[u32], rest: usize, of_row: impl Fn(u32, u32, u32) -> [u32; 2]) -> Vec<u32> {
    let mut ranges = Vec::new();
    let mut first = 0;
    for &length in lengths {
        ranges.extend((first..first + length).flat_map(|row| of_row(row, first, first + length)));
        first += length;
    }
    ranges.resize(ranges.len() + 2 * rest, 0);
    ranges
}

#[test]
fn attention_within_and_between_sentences() {
    let dropout = DropoutShare::new(0.3);
    let key = DropoutKey { seed: [1, 2], pass: [3, 0], place: 4 };
    for (heads, d_head, d_value) in [(1, 1, 1), (2, 5, 3), (3, 16, 17)] {
        let shape = RangedShape { heads, d_head, d_value, scale: 0.6 };
        let lengths = [1, 5, 2, 9];
        for (bias_rows, drops) in [(0, false), (7, false), (0, true), (3, true)] {
            let what =
                format!("{heads} heads of {d_head} and {d_value}, {bias_rows} rows of bias, dropout {drops}");
            let dropout = drops.then_some((dropout, key));
            let whole = ranges(&lengths, 2, |_, first, end| [first, end]);
            Attention { shape, key_ranges: whole.clone(), query_ranges: whole, bias_rows, dropout }
                .check(&format!("{what}, both sides"));
            let until = ranges(&lengths, 2, |row, first, _| [first, row + 1]);
            let from = ranges(&lengths, 2, |row, _, end| [row, end]);
            Attention { shape, key_ranges: until, query_ranges: from, bias_rows, dropout }
                .check(&format!("{what}, causal"));
        }
        // two sentences of 3 and 2 queries see 4 keys and 1 key
        let key_ranges = vec![0, 4, 0, 4, 0, 4, 4, 5, 4, 5, 0, 0];
        let query_ranges = vec![0, 3, 0, 3, 0, 3, 0, 3, 3, 5];
        let cross =
            Attention { shape, key_ranges, query_ranges, bias_rows: 0, dropout: Some((dropout, key)) };
        cross.check("cross-attention");
    }
}

#[test]
fn the_loss_with_label_smoothing() {
    for (rows, vocabulary, smoothing) in [(1, 2, 0.0), (3, 7, 0.1), (5, 130, 0.3), (2, 1500, 0.1)] {
        let what = format!("{rows} rows of {vocabulary}, smoothing {smoothing}");
        let logits: Vec<f32> = random(8, rows * vocabulary).iter().map(|x| 5.0 * x).collect();
        let mut labels: Vec<u32> = (0..rows as u32).map(|row| row * 31 % vocabulary as u32).collect();
        if rows > 2 {
            labels[1] = cpu::NO_LABEL;
        }
        let factor = 0.37;
        let loss_of = |logits: &[f64], smoothing: f64| -> Vec<f64> {
            let row_loss = |(logits, label): (&[f64], &u32)| {
                if *label == cpu::NO_LABEL {
                    return 0.0;
                }
                let most = logits.iter().copied().fold(f64::NEG_INFINITY, f64::max);
                let log_sum = most + logits.iter().map(|x| (x - most).exp()).sum::<f64>().ln();
                let mean = logits.iter().map(|x| log_sum - x).sum::<f64>() / vocabulary as f64;
                (1.0 - smoothing) * (log_sum - logits[*label as usize]) + smoothing * mean
            };
            logits.chunks_exact(vocabulary).zip(&labels).map(row_loss).collect()
        };
        let mut gradient = logits.clone();
        let mut losses = vec![f32::NAN; rows * cpu::LOSS_COLUMNS];
        cpu::softmax_loss(&mut gradient, &labels, (smoothing, factor), &mut losses);
        let wide_smoothing = f64::from(smoothing);
        let want = differences(&logits, |logits| {
            f64::from(factor) * loss_of(logits, wide_smoothing).iter().sum::<f64>()
        });
        assert_gradient(&what, &gradient, &want);
        let column =
            |column: usize| losses[column..].iter().step_by(cpu::LOSS_COLUMNS).copied().collect::<Vec<_>>();
        assert_gradient(&format!("{what}: loss"), &column(0), &loss_of(&widen(&logits), 0.0));
        assert_gradient(&format!("{what}: smoothed"), &column(1), &loss_of(&widen(&logits), wide_smoothing));
        for (row, label) in labels.iter().enumerate() {
            let logits = &logits[row * vocabulary..][..vocabulary];
            let is_best = *label != cpu::NO_LABEL && logits.iter().all(|x| *x <= logits[*label as usize]);
            assert_eq!(column(2)[row], f32::from(is_best), "{what}: best");
            assert_eq!(column(3)[row], f32::from(*label != cpu::NO_LABEL), "{what}: counted");
        }
    }
}

#[test]
fn rows_of_embeddings_are_summed() {
    let (width, scale) = (5, 1.5);
    let dy = random(9, 6 * width);
    // rows 0 and 4 have read row 2; row 3 has read row 7; the others nothing
    let (order, segments) = ([0, 4, 3, 0, 0, 0], [2, 0, 7, 2, cpu::NO_ROW, 3, cpu::NO_ROW, 3]);
    let mut table = vec![0.5; 9 * width];
    cpu::embedding_gradient(&dy, &order, &segments, scale, width, &mut table);
    for (row, values) in table.chunks_exact(width).enumerate() {
        for (column, value) in values.iter().enumerate() {
            let sum: f32 = match row {
                2 => dy[column] + dy[4 * width + column],
                7 => dy[3 * width + column],
                _ => 0.0,
            };
            assert!((value - 0.5 - scale * sum).abs() < 1e-6, "row {row}, column {column}: {value}");
        }
    }
}

#[test]
fn dropout_keeps_the_mean_and_makes_its_mask_again() {
    let (count, p) = (100_003, 0.25);
    let (x, z) = (vec![1.0; count], random(1, count));
    let share = DropoutShare::new(p);
    let key = DropoutKey { seed: [7, 0], pass: [1, 0], place: 3 };
    let drop = |x: &[f32], z: Option<&[f32]>, key: DropoutKey| {
        let mut y = vec![f32::NAN; x.len()];
        cpu::dropout(x, z, share, key, &mut y);
        y
    };
    let y = drop(&x, None, key);
    for (element, y) in y.iter().enumerate() {
        assert_eq!(*y, share.factor_of(key, element as u32), "element {element}");
    }
    let dropped = y.iter().filter(|y| **y == 0.0).count() as f64;
    let deviation = (count as f64 * 0.25 * 0.75).sqrt();
    assert!((dropped - 0.25 * count as f64).abs() < 5.0 * deviation, "{dropped} of {count}");
    let sums = drop(&x, Some(&z), key);
    assert!(sums.iter().zip(&y).zip(&z).all(|((sum, y), z)| *sum == y + z), "the same mask, and z added");
    for other in [
        DropoutKey { place: 4, ..key },
        DropoutKey { pass: [2, 0], ..key },
        DropoutKey { seed: [8, 0], ..key },
    ] {
        let same = drop(&x, None, other).iter().zip(&y).filter(|(a, b)| a == b).count() as f64;
        let expected = (0.25f64.powi(2) + 0.75f64.powi(2)) * count as f64;
        assert!((same - expected).abs() < 5.0 * deviation, "{other:?}: {same} elements as before");
    }
}

#[test]
fn a_step_of_adam() {
    let count = 10_007;
    let (mut weights, mut gradients) = (random(1, count), random(2, count));
    let (mut means, mut squares) = (random(3, count), random(4, count));
    squares.iter_mut().for_each(|square| *square = square.abs());
    let before = [&weights, &gradients, &means, &squares].map(|values| widen(values));
    let step = cpu::AdamStep {
        beta1: 0.9,
        beta2: 0.98,
        epsilon: 1e-9,
        weight_decay: 0.01,
        learning_rate: 0.05,
        correction1: 3.7,
        correction2: 17.0,
        factor: 0.5,
    };
    cpu::adam(step, &mut weights, &mut gradients, &mut means, &mut squares);
    for i in 0..count {
        let [w, g, m, v] = [0, 1, 2, 3].map(|which| before[which][i]);
        let g = g * 0.5;
        let (m, v) = (0.9 * m + 0.1 * g, 0.98 * v + 0.02 * g * g);
        let w = w - 0.05 * 0.01 * w;
        let w = w - 0.05 * (m * 3.7) / ((v * 17.0).sqrt() + 1e-9);
        for (what, got, want) in [("weight", weights[i], w), ("mean", means[i], m), ("square", squares[i], v)]
        {
            assert!(
                (f64::from(got) - want).abs() <= 2e-6 * want.abs().max(0.1),
                "{what} {i}: {got}, not {want}"
            );
        }
        assert_eq!(gradients[i], 0.0, "the next sum begins with zero");
    }
}
