//! Products of bf16 matrices in vectors, on processors with AVX-512 BF16.

use super::amx::Sums;

#[cfg(target_arch = "x86_64")]
mod pairs {
    use std::arch::x86_64::{__m512bh, __m512i, _mm512_dpbf16_ps, _mm512_set1_epi32, _mm512_setzero_ps};

    use super::Sums;
    use crate::cpu::amx::{BLOCK, TILE, TILE_WORDS};

    /// Rows whose sums stay in registers: with two vectors of columns they take 16 of 32.
    const ROWS: usize = 8;

    /// Whether the processor multiplies pairs of bf16 numbers.
    pub fn are_there() -> bool {
        is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bf16")
    }

    /// Computes a block, as [`Bf16Unit::run`](crate::cpu::bf16_unit::Bf16Unit::run) says.
    #[expect(unsafe_code, reason = "instructions that not every processor has")]
    pub fn multiply(a: [&[u32]; 2], b: [&[u32]; 2], sums: &mut Sums) {
        assert!(are_there(), "AVX-512 BF16");
        // SAFETY: the processor has the instructions.
        unsafe { multiply_pairs(a, b, sums) }
    }

    #[target_feature(enable = "avx512f,avx512bf16")]
    fn multiply_pairs(a: [&[u32]; 2], b: [&[u32]; 2], sums: &mut Sums) {
        let [left, right] = b.map(|words| words.as_chunks::<TILE>().0);
        let vectors = left.len();
        let right = &right[..vectors];
        for (first, a) in (0..BLOCK).step_by(ROWS).map(|row| (row, a[row / TILE])) {
            let mut block = [[_mm512_setzero_ps(); 2]; ROWS];
            let tiles = a.as_chunks::<TILE_WORDS>().0;
            let columns = left.as_chunks::<TILE>().0.iter().zip(right.as_chunks::<TILE>().0);
            for (tile, (left, right)) in tiles.iter().zip(columns) {
                let rows = &tile[first % TILE * TILE..][..ROWS * TILE];
                for pair in 0..TILE {
                    let [left, right] = [left, right].map(|words| numbers(pulp::cast(words[pair])));
                    for (row, sums) in block.iter_mut().enumerate() {
                        let x = numbers(_mm512_set1_epi32(rows[row * TILE + pair].cast_signed()));
                        sums[0] = _mm512_dpbf16_ps(sums[0], x, left);
                        sums[1] = _mm512_dpbf16_ps(sums[1], x, right);
                    }
                }
            }
            let block: [[f32; BLOCK]; ROWS] = pulp::cast(block);
            sums.0[first * BLOCK..][..ROWS * BLOCK].copy_from_slice(block.as_flattened());
        }
    }

    /// A vector of words, as pairs.
    #[inline(always)]
    #[expect(unsafe_code, reason = "Rust has no cast between these vectors")]
    fn numbers(words: __m512i) -> __m512bh {
        // SAFETY: both are 64 bytes, and all bits are numbers.
        unsafe { std::mem::transmute(words) }
    }
}

#[cfg(not(target_arch = "x86_64"))]
mod pairs {
    use super::Sums;

    /// Other processors have no such vectors.
    pub fn are_there() -> bool {
        false
    }

    pub fn multiply(_: [&[u32]; 2], _: [&[u32]; 2], _: &mut Sums) {
        unreachable!("no such vectors")
    }
}

pub use pairs::{are_there, multiply};
