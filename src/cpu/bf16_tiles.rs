//! bf16 matrices as tiles of 16 lines and 16 pairs of numbers. A line is a row of the left operand of a product, or a
//! column of the right one. A pair is a word, with the first number below.

use super::amx::{BLOCK, Sums, TILE, TILE_WORDS, transpose};
use super::matrix_product::Strided;

/// Numbers of a line in a tile.
pub const TILE_DEPTH: usize = 2 * TILE;

/// Rows of tiles that are filled together: so many columns are read of a row of the matrix at a time.
pub const TOGETHER: usize = 8;

/// Order of the words of a tile.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Order {
    /// `[line, pair]`
    LineFirst,
    /// `[pair, line]`
    PairFirst,
}

/// Operands of a block: two rows of tiles each, all of equal length.
#[derive(Clone, Copy)]
pub struct Operands<'a> {
    /// 32 lines of the left operand.
    pub a: [&'a [u32]; 2],
    /// Order of the left operand's tiles.
    pub order: Order,
    /// 32 lines of the right operand, pair first.
    pub b: [&'a [u32]; 2],
}

/// What a block of 32 × 32 sums is written to, or added to.
pub struct Output<'a> {
    /// From the first element of the block on.
    pub y: &'a mut [f32],
    /// Elements from one row to the next.
    pub stride: usize,
    /// Factor of the sums.
    pub scale: f32,
    /// Whether the sums are added.
    pub adds: bool,
}

impl Output<'_> {
    /// Writes the first `rows` and `columns` of a block.
    pub fn write(&mut self, sums: &Sums, [rows, columns]: [usize; 2]) {
        let rows = self.y.chunks_mut(self.stride).zip(sums.0.as_chunks::<BLOCK>().0).take(rows);
        for (y, sums) in rows {
            let row = y[..columns].iter_mut().zip(sums);
            match self.adds {
                true => row.for_each(|(y, sum)| *y += self.scale * sum),
                false => row.for_each(|(y, sum)| *y = self.scale * sum),
            }
        }
    }
}

/// Rounds numbers to bf16.
pub trait Rounding: Copy {
    /// 16 pairs of neighbours.
    fn neighbours(self, x: &[f32; TILE_DEPTH]) -> [u32; TILE];

    /// 16 pairs of numbers of two rows.
    fn pairs(self, low: &[f32; TILE], high: &[f32; TILE]) -> [u32; TILE];

    /// Asks for memory ahead of its use, where this helps.
    fn will_be_used(self, _: &[f32]) {}
}

/// Plain code.
#[derive(Clone, Copy)]
pub struct PlainRounding;

impl Rounding for PlainRounding {
    #[inline(always)]
    fn neighbours(self, x: &[f32; TILE_DEPTH]) -> [u32; TILE] {
        let mut words = [0; TILE];
        let halves: &mut [u16] = bytemuck::cast_slice_mut(&mut words);
        halves.iter_mut().zip(x).for_each(|(half, x)| *half = round(*x));
        words
    }

    #[inline(always)]
    fn pairs(self, low: &[f32; TILE], high: &[f32; TILE]) -> [u32; TILE] {
        let mut words = [0; TILE];
        let pairs = low.iter().zip(high);
        words.iter_mut().zip(pairs).for_each(|(word, (low, high))| *word = word_of(*low, *high));
        words
    }
}

/// The nearest bf16 number, ties to even. NaN stays NaN.
#[inline(always)]
pub fn round(x: f32) -> u16 {
    let bits = x.to_bits();
    let nearest = (bits.wrapping_add(0x7fff + (bits >> 16 & 1))) >> 16;
    let quiet = bits >> 16 | 0x40;
    (if x.is_nan() { quiet } else { nearest }) as u16
}

#[inline(always)]
fn word_of(low: f32, high: f32) -> u32 {
    u32::from(round(low)) | u32::from(round(high)) << 16
}

