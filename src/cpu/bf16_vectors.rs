//! Products of bf16 matrices in vectors, on processors with AVX-512 BF16.

#[cfg(target_arch = "x86_64")]
mod pairs {
    use std::arch::x86_64::{
        __m512, __m512bh, __m512i, _MM_HINT_T0, _mm_prefetch, _mm512_cvtne2ps_pbh, _mm512_dpbf16_ps,
        _mm512_fmadd_ps, _mm512_mul_ps, _mm512_permutexvar_epi16, _mm512_set1_epi32, _mm512_set1_ps,
        _mm512_setzero_ps,
    };

    use crate::cpu::amx::{BLOCK, TILE, TILE_WORDS};
    use crate::cpu::bf16_tiles::{Operands, Order, Output, Rounding, Tiles};

    /// Rows whose sums stay in registers: with two vectors of columns they take 16 of 32.
    const ROWS: usize = 8;

    /// The vectors of pairs of bf16 numbers that this processor has.
    #[derive(Clone, Copy, Debug)]
    pub struct PairVectors(());

    impl PairVectors {
        /// If the processor has them.
        pub fn new() -> Option<Self> {
            let there = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512bf16");
            there.then_some(Self(()))
        }

        /// Computes a block.
        #[expect(unsafe_code, reason = "instructions that not every processor has")]
        pub fn multiply(self, operands: Operands, output: Output) {
            // SAFETY: `new` has found that the processor has the instructions.
            unsafe {
                match operands.order {
                    Order::LineFirst => multiply_pairs::<TILE, 1>(operands, output),
                    Order::PairFirst => multiply_pairs::<1, TILE>(operands, output),
                }
            }
        }

        /// Fills tiles.
        #[expect(unsafe_code, reason = "instructions that not every processor has")]
        pub fn fill(self, tiles: Tiles, words: &mut [u32]) {
            #[target_feature(enable = "avx512f,avx512bw,avx512bf16")]
            fn fill(tiles: Tiles, words: &mut [u32], rounding: PairVectors) {
                tiles.fill(words, rounding);
            }
            // SAFETY: `new` has found that the processor has the instructions.
            unsafe { fill(tiles, words, self) }
        }
    }

    /// `ROW`, `PAIR`: distances of rows and of pairs in a tile of the left operand.
    #[target_feature(enable = "avx512f,avx512bf16")]
    fn multiply_pairs<const ROW: usize, const PAIR: usize>(operands: Operands, output: Output) {
        let Output { y, stride, scale, adds } = output;
        let [left, right] = operands.b.map(|words| words.as_chunks::<TILE>().0);
        let vectors = left.len();
        let right = &right[..vectors];
        let scale = _mm512_set1_ps(scale);
        for (first, a) in (0..BLOCK).step_by(ROWS).map(|row| (row, operands.a[row / TILE])) {
            let y = &mut y[first * stride..];
            for row in 0..ROWS {
                will_be_used(&y[row * stride..][..BLOCK]);
            }
            let mut block = [[_mm512_setzero_ps(); 2]; ROWS];
            let tiles = a.as_chunks::<TILE_WORDS>().0;
            let columns = left.as_chunks::<TILE>().0.iter().zip(right.as_chunks::<TILE>().0);
            for (tile, (left, right)) in tiles.iter().zip(columns) {
                let words = &tile[first % TILE * ROW..][..(ROWS - 1) * ROW + (TILE - 1) * PAIR + 1];
                for pair in 0..TILE {
                    let [left, right] = [left, right].map(|words| numbers(pulp::cast(words[pair])));
                    for (row, sums) in block.iter_mut().enumerate() {
                        let x = numbers(_mm512_set1_epi32(words[row * ROW + pair * PAIR].cast_signed()));
                        sums[0] = _mm512_dpbf16_ps(sums[0], x, left);
                        sums[1] = _mm512_dpbf16_ps(sums[1], x, right);
                    }
                }
            }
            for (row, sums) in block.into_iter().enumerate() {
                let (y, _) = y[row * stride..][..BLOCK].as_chunks_mut::<TILE>();
                for (y, sum) in y.iter_mut().zip(sums) {
                    let sum: __m512 = match adds {
                        true => _mm512_fmadd_ps(scale, sum, pulp::cast(*y)),
                        false => _mm512_mul_ps(scale, sum),
                    };
                    *y = pulp::cast(sum);
                }
            }
        }
    }

    /// Asks for a row of a block before its sums are there: rows are far apart, which the processor does not foresee.
    #[inline(always)]
    #[expect(unsafe_code, reason = "Rust's function takes a pointer")]
    fn will_be_used(row: &[f32]) {
        for line in row.chunks(TILE) {
            // SAFETY: the instruction changes nothing, and x86-64 always has it.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(line.as_ptr().cast()) };
        }
    }

    /// A vector of words, as pairs.
    #[inline(always)]
    #[expect(unsafe_code, reason = "Rust has no cast between these vectors")]
    fn numbers(words: __m512i) -> __m512bh {
        // SAFETY: both are 64 bytes, and all bits are numbers.
        unsafe { std::mem::transmute(words) }
    }

    /// The instruction takes tiny numbers, below 2⁻¹²⁶, for zeros. So does the one that multiplies.
    impl Rounding for PairVectors {
        // inline(always): compiled as a part of `fill`
        #[inline(always)]
        #[expect(unsafe_code, reason = "instructions that not every processor has")]
        fn neighbours(self, x: &[f32; 2 * TILE]) -> [u32; TILE] {
            let [low, high]: [__m512; 2] = pulp::cast(*x);
            // SAFETY: `new` has found that the processor has the instruction; both types are 64 bytes of numbers.
            unsafe { std::mem::transmute(_mm512_cvtne2ps_pbh(high, low)) }
        }

        #[inline(always)]
        #[expect(unsafe_code, reason = "instructions that not every processor has")]
        fn pairs(self, low: &[f32; TILE], high: &[f32; TILE]) -> [u32; TILE] {
            const IN_TURN: [u16; 2 * TILE] = {
                let mut places = [0; 2 * TILE];
                let mut place = 0;
                while place < places.len() {
                    places[place] = (place % 2 * TILE + place / 2) as u16;
                    place += 1;
                }
                places
            };
            // SAFETY: `new` has found that the processor has the instructions; all types are 64 bytes of numbers.
            unsafe {
                let rounded = _mm512_cvtne2ps_pbh(pulp::cast(*high), pulp::cast(*low));
                let rounded: __m512i = std::mem::transmute(rounded);
                pulp::cast(_mm512_permutexvar_epi16(pulp::cast(IN_TURN), rounded))
            }
        }

        #[inline(always)]
        fn will_be_used(self, x: &[f32]) {
            will_be_used(x);
        }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod pairs {
    use crate::cpu::bf16_tiles::{Operands, Output, Tiles};

    /// The vectors that other processors do not have.
    #[derive(Clone, Copy, Debug)]
    pub enum PairVectors {}

    impl PairVectors {
        pub fn new() -> Option<Self> {
            None
        }

        pub fn multiply(self, _: Operands, _: Output) {
            match self {}
        }

        pub fn fill(self, _: Tiles, _: &mut [u32]) {
            match self {}
        }
    }
}

pub use pairs::PairVectors;
