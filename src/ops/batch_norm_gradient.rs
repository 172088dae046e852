//! Gradients of batch normalization with the statistics of a batch.

use super::layers::Normalization;
use crate::cpu::{self, BATCH_NORM_MOMENTUM, BatchNormGradient};
use crate::graph::{CpuRun, Gradients, GraphError, Lowering, Operator, Value, Vector};
use crate::kernels::batch_norm::{self, BatchNormShape};
use crate::shape::{Dtype, Shape};

/// The statistics of a batch, a value, and the sentences that its rows belong to.
#[derive(Clone, Copy, Debug)]
pub(super) struct BatchStatistics {
    pub statistics: Value,
    pub ranges: Value,
}

/// The gradients of x and γ, over means that both kernels of x share.
#[derive(Debug)]
struct InputGradient {
    x: Value,
    norm: Normalization,
    of: BatchStatistics,
    dy: Value,
    means: Value,
    dgamma: Value,
    dx: Value,
}

pub(super) fn shape_of(Shape { rows, width }: Shape, norm: Normalization) -> BatchNormShape {
    BatchNormShape { rows, width, epsilon: norm.epsilon, momentum: BATCH_NORM_MOMENTUM }
}

/// Adds the gradients of the norm of x.
pub(super) fn batch_norm_gradients(
    to: &mut Gradients<'_>,
    x: Value,
    (norm, beta): (Normalization, Vector),
    of: BatchStatistics,
    dy: Value,
) -> Result<(), GraphError> {
    let op = "batch_norm_gradient";
    let g = to.graph();
    let shape = g.shape(x);
    let means = g.value(op, Shape::new(1, 2 * shape.width), Dtype::F32)?;
    let dgamma = g.value(op, Shape::new(1, shape.width), Dtype::F32)?;
    let dx = g.value(op, shape, Dtype::F32)?;
    g.push(InputGradient { x, norm, of, dy, means, dgamma, dx });
    for (weight, gradient) in [(norm.gamma, dgamma), (beta, dy)] {
        if let Some(sums) = to.weight(weight.index) {
            to.graph().add_column_sums(gradient, sums);
        }
    }
    to.add(x, dx)
}

impl Operator for InputGradient {
    fn name(&self) -> &'static str {
        "batch_norm_gradient"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.x, self.of.ranges, self.of.statistics, self.dy]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.means, self.dgamma, self.dx]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let shape = shape_of(to.shape(self.x), self.norm);
        let BatchStatistics { statistics, ranges } = self.of;
        let read = [self.x.into(), ranges.into(), statistics.into()];
        let sums = [self.dy.into(), self.means.into(), self.dgamma.into()];
        to.launch(batch_norm::sums_dispatch(&shape), read.into_iter().chain(sums).collect());
        let rest = [self.norm.gamma.into(), self.dy.into(), self.means.into(), self.dx.into()];
        to.launch(batch_norm::gradient_dispatch(&shape), read.into_iter().chain(rest).collect());
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.means, self.dgamma, self.dx], |run, [means, dgamma, dx]| {
            let norm = BatchNormGradient {
                x: run.f32(self.x),
                ranges: run.u32(self.of.ranges),
                statistics: run.f32(self.of.statistics),
                gamma: run.vector(self.norm.gamma),
                epsilon: self.norm.epsilon,
                dy: run.f32(self.dy),
            };
            cpu::batch_norm_sums(norm, means, dgamma);
            cpu::batch_norm_gradient(norm, means, dx);
        });
    }
}
