//! Keys and values as sums of a text's rows, with learned factors. Wang et al. 2020, "Linformer", equation (7).

use crate::cpu::{self, LengthFactors};
use crate::graph::{Columns, CpuRun, Graph, GraphError, Lowering, Operator, Rows, Value};
use crate::kernels::project_length::{self, FactorShape};
use crate::shape::{Dtype, ProjectedShape, Shape};

/// The learned factors of a layer's tokens, `[rank, positions]` each: E and F in the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LengthProjections {
    /// Of the keys.
    pub keys: Rows,
    /// Of the values.
    pub values: Rows,
}

impl LengthProjections {
    /// Sums of a text.
    pub fn rank(&self) -> usize {
        self.keys.rows
    }

    pub(super) fn shape(&self) -> FactorShape {
        FactorShape { rank: self.keys.rows, positions: self.keys.width }
    }

    pub(super) fn on_cpu<'a>(&self, run: &'a CpuRun<'_>) -> LengthFactors<'a> {
        LengthFactors { keys: run.rows(self.keys), values: run.rows(self.values), rank: self.rank() }
    }
}

#[derive(Debug)]
struct ProjectLength {
    shape: ProjectedShape,
    x: Columns,
    mask: Value,
    factors: LengthProjections,
    y: Value,
    visible: Value,
}

impl Graph {
    /// Adds projections of each sentence's keys and values. A sentence of no more rows than sums keeps its own. Returns `[batch
    /// * room, keys + values]`, and which of these rows attention may see, u32 `[batch, room]`.
    ///
    /// * `x`: `[batch * length, …]`, keys, then values
    /// * `mask`: u32 `[batch, length]`, nonzero = visible
    pub fn project_length(
        &mut self,
        x: Columns,
        mask: Value,
        factors: LengthProjections,
        shape: ProjectedShape,
    ) -> Result<[Value; 2], GraphError> {
        let op = "project_length";
        let ProjectedShape { batch, length, room, keys, values } = shape;
        self.expect_columns(op, "x", x, batch * length, keys + values)?;
        self.expect(op, "mask", mask, Shape::new(batch, length), Dtype::U32)?;
        self.expect_factors(op, factors, length)?;
        let y = self.value(op, Shape::new(batch * room, keys + values), Dtype::F32)?;
        let visible = self.value(op, Shape::new(batch, room), Dtype::U32)?;
        self.push(ProjectLength { shape, x, mask, factors, y, visible });
        Ok([y, visible])
    }

    /// Checks that factors have a column for each of `length` tokens, and that those of keys and values have one shape.
    pub(super) fn expect_factors(
        &self,
        op: &'static str,
        factors: LengthProjections,
        length: usize,
    ) -> Result<(), GraphError> {
        let [keys, values] = [factors.keys, factors.values].map(|rows| Shape::new(rows.rows, rows.width));
        self.agree(op, "factors of values", values, keys)?;
        match keys.width >= length && keys.rows > 0 {
            true => Ok(()),
            false => {
                Err(self.mismatch(op, "factors", keys, format!("rows of {length} or more, one for a token")))
            }
        }
    }
}

impl Operator for ProjectLength {
    fn name(&self) -> &'static str {
        "project_length"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.x.value, self.mask]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.y, self.visible]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let dispatch = project_length::dispatch(&self.shape, self.factors.shape(), to.layout(self.x));
        let LengthProjections { keys, values } = self.factors;
        let inputs = [self.x.value.into(), self.mask.into(), keys.into(), values.into()];
        let outputs = [self.y.into(), self.visible.into()];
        to.launch(dispatch, inputs.into_iter().chain(outputs).collect());
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.y], |run, [y]| {
            let factors = self.factors.on_cpu(run);
            cpu::project_length(run.columns(self.x), run.u32(self.mask), factors, &self.shape, y);
        });
        run.write_words([self.visible], |run, [visible]| {
            let lengths = (self.shape.length, self.shape.room);
            cpu::projected_rows(run.u32(self.mask), self.factors.rank(), lengths, visible);
        });
    }
}
