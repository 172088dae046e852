//! `y = activation(scale·x·Wᵀ + b)`, then `y + z` or `y ⊙ z`: projections, feed-forward layers and the output layer.

use super::layers::Linear;
use super::linear_gradient::linear_gradients;
use crate::activation::Activation;
use crate::cpu;
use crate::graph::{CpuRun, Gradients, Graph, GraphError, Lowering, Matrix, Operator, Value};
use crate::join::Join;
use crate::kernels::linear::{self, LinearShape};
use crate::shape::{Dtype, Shape};

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
        let Some(training) = self.training() else {
            return self.add_linear(x, layer, activation, join);
        };
        // gradients need what comes between the product and a join
        let fused = match join {
            None => activation.is_known_by_its_value(),
            Some((Join::Add, _)) => activation == Activation::Identity && training.dropout == 0.0,
            Some((Join::Multiply, _)) => false,
        };
        if fused {
            return self.add_linear(x, layer, activation, join);
        }
        let z = self.add_linear(x, layer, Activation::Identity, None)?;
        match join {
            Some((Join::Multiply, factor)) => self.activate(z, activation, Some(factor)),
            Some((Join::Add, residual)) => {
                let y =
                    if activation == Activation::Identity { z } else { self.activate(z, activation, None)? };
                self.drop_and_add(y, Some(residual))
            }
            None => self.activate(z, activation, None),
        }
    }

    fn add_linear(
        &mut self,
        x: Value,
        layer: Linear,
        activation: Activation,
        join: Option<(Join, Value)>,
    ) -> Result<Value, GraphError> {
        let shape = Shape::new(self.shape(x).rows, layer.weight.outputs);
        let y = self.value("linear", shape, Dtype::F32)?;
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

    fn backward(&self, to: &mut Gradients<'_>) -> Result<(), GraphError> {
        to.expect_training(self)?;
        let Some(dy) = to.of(self.y) else { return Ok(()) };
        if let Some((_, residual)) = self.join {
            to.add(residual, dy)?; // a graph for training has no other join here
        }
        let dz = match self.activation {
            Activation::Identity => dy,
            activation => to.graph().activate_gradient(dy, self.y, activation, None)?,
        };
        linear_gradients(to, self.x, self.layer, dz)
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
            cpu::training_linear(run.f32(self.x), layer, self.activation, (join, run.products()), y);
        });
    }
}
