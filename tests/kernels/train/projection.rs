//! Keys and values of packed sentences as sums of their rows, and the gradients of rows and factors: on the CPU and on a GPU
//! against plain sums in f64.

use wordloom::cpu::{self, Columns, LengthFactors, PackedRows};
use wordloom::gpu::Gpu;
use wordloom::kernels::project_length::FactorShape;
use wordloom::kernels::project_packed::{self, PackedShape};
use wordloom::kernels::{ColumnLayout, stride};

use super::{TOLERANCE, assert_near, run_twice, wide};
use crate::common::{device_test, gpu};
use crate::{UNTOUCHED, pad, random, unpad, upload, upload_u32};

struct Case {
    shape: PackedShape,
    sentences: Vec<[u32; 2]>,
    qkv: Vec<f32>,
    factors: [Vec<f32>; 2],
    dqueries: Vec<f32>,
    dy: Vec<f32>,
    /// Gradients of factors from before.
    earlier: [Vec<f32>; 2],
}

/// Results in f64.
struct Exact {
    y: Vec<f64>,
    dqkv: Vec<f64>,
    dfactors: [Vec<f64>; 2],
    key_ranges: Vec<[u32; 2]>,
    query_ranges: Vec<[u32; 2]>,
}

impl Case {
    /// `lengths`: tokens of the sentences; two rows without a sentence follow.
    fn new(lengths: &[usize], [rank, positions]: [usize; 2], widths: [usize; 3]) -> Self {
        let mut sentences = Vec::new();
        for &length in lengths {
            let first = sentences.len() as u32;
            sentences.extend(vec![[first, first + length as u32]; length]);
        }
        sentences.extend([[0; 2]; 2]);
        let rows = sentences.len();
        let shape = PackedShape { rows, widths, factors: FactorShape { rank, positions } };
        let all = widths.iter().sum::<usize>();
        Self {
            shape,
            qkv: random(1, rows * all),
            factors: [2, 3].map(|seed| random(seed, rank * positions)),
            dqueries: random(4, rows * widths[0]),
            dy: random(5, rows * (widths[1] + widths[2])),
            earlier: [6, 7].map(|seed| random(seed, rank * positions)),
            sentences,
        }
    }

    fn width(&self) -> usize {
        self.shape.widths[1] + self.shape.widths[2]
    }

    /// The share of row `from` in the row of sums `row`, for a column of keys and values.
    fn factor(&self, row: usize, from: usize, column: usize) -> f64 {
        let FactorShape { rank, positions } = self.shape.factors;
        let [first, end] = self.sentences[row].map(|row| row as usize);
        let count = end - first;
        match count <= rank {
            true => f64::from(u8::from(row == from)),
            false if row - first >= rank => 0.0,
            false => {
                let of = &self.factors[usize::from(column >= self.shape.widths[1])];
                f64::from(of[(row - first) * positions + from - first])
            }
        }
    }

    fn exact(&self) -> Exact {
        let FactorShape { rank, positions } = self.shape.factors;
        let [queries, keys, _] = self.shape.widths;
        let (rows, width, all) = (self.shape.rows, self.width(), queries + self.width());
        let mut exact = Exact {
            y: vec![0.0; rows * width],
            dqkv: vec![0.0; rows * all],
            dfactors: self.earlier.each_ref().map(|earlier| wide(earlier)),
            key_ranges: vec![[0; 2]; rows],
            query_ranges: vec![[0; 2]; rows],
        };
        for row in 0..rows {
            let of_queries = &self.dqueries[row * queries..][..queries];
            exact.dqkv[row * all..][..queries].copy_from_slice(&wide(of_queries));
            let [first, end] = self.sentences[row];
            let kept = (end - first).min(rank as u32);
            exact.key_ranges[row] = [first, first + kept];
            if first < end && (row as u32) < first + kept {
                exact.query_ranges[row] = [first, end];
            }
            for from in first as usize..end as usize {
                for column in 0..width {
                    let x = f64::from(self.qkv[from * all + queries + column]);
                    let dy = f64::from(self.dy[row * width + column]);
                    exact.y[row * width + column] += self.factor(row, from, column) * x;
                    exact.dqkv[from * all + queries + column] += self.factor(row, from, column) * dy;
                    if (end - first) as usize > rank && row - (first as usize) < rank {
                        let at = (row - first as usize) * positions + from - first as usize;
                        exact.dfactors[usize::from(column >= keys)][at] += dy * x;
                    }
                }
            }
        }
        exact
    }

