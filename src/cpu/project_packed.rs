//! Keys and values of packed sentences as sums of their rows, with the gradients of rows and factors. The sums of a sentence
//! take the places of its first rows, so that no batch needs more room. Wang et al. 2020, "Linformer", equation (7).

use pulp::{Arch, Simd, WithSimd};

use super::Columns;
use super::parallel::for_each_row;
use super::project_length::{LengthFactors, Sum};
use super::vector::{add_scaled, inner_products};

/// Rows of queries, keys and values, and the sentences that they belong to.
#[derive(Clone, Copy, Debug)]
pub struct PackedRows<'a> {
    /// First row of each row's sentence, and the end. Rows without a sentence come last.
    pub sentences: &'a [u32],
    /// Columns of the queries, the keys and the values.
    pub widths: [usize; 3],
}

impl PackedRows<'_> {
    /// First row of the row's sentence, and its number of rows.
    fn sentence(&self, row: usize) -> (usize, usize) {
        let [first, end] = [0, 1].map(|which| self.sentences[2 * row + which] as usize);
        (first, end.saturating_sub(first))
    }

    fn qkv_width(&self) -> usize {
        self.widths.iter().sum()
    }
}

/// Projects keys and values.
///
/// * `qkv`: `[rows, queries + keys + values]`; `y`: `[rows, keys + values]`, zeros in rows that hold no sum
pub fn project_packed(rows: PackedRows, qkv: &[f32], factors: LengthFactors, y: &mut [f32]) {
    let [queries, keys, values] = rows.widths;
    let (width, arch) = (keys + values, Arch::new());
    let x = Columns { data: qkv, stride: rows.qkv_width(), first: queries };
    for_each_row(y, width, 32 * width, |row, y| {
        let (start, count) = rows.sentence(row);
        y.fill(0.0);
        if count == 0 || row - start >= count.min(factors.rank) {
            return;
        }
        if count <= factors.rank {
            y.copy_from_slice(x.row(row, width));
            return;
        }
        let factors = factors.of_sum(row - start);
        arch.dispatch(Sum { x, start, factors, mask: None, keys, count, y });
    });
}

/// The rows of sums that each token sees, and the tokens that see each row of sums: `[rows, 2]`, first and end.
pub fn packed_ranges(rows: PackedRows, rank: usize, key_ranges: &mut [u32], query_ranges: &mut [u32]) {
    let ranges = key_ranges.chunks_exact_mut(2).zip(query_ranges.chunks_exact_mut(2));
    for (row, (keys, queries)) in ranges.enumerate() {
        let (start, count) = rows.sentence(row);
        let kept = count.min(rank);
        keys.copy_from_slice(&[start as u32, (start + kept) as u32]);
        let is_sum = count > 0 && row - start < kept;
        queries.copy_from_slice(&if is_sum { [start as u32, (start + count) as u32] } else { [0; 2] });
    }
}

/// The gradient of [`project_packed`]'s rows: that of the queries, then those of keys and values.
///
/// * `dqueries`: `[rows, queries]`, `dy`: `[rows, keys + values]`, `dqkv`: `[rows, queries + keys + values]`
pub fn packed_row_gradient(
    rows: PackedRows,
    (dqueries, dy): (&[f32], &[f32]),
    factors: LengthFactors,
    dqkv: &mut [f32],
) {
    let [queries, keys, values] = rows.widths;
    let (width, arch) = (keys + values, Arch::new());
    let work = factors.rank * width;
    for_each_row(dqkv, rows.qkv_width(), work, |row, gradient| {
        let (start, count) = rows.sentence(row);
        let (of_queries, gradient) = gradient.split_at_mut(queries);
        of_queries.copy_from_slice(&dqueries[row * queries..][..queries]);
        if (1..=factors.rank).contains(&count) {
            gradient.copy_from_slice(&dy[row * width..][..width]);
            return;
        }
        gradient.fill(0.0);
        if count > 0 {
            arch.dispatch(RowGradient { dy, first: start, token: row - start, keys, factors, gradient });
        }
    });
}

struct RowGradient<'a> {
    dy: &'a [f32],
    /// First row of the sentence.
    first: usize,
    /// Number of the row in its sentence.
    token: usize,
    keys: usize,
    factors: LengthFactors<'a>,
    gradient: &'a mut [f32],
}

impl WithSimd for RowGradient<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { dy, first, token, keys, factors, gradient } = self;
        let width = gradient.len();
        let (of_keys, of_values) = gradient.split_at_mut(keys);
        for sum in 0..factors.rank {
            let [key_factors, value_factors] = factors.of_sum(sum);
            let (dkeys, dvalues) = dy[(first + sum) * width..][..width].split_at(keys);
            add_scaled(simd, of_keys, [key_factors[token]], [dkeys]);
            add_scaled(simd, of_values, [value_factors[token]], [dvalues]);
        }
    }
}

/// Adds to the gradient of factors, `[rank, positions]`: of the keys or of the values, by the columns of `x` and `dy`.
pub fn length_factor_gradient(
    sentences: &[u32],
    (x, dy, width): (Columns, Columns, usize),
    rank: usize,
    gradient: &mut [f32],
) {
    let (positions, arch) = (gradient.len() / rank, Arch::new());
    let rows = PackedRows { sentences, widths: [0; 3] };
    let work = sentences.len() / 2 * width;
    for_each_row(gradient, positions, work, |sum, gradient| {
        let mut row = 0;
        while row < sentences.len() / 2 {
            let (start, count) = rows.sentence(row);
            if count == 0 {
                break;
            }
            if count > rank {
                let dy = dy.row(start + sum, width);
                arch.dispatch(FactorGradient { x, start, dy, gradient: &mut gradient[..count] });
            }
            row = start + count;
        }
    });
}

struct FactorGradient<'a> {
    x: Columns<'a>,
    start: usize,
    dy: &'a [f32],
    gradient: &'a mut [f32],
}

impl WithSimd for FactorGradient<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { x, start, dy, gradient } = self;
        for (i, gradient) in gradient.iter_mut().enumerate() {
            let [[product]] = inner_products(simd, [dy], [x.row(start + i, dy.len())]);
            *gradient += product;
        }
    }
}
