//! Products of rounded rows with 8-bit weights in panels of 16 outputs, a word of four inputs each: the order in which processors with
//! AVX-512 VNNI multiply bytes, and in which Intel's matrix unit does. No sum is across the lanes of a vector. A number of x has 8
//! bits, or 15 and a sign: its high and its low byte are then multiplied one after the other. Sums are exact, and so equal to those
//! of [`integers`](super::integers).

use std::cell::Cell;

use super::amx::{TILE, TILE_WORDS};
use super::parallel::Budget;
use super::quad_sums::{self, LINE, Lines};
use super::rounded_bytes::{RoundedBytes, SHIFT};
use super::shared_product::{Factors, PANEL, SharedProduct};
use crate::precision::InputRounding;

/// Inputs of a word.
const QUAD: usize = 4;

const _: () = assert!(LINE == TILE, "the matrix unit reads lines as its tiles");

/// A weight matrix `[outputs, inputs]` as `[outputs / 16, inputs / 4, 16]` words of four bytes, filled with zeros up to whole tiles of
/// the matrix unit, and to an even number of lines.
#[derive(Clone, Copy, Debug)]
pub struct Quads<'a> {
    words: &'a [u32],
    /// What the shift of x adds to the sums of each output.
    shifts: &'a [f64],
    /// Output features.
    pub outputs: usize,
    /// Input features.
    pub inputs: usize,
    /// How x is rounded.
    pub rounding: InputRounding,
}

/// Words of a line of outputs.
pub const fn line_words(inputs: usize) -> usize {
    inputs.div_ceil(QUAD * TILE) * TILE_WORDS
}

/// Lines of a matrix.
const fn lines(outputs: usize) -> usize {
    outputs.div_ceil(PANEL) * (PANEL / LINE)
}

/// Words of a matrix.
pub const fn elements(outputs: usize, inputs: usize) -> usize {
    lines(outputs) * line_words(inputs)
}

/// Outputs with those that fill the last panel.
pub const fn filled(outputs: usize) -> usize {
    lines(outputs) * LINE
}

/// Whether this processor multiplies such weights, and sums of `inputs` products fit 32 bits.
pub fn suit(inputs: usize) -> bool {
    const MOST_INPUTS: usize = i32::MAX as usize / (255 * 127);
    inputs <= MOST_INPUTS && quad_sums::are_there()
}

/// Stores rows of a matrix, from the output `first` on.
pub fn set_rows((words, shifts): (&mut [u32], &mut [f64]), inputs: usize, first: usize, rows: &[i8]) {
    let bytes: &mut [i8] = bytemuck::cast_slice_mut(words);
    for (output, row) in (first..).zip(rows.chunks_exact(inputs)) {
        let line = &mut bytes[output / LINE * line_words(inputs) * QUAD..][..line_words(inputs) * QUAD];
        for (quad, weights) in row.chunks(QUAD).enumerate() {
            line[(quad * LINE + output % LINE) * QUAD..][..weights.len()].copy_from_slice(weights);
        }
        let sum: i64 = row.iter().map(|&weight| i64::from(weight)).sum();
        shifts[output] = (sum * i64::from(SHIFT)) as f64;
    }
}

impl<'a> Quads<'a> {
    /// Panics if there are not as many words and shifts.
    pub fn new(
        (words, shifts): (&'a [u32], &'a [f64]),
        outputs: usize,
        inputs: usize,
        rounding: InputRounding,
    ) -> Self {
        assert_eq!(words.len(), elements(outputs, inputs), "quads of [{outputs}, {inputs}]");
        assert_eq!(shifts.len(), filled(outputs), "shifts of {outputs} outputs");
        Self { words, shifts, outputs, inputs, rounding }
    }

