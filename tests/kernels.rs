//! Every kernel against the CPU operator of the same name: at sizes around its tiles, with every mask, in every variant,
//! on whatever adapter there is (a software one counts).

mod common;

use common::{Tensors, assert_close, data};
use wordloom::activation::Activation;
use wordloom::cpu::{self, Columns, Linear};
use wordloom::decode::{EditKind, ScoreEdit, ScoreRules, ScoreSpace};
use wordloom::gpu::{self, Buffer, Gpu};
use wordloom::kernels::attention::AttentionShape;
use wordloom::kernels::cached_attention::CachedAttentionShape;
use wordloom::kernels::embed::EmbedShape;
use wordloom::kernels::layer_norm::LayerNormShape;
use wordloom::kernels::linear::{LinearShape, Variant};
use wordloom::kernels::log_softmax_top_k::{TopKBuffer, TopKShape, encode_edits};
use wordloom::kernels::*;

const CLASSES: [AdapterClass; 2] = [AdapterClass::Software, AdapterClass::Hardware];

fn open() -> Gpu {
    let adapter = pollster::block_on(gpu::any()).expect("tests need a GPU adapter: run `cargo xtask setup`");
    pollster::block_on(Gpu::open(adapter)).unwrap()
}

/// Stands in buffers before a kernel writes to them.
const UNTOUCHED: f32 = -12345.0;

fn upload(gpu: &Gpu, data: &[f32]) -> Buffer {
    gpu.upload("test", data).unwrap()
}

fn upload_u32(gpu: &Gpu, data: &[u32]) -> Buffer {
    gpu.upload("test", data).unwrap()
}

fn untouched(gpu: &Gpu, elements: usize) -> Buffer {
    upload(gpu, &vec![UNTOUCHED; elements])
}

fn run(gpu: &Gpu, launches: &[(Dispatch, Vec<&Buffer>)]) {
    let recording = gpu.record("test", launches).unwrap();
    gpu.submit(&recording, &[]);
}

fn read<T: bytemuck::AnyBitPattern>(gpu: &Gpu, buffer: &Buffer) -> Vec<T> {
    pollster::block_on(gpu.read(buffer)).unwrap()
}

/// Seeded numbers in -1 … 1.
fn random(seed: u32, count: usize) -> Vec<f32> {
    let mut state = seed.wrapping_mul(2_654_435_761).wrapping_add(12_345);
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        state as f32 / u32::MAX as f32 * 2.0 - 1.0
    };
    (0..count).map(|_| next()).collect()
}

/// `[rows, width]` with the stride of the device; the padding holds `filler`.
fn pad(data: &[f32], width: usize, filler: f32) -> Vec<f32> {
    let rows = data.chunks_exact(width);
    rows.flat_map(|row| row.iter().copied().chain(std::iter::repeat_n(filler, stride(width) - width))).collect()
}

/// Takes the padding off, and checks that it is zero.
fn unpad(what: &str, data: &[f32], rows: usize, width: usize) -> Vec<f32> {
    let mut out = Vec::with_capacity(rows * width);
    for row in data[..rows * stride(width)].chunks_exact(stride(width)) {
        out.extend_from_slice(&row[..width]);
        assert!(row[width..].iter().all(|&padding| padding == 0.0), "{what}: padding {:?}", &row[width..]);
    }
    out
}

/// A linear layer with its operands on the device.
struct LinearCase {
    shape: LinearShape,
    x: Vec<f32>,
    weight: Vec<f32>,
    bias: Vec<f32>,
    residual: Vec<f32>,
}

impl LinearCase {
    fn random(shape: LinearShape) -> Self {
        let LinearShape { rows, inputs, outputs, .. } = shape;
        let weight = random(2, outputs * inputs);
        let (x, bias, residual) = (random(1, rows * inputs), random(3, outputs), random(4, rows * outputs));
        Self { shape, x, weight, bias, residual }
    }

    fn on_cpu(&self) -> Vec<f32> {
        let shape = self.shape;
        let mut y = vec![0.0; shape.rows * shape.outputs];
        let bias = shape.bias.then_some(&self.bias[..]);
        let layer = Linear { weight: &self.weight, inputs: shape.inputs, bias };
        let residual = shape.residual.then_some(&self.residual[..]);
        cpu::linear(&self.x, layer, shape.activation, residual, &mut y);
        y
    }

