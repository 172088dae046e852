//! Running plans on a GPU: states and shared buffers, and for each plan a recording of its dispatches.

use std::sync::Arc;

use super::build::{Graph, Home, State, StateTable, Value};
use super::op::{Columns, Node, Op};
use super::plan::{Plan, stored_elements};
use super::weights::{Rows, Weights};
use crate::gpu::{Buffer, Gpu, GpuError, Readback, Recording};
use crate::kernels::embed::EmbedShape;
use crate::kernels::layer_norm::LayerNormShape;
use crate::kernels::linear::LinearShape;
use crate::kernels::log_probability::LogProbabilityBuffer;
use crate::kernels::log_softmax_top_k::TopKBuffer;
use crate::kernels::{
    ColumnLayout, Dispatch, append_kv, attention, attention_weights, cached_attention, embed, layer_norm,
    linear, log_probability, stride,
};
use crate::shape::{Dtype, Shape};

pub(super) struct GpuSession {
    gpu: Arc<Gpu>,
    states: Vec<Buffer>,
    /// For states that have been read: made at the first reading, then kept.
    readbacks: Vec<Option<Readback>>,
    programs: Vec<Recording>,
}

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
        Ok(Self { gpu, states, readbacks, programs })
    }

    pub fn write(&self, state: State, data: &[u32]) {
        assert_eq!(state.dtype, Dtype::U32, "only u32 states are written by the host");
        self.gpu.write(&self.states[state.index], 0, data);
    }

    pub fn run(&self, program: usize) {
        self.gpu.submit(&self.programs[program], &[]);
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
        self.gpu.submit(&self.programs[program], &[(buffer, readback)]);
        let elements = state.shape.elements();
        self.gpu.map(readback, |words| use_elements(&words[..elements])).await
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

    fn node(&self, node: &Node, launches: &mut Vec<(Dispatch, Vec<&'a Buffer>)>) -> Result<(), GpuError> {
        let class = self.gpu.class();
        let output = || match node.output {
            Some(value) => self.buffer(value),
            None => unreachable!("only append_kv makes no value"),
        };
        match node.op {
            Op::Embed { tokens, positions, table, scale } => {
                let shape = EmbedShape {
                    rows: self.graph().shape(tokens).rows,
                    d_model: table.inputs,
                    scale,
                    positions: positions.is_some(),
                };
                let (index, rows) = match positions {
                    Some((value, rows)) => (self.buffer(value), self.weight(rows.index)),
                    None => (self.nothing, self.nothing),
                };
                for part in self.weights.parts(table.index) {
                    let dispatch = embed::dispatch(&shape, part.outputs());
                    launches.push((dispatch, vec![self.buffer(tokens), index, &part.buffer, rows, output()]));
                }
            }
            Op::Linear { x, linear, activation, join } => {
                let shape = LinearShape {
                    rows: self.graph().shape(x).rows,
                    inputs: linear.weight.inputs,
                    outputs: linear.weight.outputs,
                    scale: linear.scale,
                    bias: linear.bias.is_some(),
                    activation,
                    join: join.map(|(join, _)| join),
                };
                let joined = self.optional(join.map(|(_, value)| value));
                let bias = linear.bias.map_or(self.nothing, |bias| self.weight(bias.index));
                for part in self.weights.parts(linear.weight.index) {
                    let dispatch = linear::dispatch(&shape, part.outputs(), class);
                    let bound = vec![self.buffer(x), &part.buffer, bias, joined, output()];
                    launches.push((dispatch, bound));
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
                queries,
                key_cache,
                value_cache,
                slots,
                key_counts,
                distance_bias,
            } => {
                let bound = [queries.value, key_cache, value_cache, slots, key_counts]
                    .map(|value| self.buffer(value));
                let (bias, reach) = self.distance_bias(distance_bias);
                let dispatch = cached_attention::dispatch(&shape, self.layout(queries), reach, class);
                launches.push((dispatch, [&bound[..], &[bias, output()]].concat()));
            }
            Op::AppendKv { qkv, cache_slots, key_cache, value_cache } => {
                let [qkv_shape, keys, values] =
                    [qkv, key_cache, value_cache].map(|value| self.graph().shape(value));
                let dispatch = append_kv::dispatch(qkv_shape.rows, keys.rows, keys.width, values.width);
                let bound = [qkv, cache_slots, key_cache, value_cache].map(|value| self.buffer(value));
                launches.push((dispatch, bound.to_vec()));
            }
            Op::LayerNorm { x, residual, gamma, beta, epsilon } => {
                let Shape { rows, width } = self.graph().shape(x);
                let (added, centered) = (residual.is_some(), beta.is_some());
                let shape = LayerNormShape { rows, width, epsilon, residual: added, centered };
                let beta = beta.map_or(self.nothing, |beta| self.weight(beta.index));
                let gamma = self.weight(gamma.index);
                let bound = vec![self.buffer(x), self.optional(residual), gamma, beta, output()];
                launches.push((layer_norm::dispatch(&shape, class), bound));
            }
            Op::LogProbability { logits, targets, chunks } => {
                let Shape { rows, width } = self.graph().shape(logits);
                for (dispatch, names) in log_probability::launches(rows, width) {
                    let bound = names.into_iter().map(|name| match name {
                        LogProbabilityBuffer::Logits => self.buffer(logits),
                        LogProbabilityBuffer::Targets => self.buffer(targets),
                        LogProbabilityBuffer::Chunks => self.buffer(chunks),
                        LogProbabilityBuffer::LogProbabilities => output(),
                    });
                    launches.push((dispatch, bound.collect()));
                }
            }
            Op::LogSoftmaxTopK { shape, logits, edits, chunks, statistics } => {
                let capacity = edits.map(|edits| self.graph().shape(edits).rows - 1);
                for (dispatch, names) in shape.launches(capacity) {
                    let bound = names.into_iter().map(|name| match name {
                        TopKBuffer::Logits => self.buffer(logits),
                        TopKBuffer::Edits => self.optional(edits),
                        TopKBuffer::Chunks => self.buffer(chunks),
                        TopKBuffer::Statistics => self.buffer(statistics),
                        TopKBuffer::Top => output(),
                    });
                    launches.push((dispatch, bound.collect()));
                }
            }
        }
        Ok(())
    }
}
