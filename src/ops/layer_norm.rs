//! Layer normalization of `x + residual`. Ba et al. 2016; Vaswani et al. 2017, section 3.1. Without a shift: RMS
//! normalization, which does not subtract the mean. Zhang & Sennrich 2019, equation (4).

use super::layer_norm_gradient::layer_norm_gradients;
use super::layers::Normalization;
use crate::cpu;
use crate::graph::{CpuRun, Gradients, Graph, GraphError, Lowering, Operator, Value};
use crate::kernels::layer_norm::{self, LayerNormShape};
use crate::shape::{Dtype, Shape};

#[derive(Debug)]
struct LayerNorm {
    x: Value,
    residual: Option<Value>,
    norm: Normalization,
    y: Value,
}

impl Graph {
    /// Adds the norm of `x + residual`; returns `[rows, d_model]`. A norm with running statistics is a batch norm.
    pub fn layer_norm(
        &mut self,
        x: Value,
        residual: Option<Value>,
        norm: Normalization,
    ) -> Result<Value, GraphError> {
        let op = "layer_norm";
        let Normalization { gamma, beta, .. } = norm;
        let shape = self.shape(x);
        self.expect(op, "x", x, Shape::new(shape.rows, gamma.length), Dtype::F32)?;
        if let Some(beta) = beta {
            self.agree(op, "beta", Shape::new(1, beta.length), Shape::new(1, gamma.length))?;
        }
        if let Some(residual) = residual {
            self.expect(op, "residual", residual, shape, Dtype::F32)?;
        }
        let (x, residual) = match residual {
            // the sublayer's output drops values before it is added
            Some(z) if self.training().is_some_and(|training| training.dropout > 0.0) => {
                (self.drop_and_add(x, Some(z))?, None)
            }
            residual => (x, residual),
        };
        if let (Some(beta), Some(running)) = (norm.beta, norm.running) {
            let z = match residual {
                Some(residual) => self.sum(residual, x)?,
                None => x,
            };
            return self.batch_norm(z, norm, (beta, running));
        }
        let y = self.value(op, shape, Dtype::F32)?;
        self.push(LayerNorm { x, residual, norm, y });
        Ok(y)
    }
}

impl Operator for LayerNorm {
    fn name(&self) -> &'static str {
        "layer_norm"
    }

    fn reads(&self) -> Vec<Value> {
        [self.x].into_iter().chain(self.residual).collect()
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.y]
    }

    fn backward(&self, to: &mut Gradients<'_>) -> Result<(), GraphError> {
        to.expect_training(self)?;
        match to.of(self.y) {
            Some(dy) => layer_norm_gradients(to, (self.x, self.residual), self.norm, dy),
            None => Ok(()),
        }
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let Shape { rows, width } = to.shape(self.x);
        let Normalization { gamma, beta, epsilon, .. } = self.norm;
        let (residual, centered) = (self.residual.is_some(), beta.is_some());
        let shape = LayerNormShape { rows, width, epsilon, residual, centered };
        let bindings = vec![self.x.into(), self.residual.into(), gamma.into(), beta.into(), self.y.into()];
        to.launch(layer_norm::dispatch(&shape, to.class()), bindings);
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.y], |run, [y]| {
            let Normalization { gamma, beta, epsilon, .. } = self.norm;
            let residual = self.residual.map(|value| run.f32(value));
            let beta = beta.map(|beta| run.vector(beta));
            cpu::layer_norm(run.f32(self.x), residual, run.vector(gamma), beta, epsilon, y);
        });
    }
}
