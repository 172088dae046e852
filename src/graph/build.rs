//! Building a graph: nodes are appended in the order in which they will run, with known shapes; an input that does not fit
//! is an error here, not on the device.

use std::sync::Arc;

use super::GraphError;
use super::operator::{Node, Operator};
use super::values::{Columns, Home, State, Value, ValueInfo};
use crate::shape::{Dtype, Shape};

/// A computation: nodes over values, in run order.
#[derive(Clone, Debug)]
pub struct Graph {
    pub(super) label: String,
    pub(super) values: Vec<ValueInfo>,
    pub(super) nodes: Vec<Node>,
    place: Arc<str>,
}

/// Elements that one value may have: beyond it, indices would not fit the device's 32 bits.
const MAX_ELEMENTS: usize = 1 << 31;

impl Graph {
    /// An empty graph. The label stands on the device's buffers and passes.
    pub fn new(label: impl Into<String>) -> Self {
        Self { label: label.into(), values: Vec::new(), nodes: Vec::new(), place: Arc::default() }
    }

    /// Says which place in the model the next nodes belong to, e.g. `decoder.2.cross`.
    pub fn enter(&mut self, place: impl Into<Arc<str>>) {
        self.place = place.into();
    }

    /// The shape of a value.
    pub fn shape(&self, value: Value) -> Shape {
        self.values[value.0].shape
    }

    /// A state as a value of this graph.
    pub fn state(&mut self, state: State) -> Value {
        let known = self.values.iter().position(|value| value.home == Home::State(state));
        Value(known.unwrap_or_else(|| {
            self.values.push(ValueInfo { shape: state.shape, dtype: state.dtype, home: Home::State(state) });
            self.values.len() - 1
        }))
    }

    /// Has a value computed straight into a state, where it outlives the run.
    ///
    /// # Errors
    /// [`GraphError::Shape`] when the state has another shape.
    pub fn keep(&mut self, value: Value, state: State) -> Result<(), GraphError> {
        self.expect("keep", "value", value, state.shape, state.dtype)?;
        self.values[value.0].home = Home::State(state);
        Ok(())
    }

    /// A value that operator `op` is going to make.
    ///
    /// # Errors
    /// [`GraphError::TooLarge`]
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
    ///
    /// # Errors
    /// [`GraphError::Shape`]
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

    /// Checks that an input has so many rows, and `width` columns from the first of these on.
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

    /// Checks that two shapes agree.
    pub(crate) fn agree(
        &self,
        op: &'static str,
        input: &'static str,
        got: Shape,
        want: Shape,
    ) -> Result<(), GraphError> {
        if got == want { Ok(()) } else { Err(self.mismatch(op, input, got, want.to_string())) }
    }

    /// The error for an input of another shape.
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
