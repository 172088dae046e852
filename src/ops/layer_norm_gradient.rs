//! Gradients of layer normalization. The statistics of the rows are computed again instead of being stored.

use super::layers::Normalization;
use super::linear_gradient::launch_shares;
use crate::cpu::{self, NormGradient};
use crate::graph::{CpuRun, Gradients, GraphError, Lowering, Operator, Value};
use crate::kernels::layer_norm::LayerNormShape;
use crate::kernels::{column_sums, layer_norm_gradient};
use crate::shape::{Dtype, Shape};

/// `dz`, plus `earlier`, and the statistics of the rows.
#[derive(Debug)]
struct LayerNormGradient {
    x: Value,
    residual: Option<Value>,
    norm: Normalization,
    dy: Value,
    earlier: Option<Value>,
    statistics: Value,
    dz: Value,
}

/// `dγ += Σ_rows dy ⊙ (z - mean) / σ`
#[derive(Debug)]
struct LayerNormWeightGradient {
    x: Value,
    residual: Option<Value>,
    norm: Normalization,
    dy: Value,
    statistics: Value,
    dgamma: Value,
}

/// Adds the gradients of the norm of `x + residual`.
pub(super) fn layer_norm_gradients(
    to: &mut Gradients<'_>,
    (x, residual): (Value, Option<Value>),
    norm: Normalization,
    dy: Value,
) -> Result<(), GraphError> {
    let op = "layer_norm_gradient";
    // the residual has the same gradient, which must then not include what was there
    let earlier = if residual.is_none() { to.of(x) } else { None };
    let g = to.graph();
    let shape = g.shape(x);
    let statistics = g.value(op, Shape::new(shape.rows, 2), Dtype::F32)?;
    let dz = g.value(op, shape, Dtype::F32)?;
    g.push(LayerNormGradient { x, residual, norm, dy, earlier, statistics, dz });
    if let Some(dgamma) = to.weight(norm.gamma.index) {
        to.graph().push(LayerNormWeightGradient { x, residual, norm, dy, statistics, dgamma });
    }
    if let Some(sums) = norm.beta.and_then(|beta| to.weight(beta.index)) {
        to.graph().add_column_sums(dy, sums);
    }
    match residual {
        None => to.set(x, dz),
        Some(residual) => {
            to.add(x, dz)?;
            to.add(residual, dz)?;
        }
    }
    Ok(())
}

fn shape_of(shape: Shape, residual: Option<Value>, norm: Normalization) -> LayerNormShape {
    let Shape { rows, width } = shape;
    let (residual, centered) = (residual.is_some(), norm.beta.is_some());
    LayerNormShape { rows, width, epsilon: norm.epsilon, residual, centered }
}

impl Operator for LayerNormGradient {
    fn name(&self) -> &'static str {
        "layer_norm_gradient"
    }

    fn reads(&self) -> Vec<Value> {
        [self.x, self.dy].into_iter().chain(self.residual).chain(self.earlier).collect()
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.statistics, self.dz]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let shape = shape_of(to.shape(self.x), self.residual, self.norm);
        let inputs = [self.x.into(), self.residual.into(), self.dy.into(), self.norm.gamma.into()];
        let outputs = [self.earlier.into(), self.dz.into(), self.statistics.into()];
        let dispatch = layer_norm_gradient::dispatch(&shape, self.earlier.is_some());
        to.launch(dispatch, inputs.into_iter().chain(outputs).collect());
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.statistics, self.dz], |run, [statistics, dz]| {
            let norm = on_cpu(run, self.x, self.residual, self.norm, self.dy);
            cpu::layer_norm_gradient(norm, self.earlier.map(|earlier| run.f32(earlier)), statistics, dz);
        });
    }
}

impl Operator for LayerNormWeightGradient {
    fn name(&self) -> &'static str {
        "layer_norm_weight_gradient"
    }

    fn reads(&self) -> Vec<Value> {
        [self.x, self.dy, self.statistics, self.dgamma].into_iter().chain(self.residual).collect()
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.dgamma]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let shape = shape_of(to.shape(self.x), self.residual, self.norm);
        let Self { x, residual, dy, statistics, dgamma, .. } = *self;
        let shares = column_sums::row_shares(shape.rows, shape.width, to.class());
        launch_shares(to, shares, shape.width, dgamma, |to, sums| {
            let bindings = vec![x.into(), residual.into(), dy.into(), statistics.into(), sums.into()];
            to.launch(layer_norm_gradient::weight_dispatch(&shape, shares), bindings);
        });
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.dgamma], |run, [dgamma]| {
            let norm = on_cpu(run, self.x, self.residual, self.norm, self.dy);
            cpu::layer_norm_weight_gradient(norm, run.f32(self.statistics), dgamma);
        });
    }
}

fn on_cpu<'a>(
    run: &'a CpuRun<'_>,
    x: Value,
    residual: Option<Value>,
    norm: Normalization,
    dy: Value,
) -> NormGradient<'a> {
    NormGradient {
        x: run.f32(x),
        residual: residual.map(|residual| run.f32(residual)),
        gamma: run.vector(norm.gamma),
        centered: norm.beta.is_some(),
        epsilon: norm.epsilon,
        dy: run.f32(dy),
    }
}
