//! Attention of what a search found, without running it once more. While the search runs, the session keeps queries and
//! keys; afterwards attention weights are computed of the best hypothesis alone.
//!
//! The encoder's projections and the memory's keys are stored anyway. The decoder's keys are in the caches, and its queries
//! go into a cache of their own, slot by slot: one launch for three layers in every step.

use std::ops::Range;

use super::error::GenerateError;
use super::forward::ForwardSelection;
use super::kept_attention::KeptLayer;
use super::loaded::LoadedModel;
use crate::graph::{Columns, Graph, GraphError, Plan, RowCopy, Session, State, StateTable, Value};
use crate::kernels::append_rows::MAX_PARTS;
use crate::model::blueprint::qkv_columns;
use crate::model::config::ModelConfig;
use crate::model::{AttentionKind, Tap, weights_of};

/// Queries and keys that attention weights are computed from, beside the caches.
pub(super) struct AttentionInputs {
    /// Queries, keys and values of each encoder layer, `[source tokens, heads * (2 * d_k + d_v)]`.
    pub projections: Vec<Tap>,
    /// Queries of the decoder: of each layer those of self-attention, then those of cross-attention. Some stand side by side,
    /// so that one launch stores them. `[rows * capacity, parts * heads * d_k]`
    queries: Vec<State>,
    /// Queries that stand side by side in one state.
    parts: usize,
    /// Columns of one of them.
    width: usize,
}

/// Where one sentence and one hypothesis of it are in a session.
pub(super) struct HypothesisRows {
    /// Tokens of its source, among those of the batch.
    pub source: Range<usize>,
    /// Cache slots of the tokens that the decoder read.
    pub slots: Vec<usize>,
}

/// The states of the keys of the decoder's attention, for each layer.
pub(super) struct DecoderKeys<'a> {
    pub caches: &'a [State],
    pub memory: &'a [State],
}

impl AttentionInputs {
    /// * `source_tokens`: of the whole batch, padded; `slots`: of its caches
    pub fn new(states: &mut StateTable, model: &LoadedModel, source_tokens: usize, slots: usize) -> Self {
        let ModelConfig { encoder, decoder, .. } = &model.config;
        let width = decoder.key_width();
        let fit = model.device.max_buffer_bytes() / (4 * (slots * width) as u64).max(1);
        let parts = fit.clamp(1, MAX_PARTS as u64) as usize;
        let mut left = 2 * decoder.layers;
        let mut queries = Vec::with_capacity(left.div_ceil(parts));
        while left > 0 {
            let parts = parts.min(left);
            queries.push(states.f32(format!("queries {}", queries.len()), slots, parts * width));
            left -= parts;
        }
        let fused = 2 * encoder.key_width() + encoder.value_width();
        let projection = |layer| Tap(Some(states.f32(format!("projection {layer}"), source_tokens, fused)));
        let projections = (0..encoder.layers).map(projection).collect();
        Self { projections, queries, parts, width }
    }

    /// Adds to the decoder what keeps its queries.
    ///
    /// * `queries`: of each layer its own, then those to the encoder; `cache_slots`: where those of each token go
    pub fn keep(&self, g: &mut Graph, queries: &[Value], cache_slots: State) -> Result<(), GraphError> {
        g.enter("decoder.queries");
        for (parts, &cache) in queries.chunks(self.parts).zip(&self.queries) {
            g.append_rows(parts, cache_slots, cache)?;
        }
        Ok(())
    }

    /// Where some queries are, and the first of their columns.
    fn queries(&self, index: usize) -> (State, usize) {
        (self.queries[index / self.parts], index % self.parts * self.width)
    }

