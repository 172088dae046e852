//! Products of a few rows of x with all rows of a weight. Each weight is read once, in place.

use std::ops::Range;

use pulp::Arch;
use smallvec::SmallVec;

use super::bytes;
use super::integers::{self, IntegerVectors, WithIntegers};
use super::parallel::Budget;

/// Rows and outputs of a product: rows of x as `X`, weights stored as `W`.
pub(super) struct Piece<'a, X, W> {
    /// `[rows, inputs]`
    x: &'a [X],
    /// All weights, `[outputs, inputs]`.
    weight: &'a [W],
    inputs: usize,
    output: usize,
    /// Outputs of each row in this piece; inline, so that nothing is allocated.
    y: SmallVec<[&'a mut [f32]; LIBRARY_ROWS]>,
}

/// Minimum rows for which the library for matrix products is faster than this file. The library reorders its operands
/// first, which pays earlier in WebAssembly with its vectors of four values.
pub const LIBRARY_ROWS: usize = if cfg!(target_arch = "wasm32") { 24 } else { 48 };

/// Rows whose inputs fit the nearest cache while the weights are read once.
pub(super) const NEAR_ROWS: usize = 32;

/// Outputs side by side for one row: many reads of far memory at a time. WebAssembly compilers keep more sums than
/// these in memory, not in registers.
const ALONE: usize = if cfg!(target_arch = "wasm32") { 4 } else { 8 };

impl<'a, X: Sync, W: Sync> Piece<'a, X, W> {
    /// A whole product: `y` is `[rows, outputs]`.
    pub fn new(x: &'a [X], weight: &'a [W], inputs: usize, y: &'a mut [f32]) -> Self {
        let y = y.chunks_exact_mut(weight.len() / inputs).collect();
        Self { x, weight, inputs, output: 0, y }
    }

    /// Outputs of a product: `y` is `[rows, all outputs]`.
    pub fn part(x: &'a [X], weight: &'a [W], inputs: usize, y: &'a mut [f32], part: Range<usize>) -> Self {
        let y = y.chunks_exact_mut(weight.len() / inputs).map(|row| &mut row[part.clone()]).collect();
        Self { x, weight, inputs, output: part.start, y }
    }

    /// Calls `work` for the piece, or for parts of it in parallel.
    pub fn run(self, work: fn(Self)) {
        let budget = Budget::new(self.y.len() * self.weight.len());
        self.share(budget, work);
    }

    fn share(self, budget: Budget, work: fn(Self)) {
        let outputs = self.y.first().map_or(0, |row| row.len());
        if !budget.allows_split() || outputs < 32 {
            return work(self);
        }
        let (low, high) = self.split_outputs((outputs / 2).next_multiple_of(8));
        budget.join(|budget| low.share(budget, work), |budget| high.share(budget, work));
    }

    fn split_outputs(self, outputs: usize) -> (Self, Self) {
        let (low, high) = self.y.into_iter().map(|row| row.split_at_mut(outputs)).unzip();
        (Self { y: low, ..self }, Self { output: self.output + outputs, y: high, ..self })
    }

    #[inline(always)]
    pub fn multiply<M: Multiplier<X = X, W = W>>(mut self, multiplier: M) {
        for first in (0..self.y.len()).step_by(NEAR_ROWS) {
            let rows = first..self.y.len().min(first + NEAR_ROWS);
            // as many sums as registers: 32 with AVX-512, 16 with AVX2 and WebAssembly
            if rows.len() == 1 {
                self.sweep::<M, ALONE>(multiplier, rows);
            } else if M::MANY_REGISTERS {
                self.sweep::<M, 4>(multiplier, rows);
            } else {
                self.sweep::<M, 3>(multiplier, rows);
            }
        }
    }

    /// Computes all outputs of rows, `OUTPUTS` side by side.
    #[inline(always)]
    fn sweep<M: Multiplier<X = X, W = W>, const OUTPUTS: usize>(
        &mut self,
        multiplier: M,
        rows: Range<usize>,
    ) {
        let outputs = self.y[rows.start].len();
        let rest = outputs - outputs % OUTPUTS;
        for output in (0..rest).step_by(OUTPUTS) {
            self.column::<M, OUTPUTS>(multiplier, rows.clone(), output);
        }
        for output in rest..outputs {
            self.column::<M, 1>(multiplier, rows.clone(), output);
        }
    }