    /// The words, as tiles of the matrix unit.
    pub fn words(self) -> &'a [u32] {
        self.words
    }

    /// The words of an output.
    fn quads(self, output: usize) -> impl Iterator<Item = &'a u32> {
        let line = &self.words[output / LINE * line_words(self.inputs)..][..line_words(self.inputs)];
        line[(output % LINE).min(line.len())..].iter().step_by(LINE)
    }

    /// The weights of an output.
    pub fn row(self, output: usize) -> impl Iterator<Item = i8> {
        let bytes = self.quads(output).flat_map(|quad| quad.to_ne_bytes()).take(self.inputs);
        bytes.map(|byte| byte as i8)
    }

    /// Computes `y = x·Wᵀ` on all cores for rounded x, then `finish(row, first output, scale of the row, outputs of the row)` for all
    /// of y in parts.
    ///
    /// * `x`: `[rows, inputs]`; `y`: `[rows, outputs]`
    pub fn multiply(self, x: &[f32], y: &mut [f32], finish: impl Fn(usize, usize, f32, &mut [f32]) + Sync) {
        // kept by each thread, so that a step of decoding allocates nothing
        thread_local!(static ROUNDED: Cell<RoundedBytes> = Cell::default());
        let rows = y.len() / self.outputs;
        assert_eq!(x.len(), rows * self.inputs, "x is [{rows}, {}]", self.inputs);
        let mut rounded = ROUNDED.take();
        rounded.set(x, self.inputs, self.rounding);
        let finish = |row: usize, first: usize, y: &mut [f32]| finish(row, first, rounded.scale(row), y);
        let factors = Operands { x: &rounded, weight: self };
        let budget = Budget::new(rows * self.outputs * self.inputs / 2);
        SharedProduct { factors, outputs: self.outputs, finish: &finish }.run(budget, y);
        ROUNDED.set(rounded);
    }

    /// Computes some outputs of each row, on the caller's core.
    ///
    /// * `x`: rounded, and the row of it that is y's first; `y`: `[rows, width]`, of which the first are set, as many as there are `outputs`
    pub fn multiply_selected(
        self,
        (x, first): (&RoundedBytes, usize),
        outputs: &[u32],
        width: usize,
        y: &mut [f32],
    ) {
        thread_local!(static GATHERED: Cell<(Vec<u32>, Vec<f64>)> = Cell::default());
        let ((mut words, mut shifts), inputs) = (GATHERED.take(), self.inputs);
        words.resize(elements(PANEL, inputs), 0);
        shifts.resize(PANEL, 0.0);
        for (panel, outputs) in outputs.chunks(PANEL).enumerate() {
            for (place, &output) in outputs.iter().enumerate() {
                let line = &mut words[place / LINE * line_words(inputs)..][..line_words(inputs)];
                let to = line[place % LINE..].iter_mut().step_by(LINE);
                to.zip(self.quads(output as usize)).for_each(|(to, from)| *to = *from);
                shifts[place] = self.shifts[output as usize];
            }
            let weight = Quads { words: &words, shifts: &shifts, outputs: PANEL, ..self };
            let columns = panel * PANEL..panel * PANEL + outputs.len();
            let mut y: Vec<&mut [f32]> =
                y.chunks_exact_mut(width).map(|row| &mut row[columns.clone()]).collect();
            Operands { x, weight }.multiply(first, 0, &mut y);
        }
        GATHERED.set((words, shifts));
    }
}

/// x and the weights of a product.
#[derive(Clone, Copy)]
struct Operands<'a> {
    x: &'a RoundedBytes,
    weight: Quads<'a>,
}

impl Factors for Operands<'_> {
    const MOST_ROWS: usize = quad_sums::MOST_ROWS;

    fn multiply(self, row: usize, output: usize, y: &mut [&mut [f32]]) {
        let Self { x, weight: Quads { words, shifts, inputs, .. } } = self;
        let (line, first) = (line_words(inputs), output / LINE);
        let weight = Lines { words: &words[first * line..], shifts: &shifts[first * LINE..], line };
        quad_sums::multiply(x, row, weight, y);
    }
}

#[cfg(test)]
mod tests {
    use super::super::rounded_rows::RoundedRows;
    use super::*;

    #[test]
    fn products_are_exact_at_sizes_around_the_panel() {
        if !suit(1) {
            return; // `integers` is the only way on such a processor
        }
        let shapes = [(1, 1), (4, 16), (63, 31), (64, 32), (66, 33), (130, 70), (257, 100)];
        for ((inputs, outputs), rounding) in shapes
            .into_iter()
            .flat_map(|shape| [(shape, InputRounding::SixteenBits), (shape, InputRounding::EightBits)])
        {
            let weight: Vec<i8> = (0..outputs * inputs).map(|i| (i * 31 % 255) as i8).collect();
            let weight: Vec<i8> = weight.into_iter().map(|w| w.max(-127)).collect();
            let mut words = vec![0; elements(outputs, inputs)];
            let mut shifts = vec![0.0; filled(outputs)];
            for (piece, rows) in weight.chunks(5 * inputs).enumerate() {
                set_rows((&mut words, &mut shifts), inputs, 5 * piece, rows);
            }
            let quads = Quads::new((&words, &shifts), outputs, inputs, rounding);
            for output in 0..outputs {
                assert!(quads.row(output).eq(weight[output * inputs..][..inputs].iter().copied()));
            }
            for rows in [1, 2, 3, 4, 5, 6, 7, 11, 12, 13, 25, 128, 130] {
                let x: Vec<f32> = (0..rows * inputs).map(|i| (i * 7919 % 1001) as f32 - 500.0).collect();
                let mut y = vec![f32::NAN; rows * outputs];
                quads.multiply(&x, &mut y, |_, _, _, _| {});
                let mut rounded = RoundedRows::default();
                rounded.set(&x, inputs, rounding);
                let products = |row: usize| {
                    let x = &rounded.values[row * inputs..][..inputs];
                    weight.chunks_exact(inputs).map(|w| {
                        x.iter().zip(w).map(|(x, w)| i64::from(*x) * i64::from(*w)).sum::<i64>() as f32
                    })
                };
                for (row, y) in y.chunks_exact(outputs).enumerate() {
                    assert!(products(row).eq(y.iter().copied()), "[{rows}, {inputs}, {outputs}], row {row}");
                }
                let selected: Vec<u32> = (0..outputs as u32).filter(|output| output % 3 != 1).collect();
                let (mut bytes, width) = (RoundedBytes::default(), selected.len() + 2);
                bytes.set(&x, inputs, rounding);
                let mut some = vec![f32::NAN; rows * width];
                quads.multiply_selected((&bytes, 0), &selected, width, &mut some);
                for (y, some) in y.chunks_exact(outputs).zip(some.chunks_exact(width)) {
                    let want = selected.iter().map(|&output| y[output as usize]);
                    assert!(want.eq(some[..selected.len()].iter().copied()));
                }
            }
        }
    }
}
