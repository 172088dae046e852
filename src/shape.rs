//! Shapes of a graph's values.

use std::fmt;

/// Type of a value's elements, four bytes per element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dtype {
    /// 32-bit float.
    F32,
    /// Unsigned 32-bit integer: token ids, positions, masks, indices.
    U32,
}

/// The shape `[rows, width]`, row-major. Batch, heads and lengths are folded into the rows; operators that need them have
/// them as fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Number of rows.
    pub rows: usize,
    /// Elements in a row.
    pub width: usize,
}

impl Shape {
    /// A shape.
    pub const fn new(rows: usize, width: usize) -> Self {
        Self { rows, width }
    }

    /// Number of elements; saturates, so that a check against any limit fails.
    pub const fn elements(self) -> usize {
        self.rows.saturating_mul(self.width)
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "[{}, {}]", self.rows, self.width)
    }
}
