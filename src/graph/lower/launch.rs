//! A launch of a kernel as plain data, over values instead of buffers.

use std::sync::Arc;

use crate::graph::values::Value;
use crate::graph::weights::{Rows, Vector};
use crate::kernels::{Access, Dispatch};

/// What a launch binds in place of a storage buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// A value of the graph.
    Value(Value),
    /// One buffer of a weight.
    Weight {
        /// Its entry in the table of weights.
        index: usize,
        /// Which of its buffers.
        part: usize,
    },
    /// Any buffer; it is not read.
    Nothing,
}

impl From<Value> for Binding {
    fn from(value: Value) -> Self {
        Self::Value(value)
    }
}

impl From<Vector> for Binding {
    fn from(vector: Vector) -> Self {
        Self::Weight { index: vector.index, part: 0 }
    }
}

impl From<Rows> for Binding {
    fn from(rows: Rows) -> Self {
        Self::Weight { index: rows.index, part: 0 }
    }
}

impl<T: Into<Binding>> From<Option<T>> for Binding {
    fn from(bound: Option<T>) -> Self {
        bound.map_or(Self::Nothing, Into::into)
    }
}

/// One launch of a kernel.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The place in the model, e.g. `decoder.2.cross`.
    pub place: Arc<str>,
    /// Kernel, constants, parameters and workgroups.
    pub dispatch: Dispatch,
    /// What it binds, in the order of [`Kernel::storage`](crate::kernels::Kernel::storage).
    pub bindings: Vec<Binding>,
}

impl Launch {
    /// What it binds, and how its kernel uses that.
    pub fn accesses(&self) -> impl Iterator<Item = (Binding, Access)> {
        self.bindings.iter().copied().zip(self.dispatch.kernel.storage.iter().copied())
    }

    /// Values that it reads or writes.
    pub(in crate::graph) fn touches(&self) -> impl Iterator<Item = Value> {
        self.bindings.iter().filter_map(|binding| match binding {
            Binding::Value(value) => Some(*value),
            _ => None,
        })
    }
}
