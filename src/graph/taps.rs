//! Named taps: values of a graph that the caller asks for by name, `decoder.3.cross.scores` for example. A graph that is not
//! [watched](Graph::watch) has none: its nodes, launches and buffers are those of a graph without this file.

use super::build::Graph;
use super::error::GraphError;
use super::values::{Columns, Home, State, StateTable, Value};
use super::weights::Vector;
use crate::shape::Dtype;

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
    fn axes(self, width: usize) -> String {
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
enum Noted {
    Value(Columns, TapView),
    Weight(Vector),
}

/// The wanted taps of a graph, and those that it has.
#[derive(Clone, Debug, Default)]
pub(super) struct TapList {
    /// Wanted names; `*` stands for any characters.
    patterns: Vec<String>,
    /// All names of the graph so far.
    offered: Vec<String>,
    noted: Vec<(String, Noted)>,
}

/// Names that match no tap of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownTap {
    /// The first such name or pattern.
    pub name: String,
    /// All names of the graph.
    pub offered: Vec<String>,
}

impl Graph {
    /// Asks for taps of the nodes that are added from now on. In a pattern `*` stands for any characters, dots included.
    pub fn watch(&mut self, patterns: Vec<String>) {
        self.taps = Some(Box::new(TapList { patterns, ..TapList::default() }));
    }

    /// Whether any taps are asked for.
    pub fn is_watched(&self) -> bool {
        self.taps.is_some()
    }

    /// Offers a tap at the current place. Only if it is wanted, `columns` is called, which may add nodes.
    pub fn tap(
        &mut self,
        point: &str,
        view: TapView,
        columns: impl FnOnce(&mut Self) -> Result<Columns, GraphError>,
    ) -> Result<(), GraphError> {
        if self.taps.is_none() {
            return Ok(());
        }
        let name = format!("{}.{point}", self.place);
        self.tap_named(name, view, columns)
    }

    /// As [`tap`](Self::tap), with a whole name.
    pub fn tap_named(
        &mut self,
        name: impl Into<String>,
        view: TapView,
        columns: impl FnOnce(&mut Self) -> Result<Columns, GraphError>,
    ) -> Result<(), GraphError> {
        if self.taps.is_none() {
            return Ok(());
        }
        let name = name.into();
        if self.wants(&name) {
            let columns = columns(self)?;
            self.note(name, Noted::Value(columns, view));
        }
        Ok(())
    }

    /// Offers a vector of the model as a tap.
    pub fn tap_weight(&mut self, point: &str, vector: Vector) {
        if self.taps.is_none() {
            return;
        }
        let name = format!("{}.{point}", self.place);
        if self.wants(&name) {
            self.note(name, Noted::Weight(vector));
        }
    }

    /// Gives each wanted value a state, in the order of the graph. `Err` inside: a pattern that no name matches.
    pub fn keep_taps(
        &mut self,
        states: &mut StateTable,
    ) -> Result<Result<Vec<KeptTap>, UnknownTap>, GraphError> {
        let Some(list) = self.taps.take() else { return Ok(Ok(Vec::new())) };
        let TapList { patterns, offered, noted } = *list;
        let is_unknown = |pattern: &String| !offered.iter().any(|name| matches(pattern, name));
        if let Some(name) = patterns.into_iter().find(is_unknown) {
            return Ok(Err(UnknownTap { name, offered }));
        }
        let mut kept = Vec::with_capacity(noted.len());
        for (name, noted) in noted {
            let (axes, source) = match noted {
                Noted::Weight(vector) => (format!("[{}]", vector.length), Tapped::Weight(vector)),
                Noted::Value(Columns { value, first }, view) => {
                    let state = self.home_of(value, &name, states)?;
                    (view.axes(state.shape.width), Tapped::State { state, first, view })
                }
            };
            kept.push(KeptTap { name, axes, source });
        }
        Ok(Ok(kept))
    }

    /// The state where a value lives: a value has one place, so that several taps and results share it.
    fn home_of(&mut self, value: Value, name: &str, states: &mut StateTable) -> Result<State, GraphError> {
        let shape = self.shape(value);
        self.expect("tap", "value", value, shape, Dtype::F32)?;
        if let Home::State(state) = self.values[value.0].home {
            return Ok(state);
        }
        let state = states.f32(name, shape.rows, shape.width);
        self.keep(value, state)?;
        Ok(state)
    }

    fn wants(&mut self, name: &str) -> bool {
        let Some(list) = &mut self.taps else { return false };
        list.offered.push(name.to_owned());
        list.patterns.iter().any(|pattern| matches(pattern, name))
    }

    fn note(&mut self, name: String, noted: Noted) {
        if let Some(list) = &mut self.taps {
            list.noted.push((name, noted));
        }
    }
}

/// Whether a name matches a pattern in which `*` stands for any characters.
fn matches(pattern: &str, name: &str) -> bool {
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

impl From<Value> for Columns {
    fn from(value: Value) -> Self {
        Self { value, first: 0 }
    }
}
