//! Attention to bands and side keys, and its weights: the CPU function and the kernel, both against a plain loop in f64.

use wordloom::cpu::{self, BandedScores, Columns};
use wordloom::gpu::Gpu;
use wordloom::kernels::banded_attention::{self, BandedLayout};
use wordloom::kernels::{ColumnLayout, stride};
use wordloom::shape::{Band, BandedShape, SideBlocks};

use crate::common::{assert_close, device_test, gpu};
use crate::{pad, random, read, run, unpad, untouched, upload, upload_u32};

struct Case {
    shape: BandedShape,
    /// Queries, keys and values, `[batch * length, 2 * keys' width + values' width]`
    fused: Vec<f32>,
    mask: Vec<u32>,
    bias: Option<Vec<f32>>,
    /// Keys and values, `[rows, keys' width + values' width]`
    sides: Vec<f32>,
    side_rows: Vec<u32>,
}

impl Case {
    /// `visible`: which keys of a sentence bands see. Sentence i has `i + 1` side keys fewer than there is room for.
    fn random(shape: BandedShape, visible: impl Fn(usize, usize) -> bool) -> Self {
        let BandedShape { batch, heads, length, d_head, d_value, most_sides, .. } = shape;
        let side_row_count = 2 * most_sides.max(1);
        let side_rows = |sentence: usize| {
            let count = most_sides.saturating_sub(sentence);
            let rows = (0..most_sides).map(move |side| ((7 * side + 3 * sentence) % side_row_count) as u32);
            [count as u32, 0].into_iter().chain(rows)
        };
        Self {
            shape,
            fused: random(1, batch * length * heads * (2 * d_head + d_value)),
            mask: (0..batch * length).map(|i| visible(i / length, i % length).into()).collect(),
            bias: (shape.bias_rows() > 0).then(|| random(2, shape.bias_rows() * heads)),
            sides: random(3, side_row_count * heads * (d_head + d_value)),
            side_rows: (0..batch).flat_map(side_rows).collect(),
        }
    }

    fn widths(&self) -> [usize; 2] {
        [self.shape.heads * self.shape.d_head, self.shape.heads * self.shape.d_value]
    }

    fn fused_width(&self) -> usize {
        2 * self.widths()[0] + self.widths()[1]
    }

    /// Contexts and weights by the formula.
    fn by_hand(&self) -> (Vec<f32>, Vec<f32>) {
        let BandedShape { batch, heads, length, d_head, d_value, band, most_sides, .. } = self.shape;
        let ([key_width, value_width], fused) = (self.widths(), self.fused_width());
        let columns = self.shape.weight_columns();
        let mut context = vec![0.0; batch * length * value_width];
        let mut weights = vec![0.0; batch * heads * length * columns];
        let bias = |row: usize, head: usize| {
            self.bias.as_ref().map_or(0.0, |table| f64::from(table[row * heads + head]))
        };
        for (sentence, head, query) in
            (0..batch * heads * length).map(|i| (i / length / heads, i / length % heads, i % length))
        {
            let row = sentence * length + query;
            let own = &self.fused[row * fused + head * d_head..][..d_head];
            let side_row_length = 2 + most_sides;
            let count = if most_sides > 0 { self.side_rows[sentence * side_row_length] as usize } else { 0 };
            // column of the weights, score, values
            let mut seen: Vec<(usize, f64, &[f32])> = Vec::new();
            let product = |key: &[f32]| {
                let product: f64 = own.iter().zip(key).map(|(q, k)| f64::from(*q) * f64::from(*k)).sum();
                product * f64::from(self.shape.scale)
            };
            for side in 0..count {
                let row = self.side_rows[sentence * side_row_length + 2 + side] as usize;
                let of_row = &self.sides[row * (key_width + value_width)..][..key_width + value_width];
                let mut score = product(&of_row[head * d_head..]);
                if let Some(SideBlocks { tokens, reach }) = self.shape.side_blocks {
                    let block = (query / tokens).min(count - 1) as i64;
                    let distance = (side as i64 - block).clamp(-(reach as i64), reach as i64);
                    let first = self.shape.reach.map_or(0, |reach| 2 * reach + 1) as i64;
                    score += bias((first + distance + reach as i64) as usize, head);
                }
                // a key that counts several times is several columns of the same score
                let is_repeated = (side as u32) < self.side_rows[sentence * side_row_length + 1];
                let copies = if is_repeated { self.shape.side_copies } else { 1 };
                for _ in 0..copies {
                    seen.push((side, score, &of_row[key_width + head * d_value..][..d_value]));
                }
            }
            let block = query / band.block;
            for key in (0..length).filter(|key| self.mask[sentence * length + key] != 0) {
                let from_block = key as i64 - (block * band.block) as i64;
                if from_block < -(band.left as i64) || from_block >= (band.block + band.right) as i64 {
                    continue;
                }
                let of_row = &self.fused[(sentence * length + key) * fused..][..fused];
                let mut score = product(&of_row[key_width + head * d_head..]);
                if let Some(reach) = self.shape.reach {
                    let distance = (key as i64 - query as i64).clamp(-(reach as i64), reach as i64);
                    score += bias((distance + reach as i64) as usize, head);
                }
                let column = most_sides + (from_block + band.left as i64) as usize;
                seen.push((column, score, &of_row[2 * key_width + head * d_value..][..d_value]));
            }
            let sum: f64 = seen.iter().map(|(_, score, _)| score.exp()).sum();
            for &(column, score, values) in &seen {
                let weight = score.exp() / sum;
                weights[((sentence * heads + head) * length + query) * columns + column] += weight as f32;
                for (i, value) in values.iter().enumerate() {
                    context[row * value_width + head * d_value + i] += (weight * f64::from(*value)) as f32;
                }
            }
        }
        (context, weights)
    }

