//! Products of rounded rows with 8-bit weights on the processor's matrix unit, for many rows. A number of x has 15 bits and a
//! sign; its high and its low byte are multiplied one after the other. Sums are exact, and so equal to those of
//! [`integers`](super::integers).

use std::cell::Cell;

use smallvec::SmallVec;

use super::amx::{ByteSums, MatrixUnit, TILE, TILE_WORDS};
use super::parallel::for_each_row;
use super::quads::{Quads, line_words};
use super::rounded_rows::RoundedRows;
use super::vector::in_widest_vectors;

/// Minimum rows for which tiles of 16 rows pay.
const LEAST_ROWS: usize = 48;

/// Bytes of a row of a tile.
const TILE_BYTES: usize = 4 * TILE;

/// Whether [`multiply_on_tiles`] is the way for so many rows.
pub fn suits(rows: usize) -> bool {
    rows >= LEAST_ROWS && MatrixUnit::is_there()
}

/// Multiplies `x` `[rows, inputs]`, rounded, by the transpose of the weight. Calls `finish(first_row, scales, rows of y)` for
/// every 16 rows, on the core that made them.
pub fn multiply_on_tiles(
    x: &[f32],
    weight: Quads,
    y: &mut [f32],
    finish: impl Fn(usize, &[f32], &mut [f32]) + Sync,
) {
    let Quads { outputs, inputs, .. } = weight;
    let rows = x.len() / inputs;
    assert_eq!(y.len(), rows * outputs, "y is [{rows}, {outputs}]");
    let mut panels: SmallVec<[&mut [f32]; 64]> = y.chunks_mut(TILE * outputs).collect();
    for_each_row(&mut panels, 1, TILE * outputs * inputs / 8, |panel, y| {
        let [y] = y else { unreachable!("one panel") };
        let first = panel * TILE;
        let x = &x[first * inputs..][..y.len() / outputs * inputs];
        multiply_panel(x, weight, (y, outputs), |scales, y| finish(first, scales, y));
    });
}

/// What a thread keeps for its rows, so that a pass allocates nothing.
#[derive(Default)]
struct Panel {
    rounded: RoundedRows,
    high: Vec<u32>,
    low: Vec<u32>,
}

fn multiply_panel(
    x: &[f32],
    weight: Quads,
    (y, outputs): (&mut [f32], usize),
    finish: impl FnOnce(&[f32], &mut [f32]),
) {
    thread_local!(static PANEL: Cell<Panel> = Cell::default());
    let Some(unit) = MatrixUnit::new() else { unreachable!("`suits` has found it") };
    let mut panel = PANEL.take();
    let Quads { inputs, rounding, .. } = weight;
    let line_words = line_words(inputs);
    panel.rounded.set(x, inputs, rounding);
    let Panel { rounded, high, low } = &mut panel;
    split_bytes(&rounded.values, inputs, [high, low]);
    let mut sums = ByteSums([[[0; TILE_WORDS]; 2]; 2]);
    for (first, columns) in (0..outputs).step_by(2 * TILE).zip(weight.words().chunks_exact(2 * line_words)) {
        let (one, other) = columns.split_at(line_words);
        unit.multiply_bytes([high, low], [one, other], &mut sums);
        for side in 0..2 {
            let first = (first + side * TILE).min(outputs);
            let width = (outputs - first).min(TILE);
            let [high, low] = [&sums.0[0][side], &sums.0[1][side]];
            in_widest_vectors(
                #[inline(always)]
                || {
                    for (row, y) in y.chunks_exact_mut(outputs).enumerate() {
                        let [high, low] = [high, low].map(|sums| &sums[row * TILE..][..width]);
                        let y = &mut y[first..first + width];
                        for (y, (high, low)) in y.iter_mut().zip(high.iter().zip(low)) {
                            *y = (i64::from(*high) * 256 + i64::from(*low)) as f32;
                        }
                    }
                },
            );
        }
    }
    finish(&panel.rounded.scales, y);
    PANEL.set(panel);
}

/// The high and the low bytes of up to 16 rows as tiles `[row, four bytes]`, filled with zeros.
fn split_bytes(values: &[i16], inputs: usize, tiles: [&mut Vec<u32>; 2]) {
    let line_words = line_words(inputs);
    let [high, low] = tiles.map(|words| {
        words.resize(line_words, 0);
        words.fill(0);
        bytemuck::cast_slice_mut::<u32, u8>(words)
    });
    in_widest_vectors(
        #[inline(always)]
        || {
            for (row, values) in values.chunks_exact(inputs).enumerate() {
                for (tile, values) in values.chunks(TILE_BYTES).enumerate() {
                    let start = tile * 4 * TILE_WORDS + row * TILE_BYTES;
                    let high = &mut high[start..][..values.len()];
                    high.iter_mut().zip(values).for_each(|(byte, value)| *byte = (value >> 8) as u8);
                    let low = &mut low[start..][..values.len()];
                    low.iter_mut().zip(values).for_each(|(byte, value)| *byte = *value as u8);
                }
            }
        },
    );
}

#[cfg(test)]
mod tests {
    use super::super::quads::{elements, filled, set_rows};
    use super::*;
    use crate::precision::InputRounding;

    #[test]
    fn products_are_exact_at_sizes_around_the_tile() {
        if !MatrixUnit::is_there() {
            return; // `integers` is the only way on such a processor
        }
        let shapes = [(1, 1, 1), (16, 64, 32), (17, 65, 31), (50, 130, 70), (48, 512, 40)];
        for ((rows, inputs, outputs), rounding) in shapes
            .into_iter()
            .flat_map(|shape| [(shape, InputRounding::SixteenBits), (shape, InputRounding::EightBits)])
        {
            let x: Vec<f32> = (0..rows * inputs).map(|i| (i * 7919 % 1001) as f32 - 500.0).collect();
            let weight: Vec<i8> = (0..outputs * inputs).map(|i| (i * 31 % 255) as i64 as i8).collect();
            let weight: Vec<i8> = weight.into_iter().map(|w| w.max(-127)).collect();
            let mut y = vec![f32::NAN; rows * outputs];
            let scales = std::sync::Mutex::new(vec![0.0; rows]);
            let mut words = vec![0; elements(outputs, inputs)];
            let mut shifts = vec![0.0; filled(outputs)];
            set_rows((&mut words, &mut shifts), inputs, 0, &weight);
            let quads = Quads::new((&words, &shifts), outputs, inputs, rounding);
            multiply_on_tiles(&x, quads, &mut y, |first, of_rows, _| {
                scales.lock().unwrap()[first..first + of_rows.len()].copy_from_slice(of_rows);
            });
            let mut rounded = RoundedRows::default();
            rounded.set(&x, inputs, rounding);
            assert_eq!(*scales.lock().unwrap(), rounded.scales);
            for (index, y) in y.iter().enumerate() {
                let (row, output) = (index / outputs, index % outputs);
                let x = &rounded.values[row * inputs..][..inputs];
                let w = &weight[output * inputs..][..inputs];
                let want: i64 = x.iter().zip(w).map(|(x, w)| i64::from(*x) * i64::from(*w)).sum();
                assert_eq!(*y, want as f32, "[{rows}, {inputs}, {outputs}], {row}, {output}");
            }
        }
    }
}
