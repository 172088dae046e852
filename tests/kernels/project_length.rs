//! Keys and values as sums of a text's rows: on the CPU against plain loops in f64, on a GPU against the same.

use wordloom::cpu::{self, Columns, LengthFactors};
use wordloom::gpu::Gpu;
use wordloom::kernels::project_length::{self, FactorShape};
use wordloom::kernels::{ColumnLayout, stride};
use wordloom::shape::ProjectedShape;

use crate::common::{assert_close, device_test, gpu};
use crate::{pad, random, read, run, unpad, untouched, upload, upload_u32};

struct Case {
    shape: ProjectedShape,
    rank: usize,
    positions: usize,
    /// Columns before the keys.
    first: usize,
    /// `[batch * length, first + keys + values]`
    x: Vec<f32>,
    mask: Vec<u32>,
    /// Of keys and values, `[rank, positions]`.
    factors: [Vec<f32>; 2],
}

impl Case {
    fn new(
        shape: ProjectedShape,
        [rank, positions, first]: [usize; 3],
        mask: &dyn Fn(usize, usize) -> bool,
    ) -> Self {
        let ProjectedShape { batch, length, keys, values, .. } = shape;
        let x = random(1, batch * length * (first + keys + values));
        let mask = (0..batch * length).map(|i| mask(i / length, i % length).into()).collect();
        let factors = [2, 3].map(|seed| random(seed, rank * positions));
        Self { shape, rank, positions, first, x, mask, factors }
    }

    fn width(&self) -> usize {
        self.shape.keys + self.shape.values
    }

    /// The rows, and which of them are visible.
    fn by_hand(&self) -> (Vec<f32>, Vec<u32>) {
        let ProjectedShape { batch, length, room, keys, .. } = self.shape;
        let (width, stride) = (self.width(), self.first + self.width());
        let (mut y, mut visible) = (Vec::new(), Vec::new());
        for sentence in 0..batch {
            let mask = &self.mask[sentence * length..][..length];
            let count = (0..length).filter(|&i| mask[i] != 0).max().map_or(0, |last| last + 1);
            let x = |i: usize, column: usize| {
                f64::from(self.x[(sentence * length + i) * stride + self.first + column])
            };
            for sum in 0..room {
                let whole = count <= self.rank;
                let is_row = if whole { sum < count && mask[sum] != 0 } else { sum < self.rank };
                visible.push(is_row.into());
                y.extend((0..width).map(|column| {
                    let factors = &self.factors[usize::from(column >= keys)];
                    let factor = |i: usize| f64::from(factors[sum * self.positions + i]);
                    let seen = (0..count).filter(|&i| mask[i] != 0);
                    match (is_row, whole) {
                        (false, _) => 0.0,
                        (true, true) => x(sum, column) as f32,
                        (true, false) => seen.map(|i| factor(i) * x(i, column)).sum::<f64>() as f32,
                    }
                }));
            }
        }
        (y, visible)
    }

    fn on_cpu(&self) -> (Vec<f32>, Vec<u32>) {
        let ProjectedShape { batch, length, room, .. } = self.shape;
        let mut y = vec![f32::NAN; batch * room * self.width()];
        let mut visible = vec![7; batch * room];
        let [keys, values] = self.factors.each_ref().map(|factors| &factors[..]);
        let x = Columns { data: &self.x, stride: self.first + self.width(), first: self.first };
        let factors = LengthFactors { keys, values, rank: self.rank };
        cpu::project_length(x, &self.mask, factors, &self.shape, &mut y);
        cpu::projected_rows(&self.mask, self.rank, (length, room), &mut visible);
        (y, visible)
    }

    async fn on_gpu(&self, gpu: &Gpu) -> (Vec<f32>, Vec<u32>) {
        let ProjectedShape { batch, room, .. } = self.shape;
        let columns = self.first + self.width();
        let x = upload(gpu, &pad(&self.x, columns, 7.0));
        let mask = upload_u32(gpu, &self.mask);
        let [keys, values] = self.factors.each_ref().map(|f| upload(gpu, &pad(f, self.positions, f32::NAN)));
        let y = untouched(gpu, batch * room * stride(self.width()));
        let visible = untouched(gpu, batch * room);
        let factors = FactorShape { rank: self.rank, positions: self.positions };
        let layout = ColumnLayout { stride: stride(columns), first: self.first };
        let dispatch = project_length::dispatch(&self.shape, factors, layout);
        run(gpu, &[(dispatch, vec![&x, &mask, &keys, &values, &y, &visible])]);
        let mut seen: Vec<u32> = read(gpu, &visible).await;
        seen.truncate(batch * room);
        (unpad("y", &read(gpu, &y).await, batch * room, self.width()), seen)
    }
}

#[device_test]
async fn projected_rows_agree_with_plain_sums() {
    let gpu = gpu().await;
    for (batch, length, [rank, positions], [keys, values]) in [
        (1, 1, [1, 1], [4, 4]),
        (2, 2, [1, 2], [3, 5]),
        (3, 7, [2, 9], [5, 0]), // keys alone
        (2, 33, [4, 40], [64, 64]),
        (1, 64, [63, 64], [20, 12]),
        (2, 65, [16, 100], [7, 130]),
        (1, 5, [8, 10], [6, 6]), // shorter than the rank
    ] {
        for room in [rank, length.max(rank)] {
            let shape = ProjectedShape { batch, length, room, keys, values };
            let masks: [&dyn Fn(usize, usize) -> bool; 4] = [
                &|_, _| true,
                &|sentence, token| token + 2 * sentence < length,
                &|sentence, token| token != 1 && token + sentence < length, // one in the middle is hidden
                &|sentence, _| sentence != 1,
            ];
            for (first, mask) in [0, 5, 64, 3].into_iter().zip(masks) {
                let case = Case::new(shape, [rank, positions, first], mask);
                let (want, visible) = case.by_hand();
                let place = format!("{shape:?}, rank {rank}, columns from {first}");
                let (got, seen) = case.on_cpu();
                assert_close(&format!("{place}, on the CPU"), &got, &want, (1e-5, 1e-5));
                assert_eq!(seen, visible, "{place}, on the CPU");
                let (got, seen) = case.on_gpu(&gpu).await;
                assert_close(&place, &got, &want, (1e-5, 1e-5));
                assert_eq!(seen, visible, "{place}");
            }
        }
    }
}