    /// `panels_per_part`: where to split the weights.
    fn on_gpu(&self, gpu: &Gpu, variant: Variant, class: AdapterClass, panels_per_part: usize) -> Vec<f32> {
        let LinearShape { rows, inputs, outputs, .. } = self.shape;
        let x = upload(gpu, &pad(&self.x, inputs, 7.0));
        let bias = upload(gpu, &pad(&self.bias, outputs, 0.0));
        let residual = upload(gpu, &pad(&self.residual, outputs, 7.0));
        let y = untouched(gpu, rows * stride(outputs));
        let parts: Vec<_> = (0..outputs)
            .step_by(panels_per_part * PANEL)
            .map(|first| {
                let part = first..outputs.min(first + panels_per_part * PANEL);
                let rows = &self.weight[part.start * inputs..part.end * inputs];
                (part.clone(), upload(gpu, &panels::pack(rows, part.len(), inputs)))
            })
            .collect();
        let launches: Vec<_> = parts
            .iter()
            .map(|(part, weight)| {
                let dispatch = linear::dispatch_variant(&self.shape, part.clone(), variant, class);
                (dispatch, vec![&x, weight, &bias, &residual, &y])
            })
            .collect();
        run(gpu, &launches);
        unpad(&format!("{variant:?}, {:?}", self.shape), &read(gpu, &y), rows, outputs)
    }
}

/// Rows, inputs and outputs on both sides of every tile.
const LINEAR_SIZES: [[usize; 3]; 22] = [
    [1, 1, 1],
    [1, 4, 4],
    [1, 37, 1003],
    [1, 256, 64],
    [2, 5, 3],
    [3, 64, 65],
    [4, 65, 63],
    [5, 3, 64],
    [6, 16, 127],
    [7, 17, 128],
    [8, 15, 129],
    [9, 33, 31],
    [15, 63, 5],
    [16, 64, 64],
    [17, 300, 32],
    [33, 12, 17],
    [63, 31, 61],
    [64, 128, 192],
    [65, 20, 68],
    [127, 129, 65],
    [131, 7, 130],
    [200, 512, 257],
];

#[test]
fn linear_agrees_in_every_variant_bit_by_bit() {
    let gpu = open();
    for [rows, inputs, outputs] in LINEAR_SIZES {
        for fused in [false, true] {
            let activation = if fused { Activation::Relu } else { Activation::Identity };
            let shape = LinearShape { rows, inputs, outputs, bias: fused, activation, residual: fused };
            let case = LinearCase::random(shape);
            let want = case.on_cpu();
            let mut first: Option<Vec<f32>> = None;
            for variant in Variant::ALL {
                for class in CLASSES {
                    let what = format!("{variant:?} for {class:?} of {shape:?}");
                    let y = case.on_gpu(&gpu, variant, class, usize::MAX / PANEL);
                    // products of numbers below 1: the error grows with the number of summands
                    assert_close(&what, &y, &want, (1e-6 + 4e-6 * (inputs as f32).sqrt(), 0.0));
                    let first = first.get_or_insert_with(|| y.clone());
                    assert!(*first == y, "{what} differs from the other variants");
                }
            }
        }
    }
}

#[test]
fn linear_is_right_for_weights_in_parts() {
    let gpu = open();
    for rows in [1, 4, 9, 70] {
        let activation = Activation::Identity;
        let shape = LinearShape { rows, inputs: 33, outputs: 203, bias: true, activation, residual: true };
        let case = LinearCase::random(shape);
        for variant in Variant::ALL {
            let whole = case.on_gpu(&gpu, variant, AdapterClass::Software, 8);
            for panels_per_part in [1, 2, 3] {
                let parts = case.on_gpu(&gpu, variant, AdapterClass::Software, panels_per_part);
                assert!(whole == parts, "{variant:?}, {rows} rows, {panels_per_part} panels a part");
            }
        }
    }
}

