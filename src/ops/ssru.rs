//! A simpler simple recurrent unit: c = f ⊙ c₋₁ + (1 − f) ⊙ x and y = max(c, 0), from a projection with the columns x
//! and σ⁻¹(f).  Kim et al. 2019, "From Research to Production and Back: Ludicrously Fast Neural Machine Translation",
//! section 3.1.
//!
//! Cells are cached as keys are: a token has a slot, and a table has the slots of each row's history. So beams are
//! reordered, prompts shared and rows taken over without a copy of cells, and a step reads one earlier slot.

use crate::cpu;
use crate::graph::{Binding, CpuRun, Graph, GraphError, Lowering, Operator, State, Value};
use crate::kernels::ssru::{self, SsruShape};
use crate::shape::{Dtype, Shape};

/// The cells of a decoder layer, and the index tables that all layers share.
#[derive(Clone, Copy, Debug)]
pub struct CellCache {
    /// `[rows * capacity, width]`
    pub cells: State,
    /// u32 `[tokens, 1]`: the cache slot for each token's cell; a slot beyond the cache is skipped
    pub cache_slots: State,
    /// u32 `[rows, capacity]`: the cache slots of each row's history
    pub slots: State,
    /// u32 `[rows, 1]`: the length of each row's history, with this step
    pub key_counts: State,
}

#[derive(Debug)]
struct Ssru {
    shape: SsruShape,
    projected: Value,
    /// Cells, and the slots of new ones.
    cells: Option<[Value; 2]>,
    /// Slots and lengths of the rows' histories.
    history: Option<[Value; 2]>,
    y: Value,
}

impl Graph {
    /// Adds the unit over whole sequences, which begin with a cell of zeros; returns `[rows, width]`.
    ///
    /// * `projected`: `[sequences * length, 2 * width]`
    /// * `cache`: place of the cells, if they are kept; `slots` and `key_counts` are not used
    pub fn ssru(
        &mut self,
        projected: Value,
        sequences: usize,
        cache: Option<&CellCache>,
    ) -> Result<Value, GraphError> {
        let Shape { rows, .. } = self.shape(projected);
        if sequences == 0 || !rows.is_multiple_of(sequences) {
            let want = format!("a multiple of {sequences} sequences");
            return Err(self.mismatch("ssru", "projected", self.shape(projected), want));
        }
        self.add_ssru(projected, (sequences, rows / sequences), cache, false)
    }

    /// Adds the unit for one new token per row; returns `[rows, width]`.
    ///
    /// * `projected`: `[rows, 2 * width]`
    /// * `cache`: a row's own slot must be the last of its history, and no other row may have it in this run
    pub fn cached_ssru(&mut self, projected: Value, cache: &CellCache) -> Result<Value, GraphError> {
        let rows = self.shape(projected).rows;
        self.add_ssru(projected, (rows, 1), Some(cache), true)
    }

    fn add_ssru(
        &mut self,
        projected: Value,
        (sequences, length): (usize, usize),
        cache: Option<&CellCache>,
        continues: bool,
    ) -> Result<Value, GraphError> {
        let op = "ssru";
        let Shape { rows, width: both } = self.shape(projected);
        if !both.is_multiple_of(2) {
            return Err(self.mismatch(op, "projected", Shape::new(rows, both), "an even width".into()));
        }
        let width = both / 2;
        self.expect(op, "projected", projected, Shape::new(rows, both), Dtype::F32)?;
        let (mut cells, mut history) = (None, None);
        if let Some(cache) = cache {
            let CellCache { cells: state, cache_slots, slots, key_counts } = *cache;
            let [state, cache_slots] = [state, cache_slots].map(|state| self.state(state));
            self.expect(op, "cells", state, Shape::new(self.shape(state).rows, width), Dtype::F32)?;
            self.expect(op, "cache_slots", cache_slots, Shape::new(rows, 1), Dtype::U32)?;
            cells = Some([state, cache_slots]);
            if continues {
                let [slots, key_counts] = [slots, key_counts].map(|state| self.state(state));
                let capacity = self.shape(slots).width;
                self.expect(op, "slots", slots, Shape::new(rows, capacity), Dtype::U32)?;
                self.expect(op, "key_counts", key_counts, Shape::new(rows, 1), Dtype::U32)?;
                history = Some([slots, key_counts]);
            }
        }
        let shape = SsruShape {
            sequences,
            length,
            width,
            cells: cells.map_or(0, |[cells, _]| self.shape(cells).rows),
            capacity: history.map_or(0, |[slots, _]| self.shape(slots).width),
        };
        let y = self.value(op, Shape::new(rows, width), Dtype::F32)?;
        self.push(Ssru { shape, projected, cells, history, y });
        Ok(y)
    }
}

impl Operator for Ssru {
    fn name(&self) -> &'static str {
        "ssru"
    }

    fn reads(&self) -> Vec<Value> {
        let slots = self.cells.map(|[_, slots]| slots);
        [self.projected].into_iter().chain(slots).chain(self.history.into_iter().flatten()).collect()
    }

    fn writes(&self) -> Vec<Value> {
        self.cells.map(|[cells, _]| cells).into_iter().chain([self.y]).collect()
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let Self { shape, projected, cells, history, y } = *self;
        let (cells, cache_slots) = match cells {
            Some([cells, slots]) => (cells, slots.into()),
            // a buffer that is written cannot stand for several
            None => (to.scratch(Shape::new(1, 4), Dtype::F32), Binding::Nothing),
        };
        let [slots, counts] = history.map_or([Binding::Nothing; 2], |values| values.map(Into::into));
        let bindings = vec![projected.into(), cache_slots, slots, counts, cells.into(), y.into()];
        to.launch(ssru::dispatch(&shape), bindings);
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        let Self { shape, projected, cells, history, y } = *self;
        let SsruShape { length, width, capacity, .. } = shape;
        let Some([cells, cache_slots]) = cells else {
            run.write([y], |run, [y]| cpu::ssru(run.f32(projected), length, width, None, y));
            return;
        };
        run.write([cells, y], |run, [cells, y]| {
            let history = history.map(|[slots, counts]| cpu::CellHistory {
                slots: run.u32(slots),
                capacity,
                counts: run.u32(counts),
            });
            let cells = cpu::Cells { cells, cache_slots: run.u32(cache_slots), history };
            cpu::ssru(run.f32(projected), length, width, Some(cells), y);
        });
    }
}
