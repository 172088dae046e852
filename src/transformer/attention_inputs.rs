//! Attention of a finished search without a second run. During the search the session keeps queries and keys;
//! afterwards it computes the attention weights of the best hypothesis alone.
//!
//! The encoder's projections, the memory's keys and the decoder's keys are stored for the search. The decoder's queries
//! have a cache of their own; one launch stores the queries of three layers.

use std::ops::Range;

use super::error::GenerateError;
use super::forward::ForwardSelection;
use super::kept_attention::KeptLayer;
use super::loaded::LoadedModel;
use crate::graph::{Columns, Graph, GraphError, Plan, RowCopy, Session, State, StateTable, Value};
use crate::kernels::append_rows::MAX_PARTS;
use crate::model::blueprint::qkv_columns;
use crate::model::config::{Mixer, ModelConfig};
use crate::model::{AttentionKind, Tap, weights_of};

/// Inputs of attention weights, besides the caches.
pub(super) struct AttentionInputs {
    /// Queries, keys and values of each encoder layer, `[source tokens, heads * (2 * d_k + d_v)]`.
    pub projections: Vec<Tap>,
    /// Queries of each decoder layer: of self-attention, if there is any, then of cross-attention. A state has several side by side, so
    /// that one launch stores them. `[rows * capacity, parts * heads * d_k]`
    queries: Vec<State>,
    /// Number of queries side by side in a state.
    parts: usize,
    /// Columns of one part, `heads * d_k`.
    width: usize,
    /// Number of queries of a decoder layer.
    of_layer: usize,
}

/// The place of one sentence and hypothesis in a session.
pub(super) struct HypothesisRows {
    /// Source tokens, among those of the batch.
    pub source: Range<usize>,
    /// Cache slots of the decoder's tokens.
    pub slots: Vec<usize>,
}

/// Keys of the decoder's attention, for each layer.
pub(super) struct DecoderKeys<'a> {
    pub caches: &'a [State],
    pub memory: &'a [State],
}

impl AttentionInputs {
    /// * `source_tokens`: of the whole batch, padded
    /// * `slots`: of the caches
    pub fn new(states: &mut StateTable, model: &LoadedModel, source_tokens: usize, slots: usize) -> Self {
        let ModelConfig { encoder, decoder, .. } = &model.config;
        let width = decoder.key_width();
        let fit = model.device.max_buffer_bytes() / (4 * (slots * width) as u64).max(1);
        let parts = fit.clamp(1, MAX_PARTS as u64) as usize;
        let of_layer = match model.config.decoder_mixer {
            Mixer::Attention => 2,
            Mixer::Ssru => 1,
        };
        let mut left = of_layer * decoder.layers;
        let mut queries = Vec::with_capacity(left.div_ceil(parts));
        while left > 0 {
            let parts = parts.min(left);
            queries.push(states.f32(format!("queries {}", queries.len()), slots, parts * width));
            left -= parts;
        }
        let fused = 2 * encoder.key_width() + encoder.value_width();
        let projection = |layer| Tap(Some(states.f32(format!("projection {layer}"), source_tokens, fused)));
        let projections = (0..encoder.layers).map(projection).collect();
        Self { projections, queries, parts, width, of_layer }
    }

    /// Adds the storing of queries to the decoder.
    ///
    /// * `queries`: for each layer those of self-attention, then of cross-attention
    /// * `cache_slots`: slots of the tokens
    pub fn keep(&self, g: &mut Graph, queries: &[Value], cache_slots: State) -> Result<(), GraphError> {
        g.enter("decoder.queries");
        for (parts, &cache) in queries.chunks(self.parts).zip(&self.queries) {
            g.append_rows(parts, cache_slots, cache)?;
        }
        Ok(())
    }

    fn queries(&self, index: usize) -> (State, usize) {
        (self.queries[index / self.parts], index % self.parts * self.width)
    }

    /// Computes weights on the device.
    pub fn weights(
        &self,
        model: &LoadedModel,
        session: &Session,
        keys: &DecoderKeys<'_>,
        rows: &HypothesisRows,
        selection: &ForwardSelection,
    ) -> Result<Vec<KeptLayer>, GenerateError> {
        let LoadedModel { device, weights, .. } = model;
        let config = &model.config;
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
            let (queries, first) = self.queries(self.of_layer * layer);
            let [queries, keys] = [queries, keys.caches[layer]].map(|state| maps.copy(state, &target));
            maps.add(AttentionKind::Decoder, layer, [(queries, first), (keys, 0)]);
        }
        for &layer in &selection.cross_attentions {
            let (queries, first) = self.queries(self.of_layer * (layer + 1) - 1);
            let queries = maps.copy(queries, &target);
            let memory = maps.copy(keys.memory[layer], &source); // keys are its first columns
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

struct Maps {
    table: StateTable,
    copies: Vec<RowCopy>,
    /// Copied states: source and copy.
    copied: Vec<(State, State)>,
    layers: Vec<Layer>,
}

struct Layer {
    kind: AttentionKind,
    layer: usize,
    /// State and first column of the queries, and of the keys.
    inputs: [(State, usize); 2],
}

impl Maps {
    /// Copies rows of a session's state, the same rows whenever the state comes again.
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

/// Joins consecutive slots to ranges.
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
