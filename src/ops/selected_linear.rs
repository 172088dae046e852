//! Some outputs of a linear layer: `y = scale·x·W[columns]ᵀ + b[columns]`. A sentence has its own list of columns; its rows
//! read only their weights.

use super::layers::Linear;
use crate::cpu;
use crate::graph::{CpuRun, Graph, GraphError, Lowering, Matrix, Operator, State, Value};
use crate::kernels::selected_linear::{self, SelectedShape};
use crate::shape::{Dtype, Shape};

#[derive(Debug)]
struct SelectedLinear {
    x: Value,
    layer: Linear,
    columns: Value,
    y: Value,
}

impl Graph {
    /// Adds the layer; returns `[rows, columns]`. Where a sentence has no column, the output is minus infinity, or a
    /// device's stand-in for it.
    ///
    /// * `x`: `[rows, inputs]`, rows of a sentence side by side, equally many of each
    /// * `columns`: u32 `[sentences, columns]`: outputs of the layer in ascending order, then
    ///   [`NO_TOKEN`](crate::scores::NO_TOKEN)
    pub fn selected_linear(&mut self, x: Value, layer: Linear, columns: State) -> Result<Value, GraphError> {
        let op = "selected_linear";
        let Matrix { outputs, inputs, .. } = layer.weight;
        let rows = self.shape(x).rows;
        self.expect(op, "x", x, Shape::new(rows, inputs), Dtype::F32)?;
        if let Some(bias) = layer.bias {
            self.agree(op, "bias", Shape::new(1, bias.length), Shape::new(1, outputs))?;
        }
        let columns = self.state(columns);
        let Shape { rows: sentences, width } = self.shape(columns);
        self.expect(op, "columns", columns, Shape::new(sentences, width), Dtype::U32)?;
        if sentences == 0 || !rows.is_multiple_of(sentences) {
            let want = format!("lists for a divisor of {rows} rows");
            return Err(self.mismatch(op, "columns", self.shape(columns), want));
        }
        let y = self.value(op, Shape::new(rows, width), Dtype::F32)?;
        self.push(SelectedLinear { x, layer, columns, y });
        Ok(y)
    }
}

impl Operator for SelectedLinear {
    fn name(&self) -> &'static str {
        "selected_linear"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.x, self.columns]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.y]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let Linear { weight, bias, scale } = self.layer;
        let Shape { rows: sentences, width: columns } = to.shape(self.columns);
        let rows = to.shape(self.x).rows;
        let shape = SelectedShape {
            rows,
            beams: rows / sentences,
            inputs: weight.inputs,
            columns,
            scale,
            bias: bias.is_some(),
            precision: to.precision(),
        };
        for (outputs, part) in to.parts(weight) {
            let bindings = vec![self.x.into(), part, bias.into(), self.columns.into(), self.y.into()];
            to.launch(selected_linear::dispatch(&shape, outputs, to.class()), bindings);
        }
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.y], |run, [y]| {
            let Linear { weight, bias, scale } = self.layer;
            let layer = cpu::Linear {
                weight: run.matrix(weight),
                inputs: weight.inputs,
                bias: bias.map(|bias| run.vector(bias)),
                scale,
            };
            let width = run.shape(self.columns).width;
            cpu::selected_linear(run.f32(self.x), layer, run.u32(self.columns), width, y);
        });
    }
}
