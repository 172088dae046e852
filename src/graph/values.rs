//! Values of a graph, and the states of a session.

use crate::kernels::stride;
use crate::shape::{Dtype, Shape};

/// A value of one graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Value(pub(super) usize);

/// Columns of a value, e.g. the queries in a fused `[rows, 3 * d_model]` projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// The value.
    pub value: Value,
    /// First column.
    pub first: usize,
}

/// A tensor that outlives a run: host input, cache or result. The programs of a session share it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct State {
    pub(super) index: usize,
    /// Shape of the tensor.
    pub shape: Shape,
    /// Element type.
    pub dtype: Dtype,
}

impl State {
    /// The first elements of the state, as a state of another shape. A graph has a state in one shape only.
    ///
    /// # Panics
    /// If the state has fewer elements, or is an f32 state of another width, because a GPU pads its rows.
    pub fn part(self, rows: usize, width: usize) -> Self {
        let shape = Shape::new(rows, width);
        assert!(shape.elements() <= self.shape.elements(), "{shape} of a state of {}", self.shape);
        assert!(self.dtype == Dtype::U32 || width == self.shape.width, "{shape} of {}", self.shape);
        Self { shape, ..self }
    }
}

/// The states of a session.
#[derive(Clone, Debug, Default)]
pub struct StateTable {
    pub(super) entries: Vec<(String, State)>,
}

impl StateTable {
    /// Adds an f32 state.
    pub fn f32(&mut self, name: impl Into<String>, rows: usize, width: usize) -> State {
        self.add(name.into(), Shape::new(rows, width), Dtype::F32)
    }

    /// Adds a u32 state.
    pub fn u32(&mut self, name: impl Into<String>, rows: usize, width: usize) -> State {
        self.add(name.into(), Shape::new(rows, width), Dtype::U32)
    }

    /// Memory of the states, bytes, without a device's padding.
    pub fn bytes(&self) -> usize {
        self.entries.iter().map(|(_, state)| state.shape.elements() * 4).sum()
    }

    fn add(&mut self, name: String, shape: Shape, dtype: Dtype) -> State {
        let state = State { index: self.entries.len(), shape, dtype };
        self.entries.push((name, state));
        state
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Home {
    /// A buffer of the plan, while the value is needed.
    Planned,
    /// A state.
    State(State),
}

#[derive(Clone, Copy, Debug)]
pub(super) struct ValueInfo {
    pub shape: Shape,
    pub dtype: Dtype,
    pub home: Home,
}

impl ValueInfo {
    pub fn stored_elements(&self) -> usize {
        stored_elements(self.shape, self.dtype)
    }
}

/// Elements of a value on a GPU: f32 rows are padded to a multiple of four.
pub(super) fn stored_elements(shape: Shape, dtype: Dtype) -> usize {
    match dtype {
        Dtype::F32 => shape.rows * stride(shape.width),
        Dtype::U32 => shape.elements(),
    }
}