#[test]
fn linear_is_a_matrix_product() {
    let gpu = open();
    let tensors = fixture("matmul");
    for case in (0..9).map(|i| format!("linear.{i}")) {
        let tensor = |name: &str| tensors.f32(&format!("{case}.{name}"));
        let dims = tensors.shape(&format!("{case}.weight"));
        let (outputs, inputs) = (dims[0], dims[1]);
        let x = tensor("x");
        let rows = x.len() / inputs;
        for (bias, want) in [(true, tensor("y")), (false, tensor("y_nobias"))] {
            let activation = Activation::Identity;
            let shape = LinearShape { rows, inputs, outputs, bias, activation, residual: false };
            let (x, weight, bias) = (x.clone(), tensor("weight"), tensor("bias"));
            let residual = vec![0.0; rows * outputs];
            let layer = LinearCase { shape, x, weight, bias, residual };
            for variant in Variant::ALL {
                let y = layer.on_gpu(&gpu, variant, AdapterClass::Hardware, 100);
                let tolerance = 1e-5 * (inputs as f32).sqrt();
                assert_close(&format!("{case} by {variant:?}"), &y, &want, (tolerance, 0.0));
            }
        }
    }
}

/// A layer of one input with the weight 1 is its activation.
#[test]
fn activations_are_those_of_the_reference() {
    let gpu = open();
    let tensors = fixture("activations");
    let x = tensors.f32("x");
    for (name, activation) in [
        ("relu", Activation::Relu),
        ("gelu_erf", Activation::Gelu),
        ("gelu_tanh", Activation::GeluTanh),
        ("quick_gelu", Activation::QuickGelu),
        ("silu", Activation::Silu),
        ("sigmoid", Activation::Sigmoid),
        ("tanh", Activation::Tanh),
    ] {
        let rows = x.len();
        let shape = LinearShape { rows, inputs: 1, outputs: 1, bias: false, activation, residual: false };
        let case = LinearCase {
            shape,
            x: x.clone(),
            weight: vec![1.0],
            bias: vec![0.0],
            residual: vec![0.0; rows],
        };
        let y = case.on_gpu(&gpu, Variant::MatmulRegisters, AdapterClass::Software, 1);
        assert_close(name, &y, &tensors.f32(name), (2e-6, 2e-6));
    }
}

fn fixture(name: &str) -> Tensors {
    Tensors::open(&data("kernels").join(name).with_extension("safetensors"))
}

#[test]
fn embeddings_are_looked_up() {
    let gpu = open();
    for (d_model, vocabulary, rows) in [(1, 1, 1), (6, 130, 5), (64, 200, 33), (129, 64, 3)] {
        let table = random(1, vocabulary * d_model);
        let position_table = random(2, 40 * d_model);
        let tokens: Vec<u32> = (0..rows).map(|r| (r * 67 % vocabulary) as u32).collect();
        let positions: Vec<u32> = (0..rows).map(|r| (r * 7 % 40) as u32).collect();
        for with_positions in [false, true] {
            let mut want = vec![0.0; rows * d_model];
            let position = with_positions.then_some((&positions[..], &position_table[..]));
            cpu::embed(&tokens, position, &table, d_model, 1.5, &mut want);

            let shape = EmbedShape { rows, d_model, scale: 1.5, positions: with_positions };
            let token_buffer = upload_u32(&gpu, &tokens);
            let position_buffer = upload_u32(&gpu, &positions);
            let rows_buffer = upload(&gpu, &pad(&position_table, d_model, 0.0));
            let y = untouched(&gpu, rows * stride(d_model));
            let parts: Vec<_> = (0..vocabulary)
                .step_by(PANEL)
                .map(|first| {
                    let part = first..vocabulary.min(first + PANEL);
                    let rows = &table[part.start * d_model..part.end * d_model];
                    (part.clone(), upload(&gpu, &panels::pack(rows, part.len(), d_model)))
                })
                .collect();
            let launches: Vec<_> = parts
                .iter()
                .map(|(part, table)| {
                    let bound = vec![&token_buffer, &position_buffer, table, &rows_buffer, &y];
                    (embed::dispatch(&shape, part.clone()), bound)
                })
                .collect();
            run(&gpu, &launches);
            let what = format!("{shape:?} of {vocabulary}");
            assert_close(&what, &unpad(&what, &read(&gpu, &y), rows, d_model), &want, (1e-6, 0.0));
        }
    }
}

const NORM_VARIANTS: [layer_norm::Variant; 2] =
    [layer_norm::Variant::Invocation, layer_norm::Variant::Workgroup];

