//! Copies of rows between states.

use super::values::State;

/// Rows to copy from one state to another.
#[derive(Clone, Copy, Debug)]
pub struct RowCopy {
    /// Source state.
    pub from: State,
    /// First row in the source.
    pub first: usize,
    /// Destination state, of the same width.
    pub to: State,
    /// First row in the destination.
    pub at: usize,
    /// Number of rows.
    pub rows: usize,
}
