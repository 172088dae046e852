//! Batch normalization: of each column over the rows of a batch. Ioffe & Szegedy 2015. A training computes the statistics of
//! its batch, over the tokens of all sentences, and keeps running ones; everything else reads the running ones.

use super::batch_norm_gradient::{BatchStatistics, batch_norm_gradients, shape_of};
use super::layers::Normalization;
use crate::cpu::{self, BATCH_NORM_MOMENTUM};
use crate::graph::{Binding, CpuRun, Gradients, Graph, GraphError, Lowering, Operator, Value, Vector};
use crate::kernels::batch_norm::{self, BatchNormShape};
use crate::shape::{Dtype, Shape};

/// Where mean and variance come from.
#[derive(Clone, Copy, Debug)]
enum Statistics {
    /// The weights that a training left.
    Running(Vector),
    /// A batch of training.
    Batch(BatchStatistics),
}

/// Mean and variance of each column; changes the running ones.
#[derive(Debug)]
struct ComputeStatistics {
    x: Value,
    of: BatchStatistics,
    running: Vector,
}

#[derive(Debug)]
struct BatchNorm {
    x: Value,
    norm: Normalization,
    /// The norm's shift.
    beta: Vector,
    statistics: Statistics,
    y: Value,
}

impl Graph {
    /// Adds the batch norm of `x`; returns `[rows, d_model]`. `running`: running means and variances, `[2 * d_model]`.
    pub(super) fn batch_norm(
        &mut self,
        x: Value,
        norm: Normalization,
        (beta, running): (Vector, Vector),
    ) -> Result<Value, GraphError> {
        let op = "batch_norm";
        let shape = self.shape(x);
        self.agree(op, "statistics", Shape::new(1, running.length), Shape::new(1, 2 * shape.width))?;
        let statistics = match self.packed_rows() {
            None => Statistics::Running(running),
            Some(ranges) => {
                self.expect(op, "ranges", ranges, Shape::new(shape.rows, 2), Dtype::U32)?;
                let statistics = self.value(op, Shape::new(1, 2 * shape.width), Dtype::F32)?;
                let of = BatchStatistics { statistics, ranges };
                self.push(ComputeStatistics { x, of, running });
                Statistics::Batch(of)
            }
        };
        let y = self.value(op, shape, Dtype::F32)?;
        self.push(BatchNorm { x, norm, beta, statistics, y });
        Ok(y)
    }
}

impl Operator for ComputeStatistics {
    fn name(&self) -> &'static str {
        "batch_statistics"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.x, self.of.ranges]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.of.statistics]
    }

    fn changes_weights(&self) -> bool {
        true
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let Shape { rows, width } = to.shape(self.x);
        let shape = BatchNormShape { rows, width, epsilon: 0.0, momentum: BATCH_NORM_MOMENTUM };
        let BatchStatistics { statistics, ranges } = self.of;
        let bindings = vec![self.x.into(), ranges.into(), self.running.into(), statistics.into()];
        to.launch(batch_norm::statistics_dispatch(&shape), bindings);
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        let BatchStatistics { statistics, ranges } = self.of;
        run.update_weight(self.running.index, |run, running| {
            run.write([statistics], |run, [statistics]| {
                cpu::batch_statistics(run.f32(self.x), run.u32(ranges), statistics, running);
            });
        });
    }
}

impl Operator for BatchNorm {
    fn name(&self) -> &'static str {
        "batch_norm"
    }

    fn reads(&self) -> Vec<Value> {
        let statistics = match self.statistics {
            Statistics::Running(_) => None,
            Statistics::Batch(of) => Some(of.statistics),
        };
        [self.x].into_iter().chain(statistics).collect()
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.y]
    }

    fn backward(&self, to: &mut Gradients<'_>) -> Result<(), GraphError> {
        to.expect_training(self)?;
        let Some(dy) = to.of(self.y) else { return Ok(()) };
        match self.statistics {
            Statistics::Batch(of) => batch_norm_gradients(to, self.x, (self.norm, self.beta), of, dy),
            Statistics::Running(_) => Err(to.unsupported(self)),
        }
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let shape = shape_of(to.shape(self.x), self.norm);
        let statistics: Binding = match self.statistics {
            Statistics::Running(running) => running.into(),
            Statistics::Batch(of) => of.statistics.into(),
        };
        let weights = [self.norm.gamma.into(), self.beta.into()];
        let bindings = [self.x.into(), statistics].into_iter().chain(weights).chain([self.y.into()]);
        to.launch(batch_norm::dispatch(&shape), bindings.collect());
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.y], |run, [y]| {
            let statistics = match self.statistics {
                Statistics::Running(running) => run.vector(running),
                Statistics::Batch(of) => run.f32(of.statistics),
            };
            let weights = [run.vector(self.norm.gamma), run.vector(self.beta)];
            cpu::batch_norm(run.f32(self.x), statistics, weights, self.norm.epsilon, y);
        });
    }
}
