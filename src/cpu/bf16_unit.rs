//! The parts of processors that multiply bf16 numbers faster than f32.

use super::amx::{BLOCK, MatrixUnit, Sums};
use super::bf16_tiles::{Operands, Order, Output, PlainRounding, Tiles};
use super::bf16_vectors::PairVectors;
use super::matrix_product::Strided;
use super::vector::in_widest_vectors;

/// A part of the processor. The first one that is there is the fastest.
#[derive(Clone, Copy, Debug)]
pub enum Bf16Unit {
    /// Tiles of Intel's AMX: some 16 times the products of f32 vectors.
    Matrix,
    /// AVX-512 vectors of pairs, such as AMD has since Zen 4: twice the products of f32 vectors.
    Vectors(PairVectors),
}

impl Bf16Unit {
    /// Those of this processor.
    pub fn all() -> impl Iterator<Item = Self> {
        let matrix = MatrixUnit::is_there().then_some(Self::Matrix);
        matrix.into_iter().chain(PairVectors::new().map(Self::Vectors))
    }

    /// How many times as fast as f32 vectors it multiplies.
    pub fn speed(self) -> usize {
        match self {
            Self::Matrix => 16,
            Self::Vectors(_) => 2,
        }
    }

    /// Order of the tiles of a left operand.
    pub fn order(self, a: Strided) -> Order {
        match self {
            Self::Matrix => Order::LineFirst,
            Self::Vectors(_) => Order::of(a), // any
        }
    }

    /// Fills up to [`TOGETHER`](super::bf16_tiles::TOGETHER) rows of tiles.
    pub fn fill(self, tiles: Tiles, words: &mut [u32]) {
        match self {
            Self::Matrix => in_widest_vectors(
                #[inline(always)]
                || tiles.fill(words, PlainRounding),
            ),
            Self::Vectors(vectors) => vectors.fill(tiles, words),
        }
    }

    /// Runs `work` with the function that computes a block.
    pub fn run<R>(self, work: impl FnOnce(&dyn Fn(Operands, Output)) -> R) -> R {
        match self {
            Self::Matrix => {
                let Some(unit) = MatrixUnit::new() else { unreachable!("`all` has found it") };
                work(&|Operands { a, order, b }, mut output| {
                    debug_assert_eq!(order, Order::LineFirst, "the order that the unit reads");
                    let mut sums = Sums([0.0; BLOCK * BLOCK]);
                    unit.multiply(a, b, &mut sums);
                    in_widest_vectors(
                        #[inline(always)]
                        || output.write(&sums, [BLOCK; 2]),
                    );
                })
            }
            Self::Vectors(vectors) => work(&|operands, output| vectors.multiply(operands, output)),
        }
    }
}
