//! Kernel launches as plain data, over values instead of buffers.

use std::sync::Arc;

use crate::graph::values::Value;
use crate::graph::weights::{Rows, Vector};
use crate::kernels::{Access, Dispatch};

/// The operand of a storage binding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Binding {
    /// A value of the graph.
    Value(Value),
    /// One buffer of a weight.
    Weight {
        /// Index in the table of weights.
        index: usize,
        /// Index among the buffers of the weight.
        part: usize,
    },
    /// Any buffer; the kernel does not read it.
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
    /// Place in the model, e.g. `decoder.2.cross`.
    pub place: Arc<str>,
    /// Kernel, constants, parameters and workgroups.
    pub dispatch: Dispatch,
    /// Operands in the order of [`Kernel::storage`](crate::kernels::Kernel::storage).
    pub bindings: Vec<Binding>,
}

impl Launch {
    /// Each operand, with the kernel's access to it.
    pub fn accesses(&self) -> impl Iterator<Item = (Binding, Access)> {
        self.bindings.iter().copied().zip(self.dispatch.kernel.storage.iter().copied())
    }

    pub(in crate::graph) fn touches(&self) -> impl Iterator<Item = Value> {
        self.bindings.iter().filter_map(|binding| match binding {
            Binding::Value(value) => Some(*value),
            _ => None,
        })
    }
}
