//! Products with f32 and f16 weights in panels of [`PANEL`] outputs. No operand is reordered, and a result depends on its row and
//! its weights alone: not on the other rows, not on the number of threads, not on the width of vectors.

use std::cell::Cell;
use std::ops::Range;

use pulp::{Arch, Simd, WithSimd};
use smallvec::SmallVec;

use super::parallel::Budget;
use super::shared_product::{Factors, NEAR_ROWS, PANEL, Rows, SharedProduct};
use super::stored_value::StoredValue;

/// Inputs whose products are summed in registers, from the first on. These sums are added in y, from the first on. So the
/// panel's part stays in the nearest cache while rows pass, and long sums lose fewer bits.
const DEPTH: usize = 256;

/// Maximum rows side by side: two vectors of sums for each, where there are 32 registers. WebAssembly runs on 16 at times,
/// and each number of rows is code to download.
const MOST_ROWS: usize = if cfg!(target_arch = "wasm32") { 4 } else { 8 };

/// A weight matrix `[outputs, inputs]` as `[outputs / 32, inputs, 32]`, filled with zeros.
#[derive(Clone, Copy, Debug)]
pub struct Panels<'a, W = f32> {
    values: &'a [W],
    /// Output features.
    pub outputs: usize,
    /// Input features.
    pub inputs: usize,
}

/// Elements of a matrix in panels.
pub fn elements(outputs: usize, inputs: usize) -> usize {
    outputs.next_multiple_of(PANEL) * inputs
}

impl<'a, W: StoredValue> Panels<'a, W> {
    /// Panics if there are not as many values.
    pub fn new(values: &'a [W], outputs: usize, inputs: usize) -> Self {
        assert_eq!(values.len(), elements(outputs, inputs), "panels of [{outputs}, {inputs}]");
        Self { values, outputs, inputs }
    }

    /// Widens the weights of an output.
    pub fn widen_row(self, output: usize, out: &mut [f32]) {
        out.iter_mut().zip(self.row(output)).for_each(|(out, value)| *out = value.widened());
    }

    /// The weights of an output.
    fn row(self, output: usize) -> impl Iterator<Item = &'a W> {
        let panel = &self.values[output / PANEL * PANEL * self.inputs..][..PANEL * self.inputs];
        panel[(output % PANEL).min(panel.len())..].iter().step_by(PANEL)
    }

    /// Computes `y = x·Wᵀ` on all cores, then `finish(row, first output, outputs of the row)` for all of y in parts.
    ///
    /// * `x`: `[rows, inputs]`; `y`: `[rows, outputs]`
    pub fn multiply(self, x: &[f32], y: &mut [f32], finish: &(dyn Fn(usize, usize, &mut [f32]) + Sync)) {
        let rows = y.len() / self.outputs;
        assert_eq!(x.len(), rows * self.inputs, "x is [{rows}, {}]", self.inputs);
        assert_eq!(y.len(), rows * self.outputs, "y is [{rows}, {}]", self.outputs);
        let budget = Budget::new(rows * self.values.len());
        SharedProduct { factors: Operands { x, weight: self }, outputs: self.outputs, finish }.run(budget, y);
    }

    /// Computes some outputs of each row, as [`multiply`](Self::multiply) does, on the caller's core.
    ///
    /// * `x`: `[rows, inputs]`; `y`: `[rows, width]`, of which the first are set, as many as there are `outputs`
    pub fn multiply_selected(self, x: &[f32], outputs: &[u32], width: usize, y: &mut [f32]) {
        // kept by each thread, so that a step of decoding allocates nothing
        thread_local!(static PACKED: Cell<Vec<f32>> = const { Cell::new(Vec::new()) });
        let (mut packed, inputs) = (PACKED.take(), self.inputs);
        packed.resize(PANEL * inputs, 0.0);
        for (panel, outputs) in outputs.chunks(PANEL).enumerate() {
            for (place, &output) in outputs.iter().enumerate() {
                let from = self.row(output as usize);
                packed[place..]
                    .iter_mut()
                    .step_by(PANEL)
                    .zip(from)
                    .for_each(|(to, from)| *to = from.widened());
            }
            let weight = Panels { values: &packed, outputs: PANEL, inputs };
            for (rows, y) in y.chunks_mut(NEAR_ROWS * width).enumerate() {
                let first = rows * NEAR_ROWS;
                let columns = panel * PANEL..panel * PANEL + outputs.len();
                let mut y: Rows = y.chunks_exact_mut(width).map(|row| &mut row[columns.clone()]).collect();
                Piece { x: &x[first * inputs..], weight, output: 0, y: &mut y }.multiply();
            }
        }
        PACKED.set(packed);
    }
}

