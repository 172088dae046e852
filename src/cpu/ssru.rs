//! A simpler simple recurrent unit: `c = σ(g) ⊙ c₋₁ + (1 − σ(g)) ⊙ x` and `y = max(c, 0)`

use pulp::{Arch, Simd, WithSimd};

use super::vector::sigmoid;

/// Cached cells, addressed as keys are.
pub struct Cells<'a> {
    /// `[…, width]`
    pub cells: &'a mut [f32],
    /// `[rows]`, row of the cells for each token; a token beyond them is not stored
    pub cache_slots: &'a [u32],
    /// The earlier cells of each sequence; without it a sequence begins with zeros.
    pub history: Option<CellHistory<'a>>,
}

/// The earlier cells of each sequence.
#[derive(Clone, Copy, Debug)]
pub struct CellHistory<'a> {
    /// `[sequences, capacity]`, rows of the cells
    pub slots: &'a [u32],
    /// Slots of a sequence.
    pub capacity: usize,
    /// `[sequences]`, length of the history with this token
    pub counts: &'a [u32],
}

/// Computes the unit for sequences of `length` tokens each.
///
/// * `projected`: `[rows, 2 * width]`: x, then g; `y`: `[rows, width]`
pub fn ssru(projected: &[f32], length: usize, width: usize, mut cells: Option<Cells>, y: &mut [f32]) {
    let arch = Arch::new();
    let sequences = projected.chunks_exact(length * 2 * width).zip(y.chunks_exact_mut(length * width));
    for (sequence, (projected, y)) in sequences.enumerate() {
        for token in 0..length {
            let (x, gate) = projected[token * 2 * width..][..2 * width].split_at(width);
            // y holds the cells until the end of the sequence
            let (before, now) = y.split_at_mut(token * width);
            let before = match (token, &cells) {
                (0, Some(Cells { cells, history: Some(history), .. })) => {
                    history.last(sequence, cells, width)
                }
                (0, _) => None,
                _ => Some(&before[(token - 1) * width..]),
            };
            arch.dispatch(Mix { x, gate, before, cell: &mut now[..width] });
        }
        if let Some(Cells { cells, cache_slots, .. }) = &mut cells {
            for (cell, &slot) in y.chunks_exact(width).zip(&cache_slots[sequence * length..]) {
                if let Some(cached) = cells.chunks_exact_mut(width).nth(slot as usize) {
                    cached.copy_from_slice(cell);
                }
            }
        }
        y.iter_mut().for_each(|y| *y = y.max(0.0));
    }
}

impl CellHistory<'_> {
    /// The cell before the new token.
    fn last<'c>(&self, sequence: usize, cells: &'c [f32], width: usize) -> Option<&'c [f32]> {
        let before = (self.counts[sequence] as usize).checked_sub(2)?;
        let slot = self.slots[sequence * self.capacity + before] as usize;
        Some(&cells[slot * width..][..width])
    }
}

struct Mix<'a> {
    x: &'a [f32],
    gate: &'a [f32],
    /// `None`: zeros.
    before: Option<&'a [f32]>,
    cell: &'a mut [f32],
}

impl WithSimd for Mix<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { x, gate, before, cell } = self;
        let (cells, cell_tail) = S::as_mut_simd_f32s(cell);
        let ((x, x_tail), (gate, gate_tail)) = (S::as_simd_f32s(x), S::as_simd_f32s(gate));
        let (before, before_tail) = before.map(S::as_simd_f32s).unwrap_or_default();
        for (i, cell) in cells.iter_mut().enumerate() {
            let before = before.get(i).copied().unwrap_or(simd.splat_f32s(0.0));
            *cell = mix(simd, x[i], gate[i], before);
        }
        if !cell_tail.is_empty() {
            let before = match before_tail {
                [] => simd.splat_f32s(0.0),
                before => simd.partial_load_f32s(before),
            };
            let (x, gate) = (simd.partial_load_f32s(x_tail), simd.partial_load_f32s(gate_tail));
            simd.partial_store_f32s(cell_tail, mix(simd, x, gate, before));
        }
    }
}

#[inline(always)]
fn mix<S: Simd>(simd: S, x: S::f32s, gate: S::f32s, before: S::f32s) -> S::f32s {
    let forget = sigmoid(simd, gate);
    let renew = simd.sub_f32s(simd.splat_f32s(1.0), forget);
    simd.add_f32s(simd.mul_f32s(forget, before), simd.mul_f32s(renew, x))
}
