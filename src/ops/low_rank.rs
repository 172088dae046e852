//! The best approximation of a sentence's rows by a matrix of rank k: their projection on the k leading singular vectors.
//! Eckart & Young 1936.

use crate::cpu;
use crate::graph::{Columns, CpuRun, Graph, GraphError, Lowering, Operator, Value};
use crate::kernels::low_rank;
use crate::shape::{Dtype, LOW_RANK_LENGTH, LowRankShape, Shape};

#[derive(Debug)]
struct LowRank {
    shape: LowRankShape,
    x: Columns,
    mask: Value,
    rotated: Value,
    y: Value,
}

impl Graph {
    /// Adds a projection of each sentence's rows; returns `[batch * length, width]`. Hidden rows do not count, and stay. A
    /// sentence of no more rows than the rank stays.
    ///
    /// * `x`: `[batch * length, …]`
    /// * `mask`: u32 `[batch, length]`, nonzero = visible
    pub fn low_rank(&mut self, x: Columns, mask: Value, shape: LowRankShape) -> Result<Value, GraphError> {
        let op = "low_rank";
        let LowRankShape { batch, length, width, .. } = shape;
        if length > LOW_RANK_LENGTH {
            let want = format!("sentences of {LOW_RANK_LENGTH} rows at most");
            return Err(self.mismatch(op, "x", Shape::new(batch * length, width), want));
        }
        self.expect_columns(op, "x", x, batch * length, width)?;
        self.expect(op, "mask", mask, Shape::new(batch, length), Dtype::U32)?;
        let made = Shape::new(batch * length, width);
        let rotated = self.value(op, made, Dtype::F32)?;
        let y = self.value(op, made, Dtype::F32)?;
        self.push(LowRank { shape, x, mask, rotated, y });
        Ok(y)
    }
}

impl Operator for LowRank {
    fn name(&self) -> &'static str {
        "low_rank"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.x.value, self.mask]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.rotated, self.y]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let layout = to.layout(self.x);
        let [x, mask, rotated, y] = [self.x.value, self.mask, self.rotated, self.y];
        for dispatch in low_rank::rotations(&self.shape, layout) {
            to.launch(dispatch, [x, mask, rotated].map(Into::into).to_vec());
        }
        to.launch(low_rank::dispatch(&self.shape, layout), [x, mask, rotated, y].map(Into::into).to_vec());
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.rotated, self.y], |run, [rotated, y]| {
            cpu::low_rank(run.columns(self.x), run.u32(self.mask), &self.shape, rotated, y);
        });
    }
}
