//! Copies the first columns of several values, side by side, into a cache; skips rows whose slot is beyond it.

use crate::cpu;
use crate::graph::{Binding, Columns, CpuRun, Graph, GraphError, Lowering, Operator, State, Value};
use crate::kernels::append_rows::{self, MAX_PARTS};
use crate::shape::{Dtype, Shape};

#[derive(Debug)]
struct AppendRows {
    parts: Vec<Value>,
    cache_slots: Value,
    cache: Value,
}

impl Graph {
    /// Adds rows to a cache: from each part, an equal number of columns. Panics without parts or with more than
    /// [`MAX_PARTS`].
    ///
    /// * `parts`: `[rows, …]` each; `cache_slots`: u32 `[rows, 1]`, the row of the cache
    /// * `cache`: `[slots, parts * width]`
    pub fn append_rows(
        &mut self,
        parts: &[Value],
        cache_slots: State,
        cache: State,
    ) -> Result<(), GraphError> {
        let op = "append_rows";
        assert!((1..=MAX_PARTS).contains(&parts.len()), "{} parts", parts.len());
        let [cache_slots, cache] = [cache_slots, cache].map(|state| self.state(state));
        let (rows, shape) = (self.shape(parts[0]).rows, self.shape(cache));
        if !shape.width.is_multiple_of(parts.len()) {
            return Err(self.mismatch(op, "cache", shape, format!("a multiple of {} wide", parts.len())));
        }
        for &value in parts {
            self.expect_columns(op, "x", Columns { value, first: 0 }, rows, shape.width / parts.len())?;
        }
        self.expect(op, "cache_slots", cache_slots, Shape::new(rows, 1), Dtype::U32)?;
        self.expect(op, "cache", cache, shape, Dtype::F32)?;
        self.push(AppendRows { parts: parts.to_vec(), cache_slots, cache });
        Ok(())
    }
}

impl Operator for AppendRows {
    fn name(&self) -> &'static str {
        "append_rows"
    }

    fn reads(&self) -> Vec<Value> {
        [&self.parts[..], &[self.cache_slots]].concat()
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.cache]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let (rows, cache) = (to.shape(self.cache_slots).rows, to.shape(self.cache));
        let widths: Vec<usize> = self.parts.iter().map(|&part| to.shape(part).width).collect();
        let mut bindings = vec![Binding::Nothing; MAX_PARTS];
        bindings.iter_mut().zip(&self.parts).for_each(|(binding, &part)| *binding = part.into());
        bindings.extend([self.cache_slots, self.cache].map(Binding::from));
        to.launch(append_rows::dispatch(rows, &widths, cache.rows, cache.width / widths.len()), bindings);
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.cache], |run, [cache]| {
            let count = self.parts.len();
            let mut matrices = [(&[][..], 0); MAX_PARTS];
            for (matrix, &part) in matrices.iter_mut().zip(&self.parts) {
                *matrix = (run.f32(part), run.shape(part).width);
            }
            let width = run.shape(self.cache).width / count;
            cpu::append_rows(&matrices[..count], run.u32(self.cache_slots), width, cache);
        });
    }
}
