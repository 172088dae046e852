//! Rows that move between states.

use super::values::State;

/// Some rows of a state for another.
#[derive(Clone, Copy, Debug)]
pub struct RowCopy {
    /// The state that the rows come from.
    pub from: State,
    /// The first of the rows there.
    pub first: usize,
    /// The state that they are written to, as wide.
    pub to: State,
    /// The first of the rows there.
    pub at: usize,
    /// The number of rows.
    pub rows: usize,
}
