//! Rows side by side, for the inner products of one vector with many rows.

use std::ops::Range;

use pulp::Simd;

use super::Columns;

/// Rows of a block: the most lanes that a vector has.
const LANES: usize = 16;

/// Some neighbouring rows, in blocks `[column, 16 rows]`: one row for each lane, so that no inner product has to be summed
/// across lanes. Rows of packed sentences mostly see the rows that the row before them saw.
#[derive(Debug, Default)]
pub struct TurnedRows {
    rows: Range<usize>,
    width: usize,
    /// `[rows / 16, width, 16]`
    blocks: Vec<f32>,
}

impl TurnedRows {
    /// Forgets all rows.
    pub fn clear(&mut self) {
        self.rows = 0..0;
    }

    /// Takes the first `width` of these columns of the rows, unless it has them. Between two calls of
    /// [`clear`](Self::clear), columns and width must be the same.
    pub fn cover(&mut self, rows: &Range<usize>, (columns, width): (Columns, usize)) {
        let begins_within = self.rows.contains(&rows.start);
        let is_small = rows.end.saturating_sub(self.rows.start) <= 2 * rows.len() + LANES;
        if !begins_within || rows.end > self.rows.end && !is_small {
            self.rows = rows.start..rows.start;
            self.width = width;
        }
        while self.rows.end < rows.end {
            let place = self.rows.len();
            let block = place / LANES * LANES * width;
            if self.blocks.len() < block + LANES * width {
                self.blocks.resize(block + LANES * width, 0.0);
            }
            let lanes = self.blocks[block..][..LANES * width].as_chunks_mut::<LANES>().0;
            let row = columns.row(self.rows.end, width);
            lanes.iter_mut().zip(row).for_each(|(lanes, value)| lanes[place % LANES] = *value);
            self.rows.end += 1;
        }
    }

    /// The inner products of `x` with columns from `first` on of some of its rows, each summed in ascending order.
    #[inline(always)]
    pub fn products<S: Simd>(
        &self,
        simd: S,
        x: &[f32],
        (rows, first): (&Range<usize>, usize),
        products: &mut Vec<f32>,
    ) {
        products.clear();
        if rows.is_empty() {
            return;
        }
        let Range { start, end } = rows.start - self.rows.start..rows.end - self.rows.start;
        let blocks = start / LANES..end.div_ceil(LANES);
        products.resize(blocks.len() * LANES, 0.0);
        for (block, products) in blocks.zip(products.chunks_exact_mut(LANES)) {
            let rows = &self.blocks[(block * self.width + first) * LANES..][..x.len() * LANES];
            let (products, _) = S::as_mut_simd_f32s(products);
            let vectors = products.len();
            for (vector, product) in products.iter_mut().enumerate() {
                // two sums, so that an addition need not wait for the one before
                let mut sums = [simd.splat_f32s(0.0); 2];
                let (twos, last) = x.as_chunks::<2>();
                let (two_rows, last_row) = rows.as_chunks::<{ 2 * LANES }>();
                for (x, lanes) in twos.iter().zip(two_rows) {
                    let lanes = S::as_simd_f32s(lanes).0;
                    let [even, odd] = [lanes[vector], lanes[vectors + vector]];
                    sums[0] = simd.mul_add_e_f32s(simd.splat_f32s(x[0]), even, sums[0]);
                    sums[1] = simd.mul_add_e_f32s(simd.splat_f32s(x[1]), odd, sums[1]);
                }
                if let [x] = last {
                    let lanes = S::as_simd_f32s(last_row).0[vector];
                    sums[0] = simd.mul_add_e_f32s(simd.splat_f32s(*x), lanes, sums[0]);
                }
                *product = simd.add_f32s(sums[0], sums[1]);
            }
        }
        let skipped = start % LANES;
        products.copy_within(skipped.., 0);
        products.truncate(rows.len());
    }
}

#[cfg(test)]
mod tests {
    use pulp::{Arch, WithSimd};

    use super::*;

    struct Products<'a>(&'a TurnedRows, &'a [f32], Range<usize>, usize, &'a mut Vec<f32>);

    impl WithSimd for Products<'_> {
        type Output = ();

        #[inline(always)]
        fn with_simd<S: Simd>(self, simd: S) {
            let Self(turned, x, rows, first, products) = self;
            turned.products(simd, x, (&rows, first), products);
        }
    }

    #[test]
    fn products_are_those_of_the_rows_in_every_order_of_ranges() {
        let (stride, before, width, head) = (37, 2, 33, 11);
        let data: Vec<f32> = (0..90 * stride).map(|i| (i as f32 * 0.618).fract() - 0.4).collect();
        let columns = Columns { data: &data, stride, first: before };
        let mut turned = TurnedRows::default();
        let mut products = Vec::new();
        let growing = (1..40).map(|end| 0..end);
        let shrinking = (40..75).map(|start| start..75);
        let others = [75..75, 75..90, 3..20, 19..36, 35..36, 0..90, 89..90];
        for rows in growing.chain(shrinking).chain(others) {
            turned.cover(&rows, (columns, width));
            for first in [0, head, 2 * head] {
                let x = &data[5..][..head];
                Arch::new().dispatch(Products(&turned, x, rows.clone(), first, &mut products));
                assert_eq!(products.len(), rows.len());
                for (row, product) in rows.clone().zip(&products) {
                    let w = &data[row * stride + before + first..][..head];
                    let want: f64 = x.iter().zip(w).map(|(x, w)| f64::from(*x) * f64::from(*w)).sum();
                    assert!(
                        (f64::from(*product) - want).abs() < 1e-6,
                        "{rows:?}, {row}: {product}, not {want}"
                    );
                }
            }
        }
    }
}
