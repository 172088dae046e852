//! Graphs, and what a node is: an operator, which may add the nodes of its gradient to the graph. Nodes are appended in
//! run order; inputs whose shapes do not fit are reported.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use super::cpu_run::CpuRun;
use super::error::GraphError;
use super::lower::Lowering;
use super::tap_list::TapList;
use super::training::{TRAINING, TrainingGraph};
use super::values::{Columns, Home, State, Value, ValueInfo};
use crate::shape::{Dtype, Shape};

/// A computation: nodes over values, in run order.
#[derive(Clone, Debug)]
pub struct Graph {
    pub(super) label: String,
    pub(super) values: Vec<ValueInfo>,
    pub(super) nodes: Vec<Node>,
    pub(super) place: Arc<str>,
    pub(super) training: Option<Box<TrainingGraph>>,
    pub(super) taps: Option<Box<TapList>>,
}

/// Maximum elements of one value: more would not fit the device's 32-bit indices.
const MAX_ELEMENTS: usize = 1 << 31;

impl Graph {
    /// Creates an empty graph. The device's buffers and passes carry the label.
    pub fn new(label: impl Into<String>) -> Self {
        Self {
            label: label.into(),
            values: Vec::new(),
            nodes: Vec::new(),
            place: Arc::default(),
            training: None,
            taps: None,
        }
    }

    /// Sets the place in the model of the next nodes, e.g. `decoder.2.cross`.
    pub fn enter(&mut self, place: impl Into<Arc<str>>) {
        self.place = place.into();
    }

    /// The shape of a value.
    pub fn shape(&self, value: Value) -> Shape {
        self.values[value.0].shape
    }

    /// Adds a state as a value.
    pub fn state(&mut self, state: State) -> Value {
        let known = self.values.iter().position(|value| value.home == Home::State(state));
        Value(known.unwrap_or_else(|| {
            self.values.push(ValueInfo { shape: state.shape, dtype: state.dtype, home: Home::State(state) });
            self.values.len() - 1
        }))
    }

    /// Makes `value` live in `state`, where it outlives the run.
    /// Returns [`GraphError::Shape`] if the shapes differ.
    pub fn keep(&mut self, value: Value, state: State) -> Result<(), GraphError> {
        self.expect("keep", "value", value, state.shape, state.dtype)?;
        self.values[value.0].home = Home::State(state);
        Ok(())
    }

    /// Adds an output value of operator `op`.
    pub fn value(&mut self, op: &'static str, shape: Shape, dtype: Dtype) -> Result<Value, GraphError> {
        let Shape { rows, width } = shape;
        if shape.elements() >= MAX_ELEMENTS {
            return Err(GraphError::TooLarge { op, place: self.place.to_string(), rows, width });
        }
        self.values.push(ValueInfo { shape, dtype, home: Home::Planned });
        Ok(Value(self.values.len() - 1))
    }

    /// Appends an operator.
    pub fn push(&mut self, op: impl Operator + 'static) {
        self.nodes.push(Node { place: self.place.clone(), op: Arc::new(op) });
    }

    /// Checks the shape and the type of an input of operator `op`.
    pub fn expect(
        &self,
        op: &'static str,
        input: &'static str,
        value: Value,
        want: Shape,
        dtype: Dtype,
    ) -> Result<(), GraphError> {
        let info = self.values[value.0];
        if info.shape == want && info.dtype == dtype {
            return Ok(());
        }
        let got = format!("{:?} {}", info.dtype, info.shape);
        let want = format!("{dtype:?} {want}");
        Err(GraphError::Shape { op, place: self.place.to_string(), input, got, want })
    }

    /// Checks that an input has `rows` rows, and `width` columns from its first one on.
    pub(crate) fn expect_columns(
        &self,
        op: &'static str,
        input: &'static str,
        columns: Columns,
        rows: usize,
        width: usize,
    ) -> Result<(), GraphError> {
        let got = self.shape(columns.value);
        if got.rows == rows && columns.first + width <= got.width {
            return Ok(());
        }
        let want = format!("{rows} rows with columns {}..{}", columns.first, columns.first + width);
        Err(self.mismatch(op, input, got, want))
    }

    pub(crate) fn agree(
        &self,
        op: &'static str,
        input: &'static str,
        got: Shape,
        want: Shape,
    ) -> Result<(), GraphError> {
        if got == want { Ok(()) } else { Err(self.mismatch(op, input, got, want.to_string())) }
    }

