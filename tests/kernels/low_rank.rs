//! The nearest matrix of rank k: on the CPU against singular value decompositions in f64, on a GPU against the CPU.

use wordloom::cpu::{self, Columns};
use wordloom::gpu::Gpu;
use wordloom::kernels::{ColumnLayout, low_rank, stride};
use wordloom::shape::LowRankShape;

use crate::common::{assert_close, device_test, gpu};
use crate::{pad, random, read, run, unpad, untouched, upload, upload_u32};

struct Case {
    shape: LowRankShape,
    /// Columns before those of x.
    first: usize,
    /// `[batch * length, first + width]`
    x: Vec<f32>,
    mask: Vec<u32>,
}

impl Case {
    /// Rows with clear singular values, so that the subspace is certain: row i has its own direction, 0.8 times as long as
    /// that of row i - 1, and a little of the others.
    fn new(shape: LowRankShape, first: usize, visible: impl Fn(usize, usize) -> bool) -> Self {
        let LowRankShape { batch, length, width, .. } = shape;
        let mut x = random(1, batch * length * (first + width));
        for (row, x) in x.chunks_exact_mut(first + width).enumerate() {
            let size = 0.8_f32.powi((row % length * 7 % length) as i32);
            x[first..].iter_mut().for_each(|x| *x *= size);
        }
        let mask = (0..batch * length).map(|i| visible(i / length, i % length).into()).collect();
        Self { shape, first, x, mask }
    }

    /// By nalgebra's singular value decomposition.
    fn by_hand(&self) -> Vec<f32> {
        let LowRankShape { batch, length, width, rank } = self.shape;
        let mut y = Vec::new();
        for sentence in 0..batch {
            let rows = sentence * length..(sentence + 1) * length;
            let visible = |row: usize| self.mask[row] != 0;
            let own = |row: usize| &self.x[row * (self.first + width) + self.first..][..width];
            let matrix = nalgebra::DMatrix::from_row_iterator(
                length,
                width,
                rows.clone().flat_map(|row| {
                    own(row).iter().map(move |&x| if visible(row) { f64::from(x) } else { 0.0 })
                }),
            );
            let mut svd = matrix.svd(true, true);
            let mut order: Vec<usize> = (0..svd.singular_values.len()).collect();
            order.sort_by(|&i, &j| svd.singular_values[j].total_cmp(&svd.singular_values[i]));
            order.iter().skip(rank).for_each(|&i| svd.singular_values[i] = 0.0);
            let nearest = svd.recompose().expect("has both");
            for row in rows {
                match visible(row) {
                    true => y.extend(nearest.row(row % length).iter().map(|&x| x as f32)),
                    false => y.extend_from_slice(own(row)),
                }
            }
        }
        y
    }

    fn on_cpu(&self) -> Vec<f32> {
        let LowRankShape { batch, length, width, .. } = self.shape;
        let x = Columns { data: &self.x, stride: self.first + width, first: self.first };
        let [mut rotated, mut y] =
            [vec![f32::NAN; batch * length * width], vec![f32::NAN; batch * length * width]];
        cpu::low_rank(x, &self.mask, &self.shape, &mut rotated, &mut y);
        y
    }

    async fn on_gpu(&self, gpu: &Gpu) -> Vec<f32> {
        let LowRankShape { batch, length, width, .. } = self.shape;
        let x = upload(gpu, &pad(&self.x, self.first + width, 7.0));
        let layout = ColumnLayout { stride: stride(self.first + width), first: self.first };
        let mask = upload_u32(gpu, &self.mask);
        let [rotated, y] = [(); 2].map(|()| untouched(gpu, batch * length * stride(width)));
        let mut launches: Vec<_> = low_rank::rotations(&self.shape, layout)
            .into_iter()
            .map(|launch| (launch, vec![&x, &mask, &rotated]))
            .collect();
        launches.push((low_rank::dispatch(&self.shape, layout), vec![&x, &mask, &rotated, &y]));
        run(gpu, &launches);
        unpad("y", &read(gpu, &y).await, batch * length, width)
    }
}

#[device_test]
async fn nearest_matrices_agree_with_singular_value_decompositions() {
    let gpu = gpu().await;
    for (batch, length, width, rank) in [
        (1, 1, 4, 1),
        (1, 2, 3, 1),
        (3, 7, 5, 2),
        (2, 8, 64, 3),
        (2, 33, 20, 6), // more rows than columns
        (1, 16, 33, 15),
        (3, 17, 64, 4),
        (1, 40, 8, 100),
    ] {
        let shape = LowRankShape { batch, length, width, rank };
        for (first, hidden) in [(0, 0), (5, 2), (64, 1)] {
            // sentences end early, and a token in the middle of the last one is hidden
            let case = Case::new(shape, first, |sentence, token| {
                token + hidden * sentence < length && !(hidden == 2 && sentence == 2 && token == 1)
            });
            let place = format!("{shape:?}, columns from {first}, {hidden} hidden");
            let want = case.by_hand();
            assert_close(&format!("{place}, on the CPU"), &case.on_cpu(), &want, (2e-5, 1e-4));
            assert_close(&place, &case.on_gpu(&gpu).await, &want, (2e-5, 1e-4));
        }
    }
}

/// A long text takes several launches for each sweep, because a driver may stop a launch with many iterations.
#[device_test]
async fn long_texts_take_several_launches() {
    let gpu = gpu().await;
    let shape = LowRankShape { batch: 1, length: 280, width: 192, rank: 3 };
    let launches = low_rank::rotations(&shape, ColumnLayout { stride: 192, first: 0 }).len();
    assert!(launches > 10, "{launches} launches");
    let case = Case::new(shape, 0, |_, _| true);
    let want = case.by_hand();
    assert_close("on the CPU", &case.on_cpu(), &want, (2e-5, 1e-4));
    assert_close("on a GPU", &case.on_gpu(&gpu).await, &want, (2e-5, 1e-4));
}
