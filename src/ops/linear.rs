//! `y = activation(scale·x·Wᵀ + b)`, then `y + z` or `y ⊙ z`: projections, feed-forward layers and the output layer.

use crate::activation::Activation;
use crate::cpu;
use crate::graph::{CpuRun, Graph, GraphError, Lowering, Matrix, Operator, Value, Vector};
use crate::join::Join;
use crate::kernels::linear::{self, LinearShape};
use crate::shape::{Dtype, Shape};

/// A linear layer: `scale·x·Wᵀ + b`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear {
    /// `[outputs, inputs]`
    pub weight: Matrix,
    /// `[outputs]`
    pub bias: Option<Vector>,
    /// Factor of the product: 1, or 1 / √d_model if T5 ties its output layer to the embedding.
    pub scale: f32,
}

impl Linear {
    /// Indices of its weights in the table of weights.
    pub fn entries(&self) -> impl Iterator<Item = usize> + use<> {
        [self.weight.index].into_iter().chain(self.bias.map(|bias| bias.index))
    }
}

#[derive(Debug)]
struct LinearNode {
    x: Value,
    layer: Linear,
    activation: Activation,
    join: Option<(Join, Value)>,
    y: Value,
}

impl Graph {
    /// Adds `y = activation(scale·x·Wᵀ + b) + residual`; returns `[rows, outputs]`.
    pub fn linear(
        &mut self,
        x: Value,
        layer: Linear,
        activation: Activation,
        residual: Option<Value>,
    ) -> Result<Value, GraphError> {
        self.joined_linear(x, layer, activation, residual.map(|residual| (Join::Add, residual)))
    }

    /// Adds `y = activation(scale·x·Wᵀ + b) ⊙ factor`: one half of a gated feed-forward network; `factor` is the other
    /// half. Returns `[rows, outputs]`. Shazeer 2020, "GLU Variants Improve Transformer", section 2.
    pub fn gated_linear(
        &mut self,
        x: Value,
        layer: Linear,
        activation: Activation,
        factor: Value,
    ) -> Result<Value, GraphError> {
        self.joined_linear(x, layer, activation, Some((Join::Multiply, factor)))
    }

    fn joined_linear(
        &mut self,
        x: Value,
        layer: Linear,
        activation: Activation,
        join: Option<(Join, Value)>,
    ) -> Result<Value, GraphError> {
        let op = "linear";
        let Matrix { outputs, inputs, .. } = layer.weight;
        let rows = self.shape(x).rows;
        let made = Shape::new(rows, outputs);
        self.expect(op, "x", x, Shape::new(rows, inputs), Dtype::F32)?;
        if let Some(bias) = layer.bias {
            self.agree(op, "bias", Shape::new(1, bias.length), Shape::new(1, outputs))?;
        }
        match join {
            Some((Join::Add, residual)) => self.expect(op, "residual", residual, made, Dtype::F32)?,
            Some((Join::Multiply, factor)) => self.expect(op, "factor", factor, made, Dtype::F32)?,
            None => {}
        }
        let y = self.value(op, made, Dtype::F32)?;
        self.push(LinearNode { x, layer, activation, join, y });
        Ok(y)
    }
}

impl Operator for LinearNode {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn reads(&self) -> Vec<Value> {
        [self.x].into_iter().chain(self.join.map(|(_, value)| value)).collect()
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.y]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let Linear { weight, bias, scale } = self.layer;
        let (join, joined) = self.join.unzip();
        let shape = LinearShape {
            rows: to.shape(self.x).rows,
            inputs: weight.inputs,
            outputs: weight.outputs,
            scale,
            bias: bias.is_some(),
            activation: self.activation,
            join,
            precision: to.precision(),
        };
        for (outputs, part) in to.parts(weight) {
            let dispatch = linear::dispatch(&shape, outputs, to.class());
            to.launch(dispatch, vec![self.x.into(), part, bias.into(), joined.into(), self.y.into()]);
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
            let join = self.join.map(|(join, value)| (join, run.f32(value)));
            cpu::linear(run.f32(self.x), layer, self.activation, join, y);
        });
    }
}