/// Stores rows of a matrix, from the output `first` on.
pub fn set_rows<W: StoredValue>(panels: &mut [W], inputs: usize, first: usize, rows: &[W]) {
    let mut rows = rows;
    let mut first = first;
    while !rows.is_empty() {
        let place = first % PANEL;
        let count = (rows.len() / inputs).min(PANEL - place);
        let (now, later) = rows.split_at(count * inputs);
        let panel = &mut panels[first / PANEL * PANEL * inputs..][..PANEL * inputs];
        for (input, outputs) in panel.chunks_exact_mut(PANEL).enumerate() {
            for (row, output) in outputs[place..place + count].iter_mut().enumerate() {
                *output = now[row * inputs + input];
            }
        }
        (rows, first) = (later, first + count);
    }
}

/// x and the weights of a product.
#[derive(Clone, Copy)]
struct Operands<'a, W> {
    x: &'a [f32],
    weight: Panels<'a, W>,
}

impl<W: StoredValue> Factors for Operands<'_, W> {
    const MOST_ROWS: usize = MOST_ROWS;

    fn multiply(self, row: usize, output: usize, y: &mut [&mut [f32]]) {
        let Self { x, weight } = self;
        Piece { x: &x[row * weight.inputs..], weight, output, y }.multiply();
    }
}

/// Some rows of a product, for outputs from a panel's first on.
struct Piece<'a, 'y, W> {
    /// The rows, `[rows, inputs]`, and more.
    x: &'a [f32],
    weight: Panels<'a, W>,
    /// The first output, a panel's first.
    output: usize,
    /// The outputs of each row.
    y: &'a mut [&'y mut [f32]],
}

impl<W: StoredValue> Piece<'_, '_, W> {
    fn multiply(self) {
        // kept by each thread, so that a step of decoding allocates nothing
        thread_local!(static WIDENED: Cell<Vec<f32>> = const { Cell::new(Vec::new()) });
        let Self { x, weight: Panels { values, inputs, .. }, output, y } = self;
        let (mut widened, arch) = (WIDENED.take(), Arch::new());
        let width = y.first().map_or(0, |row| row.len());
        for column in (0..width).step_by(PANEL) {
            let panel = &values[(output + column) * inputs..][..PANEL * inputs];
            for depth in (0..inputs).step_by(DEPTH) {
                let inner = depth..inputs.min(depth + DEPTH);
                let columns = column..width.min(column + PANEL);
                let stored = &panel[inner.start * PANEL..inner.end * PANEL];
                if add_few::<W>((x, inputs), &inner, stored, (y, &columns)) {
                    continue;
                }
                let (weights, _) = W::all_widened(stored, &mut widened).as_chunks::<PANEL>();
                arch.dispatch(Block { tile: Tile { x, inputs, inner, weights, columns }, y });
            }
        }
        WIDENED.set(widened);
    }
}

