//! `y = activation(scale·x·Wᵀ + b)`, then `y + z` or `y ⊙ z`

use std::cell::Cell;

use pulp::{Arch, Simd, WithSimd};

use super::WeightMatrix;
use super::activate::activate;
use super::bf16_product;
#[cfg(feature = "training")]
use super::few_rows::LIBRARY_ROWS;
use super::few_rows::{NEAR_ROWS, Piece};
use super::integer_tiles::{self, multiply_on_tiles};
use super::matrix_product::Strided;
#[cfg(feature = "training")]
use super::matrix_product::matrix_product;
use super::parallel::for_each_row;
use super::rounded_rows::RoundedRows;
use crate::activation::Activation;
use crate::join::Join;
use crate::precision::{InputRounding, Products};
#[cfg(not(feature = "training"))]
use crate::{cpu::StoredMatrix, precision::WeightPrecision};

/// Cost of the work after a product, multiplications.
const FINISH_WORK: usize = 16;

/// Weights of a linear layer.
#[derive(Clone, Copy, Debug)]
pub struct Linear<'a> {
    /// `[outputs, inputs]`
    pub weight: WeightMatrix<'a>,
    /// Input features.
    pub inputs: usize,
    /// `[outputs]`
    pub bias: Option<&'a [f32]>,
    /// Factor of the product.
    pub scale: f32,
}

/// Computes `y = activation(scale·x·Wᵀ + b)`, then `y + z` or `y ⊙ z`.
///
/// * `x`: `[rows, inputs]`; `join`: kind of join, and z; z, `y`: `[rows, outputs]`
///
/// Weights in panels give a row the same result alone and among others, to the last bit; f16 weights are widened to f32
/// first. Row-major weights, which a training changes, are multiplied in place, or from [`LIBRARY_ROWS`] rows on by a
/// library that reorders them first.
///
/// With 8-bit weights, x is rounded as [`InputRounding`] says. The sums are exact, so a row's result is always the same.
/// If the weights have multipliers of inputs, x is rounded to 8 bits by these instead, as in Marian.
pub fn linear(x: &[f32], layer: Linear, activation: Activation, join: Option<(Join, &[f32])>, y: &mut [f32]) {
    let inputs = layer.inputs;
    let (rows, outputs) = (x.len() / inputs, layer.weight.len() / inputs);
    assert_eq!(x.len(), rows * inputs, "x is [{rows}, {inputs}]");
    assert_eq!(layer.weight.len(), outputs * inputs, "the weight is [{outputs}, {inputs}]");
    assert_eq!(y.len(), rows * outputs, "y is [{rows}, {outputs}]");
    if outputs == 0 {
        return;
    }
    let problem = Problem { x, layer, outputs, activation, join };
    let finish = |row: usize, first: usize, y: &mut [f32]| problem.finish_outputs(row, first, 1.0, y);
    match layer.weight {
        WeightMatrix::Q8 { values, rounding, input_multipliers, .. } => {
            in_whole_numbers(&problem, values, (rounding, input_multipliers), y);
        }
        WeightMatrix::Quads { values, .. } if integer_tiles::suits(rows) => {
            multiply_on_tiles(x, values, y, |first, scales, y| problem.finish_here(first, scales, y));
        }
        WeightMatrix::Quads { values, .. } => values.multiply(x, y, |row, first, x_scale, y| {
            problem.finish_outputs(row, first, x_scale, y);
        }),
        WeightMatrix::Panels(panels) => panels.multiply(x, y, &finish),
        WeightMatrix::F16(panels) => panels.multiply(x, y, &finish),
        WeightMatrix::F32(weight) => multiply_row_major(&problem, weight, y),
    }
}

/// Multiplies by weights that a training changes.
#[cfg(feature = "training")]
fn multiply_row_major(problem: &Problem, weight: &[f32], y: &mut [f32]) {
    let (x, inputs) = (problem.x, problem.layer.inputs);
    match x.len() / inputs < LIBRARY_ROWS {
        true => Piece::new(x, weight, inputs, y).run(Piece::multiply_floats),
        false => matrix_product(x, weight, inputs, y),
    }
    problem.finish(0, &[], y);
}

/// Without training, no weights lie so for long.
#[cfg(not(feature = "training"))]
fn multiply_row_major(problem: &Problem, weight: &[f32], y: &mut [f32]) {
    let weight = StoredMatrix::of(weight, problem.layer.inputs, WeightPrecision::F32);
    let layer = Linear { weight: weight.view(), ..problem.layer };
    linear(problem.x, layer, problem.activation, problem.join, y);
}

/// As [`linear`], with products as a training computes them. The weight is f32.
pub fn training_linear(
    x: &[f32],
    layer: Linear,
    activation: Activation,
    (join, products): (Option<(Join, &[f32])>, Products),
    y: &mut [f32],
) {
    match (layer.weight, products) {
        (WeightMatrix::F32(weight), Products::Bf16) => {
            let outputs = weight.len() / layer.inputs;
            let w = Strided::row_major(weight, layer.inputs);
            let problem = Problem { x, layer, outputs, activation, join };
            let then = |first: usize, y: &mut [f32]| problem.finish_here(first, &[], y);
            let finish = bf16_product::Finish { scale: 1.0, addend: None, then: Some(&then) };
            products.run(Strided::row_major(x, layer.inputs), w.transposed(), finish, y);
        }
        _ => linear(x, layer, activation, join, y),
    }
}