/// Some rows of tiles of a matrix `[lines, depth]`.
#[derive(Clone, Copy)]
pub struct Tiles<'a> {
    /// The whole matrix.
    pub matrix: Strided<'a>,
    /// First line of these tiles.
    pub first: usize,
    /// Order of the words of a tile.
    pub order: Order,
}

impl Order {
    /// The order in which the tiles of a matrix are made without transposing them.
    pub fn of(matrix: Strided) -> Self {
        let [_, depth_stride] = matrix.strides();
        if depth_stride == 1 { Self::LineFirst } else { Self::PairFirst }
    }
}

impl Tiles<'_> {
    /// Words of a row of tiles.
    pub fn line_words(&self) -> usize {
        self.matrix.columns().div_ceil(TILE_DEPTH) * TILE_WORDS
    }

    /// Fills up to [`TOGETHER`] rows of tiles, and zeros beyond the matrix. Memory is read in its own order, so that the
    /// processor fetches it ahead.
    #[inline(always)]
    pub fn fill(self, words: &mut [u32], rounding: impl Rounding) {
        let Self { matrix, first, order } = self;
        let line_words = self.line_words();
        let lines = matrix.rows().saturating_sub(first).min(TOGETHER * TILE);
        let whole = [lines / TILE * TILE, matrix.columns() / TILE_DEPTH * TILE_DEPTH];
        let made = Order::of(matrix);
        match made {
            Order::LineFirst => self.fill_lines(whole, words, rounding),
            Order::PairFirst => self.fill_pairs(whole, words, rounding),
        }
        for (block, words) in words.chunks_exact_mut(line_words).enumerate() {
            for (tile, words) in words.as_chunks_mut().0.iter_mut().enumerate() {
                let is_whole = block * TILE < whole[0] && tile * TILE_DEPTH < whole[1];
                match is_whole {
                    true if made == order => {}
                    true => transpose(words),
                    false => self.fill_edge([first + block * TILE, tile * TILE_DEPTH], words),
                }
            }
        }
    }

    /// Of a matrix whose lines are rows.
    #[inline(always)]
    fn fill_lines(self, [lines, depth]: [usize; 2], words: &mut [u32], rounding: impl Rounding) {
        let ([line_stride, _], line_words) = (self.matrix.strides(), self.line_words());
        for line in 0..lines {
            let x = &self.matrix.data()[(self.first + line) * line_stride..][..depth];
            let words = &mut words[line / TILE * line_words..][..line_words];
            for (tile, x) in words.as_chunks_mut::<TILE_WORDS>().0.iter_mut().zip(x.as_chunks().0) {
                tile.as_chunks_mut().0[line % TILE] = rounding.neighbours(x);
            }
        }
    }

    /// Of a matrix whose lines are columns.
    #[inline(always)]
    fn fill_pairs(self, [lines, depth]: [usize; 2], words: &mut [u32], rounding: impl Rounding) {
        /// Rows that are asked for ahead.
        const AHEAD: usize = 8;
        let ([_, depth_stride], line_words) = (self.matrix.strides(), self.line_words());
        let row = |at: usize| &self.matrix.data()[self.first + at * depth_stride..][..lines];
        for pair in 0..depth / 2 {
            if 2 * pair + AHEAD + 1 < depth {
                rounding.will_be_used(row(2 * pair + AHEAD));
                rounding.will_be_used(row(2 * pair + AHEAD + 1));
            }
            let place = pair / TILE * TILE_WORDS + pair % TILE * TILE;
            let [low, high] = [2 * pair, 2 * pair + 1].map(|at| row(at).as_chunks().0);
            for (block, (low, high)) in low.iter().zip(high).enumerate() {
                words[block * line_words + place..][..TILE].copy_from_slice(&rounding.pairs(low, high));
            }
        }
    }

    /// Fills a tile at the edge of the matrix, or beyond it.
    fn fill_edge(self, first: [usize; 2], words: &mut [u32; TILE_WORDS]) {
        let Self { matrix, order, .. } = self;
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
}
