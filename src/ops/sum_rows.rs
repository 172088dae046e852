//! Sums of neighbouring rows: one token for a block of tokens. Guo et al. 2022, "LongT5", section 3.1.

use crate::cpu;
use crate::graph::{CpuRun, Graph, GraphError, Lowering, Operator, Value};
use crate::kernels::sum_rows;
use crate::shape::{Dtype, Shape};

#[derive(Debug)]
struct SumRows {
    x: Value,
    ranges: Value,
    sums: Value,
}

impl Graph {
    /// Adds sums of rows; `ranges`: u32 `[sums, 2]`, the first row of `x` and the end. Returns `[sums, width]`.
    pub fn sum_rows(&mut self, x: Value, ranges: Value) -> Result<Value, GraphError> {
        let op = "sum_rows";
        let rows = self.shape(ranges).rows;
        self.expect(op, "x", x, self.shape(x), Dtype::F32)?;
        self.expect(op, "ranges", ranges, Shape::new(rows, 2), Dtype::U32)?;
        let sums = self.value(op, Shape::new(rows, self.shape(x).width), Dtype::F32)?;
        self.push(SumRows { x, ranges, sums });
        Ok(sums)
    }
}

impl Operator for SumRows {
    fn name(&self) -> &'static str {
        "sum_rows"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.x, self.ranges]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.sums]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let Shape { rows, width } = to.shape(self.sums);
        let dispatch = sum_rows::dispatch(rows, width, to.shape(self.x).rows);
        to.launch(dispatch, [self.x, self.ranges, self.sums].map(Into::into).to_vec());
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.sums], |run, [sums]| {
            let width = run.shape(self.sums).width;
            cpu::sum_rows(run.f32(self.x), run.u32(self.ranges), width, sums);
        });
    }
}
