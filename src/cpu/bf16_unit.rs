//! The parts of processors that multiply bf16 numbers faster than f32.

use super::amx::{MatrixUnit, Sums};
use super::bf16_vectors;

/// A part of the processor. The first one that is there is the fastest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bf16Unit {
    /// Tiles of Intel's AMX: some 16 times the products of f32 vectors.
    Matrix,
    /// AVX-512 vectors of pairs, such as AMD has since Zen 4: twice the products of f32 vectors.
    Vectors,
}

impl Bf16Unit {
    /// Those of this processor.
    pub fn all() -> impl Iterator<Item = Self> {
        [Self::Matrix, Self::Vectors].into_iter().filter(|unit| match unit {
            Self::Matrix => MatrixUnit::is_there(),
            Self::Vectors => bf16_vectors::are_there(),
        })
    }

    /// How many times as fast as f32 vectors it multiplies.
    pub fn speed(self) -> usize {
        match self {
            Self::Matrix => 16,
            Self::Vectors => 2,
        }
    }

    /// Runs `work` with the function that computes a block: two rows of tiles of a times two columns of tiles of b.
    ///
    /// * `a`: tiles `[row, pair]`; `b`: tiles `[pair, column]`; pairs are u32 words with the first number below. Each
    ///   slice has the tiles of one row or column, all of equal length.
    pub fn run<R>(self, work: impl FnOnce(&dyn Fn([&[u32]; 2], [&[u32]; 2], &mut Sums)) -> R) -> R {
        match self {
            Self::Matrix => {
                let Some(unit) = MatrixUnit::new() else { unreachable!("`all` has found it") };
                work(&|a, b, sums| unit.multiply(a, b, sums))
            }
            Self::Vectors => work(&bf16_vectors::multiply),
        }
    }
}
