//! Gradients of a linear layer `y = scale·x·Wᵀ + b`: `dx = scale·dy·W`, `dW = scale·dyᵀ·x`, `db = Σ_rows dy`.

use super::layers::Linear;
use crate::cpu;
use crate::graph::{CpuRun, Gradients, Graph, GraphError, Lowering, Matrix, Operator, Value};
use crate::kernels::column_sums;
use crate::kernels::linear_gradient::{self, Earlier, LinearGradientShape};
use crate::shape::{Dtype, Shape};

/// `dx = earlier + scale·dy·W`
#[derive(Debug)]
struct InputGradient {
    dy: Value,
    weight: Matrix,
    scale: f32,
    earlier: Option<Value>,
    dx: Value,
}

/// `dW += scale·dyᵀ·x`
#[derive(Debug)]
struct WeightGradient {
    dy: Value,
    x: Value,
    weight: Matrix,
    scale: f32,
    dweight: Value,
}

/// `sums += Σ_rows x`
#[derive(Debug)]
struct ColumnSums {
    x: Value,
    sums: Value,
}

/// Adds the gradients of the layer's input and weights from that of its output, before activation and join.
pub(super) fn linear_gradients(
    to: &mut Gradients<'_>,
    x: Value,
    layer: Linear,
    dy: Value,
) -> Result<(), GraphError> {
    let Linear { weight, bias, scale } = layer;
    if let Some(dweight) = to.weight(weight.index) {
        to.graph().push(WeightGradient { dy, x, weight, scale, dweight });
    }
    if let Some(sums) = bias.and_then(|bias| to.weight(bias.index)) {
        to.graph().add_column_sums(dy, sums);
    }
    let earlier = to.of(x);
    let g = to.graph();
    let dx = g.value("linear_input_gradient", g.shape(x), Dtype::F32)?;
    g.push(InputGradient { dy, weight, scale, earlier, dx });
    to.set(x, dx);
    Ok(())
}

impl Graph {
    /// Adds `sums += Σ_rows x`.
    pub(super) fn add_column_sums(&mut self, x: Value, sums: Value) {
        self.push(ColumnSums { x, sums });
    }
}

pub(super) fn gradient_shape(rows: usize, weight: Matrix, scale: f32) -> LinearGradientShape {
    LinearGradientShape { rows, inputs: weight.inputs, outputs: weight.outputs, scale }
}

/// Adds the launches of `dx = earlier + scale·dy·W`, one for each part of the weights.
pub(super) fn lower_input_gradient(
    to: &mut Lowering<'_>,
    shape: &LinearGradientShape,
    dy: Value,
    weight: Matrix,
    (earlier, dx): (Option<Value>, Value),
) {
    for (outputs, part) in to.parts(weight) {
        let addend = match (outputs.start, earlier) {
            (0, None) => Earlier::Nothing,
            (0, Some(_)) => Earlier::Buffer,
            _ => Earlier::Output,
        };
        let dispatch = linear_gradient::input_dispatch(shape, outputs, addend, to.class());
        to.launch(dispatch, vec![dy.into(), part, earlier.into(), dx.into()]);
    }
}

impl Operator for InputGradient {
    fn name(&self) -> &'static str {
        "linear_input_gradient"
    }

    fn reads(&self) -> Vec<Value> {
        [self.dy].into_iter().chain(self.earlier).collect()
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.dx]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let shape = gradient_shape(to.shape(self.dy).rows, self.weight, self.scale);
        lower_input_gradient(to, &shape, self.dy, self.weight, (self.earlier, self.dx));
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.dx], |run, [dx]| {
            let weight = (run.f32_matrix(self.weight), self.weight.inputs);
            let earlier = self.earlier.map(|earlier| run.f32(earlier));
            let how = (self.scale, run.products());
            cpu::linear_input_gradient(run.f32(self.dy), weight, how, earlier, dx);
        });
    }
}

impl Operator for WeightGradient {
    fn name(&self) -> &'static str {
        "linear_weight_gradient"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.dy, self.x, self.dweight]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.dweight]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let shape = gradient_shape(to.shape(self.dy).rows, self.weight, self.scale);
        let dispatch = linear_gradient::weight_dispatch(&shape, 0..shape.outputs, to.class());
        to.launch(dispatch, vec![self.dy.into(), self.x.into(), self.dweight.into()]);
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.dweight], |run, [dweight]| {
            let Matrix { outputs, inputs, .. } = self.weight;
            let dweight = &mut dweight[..outputs * inputs];
            let how = (self.scale, run.products());
            cpu::linear_weight_gradient(run.f32(self.dy), (run.f32(self.x), inputs), how, dweight);
        });
    }
}

impl Operator for ColumnSums {
    fn name(&self) -> &'static str {
        "column_sums"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.x, self.sums]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.sums]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let Shape { rows, width } = to.shape(self.x);
        to.launch(column_sums::dispatch(rows, width), vec![self.x.into(), self.sums.into()]);
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.sums], |run, [sums]| cpu::column_sums(run.f32(self.x), sums));
    }
}