    /// Has the device compute weights, which stay there.
    pub fn weights(
        &self,
        model: &LoadedModel,
        session: &Session,
        keys: &DecoderKeys<'_>,
        rows: &HypothesisRows,
        selection: &ForwardSelection,
    ) -> Result<Vec<KeptLayer>, GenerateError> {
        let LoadedModel { config, device, weights, .. } = model;
        let mut maps =
            Maps { table: StateTable::default(), copies: Vec::new(), copied: Vec::new(), layers: Vec::new() };
        let source = vec![rows.source.clone()];
        let target = runs(&rows.slots);
        for &layer in &selection.encoder_attentions {
            let Some(projection) = self.projections[layer].0 else { continue };
            let copy = maps.copy(projection, &source);
            let [first_query, first_key, _] = qkv_columns(&config.encoder);
            maps.add(AttentionKind::Encoder, layer, [(copy, first_query), (copy, first_key)]);
        }
        for &layer in &selection.decoder_attentions {
            let (queries, first) = self.queries(2 * layer);
            let [queries, keys] = [queries, keys.caches[layer]].map(|state| maps.copy(state, &target));
            maps.add(AttentionKind::Decoder, layer, [(queries, first), (keys, 0)]);
        }
        for &layer in &selection.cross_attentions {
            let (queries, first) = self.queries(2 * layer + 1);
            let queries = maps.copy(queries, &target);
            let memory = maps.copy(keys.memory[layer], &source); // whose keys come first
            maps.add(AttentionKind::Cross, layer, [(queries, first), (memory, 0)]);
        }
        let Maps { mut table, copies, layers, .. } = maps;
        let mut graph = Graph::new("attention of a hypothesis");
        let g = &mut graph;
        let [source, target] = [rows.source.len(), rows.slots.len()];
        let masks = [("source mask", source), ("target mask", target)]
            .map(|(name, length)| (table.u32(name, 1, length), length));
        let mut kept = Vec::with_capacity(layers.len());
        for Layer { kind, layer, inputs } in layers {
            let columns = inputs.map(|(state, first)| Columns { value: g.state(state), first });
            let mask = g.state(if kind.keys_target() { masks[1].0 } else { masks[0].0 });
            let made = weights_of(g, config, &model.blueprint, (kind, layer), columns, mask)?;
            let shape = g.shape(made);
            let state = table.f32(format!("{kind} attentions {layer}"), shape.rows, shape.width);
            g.keep(made, state)?;
            kept.push((kind, layer, state));
        }
        let mut look = Session::new(device, weights, &table, vec![Plan::new(graph)])?;
        for (mask, length) in masks {
            look.write(mask, &vec![1; length]);
        }
        look.take_rows(session, &copies);
        look.run(look.program(0), weights);
        let kept = kept.into_iter();
        let kept = kept.map(|(kind, layer, state)| {
            KeptLayer::new(kind, layer, kind.stack(config).heads, look.keep(state))
        });
        Ok(kept.collect())
    }
}

/// States and copies of the maps that are computed.
struct Maps {
    table: StateTable,
    copies: Vec<RowCopy>,
    /// What has been copied, and its rows.
    copied: Vec<(State, State)>,
    layers: Vec<Layer>,
}

/// A layer whose attention is computed.
struct Layer {
    kind: AttentionKind,
    layer: usize,
    /// Queries and keys: a copy, and the first of its columns.
    inputs: [(State, usize); 2],
}

impl Maps {
    /// A state for some rows of one in the session, which are always the same.
    fn copy(&mut self, from: State, rows: &[Range<usize>]) -> State {
        if let Some(&(_, known)) = self.copied.iter().find(|(copied, _)| *copied == from) {
            return known;
        }
        let count = rows.iter().map(Range::len).sum();
        let to = self.table.f32(format!("copy {}", self.copies.len()), count, from.shape.width);
        let mut at = 0;
        for run in rows {
            self.copies.push(RowCopy { from, first: run.start, to, at, rows: run.len() });
            at += run.len();
        }
        self.copied.push((from, to));
        to
    }

    fn add(&mut self, kind: AttentionKind, layer: usize, inputs: [(State, usize); 2]) {
        self.layers.push(Layer { kind, layer, inputs });
    }
}

/// Slots that follow one another as ranges.
fn runs(slots: &[usize]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for &slot in slots {
        match runs.last_mut() {
            Some(run) if run.end == slot => run.end += 1,
            _ => runs.push(slot..slot + 1),
        }
    }
    runs
}