    /// The error of an operator that a graph for training cannot have.
    pub(crate) fn no_gradient(&self, op: &'static str) -> GraphError {
        GraphError::NoGradient { op, place: self.place.to_string() }
    }

    pub(crate) fn mismatch(
        &self,
        op: &'static str,
        input: &'static str,
        got: Shape,
        want: String,
    ) -> GraphError {
        GraphError::Shape { op, place: self.place.to_string(), input, got: got.to_string(), want }
    }
}

/// One operator of a graph, with its values. [`Graph::push`](super::Graph::push) adds it. [`ops`](crate::ops) has the
/// operators of the Transformer; other programs may add their own.
pub trait Operator: fmt::Debug + Send + Sync {
    /// Name in messages.
    fn name(&self) -> &'static str;

    /// Values that the operator reads.
    fn reads(&self) -> Vec<Value>;

    /// Values that it makes or changes in place, states included.
    fn writes(&self) -> Vec<Value>;

    /// Whether it changes weights: such a node always runs.
    fn changes_weights(&self) -> bool {
        false
    }

    /// Whether its kernels must be of one class with those of the graph's other operators that say so: they share scratch
    /// memory, whose layout depends on the class.
    fn shares_class(&self) -> bool {
        false
    }

    /// Adds the launches of the operator on a GPU.
    fn lower(&self, to: &mut Lowering<'_>);

    /// Adds the nodes that carry the gradients of its outputs to its inputs and weights.
    ///
    /// # Errors
    /// [`GraphError::NoGradient`] if the operator has no gradient: the default.
    fn backward(&self, gradients: &mut Gradients<'_>) -> Result<(), GraphError> {
        Err(gradients.unsupported(self))
    }

    /// Runs the operator on the CPU. It must not allocate, because it runs for every token.
    fn run(&self, run: &mut CpuRun<'_>);
}

/// A step of a graph.
#[derive(Clone, Debug)]
pub struct Node {
    /// Place in the model, e.g. `encoder.0.feed_forward`.
    pub place: Arc<str>,
    /// Operator of the node.
    pub op: Arc<dyn Operator>,
}

impl Node {
    /// Values that the node reads or writes; some of them twice.
    pub(super) fn touches(&self) -> impl Iterator<Item = Value> + use<> {
        self.op.reads().into_iter().chain(self.op.writes())
    }
}

/// The gradients of a graph's values so far. Each is a value, too: it is never changed once it is made.
pub struct Gradients<'a> {
    pub(super) graph: &'a mut Graph,
    pub(super) of_value: BTreeMap<Value, Value>,
}

impl Gradients<'_> {
    /// The graph, for nodes and values.
    pub fn graph(&mut self) -> &mut Graph {
        self.graph
    }

    /// The gradient of a value so far; `None` if the loss does not depend on it.
    pub fn of(&self, value: Value) -> Option<Value> {
        self.of_value.get(&value).copied()
    }

    /// Sets the gradient of a value, with [what was there](Self::of) included.
    pub fn set(&mut self, value: Value, gradient: Value) {
        self.of_value.insert(value, gradient);
    }

    /// Adds to the gradient of a value.
    pub fn add(&mut self, value: Value, gradient: Value) -> Result<(), GraphError> {
        let sum = match self.of(value) {
            Some(earlier) => self.graph.sum(earlier, gradient)?,
            None => gradient,
        };
        self.set(value, sum);
        Ok(())
    }

    /// The state that gathers the gradient of a weight; `None` if the weight is not trained.
    pub fn weight(&mut self, index: usize) -> Option<Value> {
        let state = self.graph.training()?.weight_gradients.get(index).copied().flatten()?;
        Some(self.graph.state(state))
    }

    /// Refuses without the feature `training`. Each `backward` begins with it: the compiler then leaves out the rest, with the
    /// operators and kernels that only gradients use.
    #[inline(always)]
    pub fn expect_training(&self, op: &impl Operator) -> Result<(), GraphError> {
        match TRAINING {
            true => Ok(()),
            false => Err(self.unsupported(op)),
        }
    }

    /// The error of an operator that cannot be trained.
    pub fn unsupported(&self, op: &(impl Operator + ?Sized)) -> GraphError {
        GraphError::NoGradient { op: op.name(), place: self.graph.place.to_string() }
    }
}