    /// Computes `OUTPUTS` outputs of rows, four rows side by side.
    #[inline(always)]
    fn column<M: Multiplier<X = X, W = W>, const OUTPUTS: usize>(
        &mut self,
        multiplier: M,
        rows: Range<usize>,
        output: usize,
    ) {
        let inputs = self.inputs;
        let first = self.output + output;
        let mut weights = [&[][..]; OUTPUTS];
        for (i, weights) in weights.iter_mut().enumerate() {
            *weights = &self.weight[(first + i) * inputs..][..inputs];
        }
        if OUTPUTS == ALONE {
            return self.block::<M, 1, OUTPUTS>(multiplier, rows.start, output, weights);
        }
        for row in rows.clone().step_by(4) {
            match rows.end - row {
                1 => self.block::<M, 1, OUTPUTS>(multiplier, row, output, weights),
                2 => self.block::<M, 2, OUTPUTS>(multiplier, row, output, weights),
                3 => self.block::<M, 3, OUTPUTS>(multiplier, row, output, weights),
                _ => self.block::<M, 4, OUTPUTS>(multiplier, row, output, weights),
            }
        }
    }

    /// Computes `ROWS × OUTPUTS` elements from a row and an output of the piece on; `weights` belong to the outputs.
    #[inline(always)]
    fn block<M: Multiplier<X = X, W = W>, const ROWS: usize, const OUTPUTS: usize>(
        &mut self,
        multiplier: M,
        row: usize,
        output: usize,
        weights: [&[M::W]; OUTPUTS],
    ) {
        let mut x = [&[][..]; ROWS];
        for (i, x) in x.iter_mut().enumerate() {
            *x = &self.x[(row + i) * self.inputs..][..self.inputs];
        }
        let products = multiplier.inner_products(x, weights);
        for (y, products) in self.y[row..row + ROWS].iter_mut().zip(&products) {
            y[output..output + OUTPUTS].copy_from_slice(products);
        }
    }
}

/// Inner products of rows of x with rows of weights.
pub(super) trait Multiplier: Copy {
    type X;
    type W;
    /// Whether there are 32 vector registers.
    const MANY_REGISTERS: bool;

    fn inner_products<const ROWS: usize, const OUTPUTS: usize>(
        self,
        x: [&[Self::X]; ROWS],
        w: [&[Self::W]; OUTPUTS],
    ) -> [[f32; OUTPUTS]; ROWS];
}

#[derive(Clone, Copy)]
pub(super) struct Integers<S>(pub S);

impl<S: IntegerVectors> Multiplier for Integers<S> {
    type X = i16;
    type W = i8;
    const MANY_REGISTERS: bool = size_of::<S::Sums>() == 64;

    #[inline(always)]
    fn inner_products<const ROWS: usize, const OUTPUTS: usize>(
        self,
        x: [&[i16]; ROWS],
        w: [&[i8]; OUTPUTS],
    ) -> [[f32; OUTPUTS]; ROWS] {
        integers::inner_products(self.0, x, w)
    }
}

/// Only where [`bytes::multiplies`].
#[derive(Clone, Copy)]
pub(super) struct Bytes;

impl Multiplier for Bytes {
    type X = u8;
    type W = i8;
    const MANY_REGISTERS: bool = true;

    #[inline(always)]
    fn inner_products<const ROWS: usize, const OUTPUTS: usize>(
        self,
        x: [&[u8]; ROWS],
        w: [&[i8]; OUTPUTS],
    ) -> [[f32; OUTPUTS]; ROWS] {
        bytes::products(x, w)
    }
}

impl Piece<'_, i16, i8> {
    pub fn multiply_integers(self) {
        integers::dispatch(Arch::new(), self);
    }
}

impl Piece<'_, u8, i8> {
    /// Only where [`bytes::multiplies`].
    pub fn multiply_bytes(self) {
        self.multiply(Bytes);
    }
}

impl WithIntegers for Piece<'_, i16, i8> {
    #[inline(always)]
    fn with_integers<S: IntegerVectors>(self, simd: S) {
        self.multiply(Integers(simd));
    }
}
