//! Matrix products whose operands are rounded to bf16. Products and sums are f32.

use std::cell::Cell;
use std::ops::Range;

use smallvec::SmallVec;

use super::amx::{BLOCK, Sums, TILE, TILE_WORDS, transpose};
use super::bf16_unit::Bf16Unit;
use super::matrix_product::{Strided, product};
use super::parallel::for_each_row;
use super::vector::in_widest_vectors;

/// Whether the processor multiplies bf16 numbers faster than f32.
pub fn bf16_is_fast() -> bool {
    Bf16Unit::all().next().is_some()
}

/// Computes `y = scale·a·b`, or adds it to y, on all cores, with a and b rounded to bf16. `y`: row-major
/// `[rows of a, columns of b]`. An element does not depend on the number of threads. Panics if the sizes do not agree.
pub fn bf16_product(a: Strided, b: Strided, scale: f32, adds: bool, y: &mut [f32]) {
    match Bf16Unit::all().next() {
        Some(unit) if a.columns() > 0 => on_tiles(unit, (a, b), (scale, adds), y),
        _ => in_f32((a, b), (scale, adds), y),
    }
}

/// The product of rounded operands, for processors without such a unit.
fn in_f32((a, b): (Strided, Strided), (scale, adds): (f32, bool), y: &mut [f32]) {
    let rounded = |matrix: Strided| -> Vec<f32> {
        matrix.data().iter().map(|x| f32::from_bits(u32::from(round(*x)) << 16)).collect()
    };
    let (a_values, b_values) = (rounded(a), rounded(b));
    product(a.with_data(&a_values), b.with_data(&b_values), scale, adds, y);
}

/// The nearest bf16 number, ties to even. NaN stays NaN.
#[inline(always)]
fn round(x: f32) -> u16 {
    let bits = x.to_bits();
    let nearest = (bits.wrapping_add(0x7fff + (bits >> 16 & 1))) >> 16;
    let quiet = bits >> 16 | 0x40;
    (if x.is_nan() { quiet } else { nearest }) as u16
}

/// Numbers of an operand that a tile sums.
const TILE_DEPTH: usize = 2 * TILE;

/// Operands as tiles, kept by the thread that shares the work, so that a step allocates nothing.
#[derive(Default)]
struct Scratch {
    a: Vec<u32>,
    b: Vec<u32>,
}

fn on_tiles(unit: Bf16Unit, (a, b): (Strided, Strided), (scale, adds): (f32, bool), y: &mut [f32]) {
    thread_local!(static SCRATCH: Cell<Scratch> = Cell::default());
    let (rows, depth, columns) = (a.rows(), a.columns(), b.columns());
    assert_eq!(depth, b.rows(), "[{rows}, {depth}] times [{}, {columns}]", b.rows());
    assert_eq!(y.len(), rows * columns, "y is [{rows}, {columns}]");
    if y.is_empty() {
        return;
    }
    let mut scratch = SCRATCH.take();
    pack(a, Order::LineFirst, &mut scratch.a);
    pack(b.transposed(), Order::PairFirst, &mut scratch.b);
    let line_words = depth.div_ceil(TILE_DEPTH) * TILE_WORDS; // of 16 rows or columns
    let (a_tiles, b_tiles) = (&*scratch.a, &*scratch.b);
    let mut panels: SmallVec<[&mut [f32]; 64]> = y.chunks_mut(BLOCK * columns).collect();
    let together = (NEAR_WORDS / (2 * line_words)).max(1) * BLOCK;
    for first in (0..columns).step_by(together) {
        let chunk = first..columns.min(first + together);
        for_each_row(&mut panels, 1, BLOCK * depth * chunk.len() / unit.speed(), |panel, y| {
            let [y] = y else { unreachable!("one panel") };
            let operands = (&a_tiles[2 * panel * line_words..][..2 * line_words], b_tiles);
            multiply_panel(unit, operands, chunk.clone(), (scale, adds), (y, columns));
        });
    }
    SCRATCH.set(scratch);
}

/// Words of the right operand that stay in a core's cache while rows of the left one pass.
const NEAR_WORDS: usize = 1 << 17;

