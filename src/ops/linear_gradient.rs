//! Gradients of a linear layer `y = scale·x·Wᵀ + b`: `dx = scale·dy·W`, `dW = scale·dyᵀ·x`, `db = Σ_rows dy`.

use super::layers::Linear;
use crate::cpu;
use crate::graph::{Binding, CpuRun, Gradients, Graph, GraphError, Lowering, Matrix, Operator, Value};
use crate::kernels::linear_gradient::{self, Earlier, LinearGradientShape};
use crate::kernels::shares::Shares;
use crate::kernels::{Dispatch, column_sums, stride, sum_shares, unit_gradient};
use crate::shape::{Dtype, Shape};

/// `dW += scale·dyᵀ·x`, then `dx = earlier + scale·dy·W`
#[derive(Debug)]
struct LinearGradients {
    dy: Value,
    x: Value,
    weight: Matrix,
    scale: f32,
    /// If the weights are trained.
    dweight: Option<Value>,
    earlier: Option<Value>,
    dx: Value,
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
    if let Some(sums) = bias.and_then(|bias| to.weight(bias.index)) {
        to.graph().add_column_sums(dy, sums);
    }
    let (dweight, earlier) = (to.weight(weight.index), to.of(x));
    let g = to.graph();
    let dx = g.value("linear_gradients", g.shape(x), Dtype::F32)?;
    g.push(LinearGradients { dy, x, weight, scale, dweight, earlier, dx });
    to.set(x, dx);
    Ok(())
}

impl Graph {
    /// Adds `dW += scale·dyᵀ·x`, and returns `dx = scale·dy·W`: a layer's gradients alone, for known answers.
    pub(crate) fn linear_gradients(
        &mut self,
        [dy, x]: [Value; 2],
        Linear { weight, scale, .. }: Linear,
        dweight: Value,
    ) -> Result<Value, GraphError> {
        let dx = self.value("linear_gradients", self.shape(x), Dtype::F32)?;
        self.push(LinearGradients { dy, x, weight, scale, dweight: Some(dweight), earlier: None, dx });
        Ok(dx)
    }

    /// Adds `sums += Σ_rows x`.
    pub(super) fn add_column_sums(&mut self, x: Value, sums: Value) {
        self.push(ColumnSums { x, sums });
    }
}

/// The launches of a layer's gradients, from one `dy`.
pub(super) struct LinearGradientLaunches {
    shape: LinearGradientShape,
    weight: Matrix,
    dy: Value,
    /// The largest numbers of `dy`, if the gradients run on matrix units.
    largest: Option<Value>,
}

impl LinearGradientLaunches {
    /// Begins with the first `rows` rows of `dy`: on a device with matrix units, their largest numbers.
    pub(super) fn new(to: &mut Lowering<'_>, rows: usize, layer: (Matrix, f32), dy: Value) -> Self {
        let (weight, scale) = layer;
        let shape = LinearGradientShape { rows, inputs: weight.inputs, outputs: weight.outputs, scale };
        let mut launches = Self { shape, weight, dy, largest: None };
        let kernels = [&unit_gradient::LARGEST, &unit_gradient::INPUT, &unit_gradient::WEIGHT];
        if to.has_units_for(&kernels) && launches.pay_on_units(to) {
            let largest = to.scratch(Shape::new(1, unit_gradient::SHARES), Dtype::F32);
            let elements = rows * stride(weight.outputs);
            to.launch(unit_gradient::largest_dispatch(elements), vec![dy.into(), largest.into()]);
            launches.largest = Some(largest);
        }
        launches
    }

    /// Whether a gradient is faster on matrix units.
    fn pay_on_units(&self, to: &Lowering<'_>) -> bool {
        let (shape, all) = (&self.shape, 0..self.shape.outputs);
        let of_weight =
            linear_gradient::weight_dispatch(shape, all.clone(), shape.weight_shares(&all, to.class()));
        let of_input = to.parts(self.weight).map(|(part, _)| {
            let shares = shape.input_shares(&part, to.class());
            linear_gradient::input_dispatch(shape, part, Earlier::Nothing, shares)
        });
        of_input.chain([of_weight]).any(|gradient| unit_gradient::dispatch(&gradient).is_some())
    }

    /// Adds a launch on lanes or on matrix units.
    fn launch(&self, to: &mut Lowering<'_>, gradient: Dispatch, mut bindings: Vec<Binding>) {
        let on_units = self.largest.zip(unit_gradient::dispatch(&gradient));
        let Some((largest, on_units)) = on_units else { return to.launch(gradient, bindings) };
        bindings.push(largest.into());
        to.launch(on_units, bindings);
    }

