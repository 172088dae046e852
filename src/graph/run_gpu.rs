//! Running plans on a GPU: states and shared buffers, and for each plan a recording of its dispatches.

use std::collections::VecDeque;
use std::sync::Arc;

use super::build::{Graph, Home, State, StateTable, Value};
use super::op::{Columns, Linear, Node, Normalization, Op};
use super::plan::{Plan, stored_elements};
use super::run::RowCopy;
use super::weights::{Rows, Vector, Weights};
use crate::activation::Activation;
use crate::gpu::{Buffer, BufferCopy, Gpu, GpuError, Readback, Recording, Submission};
use crate::join::Join;
use crate::kernels::edits::Edits;
use crate::kernels::embed::EmbedShape;
use crate::kernels::layer_norm::LayerNormShape;
use crate::kernels::linear::LinearShape;
use crate::kernels::log_probability::LogProbabilityBuffer;
use crate::kernels::log_softmax_top_k::TopKBuffer;
use crate::kernels::normalized_linear::NormalizedLinearShape;
use crate::kernels::search::SearchBuffer;
use crate::kernels::{
    ColumnLayout, Dispatch, append_kv, append_rows, attention, attention_weights, cached_attention, embed,
    layer_norm, linear, log_probability, normalized_linear, output_layer, stride,
};
use crate::shape::{Dtype, Shape};

pub(super) struct GpuSession {
    gpu: Arc<Gpu>,
    states: Vec<Buffer>,
    /// For states that have been read: made at the first reading, then kept.
    readbacks: Vec<Option<Readback>>,
    programs: Vec<Recording>,
    /// Submits that nobody has waited for yet, and where their results will be.
    waiting: VecDeque<(Submission, Readback)>,
    spare: Vec<Readback>,
}

/// Submits with results that may be on their way at once: one that is waited for, and one that the device works on
/// meanwhile.
const READBACKS: usize = 2;

impl GpuSession {
    pub fn new(
        gpu: Arc<Gpu>,
        weights: &Weights,
        states: &StateTable,
        plans: &[Plan],
    ) -> Result<Self, GpuError> {
        let states = states
            .entries
            .iter()
            .map(|(name, state)| gpu.buffer(name, stored_elements(state.shape, state.dtype)))
            .collect::<Result<Vec<_>, _>>()?;
        // bound where an operator goes without an optional input; never read
        let nothing = gpu.buffer("nothing", 4)?;
        let programs = plans
            .iter()
            .map(|plan| {
                let graph = &plan.graph;
                let shared = (plan.buffers.iter().enumerate())
                    .map(|(index, &elements)| {
                        gpu.buffer(&format!("{}: buffer {index}", graph.label), elements)
                    })
                    .collect::<Result<Vec<_>, _>>()?;
                let recorder = Recorder {
                    gpu: &gpu,
                    weights,
                    plan,
                    states: &states,
                    shared: &shared,
                    nothing: &nothing,
                };
                let mut launches = Vec::new();
                for node in &graph.nodes {
                    recorder.node(node, &mut launches)?;
                }
                gpu.record(&graph.label, &launches)
            })
            .collect::<Result<Vec<_>, _>>()?;
        let readbacks = states.iter().map(|_| None).collect();
        Ok(Self { gpu, states, readbacks, programs, waiting: VecDeque::new(), spare: Vec::new() })
    }

    pub fn write(&self, state: State, start: usize, data: &[u32]) {
        assert_eq!(state.dtype, Dtype::U32, "only u32 states are written by the host");
        self.gpu.write(&self.states[state.index], start, data);
    }

    pub fn copy_rows(&self, copies: &[RowCopy]) {
        self.take_rows(self, copies);
    }

    pub fn take_rows(&self, other: &Self, copies: &[RowCopy]) {
        self.gpu.copy(copies.iter().map(|&RowCopy { from, first, to, at, rows }| {
            let row = stored_elements(Shape::new(1, from.shape.width), from.dtype);
            BufferCopy {
                from: &other.states[from.index],
                first: first * row,
                to: &self.states[to.index],
                at: at * row,
                elements: rows * row,
            }
        }));
    }

