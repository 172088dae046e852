//! Matrix products whose operands are rounded to bf16. Products and sums are f32.

use std::cell::Cell;
use std::ops::Range;

use smallvec::SmallVec;

use super::amx::{BLOCK, Sums, TILE, TILE_WORDS};
use super::bf16_tiles::{Operands, Order, Output, TILE_DEPTH, TOGETHER, Tiles, round};
use super::bf16_unit::Bf16Unit;
use super::matrix_product::{Strided, product};
use super::parallel::for_each_row;

/// What is done to rows of a product, given the first row and the elements of some rows, while they are in a core's cache.
pub type OnRows<'a> = &'a (dyn Fn(usize, &mut [f32]) + Sync);

/// What becomes of a product.
#[derive(Clone, Copy)]
pub struct Finish<'a> {
    /// Factor of the product.
    pub scale: f32,
    /// If the product is added to y: what sets y before that. It may leave what is there.
    pub addend: Option<OnRows<'a>>,
    /// What is done afterwards.
    pub then: Option<OnRows<'a>>,
}

/// Whether the processor multiplies bf16 numbers faster than f32.
pub fn bf16_is_fast() -> bool {
    Bf16Unit::all().next().is_some()
}

/// Computes `y = scale·a·b`, or adds it to y, on all cores, with a and b rounded to bf16. `y`: row-major
/// `[rows of a, columns of b]`. An element does not depend on the number of threads. Panics if the sizes do not agree.
pub fn bf16_product(a: Strided, b: Strided, finish: Finish, y: &mut [f32]) {
    match Bf16Unit::all().next() {
        Some(unit) if a.columns() > 0 => on_tiles(unit, (a, b), finish, y),
        _ => in_f32((a, b), finish, y),
    }
}

/// The product of rounded operands, for processors without such a unit.
fn in_f32((a, b): (Strided, Strided), finish: Finish, y: &mut [f32]) {
    let rounded = |matrix: Strided| -> Vec<f32> {
        matrix.data().iter().map(|x| f32::from_bits(u32::from(round(*x)) << 16)).collect()
    };
    let (a_values, b_values) = (rounded(a), rounded(b));
    let Finish { scale, addend, then } = finish;
    if let Some(addend) = addend {
        addend(0, y);
    }
    product(a.with_data(&a_values), b.with_data(&b_values), scale, addend.is_some(), y);
    if let Some(then) = then {
        then(0, y);
    }
}

/// Operands as tiles, kept by the thread that shares the work, so that a step allocates nothing.
#[derive(Default)]
struct Scratch {
    a: Vec<u32>,
    b: Vec<u32>,
}

fn on_tiles(unit: Bf16Unit, (a, b): (Strided, Strided), finish: Finish, y: &mut [f32]) {
    thread_local!(static SCRATCH: Cell<Scratch> = Cell::default());
    let (rows, depth, columns) = (a.rows(), a.columns(), b.columns());
    assert_eq!(depth, b.rows(), "[{rows}, {depth}] times [{}, {columns}]", b.rows());
    assert_eq!(y.len(), rows * columns, "y is [{rows}, {columns}]");
    if y.is_empty() {
        return;
    }
    let (mut scratch, order) = (SCRATCH.take(), unit.order(a));
    pack(unit, a, order, &mut scratch.a);
    pack(unit, b.transposed(), Order::PairFirst, &mut scratch.b);
    let line_words = depth.div_ceil(TILE_DEPTH) * TILE_WORDS; // of 16 rows or columns
    let (a_tiles, b_tiles) = (&*scratch.a, &*scratch.b);
    let mut panels: SmallVec<[&mut [f32]; 64]> = y.chunks_mut(BLOCK * columns).collect();
    let together = (NEAR_WORDS / (2 * line_words)).max(1) * BLOCK;
    for first in (0..columns).step_by(together) {
        let chunk = first..columns.min(first + together);
        for_each_row(&mut panels, 1, BLOCK * depth * chunk.len() / unit.speed(), |index, y| {
            let [y] = y else { unreachable!("one panel") };
            let a = a_tiles[2 * index * line_words..][..2 * line_words].split_at(line_words);
            let panel = Panel { unit, a: [a.0, a.1], order, b: b_tiles, columns };
            panel.multiply(chunk.clone(), (index * BLOCK, finish), y);
        });
    }
    SCRATCH.set(scratch);
}

/// Words of the right operand that stay in a core's cache while rows of the left one pass.
const NEAR_WORDS: usize = 1 << 17;

/// Up to 32 rows of a product.
struct Panel<'a> {
    unit: Bf16Unit,
    /// Tiles of these rows.
    a: [&'a [u32]; 2],
    order: Order,
    /// Tiles of all columns.
    b: &'a [u32],
    columns: usize,
}

impl Panel<'_> {
    /// Computes some columns.
    fn multiply(&self, chunk: Range<usize>, (first_row, finish): (usize, Finish), y: &mut [f32]) {
        let Self { unit, a, order, b, columns } = *self;
        let Finish { scale, addend, then } = finish;
        if let Some(addend) = addend.filter(|_| chunk.start == 0) {
            addend(first_row, y);
        }
        let (rows, line_words, adds) = (y.len() / columns, a[0].len(), addend.is_some());
        unit.run(|multiply| {
            for first in chunk.clone().step_by(BLOCK) {
                let (b0, b1) = b[first / TILE * line_words..][..2 * line_words].split_at(line_words);
                let operands = Operands { a, order, b: [b0, b1] };
                let size = [rows, BLOCK.min(chunk.end - first)];
                let mut output = Output { y: &mut y[first..], stride: columns, scale, adds };
                if size == [BLOCK; 2] {
                    multiply(operands, output);
                } else {
                    let mut sums = Sums([0.0; BLOCK * BLOCK]);
                    multiply(operands, Output { y: &mut sums.0, stride: BLOCK, scale: 1.0, adds: false });
                    output.write(&sums, size);
                }
            }
        });
        if let Some(then) = then.filter(|_| chunk.end == columns) {
            then(first_row, y);
        }
    }
}

/// Rounds a matrix `[lines, depth]` into tiles `[lines / 16, depth / 32]`, and fills with zeros. The number of rows of
/// tiles is even.
fn pack(unit: Bf16Unit, matrix: Strided, order: Order, words: &mut Vec<u32>) {
    let line_words = matrix.columns().div_ceil(TILE_DEPTH) * TILE_WORDS;
    words.resize(matrix.rows().div_ceil(BLOCK) * 2 * line_words, 0);
    let mut groups: SmallVec<[&mut [u32]; 64]> = words.chunks_mut(TOGETHER * line_words).collect();
    for_each_row(&mut groups, 1, 16 * TOGETHER * line_words, |group, words| {
        let [words] = words else { unreachable!("one group") };
        unit.fill(Tiles { matrix, first: group * TOGETHER * TILE, order }, words);
    });
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
        let addend = how.1.then_some((&|_: usize, _: &mut [f32]| {}) as OnRows);
        let finish = Finish { scale: how.0, addend, then: None };
        match unit {
            Some(unit) => on_tiles(unit, operands, finish, y),
            None => in_f32(operands, finish, y),
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
