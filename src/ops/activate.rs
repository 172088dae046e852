//! An activation by itself, `y = activation(z)` or `y = activation(z) ⊙ factor`: graphs for training keep z, which the
//! gradient needs.

use crate::activation::Activation;
use crate::cpu;
use crate::graph::{Binding, CpuRun, Gradients, Graph, GraphError, Lowering, Operator, Value};
use crate::kernels::activate::{self, ActivateShape};
use crate::shape::{Dtype, Shape};

#[derive(Debug)]
struct Activate {
    z: Value,
    activation: Activation,
    factor: Option<Value>,
    y: Value,
}

/// `dz = dy ⊙ activation'(z)`, or `dy ⊙ factor ⊙ activation'(z)`
#[derive(Debug)]
struct ActivateGradient {
    dy: Value,
    z: Value,
    activation: Activation,
    factor: Option<Value>,
    dz: Value,
}

impl Graph {
    /// Adds `activation(z)`, or `activation(z) ⊙ factor`.
    pub(super) fn activate(
        &mut self,
        z: Value,
        activation: Activation,
        factor: Option<Value>,
    ) -> Result<Value, GraphError> {
        let op = "activate";
        let shape = self.shape(z);
        if let Some(factor) = factor {
            self.expect(op, "factor", factor, shape, Dtype::F32)?;
        }
        let y = self.value(op, shape, Dtype::F32)?;
        self.push(Activate { z, activation, factor, y });
        Ok(y)
    }

    /// Adds `dy ⊙ activation'(z)`, or `dy ⊙ factor ⊙ activation'(z)`.
    pub(super) fn activate_gradient(
        &mut self,
        dy: Value,
        z: Value,
        activation: Activation,
        factor: Option<Value>,
    ) -> Result<Value, GraphError> {
        let dz = self.value("activate_gradient", self.shape(z), Dtype::F32)?;
        self.push(ActivateGradient { dy, z, activation, factor, dz });
        Ok(dz)
    }
}

fn shape_of(shape: Shape, activation: Activation, factor: Option<Value>) -> ActivateShape {
    let Shape { rows, width } = shape;
    ActivateShape { rows, width, activation, factor: factor.is_some(), earlier: false }
}

impl Operator for Activate {
    fn name(&self) -> &'static str {
        "activate"
    }

    fn reads(&self) -> Vec<Value> {
        [self.z].into_iter().chain(self.factor).collect()
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.y]
    }

    fn backward(&self, to: &mut Gradients<'_>) -> Result<(), GraphError> {
        to.expect_training(self)?;
        let Some(dy) = to.of(self.y) else { return Ok(()) };
        let dz = to.graph().activate_gradient(dy, self.z, self.activation, self.factor)?;
        to.add(self.z, dz)?;
        if let Some(factor) = self.factor {
            // activation(z) ⊙ dy
            let dfactor = to.graph().activate(self.z, self.activation, Some(dy))?;
            to.add(factor, dfactor)?;
        }
        Ok(())
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let shape = shape_of(to.shape(self.z), self.activation, self.factor);
        let bindings = vec![self.z.into(), self.factor.into(), Binding::Nothing, self.y.into()];
        to.launch(activate::dispatch(&shape), bindings);
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.y], |run, [y]| {
            cpu::activated(run.f32(self.z), self.activation, self.factor.map(|factor| run.f32(factor)), y);
        });
    }
}

impl Operator for ActivateGradient {
    fn name(&self) -> &'static str {
        "activate_gradient"
    }

    fn reads(&self) -> Vec<Value> {
        [self.dy, self.z].into_iter().chain(self.factor).collect()
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.dz]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let shape = shape_of(to.shape(self.z), self.activation, self.factor);
        let bindings =
            vec![self.dy.into(), self.z.into(), self.factor.into(), Binding::Nothing, self.dz.into()];
        to.launch(activate::gradient_dispatch(&shape), bindings);
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.dz], |run, [dz]| {
            let factor = self.factor.map(|factor| run.f32(factor));
            cpu::activate_gradient(run.f32(self.dy), run.f32(self.z), self.activation, factor, dz);
        });
    }
}