    /// Adds the launches of `dx = earlier + scale·dy·W`, one for each part of the weights, or two if workgroups share out the outputs.
    pub(super) fn input(&self, to: &mut Lowering<'_>, earlier: Option<Value>, dx: Value) {
        let Self { shape, weight, dy, .. } = self;
        for (outputs, part) in to.parts(*weight) {
            let addend = match (outputs.start, earlier) {
                (0, None) => Earlier::Nothing,
                (0, Some(_)) => Earlier::Buffer,
                _ => Earlier::Output,
            };
            let shares = shape.input_shares(&outputs, to.class());
            if shares.count == 1 {
                let dispatch = linear_gradient::input_dispatch(shape, outputs, addend, shares);
                self.launch(to, dispatch, vec![(*dy).into(), part, earlier.into(), dx.into()]);
                continue;
            }
            let sums = to.scratch(Shape::new(shares.count * shape.rows, shape.inputs), Dtype::F32);
            let dispatch = linear_gradient::input_dispatch(shape, outputs, Earlier::Nothing, shares);
            self.launch(to, dispatch, vec![(*dy).into(), part, Binding::Nothing, sums.into()]);
            let dispatch = sum_shares::dispatch(shape.input_elements(), shares.count, addend);
            to.launch(dispatch, vec![sums.into(), earlier.into(), dx.into()]);
        }
    }

    /// Adds the launches of `dW += scale·dyᵀ·x`: one, or two if workgroups share out the rows.
    pub(super) fn weight(&self, to: &mut Lowering<'_>, x: Value, dweight: Value) {
        let Self { shape, dy, .. } = self;
        let all = 0..shape.outputs;
        let shares = shape.weight_shares(&all, to.class());
        let elements = shape.weight_elements(&all);
        let dispatch = linear_gradient::weight_dispatch(shape, all, shares);
        launch_shares(to, shares, elements, dweight, |to, sums| {
            self.launch(to, dispatch.clone(), vec![(*dy).into(), x.into(), sums.into()]);
        });
    }
}

/// Adds the launches of `sums += Σ_rows x`, of the first `rows` rows: one, or two if workgroups share out the rows.
pub(super) fn add_column_sums(to: &mut Lowering<'_>, rows: usize, x: Value, sums: Value) {
    let width = to.shape(x).width;
    let shares = column_sums::row_shares(rows, width, to.class());
    launch_shares(to, shares, width, sums, |to, sums| {
        to.launch(column_sums::dispatch(rows, width, shares), vec![x.into(), sums.into()]);
    });
}

/// Adds a launch that adds to `sums`, of `width` elements; or one that finds the sum of each share, and one that adds them.
pub(super) fn launch_shares(
    to: &mut Lowering<'_>,
    shares: Shares,
    width: usize,
    sums: Value,
    launch: impl Fn(&mut Lowering<'_>, Value),
) {
    if shares.count == 1 {
        return launch(to, sums);
    }
    let of_shares = to.scratch(Shape::new(shares.count, width), Dtype::F32);
    launch(to, of_shares);
    let dispatch = sum_shares::dispatch(stride(width), shares.count, Earlier::Output);
    to.launch(dispatch, vec![of_shares.into(), Binding::Nothing, sums.into()]);
}

impl Operator for LinearGradients {
    fn name(&self) -> &'static str {
        "linear_gradients"
    }

    fn reads(&self) -> Vec<Value> {
        [self.dy, self.x].into_iter().chain(self.earlier).chain(self.dweight).collect()
    }

    fn writes(&self) -> Vec<Value> {
        [self.dx].into_iter().chain(self.dweight).collect()
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let rows = to.shape(self.dy).rows;
        let launches = LinearGradientLaunches::new(to, rows, (self.weight, self.scale), self.dy);
        if let Some(dweight) = self.dweight {
            launches.weight(to, self.x, dweight);
        }
        launches.input(to, self.earlier, self.dx);
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        let how = (self.scale, run.products());
        let Matrix { outputs, inputs, .. } = self.weight;
        if let Some(dweight) = self.dweight {
            run.write([dweight], |run, [dweight]| {
                let dweight = &mut dweight[..outputs * inputs];
                cpu::linear_weight_gradient(run.f32(self.dy), (run.f32(self.x), inputs), how, dweight);
            });
        }
        run.write([self.dx], |run, [dx]| {
            let weight = (run.f32_matrix(self.weight), inputs);
            let earlier = self.earlier.map(|earlier| run.f32(earlier));
            cpu::linear_input_gradient(run.f32(self.dy), weight, how, earlier, dx);
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
        add_column_sums(to, to.shape(self.x).rows, self.x, self.sums);
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.sums], |run, [sums]| cpu::column_sums(run.f32(self.x), sums));
    }
}