/// Computes some columns of up to 32 rows. The tiles: those of the rows of a, and of all columns of b.
fn multiply_panel(
    unit: Bf16Unit,
    (a, b): (&[u32], &[u32]),
    chunk: Range<usize>,
    (scale, adds): (f32, bool),
    (y, columns): (&mut [f32], usize),
) {
    let mut sums = Sums([0.0; BLOCK * BLOCK]);
    let line_words = a.len() / 2;
    let (a0, a1) = a.split_at(line_words);
    unit.run(|multiply| {
        for first in chunk.clone().step_by(BLOCK) {
            let (b0, b1) = b[first / TILE * line_words..][..2 * line_words].split_at(line_words);
            multiply([a0, a1], [b0, b1], &mut sums);
            let width = BLOCK.min(chunk.end - first);
            in_widest_vectors(
                #[inline(always)]
                || {
                    for (y, sums) in y.chunks_exact_mut(columns).zip(sums.0.as_chunks::<BLOCK>().0) {
                        let y = &mut y[first..first + width];
                        match <&mut [f32; BLOCK]>::try_from(&mut *y) {
                            Ok(row) => {
                                // a copy, of known length: for all the compiler knows, y could be the sums
                                let mut copy = *row;
                                store(&mut copy, sums, (scale, adds));
                                *row = copy;
                            }
                            Err(_) => store(y, sums, (scale, adds)),
                        }
                    }
                },
            );
        }
    });
}

/// Writes a row of a block.
#[inline(always)]
fn store(y: &mut [f32], sums: &[f32], (scale, adds): (f32, bool)) {
    match adds {
        true => y.iter_mut().zip(sums).for_each(|(y, sum)| *y += scale * sum),
        false => y.iter_mut().zip(sums).for_each(|(y, sum)| *y = scale * sum),
    }
}

/// Order of the words of a tile. A line is a row of the left operand, or a column of the right one.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    /// `[line, pair]`
    LineFirst,
    /// `[pair, line]`
    PairFirst,
}

/// Rows of tiles that are filled together: so many columns are read of a row of the matrix at a time.
const TOGETHER: usize = 8;

/// Rounds a matrix `[lines, depth]` into tiles `[lines / 16, depth / 32]`, and fills with zeros. The number of rows of
/// tiles is even.
fn pack(matrix: Strided, order: Order, words: &mut Vec<u32>) {
    let line_words = matrix.columns().div_ceil(TILE_DEPTH) * TILE_WORDS;
    words.resize(matrix.rows().div_ceil(BLOCK) * 2 * line_words, 0);
    let mut groups: SmallVec<[&mut [u32]; 64]> = words.chunks_mut(TOGETHER * line_words).collect();
    for_each_row(&mut groups, 1, 16 * TOGETHER * line_words, |group, words| {
        let [words] = words else { unreachable!("one group") };
        in_widest_vectors(
            #[inline(always)]
            || pack_group(matrix, group * TOGETHER * TILE, order, line_words, words),
        );
    });
}

/// Fills some rows of tiles. Memory is read in its own order, so that the processor fetches it ahead.
#[inline(always)]
fn pack_group(matrix: Strided, first: usize, order: Order, line_words: usize, words: &mut [u32]) {
    let lines = matrix.rows().saturating_sub(first).min(TOGETHER * TILE);
    let (whole_lines, whole_depth) = (lines / TILE * TILE, matrix.columns() / TILE_DEPTH * TILE_DEPTH);
    let [line_stride, depth_stride] = matrix.strides();
    let start = first * line_stride;
    let made = if depth_stride == 1 {
        for line in 0..whole_lines {
            let x = &matrix.data()[start + line * line_stride..][..whole_depth];
            let words = &mut words[line / TILE * line_words + line % TILE * TILE..];
            for (tile, x) in x.chunks_exact(TILE_DEPTH).enumerate() {
                let halves: &mut [u16] = bytemuck::cast_slice_mut(&mut words[tile * TILE_WORDS..][..TILE]);
                halves.iter_mut().zip(x).for_each(|(half, x)| *half = round(*x));
            }
        }
        Order::LineFirst
    } else {
        for pair in 0..whole_depth / 2 {
            let x = |at: usize| &matrix.data()[start + at * depth_stride..][..whole_lines];
            let place = pair / TILE * TILE_WORDS + pair % TILE * TILE;
            let pairs = x(2 * pair).chunks_exact(TILE).zip(x(2 * pair + 1).chunks_exact(TILE));
            for (block, (low, high)) in pairs.enumerate() {
                let words = &mut words[block * line_words + place..][..TILE];
                let pairs = low.iter().zip(high);
                words.iter_mut().zip(pairs).for_each(|(word, (low, high))| *word = word_of(*low, *high));
            }
        }
        Order::PairFirst
    };
    for (block, words) in words.chunks_exact_mut(line_words).enumerate() {
        for (tile, words) in words.as_chunks_mut().0.iter_mut().enumerate() {
            let is_whole = block * TILE < whole_lines && tile * TILE_DEPTH < whole_depth;
            match is_whole {
                true if made == order => {}
                true => transpose(words),
                false => pack_edge(matrix, [first + block * TILE, tile * TILE_DEPTH], order, words),
            }
        }
    }
}

