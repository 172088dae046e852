//! What is known of the taps of a graph: those that are wanted, those that it has, and how each is read.

use super::values::{Columns, State};
use super::weights::Vector;

/// How a tensor is read from the value under a tap. `length`: rows of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TapView {
    /// Rows as they are: `[batch, length, width]`.
    Rows,
    /// Columns of heads side by side, `heads` of `width` each: `[batch, heads, length, width]`.
    Heads {
        /// Number of heads.
        heads: usize,
        /// Columns of a head.
        width: usize,
    },
    /// Rows of heads below one another: `[batch, heads, queries, keys]`.
    Maps {
        /// Number of heads.
        heads: usize,
    },
    /// The mean of each row: `[batch, length]`.
    Mean,
    /// The variance of each row, divided by its width: `[batch, length]`.
    Variance,
    /// The mean of each row's squares: `[batch, length]`.
    MeanSquare,
    /// The logarithm of the softmax of each row: `[batch, length, width]`.
    LogSoftmax,
}

impl TapView {
    /// The tensor's shape in words; `width`: columns of the value.
    pub(super) fn axes(self, width: usize) -> String {
        match self {
            Self::Rows | Self::LogSoftmax => format!("[batch, length, {width}]"),
            Self::Heads { heads, width } => format!("[batch, {heads}, length, {width}]"),
            Self::Maps { heads } => format!("[batch, {heads}, queries, keys]"),
            Self::Mean | Self::Variance | Self::MeanSquare => "[batch, length]".to_owned(),
        }
    }
}

/// The source of a tap.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tapped {
    /// A state with the value: the columns from `first` on, seen through a view.
    State {
        /// The state.
        state: State,
        /// First column.
        first: usize,
        /// How it is read.
        view: TapView,
    },
    /// A vector of the model, `[length]`.
    Weight(Vector),
}

/// A tap after its graph was built.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeptTap {
    /// Name, `decoder.3.cross.scores` for example.
    pub name: String,
    /// Shape in words, `[batch, 8, queries, keys]` for example.
    pub axes: String,
    /// The source.
    pub source: Tapped,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Noted {
    Value(Columns, TapView),
    Weight(Vector),
}

/// The wanted taps of a graph, and those that it has.
#[derive(Clone, Debug, Default)]
pub(super) struct TapList {
    /// Wanted names; `*` stands for any characters.
    pub patterns: Vec<String>,
    /// All names of the graph so far.
    pub offered: Vec<String>,
    pub noted: Vec<(String, Noted)>,
}

/// Names that match no tap of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownTap {
    /// The first such name or pattern.
    pub name: String,
    /// All names of the graph.
    pub offered: Vec<String>,
}

/// Whether a name matches a pattern in which `*` stands for any characters.
pub(crate) fn matches(pattern: &str, name: &str) -> bool {
    let mut parts = pattern.split('*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else { return false };
    let Some(last) = parts.next_back() else { return rest.is_empty() };
    for part in parts {
        match rest.find(part) {
            Some(at) => rest = &rest[at + part.len()..],
            None => return false,
        }
    }
    rest.ends_with(last)
}
