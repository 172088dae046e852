//! `y = activation(scale·x·Wᵀ + b)`, then `y + z` or `y ⊙ z`

use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};

use super::matrix_product::matrix_product;
use super::parallel::{Budget, for_each_row};
use super::vector::inner_products;
use crate::activation::Activation;
use crate::join::Join;

/// From so many rows on, the library is faster: measured on two cores with AVX-512 at 512 × 512 to 512 × 32,000
/// weights, it takes twice the time at 32 rows, nine tenths at 64 and six tenths at 512.
pub const LIBRARY_ROWS: usize = 48;

/// Weights of a linear layer.
#[derive(Clone, Copy, Debug)]
pub struct Linear<'a> {
    /// `[outputs, inputs]`
    pub weight: &'a [f32],
    /// Input features.
    pub inputs: usize,
    /// `[outputs]`
    pub bias: Option<&'a [f32]>,
    /// Factor of the product.
    pub scale: f32,
}

/// `y = activation(scale·x·Wᵀ + b)`, then `y + z` or `y ⊙ z`
///
/// * `x`: `[rows, inputs]`; `join`: how z is joined, and z; z, `y`: `[rows, outputs]`
///
/// Many rows are left to a library for matrix products. Below [`LIBRARY_ROWS`], where such a library spends more on
/// packing the weights than on multiplying, each weight is read once, where it lies, for all rows; a row's result is
/// then the same, bit by bit, whatever the other rows are and however many.
pub fn linear(x: &[f32], layer: Linear, activation: Activation, join: Option<(Join, &[f32])>, y: &mut [f32]) {
    let inputs = layer.inputs;
    let (rows, outputs) = (x.len() / inputs, layer.weight.len() / inputs);
    assert_eq!(x.len(), rows * inputs, "x is [{rows}, {inputs}]");
    assert_eq!(layer.weight.len(), outputs * inputs, "the weight is [{outputs}, {inputs}]");
    assert_eq!(y.len(), rows * outputs, "y is [{rows}, {outputs}]");
    if outputs == 0 {
        return;
    }
    if rows >= LIBRARY_ROWS {
        matrix_product(x, layer.weight, inputs, y);
        let problem = Problem { x, layer, outputs, activation, join };
        for_each_row(y, outputs, outputs, |row, y| {
            for (output, y) in y.iter_mut().enumerate() {
                *y = problem.finish(row, output, *y);
            }
        });
        return;
    }
    let problem = Problem { x, layer, outputs, activation, join };
    let piece = Piece { problem: &problem, row: 0, output: 0, y: y.chunks_exact_mut(outputs).collect() };
    piece.run(Arch::new(), Budget::new(rows * outputs * inputs));
}

struct Problem<'a> {
    x: &'a [f32],
    layer: Linear<'a>,
    outputs: usize,
    activation: Activation,
    join: Option<(Join, &'a [f32])>,
}

impl Problem<'_> {
    fn x(&self, row: usize) -> &[f32] {
        &self.x[row * self.layer.inputs..][..self.layer.inputs]
    }

    fn weight(&self, output: usize) -> &[f32] {
        &self.layer.weight[output * self.layer.inputs..][..self.layer.inputs]
    }

    fn finish(&self, row: usize, output: usize, product: f32) -> f32 {
        let scaled = self.layer.scale * product;
        let biased = self.layer.bias.map_or(scaled, |bias| scaled + bias[output]);
        let value = self.activation.apply(biased);
        self.join.map_or(value, |(join, z)| join.apply(value, z[row * self.outputs + output]))
    }
}

/// Some rows and some outputs of a problem.
struct Piece<'a> {
    problem: &'a Problem<'a>,
    /// The first row.
    row: usize,
    /// The first output.
    output: usize,
    /// The piece's outputs of each of its rows.
    y: Vec<&'a mut [f32]>,
}

/// Rows whose inputs stay in the processor's nearest memory while the weights pass by once.
const NEAR_ROWS: usize = 32;

impl<'a> Piece<'a> {
    fn run(self, arch: Arch, budget: Budget) {
        let (rows, outputs) = (self.y.len(), self.y.first().map_or(0, |row| row.len()));
        let halves = match budget.allows_split() {
            true if rows >= 2 * NEAR_ROWS => self.split_rows((rows / 2).next_multiple_of(4)),
            true if outputs >= 32 => self.split_outputs((outputs / 2).next_multiple_of(8)),
            _ => return arch.dispatch(self),
        };
        let (low, high) = halves;
        budget.join(|budget| low.run(arch, budget), |budget| high.run(arch, budget));
    }

    fn split_rows(mut self, rows: usize) -> (Self, Self) {
        let high = Self {
            problem: self.problem,
            row: self.row + rows,
            output: self.output,
            y: self.y.split_off(rows),
        };
        (self, high)
    }

    fn split_outputs(self, outputs: usize) -> (Self, Self) {
        let (low, high) = self.y.into_iter().map(|row| row.split_at_mut(outputs)).unzip();
        (Self { y: low, ..self }, Self { output: self.output + outputs, y: high, ..self })
    }

    /// `ROWS × OUTPUTS` elements, starting at a row and an output of the piece.
    #[inline(always)]
    fn block<S: Simd, const ROWS: usize, const OUTPUTS: usize>(
        &mut self,
        simd: S,
        row: usize,
        output: usize,
    ) {
        let (first_row, first_output) = (self.row + row, self.output + output);
        let x = std::array::from_fn(|i| self.problem.x(first_row + i));
        let weights = std::array::from_fn(|i| self.problem.weight(first_output + i));
        let products = inner_products::<S, ROWS, OUTPUTS>(simd, x, weights);
        for (i, products) in products.iter().enumerate() {
            for (j, &product) in products.iter().enumerate() {
                self.y[row + i][output + j] = self.problem.finish(first_row + i, first_output + j, product);
            }
        }
    }

    /// All outputs of the given rows, `OUTPUTS` of them side by side.
    #[inline(always)]
    fn sweep<S: Simd, const OUTPUTS: usize>(&mut self, simd: S, rows: Range<usize>) {
        let outputs = self.y[rows.start].len();
        let rest = outputs - outputs % OUTPUTS;
        for output in (0..rest).step_by(OUTPUTS) {
            self.column::<S, OUTPUTS>(simd, rows.clone(), output);
        }
        for output in rest..outputs {
            self.column::<S, 1>(simd, rows.clone(), output);
        }
    }

    /// `OUTPUTS` outputs of the given rows, four rows side by side.
    #[inline(always)]
    fn column<S: Simd, const OUTPUTS: usize>(&mut self, simd: S, rows: Range<usize>, output: usize) {
        for row in rows.clone().step_by(4) {
            match rows.end - row {
                1 => self.block::<S, 1, OUTPUTS>(simd, row, output),
                2 => self.block::<S, 2, OUTPUTS>(simd, row, output),
                3 => self.block::<S, 3, OUTPUTS>(simd, row, output),
                _ => self.block::<S, 4, OUTPUTS>(simd, row, output),
            }
        }
    }
}

impl WithSimd for Piece<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(mut self, simd: S) {
        for first in (0..self.y.len()).step_by(NEAR_ROWS) {
            let rows = first..self.y.len().min(first + NEAR_ROWS);
            // as many sums as the registers hold: AVX-512 has 32, AVX2 has 16
            match S::F32_LANES {
                16 => self.sweep::<S, 4>(simd, rows),
                _ => self.sweep::<S, 3>(simd, rows),
            }
        }
    }
}