fn norm_on_gpu(
    gpu: &Gpu,
    shape: &LayerNormShape,
    [x, residual, gamma, beta]: [&[f32]; 4],
    variant: layer_norm::Variant,
) -> Vec<f32> {
    let y = untouched(gpu, shape.rows * stride(shape.width));
    let rows = |data| upload(gpu, &pad(data, shape.width, 7.0));
    let vector = |data| upload(gpu, &pad(data, shape.width, 0.0));
    let (x, residual, gamma, beta) = (rows(x), rows(residual), vector(gamma), vector(beta));
    run(gpu, &[(layer_norm::dispatch_variant(shape, variant), vec![&x, &residual, &gamma, &beta, &y])]);
    unpad(&format!("{variant:?} of {shape:?}"), &read(gpu, &y), shape.rows, shape.width)
}

#[test]
fn norms_agree() {
    let gpu = open();
    for (rows, width) in [(1, 1), (1, 3), (7, 33), (8, 64), (9, 255), (17, 256), (70, 257), (3, 1024)] {
        let (x, residual) = (random(1, rows * width), random(2, rows * width));
        let (gamma, beta) = (random(3, width), random(4, width));
        for (with_residual, centered) in [(false, true), (true, true), (false, false), (true, false)] {
            let shape = LayerNormShape { rows, width, epsilon: 1e-5, residual: with_residual, centered };
            let mut want = vec![0.0; x.len()];
            let added = with_residual.then_some(&residual[..]);
            cpu::layer_norm(&x, added, &gamma, centered.then_some(&beta), 1e-5, &mut want);
            for variant in NORM_VARIANTS {
                let y = norm_on_gpu(&gpu, &shape, [&x, &residual, &gamma, &beta], variant);
                assert_close(&format!("{variant:?} of {shape:?}"), &y, &want, (1e-5, 1e-5));
            }
        }
    }
}

#[test]
fn norms_are_those_of_the_reference() {
    let gpu = open();
    let tensors = fixture("norm");
    let mut compared = 0;
    for name in tensors.names() {
        let Some((case, kind)) = name.rsplit_once('.') else { continue };
        let Some((kind, epsilon)) = kind.split_once("_eps") else { continue };
        let dims = tensors.shape(&name);
        let (rows, width, epsilon) = (dims[0], dims[1], epsilon.parse().unwrap());
        let vector = |name: &str, default: f32| match tensors.has(&format!("{case}.weight")) {
            true => tensors.f32(&format!("{case}.{name}")),
            false => vec![default; width],
        };
        let (x, gamma, beta) = (tensors.f32(&format!("{case}.x")), vector("weight", 1.0), vector("bias", 0.0));
        let shape = LayerNormShape { rows, width, epsilon, residual: false, centered: kind == "layernorm" };
        let tolerance = if case == "norm_offset" { 5e-3 } else { 1e-5 };
        for variant in NORM_VARIANTS {
            let y = norm_on_gpu(&gpu, &shape, [&x, &x, &gamma, &beta], variant);
            assert_close(&format!("{name} by {variant:?}"), &y, &tensors.f32(&name), (tolerance, 0.0));
            compared += 1;
        }
    }
    assert!(compared >= 30, "{compared} cases");
}

const ATTENTION_VARIANTS: [attention::Variant; 2] =
    [attention::Variant::Invocation, attention::Variant::Workgroup];

/// Queries, keys and values of an attention as columns of one fused buffer or of three.
struct AttentionCase {
    shape: AttentionShape,
    q: Vec<f32>,
    k: Vec<f32>,
    v: Vec<f32>,
    mask: Vec<u32>,
}

impl AttentionCase {
    fn random(shape: AttentionShape, mask: fn(usize, usize) -> bool) -> Self {
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
        cpu::attention_weights(&self.shape, self.columns(&self.q), self.columns(&self.k), &self.mask, &mut weights);
        weights
    }

    /// `offset` columns that belong to something else come first.
    fn on_gpu(&self, gpu: &Gpu, variant: attention::Variant, offset: usize) -> (Vec<f32>, Vec<f32>) {
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
            unpad(&what, &read(gpu, &context), batch * queries, width),
            unpad(&what, &read(gpu, &weights), batch * heads * queries, keys),
        )
    }
}

/// Hides nothing; the end of each sentence; the beginning; everything of the second sentence.
const MASKS: [(&str, fn(usize, usize) -> bool); 4] = [
    ("none", |_, _| true),
    ("right padding", |sentence, key| key < 3 + sentence),
    ("left padding", |sentence, key| key >= 1 + sentence),
    ("one sentence hidden", |sentence, _| sentence != 1),
];

