//! Some outputs of a linear layer, a list for each sentence

use std::cell::Cell;

use pulp::Arch;

use super::few_rows::{Bytes, Integers, Multiplier};
use super::integers::{self, IntegerVectors, WithIntegers};
use super::parallel::for_each_row;
use super::quads::Quads;
use super::rounded_bytes::RoundedBytes;
use super::rounded_rows::RoundedRows;
use super::{Linear, StoredMatrix, WeightMatrix};
use crate::precision::WeightPrecision;
use crate::scores::NO_TOKEN;

/// Columns side by side.
const SIDE_BY_SIDE: usize = 8;

/// Computes `y[r, j] = scale·x[r]·W[c] + b[c]` with c the j-th column of r's sentence; minus infinity where there is no
/// column. 8-bit weights are multiplied as in [`linear`](super::linear()).
///
/// * `x`: `[rows, inputs]`, rows of a sentence side by side, equally many of each
/// * `columns`: `[sentences, width]`, ascending, then [`NO_TOKEN`]; `y`: `[rows, width]`
pub fn selected_linear(x: &[f32], layer: Linear, columns: &[u32], width: usize, y: &mut [f32]) {
    // kept by each thread, so that a step of decoding allocates nothing
    thread_local!(static ROUNDED: Cell<RoundedRows> = Cell::default());
    let inputs = layer.inputs;
    let rows = x.len() / inputs;
    assert_eq!(y.len(), rows * width, "y is [{rows}, {width}]");
    let lists = columns.chunks_exact(width);
    let beams = rows / lists.len().max(1);
    assert_eq!(rows, beams * lists.len(), "{} lists for {rows} rows", lists.len());
    if let WeightMatrix::F32(weight) = layer.weight {
        let weight = StoredMatrix::of(weight, inputs, WeightPrecision::F32);
        return selected_linear(x, Linear { weight: weight.view(), ..layer }, columns, width, y);
    }
    if let WeightMatrix::Quads { values, .. } = layer.weight {
        return selected_quads(x, layer, values, (columns, width), y);
    }
    let (mut rounded, mut in_bytes) = (RoundedRows::default(), false);
    if let WeightMatrix::Q8 { rounding, input_multipliers, .. } = layer.weight {
        rounded = ROUNDED.take();
        match input_multipliers {
            [(_, multiplier)] => in_bytes = rounded.set_by(x, inputs, *multiplier),
            _ => rounded.set(x, inputs, rounding),
        }
    }
    for_each_row(y, beams * width, beams * width * inputs, |sentence, y| {
        let columns = &columns[sentence * width..][..width];
        let columns = &columns[..columns.partition_point(|&column| column != NO_TOKEN)];
        let rows = sentence * beams..(sentence + 1) * beams;
        let elements = rows.start * inputs..rows.end * inputs;
        match layer.weight {
            WeightMatrix::F32(_) | WeightMatrix::Quads { .. } => unreachable!("in other hands by now"),
            WeightMatrix::Panels(panels) => panels.multiply_selected(&x[elements], columns, width, y),
            WeightMatrix::F16(panels) => panels.multiply_selected(&x[elements], columns, width, y),
            WeightMatrix::Q8 { values: weight, .. } if in_bytes => {
                Select { x: &rounded.bytes[elements], weight, inputs, columns, width, y }.multiply(Bytes);
            }
            WeightMatrix::Q8 { values: weight, .. } => {
                let x = &rounded.values[elements];
                integers::dispatch(Arch::new(), Select { x, weight, inputs, columns, width, y });
            }
        }
        for (row, y) in rows.zip(y.chunks_exact_mut(width)) {
            let x_scale = rounded.scales.get(row).copied().unwrap_or(1.0);
            finish(&layer, columns, x_scale, y);
        }
    });
    if matches!(layer.weight, WeightMatrix::Q8 { .. }) {
        ROUNDED.set(rounded);
    }
}

/// As [`selected_linear`], with 8-bit weights in quads.
fn selected_quads(x: &[f32], layer: Linear, weight: Quads, (columns, width): (&[u32], usize), y: &mut [f32]) {
    let lists = columns.len() / width;
    let beams = y.len() / width / lists.max(1);
    let mut rounded = RoundedBytes::default();
    rounded.set(x, layer.inputs, weight.rounding);
    for_each_row(y, beams * width, beams * width * layer.inputs, |sentence, y| {
        let columns = &columns[sentence * width..][..width];
        let columns = &columns[..columns.partition_point(|&column| column != NO_TOKEN)];
        weight.multiply_selected((&rounded, sentence * beams), columns, width, y);
        for (row, y) in (sentence * beams..).zip(y.chunks_exact_mut(width)) {
            finish(&layer, columns, rounded.scale(row), y);
        }
    });
}

fn finish(layer: &Linear, columns: &[u32], x_scale: f32, y: &mut [f32]) {
    let (y, rest) = y.split_at_mut(columns.len());
    rest.fill(f32::NEG_INFINITY);
    for (y, &column) in y.iter_mut().zip(columns) {
        let column = column as usize;
        *y *= x_scale;
        *y *= layer.weight.row_scale(column);
        if layer.scale != 1.0 {
            *y *= layer.scale;
        }
        if let Some(bias) = layer.bias {
            *y += bias[column];
        }
    }
}

/// Products of the rows of a sentence with its columns.
struct Select<'a, X, W> {
    /// `[rows, inputs]`
    x: &'a [X],
    /// All weights, `[outputs, inputs]`.
    weight: &'a [W],
    inputs: usize,
    columns: &'a [u32],
    /// Elements of a row of y.
    width: usize,
    /// `[rows, width]`
    y: &'a mut [f32],
}

impl<X, W> Select<'_, X, W> {
    #[inline(always)]
    fn multiply<M: Multiplier<X = X, W = W>>(self, multiplier: M) {
        let Self { x, weight, inputs, columns, width, y } = self;
        let (many, rest) = columns.as_chunks::<SIDE_BY_SIDE>();
        let rows = || x.chunks_exact(inputs);
        for (group, columns) in many.iter().enumerate() {
            let factors = rows_of(columns, weight, inputs);
            for (x, y) in rows().zip(y.chunks_exact_mut(width)) {
                let [products] = multiplier.inner_products([x], factors);
                y[group * SIDE_BY_SIDE..][..SIDE_BY_SIDE].copy_from_slice(&products);
            }
        }
        let first = columns.len() - rest.len();
        for (place, &column) in rest.iter().enumerate() {
            let factors = rows_of(&[column], weight, inputs);
            for (x, y) in rows().zip(y.chunks_exact_mut(width)) {
                let [[product]] = multiplier.inner_products([x], factors);
                y[first + place] = product;
            }
        }
    }
}

/// The weights of some outputs.
#[inline(always)]
fn rows_of<'v, W, const COLUMNS: usize>(
    columns: &[u32; COLUMNS],
    weight: &'v [W],
    inputs: usize,
) -> [&'v [W]; COLUMNS] {
    // a loop: compilers keep closures out of the function with the widest vectors
    let mut rows = [&[][..]; COLUMNS];
    for (row, &column) in rows.iter_mut().zip(columns) {
        *row = &weight[column as usize * inputs..][..inputs];
    }
    rows
}

impl WithIntegers for Select<'_, i16, i8> {
    #[inline(always)]
    fn with_integers<S: IntegerVectors>(self, simd: S) {
        self.multiply(Integers(simd));
    }
}