    fn on_cpu(&self) -> (Vec<f32>, Vec<f32>) {
        let BandedShape { batch, heads, length, .. } = self.shape;
        let [key_width, value_width] = self.widths();
        let own = |first| Columns { data: &self.fused, stride: self.fused_width(), first };
        let side = |first| Columns { data: &self.sides, stride: key_width + value_width, first };
        let scores = BandedScores {
            shape: self.shape,
            queries: own(0),
            keys: own(key_width),
            key_mask: &self.mask,
            distance_bias: self.bias.as_deref(),
            side_keys: side(0),
            side_rows: &self.side_rows,
        };
        let mut context = vec![f32::NAN; batch * length * value_width];
        cpu::banded_attention(&scores, own(2 * key_width), side(key_width), &mut context);
        let mut weights = vec![f32::NAN; batch * heads * length * self.shape.weight_columns()];
        cpu::banded_attention_weights(&scores, &mut weights);
        (context, weights)
    }

    async fn on_gpu(&self, gpu: &Gpu) -> (Vec<f32>, Vec<f32>) {
        let BandedShape { batch, heads, length, .. } = self.shape;
        let [key_width, value_width] = self.widths();
        let columns = self.shape.weight_columns();
        let side_width = key_width + value_width;
        let fused = upload(gpu, &pad(&self.fused, self.fused_width(), 7.0));
        let sides = upload(gpu, &pad(&self.sides, side_width, 7.0));
        let (mask, side_rows) = (upload_u32(gpu, &self.mask), upload_u32(gpu, &self.side_rows));
        let bias = self.bias.as_ref().map_or(vec![7.0; 4], |bias| pad(bias, heads, 7.0));
        let bias = upload(gpu, &bias);
        let rows = batch * length;
        let context = untouched(gpu, rows * stride(value_width));
        let weights = untouched(gpu, rows * heads * stride(columns));
        let layout = |first| ColumnLayout { stride: stride(self.fused_width()), first };
        let layout = BandedLayout {
            queries: layout(0),
            keys: layout(key_width),
            values_first: 2 * key_width,
            side_keys: ColumnLayout { stride: stride(side_width), first: 0 },
            side_values_first: key_width,
        };
        let inputs = |output| vec![&fused, &fused, &mask, &bias, &sides, &side_rows, output];
        let attend = banded_attention::dispatch(&self.shape, &layout);
        let weigh = banded_attention::weights_dispatch(&self.shape, &layout);
        run(gpu, &[(attend, inputs(&context)), (weigh, inputs(&weights))]);
        let what = format!("{:?}", self.shape);
        (
            unpad(&what, &read(gpu, &context).await, rows, value_width),
            unpad(&what, &read(gpu, &weights).await, rows * heads, columns),
        )
    }

    async fn check(&self, gpu: &Gpu) {
        let (want, want_weights) = self.by_hand();
        for (name, (context, weights)) in [("CPU", self.on_cpu()), ("GPU", self.on_gpu(gpu).await)] {
            let what = format!("{name}, {:?}", self.shape);
            assert_close(&what, &context, &want, (2e-6, 1e-5));
            assert_close(&format!("weights, {what}"), &weights, &want_weights, (1e-6, 1e-5));
        }
    }
}

fn shape(length: usize, band: Band) -> BandedShape {
    BandedShape {
        batch: 3,
        heads: 2,
        length,
        d_head: 12,
        d_value: 12,
        scale: 0.7,
        band,
        reach: None,
        most_sides: 0,
        side_copies: 1,
        side_blocks: None,
    }
}