/// Writes the sums of up to four rows, or adds them, if stored numbers can be widened in registers. The sums are those of a
/// [`Block`], to the last bit. Returns whether it did.
fn add_few<W: StoredValue>(
    (x, inputs): (&[f32], usize),
    inner: &Range<usize>,
    stored: &[W],
    (y, columns): (&mut [&mut [f32]], &Range<usize>),
) -> bool {
    let (weights, _) = stored.as_chunks::<PANEL>();
    let row = |row: usize| &x[row * inputs + inner.start..row * inputs + inner.end];
    let sums: Option<SmallVec<[[f32; PANEL]; 4]>> = match y.len() {
        1 => W::sums([row(0)], weights).map(|sums| sums.into_iter().collect()),
        2 => W::sums([0, 1].map(row), weights).map(|sums| sums.into_iter().collect()),
        3 => W::sums([0, 1, 2].map(row), weights).map(|sums| sums.into_iter().collect()),
        4 => W::sums([0, 1, 2, 3].map(row), weights).map(|sums| sums.into_iter().collect()),
        _ => None,
    };
    let Some(sums) = sums else { return false };
    for (y, sums) in y.iter_mut().zip(sums) {
        for (y, sum) in y[columns.clone()].iter_mut().zip(sums) {
            *y = if inner.start > 0 { *y + sum } else { sum };
        }
    }
    true
}

/// Rows of x, and some inputs of a panel.
struct Block<'a, 'y> {
    tile: Tile<'a>,
    y: &'a mut [&'y mut [f32]],
}

impl WithSimd for Block<'_, '_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { tile, y } = self;
        let most = match (S::F32_LANES, S::REGISTER_COUNT) {
            (1, _) => 1,
            (_, 32..) => MOST_ROWS,
            _ => MOST_ROWS.min(6),
        };
        let rows = y.len();
        let groups = rows.div_ceil(most).max(1);
        // groups of equal size, as nearly as there are
        for group in 0..groups {
            let (start, end) = (group * rows / groups, (group + 1) * rows / groups);
            let x = &tile.x[start * tile.inputs..end * tile.inputs];
            let (inner, columns) = (tile.inner.clone(), tile.columns.clone());
            Tile { x, inner, columns, ..tile }.multiply(simd, &mut y[start..end]);
        }
    }
}

/// A few rows of x, and some inputs of a panel.
struct Tile<'a> {
    /// `[rows, inputs]`, and more
    x: &'a [f32],
    inputs: usize,
    inner: Range<usize>,
    weights: &'a [[f32; PANEL]],
    columns: Range<usize>,
}

impl Tile<'_> {
    #[inline(always)]
    fn multiply<S: Simd>(self, simd: S, y: &mut [&mut [f32]]) {
        if y.len() == 1 || S::F32_LANES == 1 {
            return self.alone(simd, y);
        }
        match y.len() {
            2 => self.parts::<S, 2, 2>(simd, y),
            3 => self.parts::<S, 3, 2>(simd, y),
            4 => self.parts::<S, 4, 2>(simd, y),
            #[cfg(not(target_arch = "wasm32"))]
            5 => self.parts::<S, 5, 2>(simd, y),
            #[cfg(not(target_arch = "wasm32"))]
            6 => self.parts::<S, 6, 2>(simd, y),
            #[cfg(not(target_arch = "wasm32"))]
            7 => self.parts::<S, 7, 2>(simd, y),
            #[cfg(not(target_arch = "wasm32"))]
            8 => self.parts::<S, 8, 2>(simd, y),
            rows => unreachable!("{rows} rows"),
        }
    }

    /// One row, with the whole panel side by side: many sums at a time.
    #[inline(always)]
    fn alone<S: Simd>(self, simd: S, y: &mut [&mut [f32]]) {
        match S::F32_LANES {
            8 => self.parts::<S, 1, 4>(simd, y),
            4 => self.parts::<S, 1, 8>(simd, y),
            _ => self.parts::<S, 1, 2>(simd, y),
        }
    }

    /// The panel in parts of `VECTORS` vectors.
    #[expect(
        clippy::needless_range_loop,
        reason = "compilers keep iterators out of the function with the vectors"
    )]
    #[inline(always)]
    fn parts<S: Simd, const ROWS: usize, const VECTORS: usize>(&self, simd: S, y: &mut [&mut [f32]]) {
        let lanes = VECTORS * S::F32_LANES;
        let mut x = [&[][..]; ROWS];
        for row in 0..ROWS {
            x[row] = &self.x[row * self.inputs + self.inner.start..row * self.inputs + self.inner.end];
        }
        for start in (0..self.columns.len()).step_by(lanes) {
            let sums = sums::<S, ROWS, VECTORS>(simd, x, self.weights, start);
            let first = self.columns.start + start;
            let end = self.columns.end.min(first + lanes);
            for row in 0..ROWS {
                store(simd, &sums[row], self.inner.start > 0, &mut y[row][first..end]);
            }
        }
    }
}

