//! Builds a graph: appends nodes in run order, and reports inputs whose shapes do not fit.

use std::sync::Arc;

use super::GraphError;
use super::operator::{Node, Operator};
use super::training::TrainingGraph;
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