    fn check_cpu(&self, exact: &Exact, what: &str) {
        let [queries, keys, values] = self.shape.widths;
        let (rows, width, all) = (self.shape.rows, self.width(), queries + self.width());
        let packed = PackedRows { sentences: self.sentences.as_flattened(), widths: self.shape.widths };
        let [of_keys, of_values] = self.factors.each_ref().map(|factors| &factors[..]);
        let rank = self.shape.factors.rank;
        let factors = LengthFactors { keys: of_keys, values: of_values, rank };
        let mut y = vec![f32::NAN; rows * width];
        cpu::project_packed(packed, &self.qkv, factors, &mut y);
        assert_near(&format!("{what}: y"), &y, &exact.y, TOLERANCE);
        let [mut key_ranges, mut query_ranges] = [vec![7; 2 * rows], vec![7; 2 * rows]];
        cpu::packed_ranges(packed, rank, &mut key_ranges, &mut query_ranges);
        assert_eq!(key_ranges, exact.key_ranges.as_flattened(), "{what}");
        assert_eq!(query_ranges, exact.query_ranges.as_flattened(), "{what}");
        let mut dqkv = vec![f32::NAN; rows * all];
        cpu::packed_row_gradient(packed, (&self.dqueries, &self.dy), factors, &mut dqkv);
        assert_near(&format!("{what}: dqkv"), &dqkv, &exact.dqkv, TOLERANCE);
        for (which, (first, count)) in [(0, keys), (keys, values)].into_iter().enumerate() {
            let x = Columns { data: &self.qkv, stride: all, first: queries + first };
            let dy = Columns { data: &self.dy, stride: width, first };
            let mut gradient = self.earlier[which].clone();
            cpu::length_factor_gradient(packed.sentences, (x, dy, count), rank, &mut gradient);
            assert_near(&format!("{what}: factors {which}"), &gradient, &exact.dfactors[which], TOLERANCE);
        }
    }

    async fn check_gpu(&self, gpu: &Gpu, exact: &Exact, what: &str) {
        let [queries, keys, values] = self.shape.widths;
        let (rows, width, all) = (self.shape.rows, self.width(), queries + self.width());
        let qkv = upload(gpu, &pad(&self.qkv, all, 7.0));
        let sentences = upload_u32(gpu, self.sentences.as_flattened());
        let positions = self.shape.factors.positions;
        let [of_keys, of_values] =
            self.factors.each_ref().map(|factors| upload(gpu, &pad(factors, positions, f32::NAN)));
        let made = |width: usize| vec![UNTOUCHED; rows * width];
        let outputs = [made(stride(queries)), made(stride(width)), made(2), made(2)];
        let inputs = [&qkv, &sentences, &of_keys, &of_values];
        let got = run_twice(gpu, &project_packed::dispatch(&self.shape), &inputs, &outputs).await;
        let copied = unpad("queries", &got[0], rows, queries);
        let want: Vec<f32> = self.qkv.chunks(all).flat_map(|row| row[..queries].to_vec()).collect();
        assert_eq!(copied, want, "{what}: queries");
        assert_near(&format!("{what}: y"), &unpad("y", &got[1], rows, width), &exact.y, TOLERANCE);
        let words = |values: &[f32]| values.iter().map(|value| value.to_bits()).collect::<Vec<u32>>();
        assert_eq!(words(&got[2]), exact.key_ranges.as_flattened(), "{what}");
        assert_eq!(words(&got[3]), exact.query_ranges.as_flattened(), "{what}");

        let dqueries = upload(gpu, &pad(&self.dqueries, queries, 7.0));
        let dy = upload(gpu, &pad(&self.dy, width, 7.0));
        let inputs = [&dqueries, &dy, &sentences, &of_keys, &of_values];
        let dispatch = project_packed::row_gradient_dispatch(&self.shape);
        let got = run_twice(gpu, &dispatch, &inputs, &[made(stride(all))]).await;
        assert_near(&format!("{what}: dqkv"), &unpad("dqkv", &got[0], rows, all), &exact.dqkv, TOLERANCE);
        for (which, (first, count)) in [(0, keys), (keys, values)].into_iter().enumerate() {
            let layouts = [(width, first), (all, queries + first)]
                .map(|(width, first)| ColumnLayout { stride: stride(width), first });
            let dispatch = project_packed::factor_gradient_dispatch(rows, self.shape.factors, count, layouts);
            let earlier = pad(&self.earlier[which], positions, 0.0);
            let got = run_twice(gpu, &dispatch, &[&dy, &qkv, &sentences], &[earlier]).await;
            let got = unpad("factors", &got[0], self.shape.factors.rank, positions);
            assert_near(&format!("{what}: factors {which}"), &got, &exact.dfactors[which], TOLERANCE);
        }
    }
}

#[device_test]
async fn projections_of_packed_sentences_agree_with_plain_sums() {
    let gpu = gpu().await;
    for (lengths, factors, widths) in [
        (&[1][..], [1, 1], [4, 4, 4]),
        (&[2, 1, 3], [2, 3], [5, 5, 7]),
        (&[7, 3, 4, 5], [4, 9], [16, 16, 16]),
        (&[33, 2, 17, 1, 64], [16, 65], [64, 64, 64]),
        (&[65, 64, 63], [63, 70], [6, 6, 10]),
        (&[9, 8], [1, 12], [33, 33, 130]),
        (&[3, 2], [8, 8], [8, 8, 8]), // all shorter than the rank
    ] {
        let case = Case::new(lengths, factors, widths);
        let what = format!("sentences of {lengths:?}, factors {factors:?}, columns {widths:?}");
        let exact = case.exact();
        case.check_cpu(&exact, &format!("{what}, on the CPU"));
        case.check_gpu(&gpu, &exact, &what).await;
    }
}