/// Sums of products, for the columns of a panel from `start` on.
#[expect(clippy::manual_memcpy, reason = "compilers keep a call of it out of the function with the vectors")]
#[inline(always)]
fn sums<S: Simd, const ROWS: usize, const VECTORS: usize>(
    simd: S,
    x: [&[f32]; ROWS],
    weights: &[[f32; PANEL]],
    start: usize,
) -> [[S::f32s; VECTORS]; ROWS] {
    let width = VECTORS * S::F32_LANES;
    let start = start.min(PANEL - width); // known to the compiler: no bounds checks below
    let mut sums = [[simd.splat_f32s(0.0); VECTORS]; ROWS];
    let depth = weights.len();
    let mut rows = [&[][..]; ROWS];
    for row in 0..ROWS {
        rows[row] = &x[row][..depth];
    }
    for k in 0..depth {
        let (vectors, _) = S::as_simd_f32s(&weights[k][start..start + width]);
        let mut w = [simd.splat_f32s(0.0); VECTORS];
        for vector in 0..VECTORS {
            w[vector] = vectors[vector];
        }
        for row in 0..ROWS {
            let x = simd.splat_f32s(rows[row][k]);
            for vector in 0..VECTORS {
                sums[row][vector] = simd.mul_add_e_f32s(x, w[vector], sums[row][vector]);
            }
        }
    }
    sums
}