#[test]
fn attention_agrees_for_every_mask() {
    let gpu = open();
    for (queries, keys) in [(1, 1), (1, 70), (7, 9), (8, 64), (9, 65), (17, 5)] {
        for causal in [false, true] {
            for (name, mask) in MASKS {
                let shape = AttentionShape { batch: 3, heads: 2, queries, keys, d_head: 12, scale: 0.3, causal };
                let case = AttentionCase::random(shape, mask);
                for variant in ATTENTION_VARIANTS {
                    let what = format!("{variant:?}, mask {name}, {shape:?}");
                    let (context, weights) = case.on_gpu(&gpu, variant, 0);
                    assert_close(&what, &context, &case.context_on_cpu(), (2e-6, 1e-5));
                    assert_close(&format!("weights, {what}"), &weights, &case.weights_on_cpu(), (1e-6, 1e-5));
                }
            }
        }
    }
}

#[test]
fn attention_agrees_for_every_width_of_a_head() {
    let gpu = open();
    for (d_head, offset) in [(1, 0), (3, 5), (15, 0), (16, 8), (17, 1), (33, 0), (63, 2), (64, 64), (65, 0), (130, 3)]
    {
        let shape =
            AttentionShape { batch: 2, heads: 3, queries: 5, keys: 6, d_head, scale: 0.5, causal: false };
        let case = AttentionCase::random(shape, |sentence, key| key < 6 - sentence);
        for variant in ATTENTION_VARIANTS {
            let what = format!("{variant:?}, columns from {offset}, {shape:?}");
            let (context, weights) = case.on_gpu(&gpu, variant, offset);
            assert_close(&what, &context, &case.context_on_cpu(), (2e-6, 1e-5));
            assert_close(&format!("weights, {what}"), &weights, &case.weights_on_cpu(), (1e-6, 1e-5));
        }
    }
}

/// The weights of one head whose keys are the identity matrix are the softmax of its queries.
#[test]
fn attention_weights_are_a_softmax() {
    let gpu = open();
    let tensors = fixture("softmax");
    let check = |name: &str, x: Vec<f32>, mask: Vec<u32>, keys: usize, want: &[f32]| {
        // a query of its own sentence, because each has its own mask
        let batch = x.len() / keys;
        let k = (0..batch * keys * keys).map(|i| f32::from(i % (keys * keys) % (keys + 1) == 0)).collect();
        let shape = AttentionShape { batch, heads: 1, queries: 1, keys, d_head: keys, scale: 1.0, causal: false };
        let case = AttentionCase { shape, v: vec![0.0; batch * keys * keys], q: x, k, mask };
        let (_, weights) = case.on_gpu(&gpu, attention::Variant::Invocation, 0);
        assert_close(name, &weights, want, (1e-6, 0.0));
    };
    for case in ["softmax.0", "softmax.1", "softmax.2"] {
        let tensor = |name: &str| tensors.f32(&format!("{case}.{name}"));
        let keys = tensors.shape(&format!("{case}.x"))[2];
        let mask = tensor("mask").iter().map(|&keep| (keep != 0.0).into()).collect();
        check(case, tensor("x"), mask, keys, &tensor("y_zeros"));
    }
    let x = tensors.f32("softmax_extreme.x");
    let mask = vec![1; x.len()];
    check("softmax_extreme", x, mask, 3, &tensors.f32("softmax_extreme.y"));
}

#[test]
fn attention_is_that_of_the_reference() {
    let gpu = open();
    let tensors = fixture("softmax");
    let &[batch, heads, length, d_head] = &tensors.shape("attention.q")[..] else { panic!("four dimensions") };
    let columns = |name: &str| common::heads_to_columns(&tensors.f32(name), [batch, heads, length, d_head]);
    let scale = 1.0 / (d_head as f32).sqrt();
    let case = AttentionCase {
        shape: AttentionShape { batch, heads, queries: length, keys: length, d_head, scale, causal: true },
        q: columns("attention.q"),
        k: columns("attention.k"),
        v: columns("attention.v"),
        mask: tensors.f32("attention.key_mask").iter().map(|&keep| (keep != 0.0).into()).collect(),
    };
    for variant in ATTENTION_VARIANTS {
        let (context, weights) = case.on_gpu(&gpu, variant, 3);
        assert_close("context", &context, &columns("attention.y_causal"), (1e-5, 0.0));
        assert_close("weights", &weights, &tensors.f32("attention.probs_causal"), (1e-5, 0.0));
    }
}

