//! Named taps: values of a graph that the caller asks for by name, `decoder.3.cross.scores` for example. A graph that is not
//! [watched](Graph::watch) has none: its nodes, launches and buffers are those of a graph without this file.

use super::build::Graph;
use super::error::GraphError;
use super::tap_list::{KeptTap, Noted, TapList, TapView, Tapped, UnknownTap, matches};
use super::values::{Columns, Home, State, StateTable, Value};
use super::weights::Vector;
use crate::shape::Dtype;

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

impl From<Value> for Columns {
    fn from(value: Value) -> Self {
        Self { value, first: 0 }
    }
}
