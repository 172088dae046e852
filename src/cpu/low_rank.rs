//! The best approximation of a sentence's rows by a matrix of rank k: their projection on the k leading singular vectors.
//! Eckart & Young 1936.
//!
//! X = U Σ Wᵀ. Rotations of pairs of rows make all rows orthogonal, so that row i of the rotated matrix is σᵢ wᵢᵀ: one-sided
//! Jacobi, Hestenes 1958. A row x becomes Σ (x·wᵢ) wᵢ over the k largest σᵢ, which is a row of U_k U_kᵀ X.

use pulp::{Arch, Simd, WithSimd};

use super::Columns;
use super::parallel::for_each_row;
use super::vector::inner_products;
use crate::shape::LowRankShape;
use crate::sorting;

/// Most passes over all pairs of rows. Convergence is quadratic at the end.
const SWEEPS: usize = 24;
/// Cosine of two rows that count as orthogonal.
const ORTHOGONAL: f32 = 2e-7;
/// Square of the share of the largest singular value below which another one is rounding.
pub const NOTHING: f32 = 1e-10;

/// Projects the rows of each sentence. Rows that `mask` hides do not count, and stay as they are, as do sentences of up to
/// `rank` rows.
///
/// * `x`: `[batch * length, …]`, `mask`: `[batch, length]`, nonzero = visible
/// * `rotated`, `y`: `[batch * length, width]`
pub fn low_rank(x: Columns, mask: &[u32], shape: &LowRankShape, rotated: &mut [f32], y: &mut [f32]) {
    let LowRankShape { length, width, rank, .. } = *shape;
    let arch = Arch::new();
    let count = |sentence: usize| row_count(&mask[sentence * length..][..length]);
    for_each_row(rotated, length * width, 8 * length * length * width, |sentence, rows| {
        for (row, out) in rows.chunks_exact_mut(width).enumerate() {
            let row = sentence * length + row;
            match mask[row] {
                0 => out.fill(0.0),
                _ => out.copy_from_slice(x.row(row, width)),
            }
        }
        let count = count(sentence);
        if count > rank {
            arch.dispatch(Rotate { rows: &mut rows[..count * width], width });
        }
    });
    let rotated = &*rotated;
    for_each_row(y, length * width, 2 * length * length * width, |sentence, y| {
        let count = count(sentence);
        let directions = &rotated[sentence * length * width..][..count * width];
        let chosen = if count > rank { leading(directions, width, rank) } else { Vec::new() };
        for (row, y) in y.chunks_exact_mut(width).enumerate() {
            let row = sentence * length + row;
            let x = x.row(row, width);
            if mask[row] == 0 || count <= rank {
                y.copy_from_slice(x);
                continue;
            }
            y.fill(0.0);
            for &(direction, square) in &chosen {
                arch.dispatch(Project { x, direction: &directions[direction * width..][..width], square, y });
            }
        }
    });
}

/// Number of a sentence's rows up to the last visible one.
fn row_count(mask: &[u32]) -> usize {
    mask.iter().rposition(|&visible| visible != 0).map_or(0, |last| last + 1)
}

/// The longest of the rows, `rank` at most, with their squared lengths; none that is rounding.
fn leading(rows: &[f32], width: usize, rank: usize) -> Vec<(usize, f32)> {
    let squares = rows.chunks_exact(width).map(|row| row.iter().map(|x| x * x).sum());
    let mut squares: Vec<(usize, f32)> = squares.enumerate().collect();
    sorting::sort_by(&mut squares, |(i, a), (j, b)| b.total_cmp(a).then(i.cmp(j)));
    squares.truncate(rank);
    let least = squares.first().map_or(0.0, |&(_, largest)| NOTHING * largest);
    squares.retain(|&(_, square)| square > least);
    squares
}

/// Rotates pairs of rows until all are orthogonal.
struct Rotate<'a> {
    rows: &'a mut [f32],
    width: usize,
}

impl WithSimd for Rotate<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { rows, width } = self;
        let count = rows.len() / width;
        for _ in 0..SWEEPS {
            let mut is_orthogonal = true;
            for second in 1..count {
                let (before, others) = rows.split_at_mut(second * width);
                let y = &mut others[..width];
                for x in before.chunks_exact_mut(width) {
                    let [[a, c], [_, b]] = inner_products(simd, [x, y], [x, y]);
                    if c * c <= ORTHOGONAL * ORTHOGONAL * a * b {
                        continue;
                    }
                    is_orthogonal = false;
                    let (cosine, sine) = rotation(a, b, c);
                    for (x, y) in x.iter_mut().zip(y.iter_mut()) {
                        (*x, *y) = (cosine * *x - sine * *y, sine * *x + cosine * *y);
                    }
                }
            }
            if is_orthogonal {
                break;
            }
        }
    }
}

/// Cosine and sine of the rotation that makes rows of squared lengths `a` and `b` and product `c` orthogonal.
fn rotation(a: f32, b: f32, c: f32) -> (f32, f32) {
    let cotangent = ((b - a) / (2.0 * c)).clamp(-1e15, 1e15); // of twice the angle
    let tangent = 1.0_f32.copysign(cotangent) / (cotangent.abs() + (1.0 + cotangent * cotangent).sqrt());
    let cosine = 1.0 / (1.0 + tangent * tangent).sqrt();
    (cosine, cosine * tangent)
}

/// Adds a row's part along a direction of squared length `square`.
struct Project<'a> {
    x: &'a [f32],
    direction: &'a [f32],
    square: f32,
    y: &'a mut [f32],
}

impl WithSimd for Project<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { x, direction, square, y } = self;
        let [[product]] = inner_products(simd, [x], [direction]);
        let factor = product / square;
        y.iter_mut().zip(direction).for_each(|(y, direction)| *y += factor * direction);
    }
}