/// Writes the sums of a row, or adds them.
#[inline(always)]
fn store<S: Simd, const VECTORS: usize>(simd: S, sums: &[S::f32s; VECTORS], adds: bool, y: &mut [f32]) {
    if y.len() == VECTORS * S::F32_LANES {
        let (y, _) = S::as_mut_simd_f32s(y);
        for vector in 0..VECTORS {
            y[vector] = if adds { simd.add_f32s(y[vector], sums[vector]) } else { sums[vector] };
        }
        return;
    }
    let mut vector = 0;
    while vector * S::F32_LANES < y.len() {
        let end = y.len().min((vector + 1) * S::F32_LANES);
        let y = &mut y[vector * S::F32_LANES..end];
        let sum = if adds { simd.add_f32s(simd.partial_load_f32s(y), sums[vector]) } else { sums[vector] };
        simd.partial_store_f32s(y, sum);
        vector += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn values(count: usize, seed: u32) -> Vec<f32> {
        let mut state = seed;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        (0..count).map(|_| next()).collect()
    }

    /// `[outputs, inputs]` in panels, stored in pieces of `at_a_time` rows.
    fn packed(weight: &[f32], outputs: usize, inputs: usize, at_a_time: usize) -> Vec<f32> {
        let mut panels = vec![0.0; elements(outputs, inputs)];
        for (piece, rows) in weight.chunks(at_a_time * inputs).enumerate() {
            set_rows(&mut panels, inputs, piece * at_a_time, rows);
        }
        panels
    }

    fn product(x: &[f32], weight: Panels) -> Vec<f32> {
        let mut y = vec![f32::NAN; x.len() / weight.inputs * weight.outputs];
        weight.multiply(x, &mut y, &|_, _, _| {});
        y
    }

    #[test]
    fn products_are_right_at_sizes_around_the_tile() {
        let rows = [1, 2, 5, 6, 7, 8, 9, 17, 63, 64, 65, 130];
        for (inputs, outputs) in [(1, 1), (3, 31), (256, 32), (257, 33), (64, 100), (515, 70), (30, 2000)] {
            let weight = values(outputs * inputs, 2);
            let panels = packed(&weight, outputs, inputs, 5);
            let panels = Panels::new(&panels, outputs, inputs);
            for rows in rows {
                let x = values(rows * inputs, 1);
                for (index, y) in product(&x, panels).into_iter().enumerate() {
                    let (row, output) = (index / outputs, index % outputs);
                    let terms = (0..inputs).map(|input| {
                        f64::from(x[row * inputs + input]) * f64::from(weight[output * inputs + input])
                    });
                    let want: f64 = terms.sum();
                    let error = (f64::from(y) - want).abs();
                    assert!(error < 2e-5, "[{rows}, {inputs}, {outputs}], {row}, {output}: {y}, not {want}");
                }
            }
        }
    }

    #[test]
    fn a_row_has_the_same_bits_alone_and_among_others_and_with_other_outputs() {
        let (rows, inputs, outputs) = (75, 300, 90);
        let (x, weight) = (values(rows * inputs, 1), values(outputs * inputs, 2));
        let panels = packed(&weight, outputs, inputs, 90);
        let panels = Panels::new(&panels, outputs, inputs);
        let together = product(&x, panels);
        let selected: Vec<u32> = (0..outputs as u32).filter(|output| output % 5 != 0).collect();
        for (x, y) in x.chunks_exact(inputs).zip(together.chunks_exact(outputs)) {
            assert_eq!(product(x, panels), y);
            let mut some = vec![0.0; selected.len() + 3];
            panels.multiply_selected(x, &selected, some.len(), &mut some);
            let want: Vec<f32> = selected.iter().map(|&output| y[output as usize]).collect();
            assert_eq!(some[..selected.len()], want);
        }
    }

    #[test]
    fn halves_give_the_bits_of_the_same_numbers_in_f32() {
        use half::f16;
        use half::slice::HalfFloatSliceExt;
        let (inputs, outputs) = (300, 70);
        let mut halves = vec![f16::ZERO; outputs * inputs];
        halves.convert_from_f32_slice(&values(outputs * inputs, 2));
        let widened: Vec<f32> = halves.iter().map(|half| half.to_f32()).collect();
        let mut stored = vec![f16::ZERO; elements(outputs, inputs)];
        set_rows(&mut stored, inputs, 0, &halves);
        let panels = packed(&widened, outputs, inputs, 70);
        for rows in [1, 2, 3, 4, 5, 9] {
            let x = values(rows * inputs, 1);
            let mut y = vec![f32::NAN; rows * outputs];
            Panels::new(&stored, outputs, inputs).multiply(&x, &mut y, &|_, _, _| {});
            assert_eq!(y, product(&x, Panels::new(&panels, outputs, inputs)), "{rows} rows");
        }
    }

    #[cfg(target_arch = "x86_64")]
    #[test]
    fn narrower_vectors_give_the_same_bits() {
        struct Narrow<'a, 'y>(Block<'a, 'y>, pulp::x86::V3);
        impl pulp::NullaryFnOnce for Narrow<'_, '_> {
            type Output = ();

            fn call(self) {
                self.0.with_simd(self.1);
            }
        }
        let Some(simd) = pulp::x86::V3::try_new() else { return };
        let (inputs, outputs) = (200, 30);
        let (x, weight) = (values(15 * inputs, 1), values(outputs * inputs, 2));
        let panels = packed(&weight, outputs, inputs, 50);
        let mut y = vec![0.0; 15 * outputs];
        let mut rows: Rows = y.chunks_exact_mut(outputs).collect();
        let (weights, _) = panels.as_chunks();
        let tile = Tile { x: &x, inputs, inner: 0..inputs, weights, columns: 0..outputs };
        simd.vectorize(Narrow(Block { tile, y: &mut rows }, simd));
        drop(rows);
        assert_eq!(y, product(&x, Panels::new(&panels, outputs, inputs)));
    }

    #[test]
    fn rows_come_back_as_they_were_stored() {
        let (outputs, inputs) = (70, 9);
        let weight = values(outputs * inputs, 3);
        let panels = packed(&weight, outputs, inputs, 33);
        let mut row = vec![0.0; inputs];
        for (output, want) in weight.chunks_exact(inputs).enumerate() {
            Panels::new(&panels, outputs, inputs).widen_row(output, &mut row);
            assert_eq!(row, want);
        }
    }
}
