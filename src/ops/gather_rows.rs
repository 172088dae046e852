//! Rows of two values by number: a few tokens of a text, or a text with a few tokens replaced.

use crate::cpu;
use crate::graph::{CpuRun, Graph, GraphError, Lowering, Operator, Value};
use crate::kernels::gather_rows;
use crate::shape::{Dtype, Shape};

#[derive(Debug)]
struct GatherRows {
    of: [Value; 2],
    numbers: Value,
    gathered: Value,
}

impl Graph {
    /// Adds the rows of two values that `numbers` names, u32 `[rows, 1]`: numbers from the rows of the first value on are
    /// rows of the second. Returns `[rows, width]`.
    pub fn gather_rows(&mut self, of: [Value; 2], numbers: Value) -> Result<Value, GraphError> {
        let op = "gather_rows";
        let width = self.shape(of[0]).width;
        for (what, value) in ["first", "second"].into_iter().zip(of) {
            self.expect(op, what, value, Shape::new(self.shape(value).rows, width), Dtype::F32)?;
        }
        let rows = self.shape(numbers).rows;
        self.expect(op, "numbers", numbers, Shape::new(rows, 1), Dtype::U32)?;
        let gathered = self.value(op, Shape::new(rows, width), Dtype::F32)?;
        self.push(GatherRows { of, numbers, gathered });
        Ok(gathered)
    }
}

impl Operator for GatherRows {
    fn name(&self) -> &'static str {
        "gather_rows"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.of[0], self.of[1], self.numbers]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.gathered]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let Shape { rows, width } = to.shape(self.gathered);
        let dispatch = gather_rows::dispatch(rows, width, self.of.map(|value| to.shape(value).rows));
        let bindings = [self.of[0], self.of[1], self.numbers, self.gathered];
        to.launch(dispatch, bindings.map(Into::into).to_vec());
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.gathered], |run, [gathered]| {
            let width = run.shape(self.gathered).width;
            let of = self.of.map(|value| run.f32(value));
            cpu::gather_rows(of, run.u32(self.numbers), width, gathered);
        });
    }
}