#[test]
fn the_cache_is_filled_and_attended() {
    let gpu = open();
    for (rows, heads, d_head, capacity) in [(1, 1, 5, 3), (4, 2, 16, 70), (9, 3, 33, 8), (2, 1, 130, 4)] {
        let width = heads * d_head;
        let qkv = random(1, rows * 3 * width);
        let (mut keys, mut values) = (random(2, rows * capacity * width), random(3, rows * capacity * width));
        // every row sees slots of other rows, in no particular order, and writes to the last that it sees
        let key_counts: Vec<u32> = (0..rows).map(|row| 1 + (row * 5 % capacity) as u32).collect();
        let mut slots: Vec<u32> =
            (0..rows * capacity).map(|i| (i * 7 % (rows * capacity)) as u32).collect();
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

        for variant in ATTENTION_VARIANTS {
            let what = format!("{variant:?} of {shape:?}");
            let context = untouched(&gpu, rows * stride(width));
            let append = append_kv::dispatch(rows, width);
            let layout = ColumnLayout { stride: stride(3 * width), first: 0 };
            let attend = cached_attention::dispatch_variant(&shape, layout, variant);
            run(
                &gpu,
                &[
                    (append, vec![&qkv_buffer, &cache_slot_buffer, &key_cache, &value_cache]),
                    (attend, vec![&qkv_buffer, &key_cache, &value_cache, &slot_buffer, &count_buffer, &context]),
                ],
            );
            let context = unpad(&what, &read(&gpu, &context), rows, width);
            assert_close(&what, &context, &want, (2e-6, 1e-5));
            let cached = unpad(&what, &read(&gpu, &key_cache), rows * capacity, width);
            assert!(cached == keys, "{what}: key cache");
            let cached = unpad(&what, &read(&gpu, &value_cache), rows * capacity, width);
            assert!(cached == values, "{what}: value cache");
        }
    }
}

/// Values and tokens of each row.
fn top_on_gpu(gpu: &Gpu, shape: &TopKShape, logits: &[f32], edits: Option<&[ScoreEdit]>) -> (Vec<f32>, Vec<u32>) {
    let logits = upload(gpu, &pad(logits, shape.vocabulary, 1e6));
    let mut words = Vec::new();
    encode_edits(edits.unwrap_or(&[]), &mut words);
    words.push([0, 0, 0, 0]); // room for one more
    let edit_buffer = upload_u32(gpu, words.as_flattened());
    let chunks = untouched(gpu, shape.chunk_elements());
    let statistics = untouched(gpu, shape.statistics_elements());
    let top = untouched(gpu, shape.rows * 2 * shape.candidates);
    let launches: Vec<_> = shape
        .launches(edits.map(|_| words.len() - 1))
        .into_iter()
        .map(|(dispatch, names)| {
            let bound = names.into_iter().map(|name| match name {
                TopKBuffer::Logits => &logits,
                TopKBuffer::Edits => &edit_buffer,
                TopKBuffer::Chunks => &chunks,
                TopKBuffer::Statistics => &statistics,
                TopKBuffer::Top => &top,
            });
            (dispatch, bound.collect())
        })
        .collect();
    run(gpu, &launches);
    let words: Vec<u32> = read(gpu, &top);
    common::split_top(&words[..shape.rows * 2 * shape.candidates], shape.candidates)
}

fn top_on_cpu(shape: &TopKShape, logits: &[f32], edits: &[ScoreEdit]) -> (Vec<f32>, Vec<u32>) {
    let mut words = vec![0; shape.rows * 2 * shape.candidates];
    cpu::log_softmax_top_k(shape, &mut logits.to_vec(), edits, &mut words);
    common::split_top(&words, shape.candidates)
}

#[track_caller]
fn assert_same_top(what: &str, got: (Vec<f32>, Vec<u32>), want: (Vec<f32>, Vec<u32>)) {
    assert_eq!(got.1, want.1, "{what}: tokens");
    // what stands for minus infinity is any number that is small enough
    let clamp = |values: Vec<f32>| values.into_iter().map(|value| value.max(-1e30)).collect::<Vec<_>>();
    assert_close(what, &clamp(got.0), &clamp(want.0), (1e-5, 1e-6));
}

