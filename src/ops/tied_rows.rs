//! Rows of a table that are one parameter: a bias by distance has a row for each distance, but distances of a bucket
//! share their values. Raffel et al. 2020 (T5), section 2.1. Each row gets the sum of its group's gradients, so that Adam
//! keeps the rows equal.

use crate::cpu;
use crate::graph::{CpuRun, Graph, GraphError, Lowering, Operator, State, Value};
use crate::kernels::tie_rows::{self, TiedRows};
use crate::shape::{Dtype, Shape};

#[derive(Debug)]
struct TieGradients {
    first_rows: Value,
    gradient: Value,
    gathered: Value,
}

impl Graph {
    /// Replaces each row of a gradient by the sum of its group. Returns the sums in the first row of each group, with
    /// zeros in the others: the gradient of the parameters. `first_rows`: u32 `[rows, 1]`, the first row of each row's
    /// group.
    pub(super) fn tie_gradients(&mut self, gradient: Value, first_rows: State) -> Result<Value, GraphError> {
        let op = "tie_gradients";
        let first_rows = self.state(first_rows);
        let shape = self.shape(gradient);
        self.expect(op, "first rows", first_rows, Shape::new(shape.rows, 1), Dtype::U32)?;
        let gathered = self.value(op, shape, Dtype::F32)?;
        self.push(TieGradients { first_rows, gradient, gathered });
        Ok(gathered)
    }
}

impl Operator for TieGradients {
    fn name(&self) -> &'static str {
        "tie_gradients"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.first_rows, self.gradient]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.gathered, self.gradient]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let Shape { rows, width } = to.shape(self.gradient);
        for (from, at, gets) in
            [(self.gradient, self.gathered, TiedRows::First), (self.gathered, self.gradient, TiedRows::All)]
        {
            let bindings = vec![from.into(), self.first_rows.into(), at.into()];
            to.launch(tie_rows::dispatch(rows, width, gets), bindings);
        }
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        let width = run.shape(self.gradient).width;
        run.write([self.gathered, self.gradient], |run, [gathered, gradient]| {
            cpu::tie_gradients(run.u32(self.first_rows), width, gradient, gathered);
        });
    }
}
