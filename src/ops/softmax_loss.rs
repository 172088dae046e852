//! The loss of a training pass: output layer, softmax, cross-entropy with label smoothing, and their gradients, in one
//! operator. It works on panels of rows, so that no value has the size of batch × length × vocabulary. Vaswani et al.
//! 2017, section 5.4.

use super::layers::Linear;
use super::linear_gradient::{LinearGradientLaunches, add_column_sums};
use crate::activation::Activation;
use crate::cpu::{self, LOSS_COLUMNS};
use crate::graph::{
    Binding, CpuRun, Gradients, Graph, GraphError, Lowering, Matrix, Operator, Value, step_word,
};
use crate::kernels::copy_rows;
use crate::kernels::linear::{self, LinearShape};
use crate::kernels::softmax_loss::{self, SoftmaxLossShape};
use crate::shape::{Dtype, Shape};

#[derive(Debug)]
struct SoftmaxLoss {
    x: Value,
    layer: Linear,
    labels: Value,
    step: Value,
    smoothing: f32,
    /// Logits of one panel of rows.
    panel: Value,
    losses: Value,
    gradients: Option<LossGradients>,
}

#[derive(Clone, Copy, Debug)]
struct LossGradients {
    dx: Value,
    dweight: Option<Value>,
    dbias: Option<Value>,
}

impl Graph {
    /// Adds the losses of an output layer's logits: for each row minus the log-probability of its label, the smoothed
    /// loss, 1 if the label has the best logit, and 1; zeros for rows with [`NO_LABEL`](cpu::NO_LABEL). `[rows, 4]`.
    ///
    /// * `labels`: u32 `[rows, 1]`
    /// * `with_gradients`: whether the gradients of the smoothed losses are computed, too
    ///
    /// Panics in a graph that is not for training.
    pub fn softmax_loss(
        &mut self,
        x: Value,
        layer: Linear,
        labels: Value,
        smoothing: f32,
        with_gradients: bool,
    ) -> Result<Value, GraphError> {
        let op = "softmax_loss";
        let Some(training) = self.training() else { unreachable!("{op} is for training") };
        let (step, states) = (training.step, training.weight_gradients.clone());
        let logits_at_once = training.logits_at_once;
        let Matrix { outputs, inputs, index } = layer.weight;
        let rows = self.shape(x).rows;
        self.expect(op, "x", x, Shape::new(rows, inputs), Dtype::F32)?;
        self.expect(op, "labels", labels, Shape::new(rows, 1), Dtype::U32)?;
        let panel_rows = (logits_at_once / outputs).clamp(1, rows);
        let panel = self.value(op, Shape::new(panel_rows, outputs), Dtype::F32)?;
        let losses = self.value(op, Shape::new(rows, LOSS_COLUMNS), Dtype::F32)?;
        let gradients = match with_gradients {
            true => {
                let state = |index: usize| states.get(index).copied().flatten();
                let dweight = state(index).map(|state| self.state(state));
                let dbias = layer.bias.and_then(|bias| state(bias.index)).map(|state| self.state(state));
                let dx = self.value(op, Shape::new(rows, inputs), Dtype::F32)?;
                Some(LossGradients { dx, dweight, dbias })
            }
            false => None,
        };
        let step = self.state(step);
        self.push(SoftmaxLoss { x, layer, labels, step, smoothing, panel, losses, gradients });
        Ok(losses)
    }
}