#[test]
fn the_best_tokens_agree() {
    let gpu = open();
    let rules = [
        ScoreRules { space: ScoreSpace::Logits, renormalize: true },
        ScoreRules { space: ScoreSpace::LogProbabilities, renormalize: false },
        ScoreRules { space: ScoreSpace::LogProbabilities, renormalize: true },
    ];
    for (rows, vocabulary, candidates) in
        [(1, 1, 1), (3, 5, 8), (2, 64, 64), (5, 37, 2), (9, 1003, 8), (4, 8000, 4), (1, 60_001, 32), (33, 100, 1)]
    {
        // coarse, so that there are ties
        let logits: Vec<f32> =
            random(7, rows * vocabulary).iter().map(|value| (value * 200.0).round() / 16.0).collect();
        let edits: Vec<ScoreEdit> = (0..rows)
            .flat_map(|row| {
                let edit = move |token: usize, kind| ScoreEdit { row: row as u32, token: token as u32, kind };
                let best = (0..vocabulary).max_by(|&a, &b| {
                    f32::total_cmp(&logits[row * vocabulary + a], &logits[row * vocabulary + b])
                });
                let best = best.unwrap();
                [
                    edit(best, if row % 2 == 0 { EditKind::Ban } else { EditKind::Penalize(1.25) }),
                    edit((best + 1) % vocabulary.max(2), EditKind::Penalize(0.5)),
                    edit(vocabulary + 3, EditKind::Ban), // no such token: ignored
                ]
            })
            .collect();
        for rules in rules {
            let shape = TopKShape { rows, vocabulary, candidates, rules };
            let want = top_on_cpu(&shape, &logits, &[]);
            assert_same_top(&format!("{shape:?}"), top_on_gpu(&gpu, &shape, &logits, None), want.clone());
            let none = top_on_gpu(&gpu, &shape, &logits, Some(&[]));
            assert_same_top(&format!("{shape:?}, an empty list of edits"), none, want);
            let edited = top_on_gpu(&gpu, &shape, &logits, Some(&edits));
            assert_same_top(&format!("{shape:?} with edits"), edited, top_on_cpu(&shape, &logits, &edits));
        }
    }
}

#[test]
fn the_best_tokens_are_those_of_the_reference() {
    let gpu = open();
    let tensors = fixture("topk");
    for case in ["topk.0", "topk.1"] {
        let logits = tensors.f32(&format!("{case}.x"));
        let dims = tensors.shape(&format!("{case}.x"));
        let (rows, vocabulary) = (dims[0], dims[1]);
        let candidates = tensors.shape(&format!("{case}.indices"))[1];
        let rules = ScoreRules { space: ScoreSpace::LogProbabilities, renormalize: false };
        let shape = TopKShape { rows, vocabulary, candidates, rules };
        let (values, tokens) = top_on_gpu(&gpu, &shape, &logits, None);
        let want = tensors.u32(&format!("{case}.indices"));
        assert_eq!(tokens, want, "{case}");
        let log_softmax = tensors.f32(&format!("{case}.log_softmax"));
        let of = |(i, &token): (usize, &u32)| log_softmax[i / candidates * vocabulary + token as usize];
        let want: Vec<f32> = want.iter().enumerate().map(of).collect();
        assert_close(case, &values, &want, (1e-5, 0.0));
    }
}

/// An axis of a dispatch holds 65,535 workgroups; launches beyond that are folded.
#[test]
fn more_rows_than_an_axis_holds() {
    let gpu = open();
    let (rows, width) = (70_001, 4);
    let x = random(1, rows * width);
    let (gamma, beta) = (random(2, width), random(3, width));
    let shape = LayerNormShape { rows, width, epsilon: 1e-5, residual: false, centered: true };
    let mut want = vec![0.0; x.len()];
    cpu::layer_norm(&x, None, &gamma, Some(&beta), 1e-5, &mut want);
    let y = norm_on_gpu(&gpu, &shape, [&x, &x, &gamma, &beta], layer_norm::Variant::Workgroup);
    assert_close("layer norm", &y, &want, (1e-5, 1e-4));

    let activation = Activation::Identity;
    let shape = LinearShape { rows, inputs: 4, outputs: 4, bias: false, activation, residual: false };
    let case = LinearCase::random(shape);
    let y = case.on_gpu(&gpu, Variant::Matvec, AdapterClass::Software, 1);
    assert_close("matvec", &y, &case.on_cpu(), (1e-5, 0.0));
}