fn in_whole_numbers(
    problem: &Problem,
    weight: &[i8],
    (rounding, multipliers): (InputRounding, &[(usize, f32)]),
    y: &mut [f32],
) {
    // kept by each thread, so that a step of decoding allocates nothing
    thread_local!(static ROUNDED: Cell<RoundedRows> = Cell::default());
    let (mut rounded, inputs) = (ROUNDED.take(), problem.layer.inputs);
    let pieces = problem.x.chunks(NEAR_ROWS * inputs).zip(y.chunks_mut(NEAR_ROWS * problem.outputs));
    for (piece, (x, y)) in pieces.enumerate() {
        match multipliers {
            [] => {
                rounded.set(x, inputs, rounding);
                Piece::new(&rounded.values, weight, inputs, y).run(Piece::multiply_integers);
            }
            [(_, first), others @ ..] if others.iter().all(|(_, other)| other == first) => {
                match rounded.set_by(x, inputs, *first) {
                    true => Piece::new(&rounded.bytes, weight, inputs, y).run(Piece::multiply_bytes),
                    false => Piece::new(&rounded.values, weight, inputs, y).run(Piece::multiply_integers),
                }
            }
            parts => in_parts(&mut rounded, x, (weight, inputs), parts, y),
        }
        problem.finish(piece * NEAR_ROWS, &rounded.scales, y);
    }
    ROUNDED.set(rounded);
}

/// Multiplies by parts of the weights, whose inputs are rounded differently.
fn in_parts(
    rounded: &mut RoundedRows,
    x: &[f32],
    (weight, inputs): (&[i8], usize),
    parts: &[(usize, f32)],
    y: &mut [f32],
) {
    let (all, mut end) = (weight.len() / inputs, 0);
    for &(outputs, multiplier) in parts {
        let part = end..end + outputs;
        end = part.end;
        let outputs = part.clone();
        match rounded.set_by(x, inputs, multiplier) {
            true => Piece::part(&rounded.bytes, weight, inputs, y, outputs).run(Piece::multiply_bytes),
            false => Piece::part(&rounded.values, weight, inputs, y, outputs).run(Piece::multiply_integers),
        }
        for (y, scale) in y.chunks_exact_mut(all).zip(&rounded.scales) {
            y[part.clone()].iter_mut().for_each(|y| *y *= scale);
        }
    }
    rounded.scales.fill(1.0);
}

struct Problem<'a> {
    x: &'a [f32],
    layer: Linear<'a>,
    outputs: usize,
    activation: Activation,
    join: Option<(Join, &'a [f32])>,
}

impl Problem<'_> {
    /// Finishes the products of rows from `first` on. `x_scales`: scales of these rows of x, if any.
    fn finish(&self, first: usize, x_scales: &[f32], y: &mut [f32]) {
        for_each_row(y, self.outputs, FINISH_WORK * self.outputs, |row, y| {
            self.finish_here(first + row, x_scales.get(row..).unwrap_or_default(), y);
        });
    }

    /// As [`finish`](Self::finish), on this core.
    fn finish_here(&self, first: usize, x_scales: &[f32], y: &mut [f32]) {
        for (row, y) in y.chunks_exact_mut(self.outputs).enumerate() {
            let x_scale = x_scales.get(row).copied().unwrap_or(1.0);
            self.finish_outputs(first + row, 0, x_scale, y);
        }
    }

    /// Finishes the products of a row, for outputs from `first` on.
    fn finish_outputs(&self, row: usize, first: usize, x_scale: f32, y: &mut [f32]) {
        Arch::new().dispatch(Finish { problem: self, row, first, x_scale, y });
    }
}

struct Finish<'a> {
    problem: &'a Problem<'a>,
    row: usize,
    /// First output of `y`.
    first: usize,
    /// Scale of the row of x.
    x_scale: f32,
    y: &'a mut [f32],
}

impl WithSimd for Finish<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { problem, row, first, x_scale, y } = self;
        let Problem { layer, activation, join, .. } = problem;
        if let WeightMatrix::Q8 { scales, .. } | WeightMatrix::Quads { scales, .. } = layer.weight {
            for (y, scale) in y.iter_mut().zip(&scales[first..]) {
                *y = scale * (x_scale * *y);
            }
        }
        if layer.scale != 1.0 {
            y.iter_mut().for_each(|y| *y *= layer.scale);
        }
        if let Some(bias) = layer.bias {
            y.iter_mut().zip(&bias[first..]).for_each(|(y, bias)| *y += bias);
        }
        activate(simd, *activation, y);
        if let Some((join, z)) = join {
            let z = &z[row * problem.outputs + first..];
            y.iter_mut().zip(z).for_each(|(y, z)| *y = join.apply(*y, *z));
        }
    }
}