impl Operator for SoftmaxLoss {
    fn name(&self) -> &'static str {
        "softmax_loss"
    }

    fn reads(&self) -> Vec<Value> {
        let sums =
            self.gradients.into_iter().flat_map(|gradients| [gradients.dweight, gradients.dbias]).flatten();
        [self.x, self.labels, self.step].into_iter().chain(sums).collect()
    }

    fn writes(&self) -> Vec<Value> {
        let gradients = self.gradients.into_iter();
        let made =
            gradients.flat_map(|LossGradients { dx, dweight, dbias }| [Some(dx), dweight, dbias]).flatten();
        [self.panel, self.losses].into_iter().chain(made).collect()
    }

    fn backward(&self, to: &mut Gradients<'_>) -> Result<(), GraphError> {
        to.expect_training(self)?;
        match self.gradients {
            Some(LossGradients { dx, .. }) => to.add(self.x, dx),
            None => Err(to.unsupported(self)),
        }
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let rows = to.shape(self.x).rows;
        let step = to.shape(self.panel).rows;
        let inputs = self.layer.weight.inputs;
        let x_panel = to.scratch(Shape::new(step, inputs), Dtype::F32);
        let dx_panel = to.scratch(Shape::new(step, inputs), Dtype::F32);
        for first in (0..rows).step_by(step) {
            let count = step.min(rows - first);
            to.launch(copy_rows::dispatch(count, inputs, first, 0), vec![self.x.into(), x_panel.into()]);
            self.lower_panel(to, first..first + count, x_panel);
            let Some(LossGradients { dx, dweight, dbias }) = self.gradients else { continue };
            let Linear { weight, scale, .. } = self.layer;
            let launches = LinearGradientLaunches::new(to, count, (weight, scale), self.panel);
            launches.input(to, None, dx_panel);
            to.launch(copy_rows::dispatch(count, inputs, 0, first), vec![dx_panel.into(), dx.into()]);
            if let Some(dweight) = dweight {
                launches.weight(to, x_panel, dweight);
            }
            if let Some(dbias) = dbias {
                add_column_sums(to, count, self.panel, dbias);
            }
        }
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        let rows = run.shape(self.x).rows;
        let step = run.shape(self.panel).rows;
        for first in (0..rows).step_by(step) {
            self.run_panel(run, first..rows.min(first + step));
        }
    }
}

impl SoftmaxLoss {
    /// Adds the launches from a panel of x to its losses, and to the gradient of its logits.
    fn lower_panel(&self, to: &mut Lowering<'_>, rows: std::ops::Range<usize>, x: Value) {
        let Linear { weight, bias, scale } = self.layer;
        let shape = LinearShape {
            rows: rows.len(),
            inputs: weight.inputs,
            outputs: weight.outputs,
            scale,
            bias: bias.is_some(),
            activation: Activation::Identity,
            join: None,
            precision: to.precision(),
        };
        for (outputs, part) in to.parts(weight) {
            let dispatch = linear::dispatch(&shape, outputs, to.class());
            to.launch(dispatch, vec![x.into(), part, bias.into(), Binding::Nothing, self.panel.into()]);
        }
        let shape = SoftmaxLossShape {
            rows: rows.len(),
            vocabulary: weight.outputs,
            smoothing: self.smoothing,
            weight_word: step_word::LOSS_FACTOR,
            gradient: self.gradients.is_some(),
        };
        let bindings = vec![self.labels.into(), self.step.into(), self.panel.into(), self.losses.into()];
        to.launch(softmax_loss::dispatch(&shape, rows.start), bindings);
    }

    fn run_panel(&self, run: &mut CpuRun<'_>, rows: std::ops::Range<usize>) {
        let Linear { weight, bias, scale } = self.layer;
        let (inputs, outputs) = (weight.inputs, weight.outputs);
        run.write([self.panel, self.losses], |run, [panel, losses]| {
            let logits = &mut panel[..rows.len() * outputs];
            let x = &run.f32(self.x)[rows.start * inputs..rows.end * inputs];
            let bias = bias.map(|bias| run.vector(bias));
            let layer = cpu::Linear { weight: run.matrix(weight), inputs, bias, scale };
            cpu::training_linear(x, layer, Activation::Identity, (None, run.products()), logits);
            let labels = &run.u32(self.labels)[rows.clone()];
            let factor = f32::from_bits(run.u32(self.step)[step_word::LOSS_FACTOR]);
            let losses = &mut losses[rows.start * LOSS_COLUMNS..rows.end * LOSS_COLUMNS];
            cpu::softmax_loss(logits, labels, (self.smoothing, factor), losses);
        });
        let Some(LossGradients { dx, dweight, dbias }) = self.gradients else { return };
        run.write([dx], |run, [dx]| {
            let dlogits = &run.f32(self.panel)[..rows.len() * outputs];
            let dx = &mut dx[rows.start * inputs..rows.end * inputs];
            cpu::linear_input_gradient(
                dlogits,
                (run.f32_matrix(weight), inputs),
                (scale, run.products()),
                None,
                dx,
            );
        });
        if let Some(dweight) = dweight {
            run.write([dweight], |run, [dweight]| {
                let dlogits = &run.f32(self.panel)[..rows.len() * outputs];
                let x = &run.f32(self.x)[rows.start * inputs..rows.end * inputs];
                let how = (scale, run.products());
                cpu::linear_weight_gradient(dlogits, (x, inputs), how, &mut dweight[..outputs * inputs]);
            });
        }
        if let Some(dbias) = dbias {
            run.write([dbias], |run, [dbias]| {
                cpu::column_sums(&run.f32(self.panel)[..rows.len() * outputs], dbias);
            });
        }
    }
}