    pub fn run(&self, program: usize) {
        self.gpu.submit(&self.programs[program], 1, &[]);
    }

    /// Submits a program `times` over and has `state` copied for [`wait`](Self::wait), which takes what was submitted
    /// first. There may be [`READBACKS`] of them on their way.
    pub fn submit(&mut self, program: usize, times: usize, state: State) -> Result<(), GpuError> {
        let buffer = &self.states[state.index];
        if self.waiting.is_empty() && self.spare.is_empty() {
            for _ in 0..READBACKS {
                self.spare.push(self.gpu.readback("record", buffer)?);
            }
        }
        let readback = self.spare.pop().expect("no more submits on their way than read-backs");
        let submission = self.gpu.submit(&self.programs[program], times, &[(buffer, &readback)]);
        self.waiting.push_back((submission, readback));
        Ok(())
    }

    /// Forgets what nobody has waited for.
    pub fn forget(&mut self) {
        self.spare.extend(self.waiting.drain(..).map(|(_, readback)| readback));
    }

    /// Waits for the oldest submit, and no other; hands the words of its state to `use_words`.
    pub async fn wait<R>(&mut self, use_words: impl FnOnce(&[u32]) -> R) -> Result<Option<R>, GpuError> {
        let Some((submission, readback)) = self.waiting.pop_front() else { return Ok(None) };
        let result = self.gpu.map(&readback, Some(submission), use_words).await;
        self.spare.push(readback);
        result.map(Some)
    }

    pub async fn run_and_read<R>(
        &mut self,
        program: usize,
        state: State,
        use_elements: impl FnOnce(&[u32]) -> R,
    ) -> Result<R, GpuError> {
        let buffer = &self.states[state.index];
        let readback = match &mut self.readbacks[state.index] {
            Some(readback) => readback,
            none => none.insert(self.gpu.readback("read-back", buffer)?),
        };
        let submission = self.gpu.submit(&self.programs[program], 1, &[(buffer, readback)]);
        let elements = state.shape.elements();
        self.gpu.map(readback, Some(submission), |words| use_elements(&words[..elements])).await
    }

    pub fn keep(&self, state: State) -> (Arc<Gpu>, Buffer) {
        (self.gpu.clone(), self.states[state.index].clone())
    }

    pub async fn read(&self, state: State) -> Result<Vec<f32>, GpuError> {
        let Shape { rows, width } = state.shape;
        let mut stored: Vec<f32> = self.gpu.read(&self.states[state.index]).await?;
        let padded = stride(width);
        for row in 1..rows {
            stored.copy_within(row * padded..row * padded + width, row * width);
        }
        stored.truncate(rows * width);
        Ok(stored)
    }
}

/// A dispatch and what it binds.
type Launch<'a> = (Dispatch, Vec<&'a Buffer>);

/// Turns the nodes of one plan into launches over its buffers.
struct Recorder<'a> {
    gpu: &'a Gpu,
    weights: &'a Weights,
    plan: &'a Plan,
    states: &'a [Buffer],
    shared: &'a [Buffer],
    nothing: &'a Buffer,
}