/// Fills a tile at the edge of the matrix, or beyond it.
fn pack_edge(matrix: Strided, first: [usize; 2], order: Order, words: &mut [u32; TILE_WORDS]) {
    let [line_stride, depth_stride] = matrix.strides();
    let x = |line: usize, at: usize| match line < matrix.rows() && at < matrix.columns() {
        true => matrix.data()[line * line_stride + at * depth_stride],
        false => 0.0,
    };
    for (index, word) in words.iter_mut().enumerate() {
        let (line, pair) = match order {
            Order::LineFirst => (index / TILE, index % TILE),
            Order::PairFirst => (index % TILE, index / TILE),
        };
        let [line, at] = [first[0] + line, first[1] + 2 * pair];
        *word = word_of(x(line, at), x(line, at + 1));
    }
}

#[inline(always)]
fn word_of(low: f32, high: f32) -> u32 {
    u32::from(round(low)) | u32::from(round(high)) << 16
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    fn of_bf16(x: f32) -> f64 {
        f64::from(half::bf16::from_f32(x).to_f32())
    }

    /// Computes a product on this unit, or on none.
    fn run(unit: Option<Bf16Unit>, operands: (Strided, Strided), how: (f32, bool), y: &mut [f32]) {
        match unit {
            Some(unit) => on_tiles(unit, operands, how, y),
            None => in_f32(operands, how, y),
        }
    }

    fn ways() -> impl Iterator<Item = Option<Bf16Unit>> {
        [None].into_iter().chain(Bf16Unit::all().map(Some))
    }

    #[test]
    fn products_are_those_of_rounded_operands_at_sizes_around_the_tile() {
        for (rows, depth, columns) in
            [(1, 1, 1), (16, 32, 16), (17, 33, 15), (32, 64, 32), (31, 7, 100), (70, 130, 65), (3, 500, 40)]
        {
            let (a, b, before) =
                (values(rows * depth, 1), values(depth * columns, 2), values(rows * columns, 3));
            let a_t: Vec<f32> = (0..rows * depth).map(|i| a[i % rows * depth + i / rows]).collect();
            let b_t: Vec<f32> = (0..depth * columns).map(|i| b[i % depth * columns + i / depth]).collect();
            let a_s = [Strided::row_major(&a, depth), Strided::row_major(&a_t, rows).transposed()];
            let b_s = [Strided::row_major(&b, columns), Strided::row_major(&b_t, depth).transposed()];
            for (a_s, b_s) in a_s.into_iter().flat_map(|a_s| b_s.map(|b_s| (a_s, b_s))) {
                for (unit, adds) in ways().flat_map(|unit| [(unit, false), (unit, true)]) {
                    let mut y = before.clone();
                    run(unit, (a_s, b_s), (0.5, adds), &mut y);
                    for (index, y) in y.iter().enumerate() {
                        let (row, column) = (index / columns, index % columns);
                        let terms = (0..depth)
                            .map(|k| of_bf16(a[row * depth + k]) * of_bf16(b[k * columns + column]));
                        let want =
                            0.5 * terms.sum::<f64>() + if adds { f64::from(before[index]) } else { 0.0 };
                        let error = (f64::from(*y) - want).abs();
                        assert!(
                            error < 1e-5,
                            "{unit:?}, [{rows}, {depth}, {columns}], {row}, {column}: {y}, not {want}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn numbers_are_rounded_to_the_nearest_and_a_nan_stays_one() {
        for x in values(2000, 5).into_iter().chain([0.0, -0.0, f32::INFINITY, f32::MAX, 1.0 + 1.0 / 256.0]) {
            assert_eq!(round(x), half::bf16::from_f32(x).to_bits(), "{x}");
        }
        assert!(half::bf16::from_bits(round(f32::NAN)).is_nan());
        assert!(half::bf16::from_bits(round(f32::from_bits(0x7f80_0001))).is_nan());
        for unit in ways() {
            let (a, b) = ([f32::NAN, 1.0], [1.0, 2.0]);
            let mut y = [0.0];
            run(unit, (Strided::row_major(&a, 2), Strided::row_major(&b, 1)), (1.0, false), &mut y);
            assert!(y[0].is_nan());
        }
    }
}