/// Lengths around the tiles of both devices, windows from one neighbour to the whole text and beyond it.
#[device_test]
async fn windows_agree_for_every_mask() {
    let gpu = gpu().await;
    let masks: [fn(usize, usize) -> bool; 5] = [
        |_, _| true,
        |sentence, key| key < 3 + sentence,
        |sentence, key| key > sentence,
        |sentence, _| sentence != 1,
        |_, key| !key.is_multiple_of(5),
    ];
    for length in [1, 2, 15, 16, 17, 63, 65, 100] {
        for radius in [1, 3, 16, length, 2 * length] {
            for (most_sides, visible) in
                [0, 3].into_iter().zip(masks.into_iter().cycle().skip(length + radius))
            {
                let shape = BandedShape { most_sides, ..shape(length, Band::window(radius)) };
                Case::random(shape, visible).check(&gpu).await;
            }
        }
    }
    for visible in masks {
        for most_sides in [0, 1, 70] {
            let shape = BandedShape { most_sides, ..shape(70, Band::window(9)) };
            Case::random(shape, visible).check(&gpu).await;
        }
    }
}

#[device_test]
async fn blocks_agree() {
    let gpu = gpu().await;
    for (length, block, left, right) in
        [(1, 4, 4, 4), (16, 4, 4, 4), (50, 7, 7, 7), (130, 16, 16, 0), (65, 64, 0, 3)]
    {
        let shape = BandedShape { most_sides: 2, ..shape(length, Band { block, left, right }) };
        Case::random(shape, |_, key| key != 6).check(&gpu).await;
    }
}

/// The first side keys of a sentence count several times, none of them or all.
#[device_test]
async fn repeated_side_keys_agree() {
    let gpu = gpu().await;
    for (length, block) in [(15, 3), (16, 3), (17, 3), (63, 8), (64, 8), (65, 8), (200, 16)] {
        for (most_sides, repeated, side_copies) in [(2 * block, block, 4), (70, 66, 2), (9, 0, 3), (9, 9, 9)]
        {
            let band = Band { block, left: block, right: block };
            let shape = BandedShape { most_sides, side_copies, ..shape(length, band) };
            let mut case = Case::random(shape, |_, key| key >= block && key < length - block);
            for sentence in case.side_rows.chunks_exact_mut(2 + most_sides) {
                sentence[1] = sentence[0].min(repeated as u32);
            }
            case.check(&gpu).await;
        }
    }
}

/// A bias by distance reaches less far than the band, as far, and farther; side keys stand for blocks of tokens.
#[device_test]
async fn biases_agree() {
    let gpu = gpu().await;
    for (reach, blocks) in [(0, None), (4, Some((3, 2))), (9, Some((16, 1))), (40, Some((7, 20)))] {
        let side_blocks = blocks.map(|(tokens, reach)| SideBlocks { tokens, reach });
        let most_sides = if side_blocks.is_some() { 11 } else { 0 };
        let band = Band::window(9);
        let shape = BandedShape { reach: Some(reach), most_sides, side_blocks, heads: 3, ..shape(45, band) };
        Case::random(shape, |_, key| key != 20).check(&gpu).await;
    }
}

#[device_test]
async fn every_width_of_a_head_agrees() {
    let gpu = gpu().await;
    for (d_head, d_value) in [(1, 1), (3, 5), (16, 16), (17, 4), (63, 64), (64, 65), (130, 129)] {
        let shape = BandedShape { d_head, d_value, most_sides: 2, ..shape(20, Band::window(4)) };
        Case::random(shape, |_, _| true).check(&gpu).await;
    }
}

#[device_test]
async fn rows_are_gathered_from_two_values() {
    use wordloom::kernels::gather_rows;

    let gpu = gpu().await;
    for width in [1, 4, 7] {
        let (first, second) = (random(1, 5 * width), random(2, 3 * width));
        let numbers = [4, 0, 7, 5, 5, 2];
        let mut want = vec![f32::NAN; numbers.len() * width];
        cpu::gather_rows([&first, &second], &numbers, width, &mut want);
        for (row, number) in numbers.iter().enumerate() {
            let all = [&first[..], &second[..]].concat();
            assert_eq!(want[row * width..][..width], all[*number as usize * width..][..width]);
        }
        let of = [&first, &second].map(|data| upload(&gpu, &pad(data, width, 0.0)));
        let out = untouched(&gpu, numbers.len() * stride(width));
        let dispatch = gather_rows::dispatch(numbers.len(), width, [5, 3]);
        run(&gpu, &[(dispatch, vec![&of[0], &of[1], &upload_u32(&gpu, &numbers), &out])]);
        assert_eq!(unpad("rows", &read(&gpu, &out).await, numbers.len(), width), want);
    }
}
