//! Keys and values as sums of a text's rows, with learned factors: y[j] = Σ factors[j, i] · x[i]. Wang et al. 2020,
//! "Linformer", equation (7). A text of up to as many tokens as sums keeps its own rows, because nothing would be saved.

use pulp::{Arch, Simd, WithSimd};

use super::Columns;
use super::parallel::for_each_row;
use super::vector::add_scaled;
use crate::shape::ProjectedShape;

/// The learned factors of a layer's tokens, `[rank, positions]` each.
#[derive(Clone, Copy, Debug)]
pub struct LengthFactors<'a> {
    /// Of the keys.
    pub keys: &'a [f32],
    /// Of the values.
    pub values: &'a [f32],
    /// Sums of a text.
    pub rank: usize,
}

impl LengthFactors<'_> {
    /// The factors of the tokens in one sum: of the keys, and of the values.
    pub(super) fn of_sum(&self, sum: usize) -> [&[f32]; 2] {
        let positions = self.keys.len() / self.rank;
        [self.keys, self.values].map(|factors| &factors[sum * positions..][..positions])
    }
}

/// Projects keys and values of each sentence. Hidden rows do not count.
///
/// * `x`: `[batch * length, …]`, keys, then values; `mask`: `[batch, length]`, nonzero = visible
/// * `y`: `[batch * room, keys + values]`, zeros beyond the sums of a sentence
pub fn project_length(
    x: Columns,
    mask: &[u32],
    factors: LengthFactors,
    shape: &ProjectedShape,
    y: &mut [f32],
) {
    let ProjectedShape { length, room, keys, values, .. } = *shape;
    let (width, rank, arch) = (keys + values, factors.rank, Arch::new());
    for_each_row(y, width, length * width, |row, y| {
        let (start, sum) = (row / room * length, row % room);
        let mask = &mask[start..][..length];
        y.fill(0.0);
        match row_count(mask) {
            count if sum >= count.min(rank) => {}
            count if count <= rank => {
                if mask[sum] != 0 {
                    y.copy_from_slice(x.row(start + sum, width));
                }
            }
            count => {
                let mask = Some(&mask[..count]);
                arch.dispatch(Sum { x, start, factors: factors.of_sum(sum), mask, keys, count, y });
            }
        }
    });
}

/// The rows of [`project_length`] that belong to a sentence: `[batch, room]`, 1 or 0.
pub fn projected_rows(mask: &[u32], rank: usize, (length, room): (usize, usize), visible: &mut [u32]) {
    for (mask, visible) in mask.chunks_exact(length).zip(visible.chunks_exact_mut(room)) {
        let count = row_count(mask);
        for (sum, visible) in visible.iter_mut().enumerate() {
            let is_row = sum < count.min(rank) && (count > rank || mask[sum] != 0);
            *visible = is_row.into();
        }
    }
}

/// Number of a sentence's rows up to the last visible one.
fn row_count(mask: &[u32]) -> usize {
    mask.iter().rposition(|&visible| visible != 0).map_or(0, |last| last + 1)
}

/// Adds one sum of rows to `y`.
pub(super) struct Sum<'a> {
    pub x: Columns<'a>,
    /// First row of the sentence.
    pub start: usize,
    /// Of keys and values.
    pub factors: [&'a [f32]; 2],
    /// Rows that count; `None`: all.
    pub mask: Option<&'a [u32]>,
    /// Columns of the keys.
    pub keys: usize,
    /// Rows of the sentence.
    pub count: usize,
    pub y: &'a mut [f32],
}

impl WithSimd for Sum<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { x, start, factors: [of_keys, of_values], mask, keys, count, y } = self;
        let width = y.len();
        let (y_keys, y_values) = y.split_at_mut(keys);
        for i in 0..count {
            if mask.is_some_and(|mask| mask[i] == 0) {
                continue;
            }
            let (x_keys, x_values) = x.row(start + i, width).split_at(keys);
            add_scaled(simd, y_keys, [of_keys[i]], [x_keys]);
            add_scaled(simd, y_values, [of_values[i]], [x_values]);
        }
    }
}