impl<'a> Recorder<'a> {
    fn graph(&self) -> &'a Graph {
        &self.plan.graph
    }

    fn buffer(&self, value: Value) -> &'a Buffer {
        match (self.graph().values[value.0].home, self.plan.buffer_of[value.0]) {
            (Home::State(state), _) => &self.states[state.index],
            (Home::Planned, Some(buffer)) => &self.shared[buffer],
            (Home::Planned, None) => unreachable!("nodes come in run order, so an input has been made"),
        }
    }

    fn optional(&self, value: Option<Value>) -> &'a Buffer {
        value.map_or(self.nothing, |value| self.buffer(value))
    }

    fn weight(&self, index: usize) -> &'a Buffer {
        &self.weights.parts(index)[0].buffer
    }

    /// The table and its reach, if there is one.
    fn distance_bias(&self, table: Option<Rows>) -> (&'a Buffer, Option<usize>) {
        match table {
            Some(table) => (self.weight(table.index), Some((table.rows - 1) / 2)),
            None => (self.nothing, None),
        }
    }

    fn layout(&self, columns: Columns) -> ColumnLayout {
        ColumnLayout { stride: stride(self.graph().shape(columns.value).width), first: columns.first }
    }

    fn vector(&self, vector: Option<Vector>) -> &'a Buffer {
        vector.map_or(self.nothing, |vector| self.weight(vector.index))
    }

    fn linear_shape(
        &self,
        x: Value,
        linear: Linear,
        activation: Activation,
        join: Option<Join>,
    ) -> LinearShape {
        LinearShape {
            rows: self.graph().shape(x).rows,
            inputs: linear.weight.inputs,
            outputs: linear.weight.outputs,
            scale: linear.scale,
            bias: linear.bias.is_some(),
            activation,
            join,
            precision: self.weights.precision(),
        }
    }

    fn linear(
        &self,
        shape: &LinearShape,
        x: &'a Buffer,
        linear: Linear,
        joined: &'a Buffer,
        y: &'a Buffer,
        launches: &mut Vec<Launch<'a>>,
    ) {
        let bias = self.vector(linear.bias);
        for part in self.weights.parts(linear.weight.index) {
            let dispatch = linear::dispatch(shape, part.outputs(), self.gpu.class());
            launches.push((dispatch, vec![x, &part.buffer, bias, joined, y]));
        }
    }

    fn layer_norm(
        &self,
        x: Value,
        residual: Option<Value>,
        norm: Normalization,
        y: &'a Buffer,
    ) -> Launch<'a> {
        let Shape { rows, width } = self.graph().shape(x);
        let Normalization { gamma, beta, epsilon } = norm;
        let (added, centered) = (residual.is_some(), beta.is_some());
        let shape = LayerNormShape { rows, width, epsilon, residual: added, centered };
        let (gamma, beta) = (self.weight(gamma.index), self.vector(beta));
        let bound = vec![self.buffer(x), self.optional(residual), gamma, beta, y];
        (layer_norm::dispatch(&shape, self.gpu.class()), bound)
    }

    fn append_kv(&self, qkv: Value, cache_slots: Value, key_cache: Value, value_cache: Value) -> Launch<'a> {
        let [qkv_shape, keys, values] = [qkv, key_cache, value_cache].map(|value| self.graph().shape(value));
        let dispatch = append_kv::dispatch(qkv_shape.rows, keys.rows, keys.width, values.width);
        let bound = [qkv, cache_slots, key_cache, value_cache].map(|value| self.buffer(value));
        (dispatch, bound.to_vec())
    }

    fn node(&self, node: &Node, launches: &mut Vec<Launch<'a>>) -> Result<(), GpuError> {
        let class = self.gpu.class();
        let output = || match node.output {
            Some(value) => self.buffer(value),
            None => unreachable!("who makes no value does not ask for it"),
        };
        match node.op {
            Op::Embed { tokens, positions, table, scale } => {
                let shape = EmbedShape {
                    rows: self.graph().shape(tokens).rows,
                    d_model: table.inputs,
                    scale,
                    positions: positions.is_some(),
                    precision: self.weights.precision(),
                };
                let (index, rows) = match positions {
                    Some((value, rows)) => (self.buffer(value), self.weight(rows.index)),
                    None => (self.nothing, self.nothing),
                };
                for part in self.weights.parts(table.index) {
                    let dispatch = embed::dispatch(&shape, part.outputs());
                    launches.push((dispatch, vec![self.buffer(tokens), &part.buffer, index, rows, output()]));
                }
            }
            Op::Linear { x, linear, activation, join } => {
                let shape = self.linear_shape(x, linear, activation, join.map(|(join, _)| join));
                let joined = self.optional(join.map(|(_, value)| value));
                self.linear(&shape, self.buffer(x), linear, joined, output(), launches);
            }
            Op::NormalizedLinear { x, residual, norm, linear, activation, normalized } => {
                let shape = self.linear_shape(x, linear, activation, None);
                let made = self.buffer(normalized);
                match normalized_linear::choose(&shape, class) {
                    Some(variant) => {
                        let shape = NormalizedLinearShape {
                            linear: shape,
                            epsilon: norm.epsilon,
                            residual: residual.is_some(),
                            centered: norm.beta.is_some(),
                            keeps: self.graph().is_wanted(normalized),
                        };
                        let (x, residual) = (self.buffer(x), self.optional(residual));
                        let [bias, beta] = [linear.bias, norm.beta].map(|vector| self.vector(vector));
                        let gamma = self.weight(norm.gamma.index);
                        for part in self.weights.parts(linear.weight.index) {
                            let dispatch = normalized_linear::dispatch(&shape, part.outputs(), variant);
                            let bound = vec![x, &part.buffer, bias, residual, gamma, beta, output(), made];
                            launches.push((dispatch, bound));
                        }
                    }
                    None => {
                        launches.push(self.layer_norm(x, residual, norm, made));
                        self.linear(&shape, made, linear, self.nothing, output(), launches);
                    }
                }
            }
            Op::Attention { shape, queries, keys, values, key_mask, distance_bias } => {
                let [q, k, v] = [queries, keys, values].map(|columns| self.layout(columns));
                let bound =
                    [queries.value, keys.value, values.value, key_mask].map(|value| self.buffer(value));
                let (bias, reach) = self.distance_bias(distance_bias);
                let dispatch = attention::dispatch(&shape, q, k, v, reach, class);
                launches.push((dispatch, [&bound[..], &[bias, output()]].concat()));
            }
            Op::AttentionWeights { shape, queries, keys, key_mask, distance_bias } => {
                let [q, k] = [queries, keys].map(|columns| self.layout(columns));
                let bound = [queries.value, keys.value, key_mask].map(|value| self.buffer(value));
                let (bias, reach) = self.distance_bias(distance_bias);
                let dispatch = attention_weights::dispatch(&shape, q, k, reach);
                launches.push((dispatch, [&bound[..], &[bias, output()]].concat()));
            }
            Op::CachedAttention {
                shape,
                qkv,
                cache_slots,
                key_cache,
                value_cache,
                slots,
                key_counts,
                distance_bias,
            } => {
                let variant = attention::choose(1, class);
                if !cached_attention::appends(&shape, variant) {
                    launches.push(self.append_kv(qkv, cache_slots, key_cache, value_cache));
                }
                let [qkv, cache_slots, slots, key_counts, keys, values] =
                    [qkv, cache_slots, slots, key_counts, key_cache, value_cache]
                        .map(|value| self.buffer(value));
                let (bias, reach) = self.distance_bias(distance_bias);
                let dispatch = cached_attention::dispatch_variant(&shape, reach, variant);
                let bound = vec![qkv, cache_slots, slots, key_counts, bias, keys, values, output()];
                launches.push((dispatch, bound));
            }
            Op::AppendKv { qkv, cache_slots, key_cache, value_cache } => {
                launches.push(self.append_kv(qkv, cache_slots, key_cache, value_cache));
            }
            Op::AppendRows { parts, cache_slots, cache } => {
                let kept = self.graph().shape(cache);
                let rows = self.graph().shape(cache_slots).rows;
                let widths: Vec<usize> =
                    parts.iter().flatten().map(|&part| self.graph().shape(part).width).collect();
                let width = kept.width / widths.len();
                let bound = parts.map(|part| self.optional(part)).into_iter();
                let bound = bound.chain([cache_slots, cache].map(|value| self.buffer(value)));
                launches.push((append_rows::dispatch(rows, &widths, kept.rows, width), bound.collect()));
            }
            Op::LayerNorm { x, residual, norm } => {
                launches.push(self.layer_norm(x, residual, norm, output()));
            }
            Op::LogProbability { logits, targets, chunks } => {
                let Shape { rows, width } = self.graph().shape(logits);
                for (dispatch, names) in log_probability::launches(rows, width) {
                    let bound = names.into_iter().map(|name| match name {
                        LogProbabilityBuffer::Logits => self.buffer(logits),
                        LogProbabilityBuffer::Targets => self.buffer(targets),
                        LogProbabilityBuffer::Chunks => self.buffer(chunks),
                        LogProbabilityBuffer::LogProbabilities => output(),
                        LogProbabilityBuffer::Nothing => self.nothing,
                    });
                    launches.push((dispatch, bound.collect()));
                }
            }
            Op::LogSoftmaxTopK { shape, logits, edits, chunks } => {
                let listed = match edits {
                    Some(edits) => Edits::Listed(self.graph().shape(edits).rows - 1),
                    None => Edits::None,
                };
                for (dispatch, names) in shape.launches(listed, class) {
                    let bound = names.into_iter().map(|name| match name {
                        TopKBuffer::Logits => self.buffer(logits),
                        TopKBuffer::Edits => self.optional(edits),
                        TopKBuffer::Chunks => self.buffer(chunks),
                        TopKBuffer::Top => output(),
                        _ => self.nothing,
                    });
                    launches.push((dispatch, bound.collect()));
                }
            }
            Op::SearchStep { x, linear, shape, edits, logits, chunks, top, row_bans, state } => {
                let layer = self.linear_shape(x, linear, Activation::Identity, None);
                let by_history = Edits::ByHistory(edits);
                let mut selection = Vec::new();
                match output_layer::choose(&layer, &edits, class) {
                    Some(variant) => {
                        let bound =
                            [state.bans, state.search, logits, chunks].map(|value| self.buffer(value));
                        for part in self.weights.parts(linear.weight.index) {
                            let dispatch =
                                output_layer::dispatch(&layer, &shape, &edits, part.outputs(), variant);
                            let inputs = [self.buffer(x), &part.buffer, self.vector(linear.bias)];
                            launches.push((dispatch, [&inputs[..], &bound].concat()));
                        }
                    }
                    None => {
                        let (x, logits) = (self.buffer(x), self.buffer(logits));
                        self.linear(&layer, x, linear, self.nothing, logits, launches);
                        selection = shape.chunk_launches(by_history, class);
                    }
                }
                // greedy search takes the best of a row's chunks itself
                let mut scores = chunks;
                if edits.search.beams > 1 {
                    selection.extend(shape.best_launches(by_history, class));
                    scores = top;
                }
                for (dispatch, names) in selection {
                    let bound = names.into_iter().map(|name| match name {
                        TopKBuffer::Logits => self.buffer(logits),
                        TopKBuffer::Chunks => self.buffer(chunks),
                        TopKBuffer::Top => self.buffer(top),
                        TopKBuffer::Bans => self.buffer(state.bans),
                        TopKBuffer::RowBans => self.buffer(row_bans),
                        TopKBuffer::Phrases => self.buffer(state.phrases),
                        TopKBuffer::Search => self.buffer(state.search),
                        TopKBuffer::Slots => self.buffer(state.slots),
                        TopKBuffer::SlotTokens => self.buffer(state.slot_tokens),
                        TopKBuffer::Edits | TopKBuffer::Nothing => self.nothing,
                    });
                    launches.push((dispatch, bound.collect()));
                }
                for (dispatch, names) in edits.search.launches(shape.vocabulary, class) {
                    let bound = names.into_iter().map(|name| match name {
                        SearchBuffer::Scores => self.buffer(scores),
                        SearchBuffer::Search => self.buffer(state.search),
                        SearchBuffer::Tokens => self.buffer(state.tokens),
                        SearchBuffer::Positions => self.buffer(state.positions),
                        SearchBuffer::KeyCounts => self.buffer(state.key_counts),
                        SearchBuffer::CacheSlots => self.buffer(state.cache_slots),
                        SearchBuffer::SlotTokens => self.buffer(state.slot_tokens),
                        SearchBuffer::Record => self.buffer(state.record),
                        SearchBuffer::Slots => self.buffer(state.slots),
                    });
                    launches.push((dispatch, bound.collect()));
                }
            }
        }
        Ok(())
    }
}
