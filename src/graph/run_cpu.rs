//! Running plans on the CPU: the same states and shared buffers in host memory, and a call for each node.

use super::build::{Graph, Home, State, StateTable, Value};
use super::op::{Columns, Linear, Node, Normalization, Op};
use super::plan::Plan;
use super::run::RowCopy;
use super::weights::Weights;
use crate::activation::Activation;
use crate::cpu;
use crate::join::Join;
use crate::kernels::append_rows::MAX_PARTS;
use crate::kernels::edits::decode_edits;
use crate::scores::ScoreEdit;
use crate::shape::Dtype;

/// Elements of four bytes: f32 values as their bits, so that one buffer may hold either type in turn.
type Words = Vec<u32>;

pub(super) struct CpuSession {
    states: Vec<Words>,
    programs: Vec<Program>,
}

struct Program {
    plan: Plan,
    shared: Vec<Words>,
    /// A step's score edits, kept so that a step allocates nothing.
    edits: Vec<ScoreEdit>,
}

impl CpuSession {
    pub fn new(states: &StateTable, plans: Vec<Plan>) -> Self {
        let states = states.entries.iter().map(|(_, state)| vec![0; state.shape.elements()]).collect();
        let programs = plans
            .into_iter()
            .map(|plan| {
                let shared = plan.buffers.iter().map(|&elements| vec![0; elements]).collect();
                Program { plan, shared, edits: Vec::new() }
            })
            .collect();
        Self { states, programs }
    }

    pub fn write(&mut self, state: State, start: usize, data: &[u32]) {
        assert_eq!(state.dtype, Dtype::U32, "only u32 states are written by the host");
        self.states[state.index][start..][..data.len()].copy_from_slice(data);
    }

    pub fn copy_rows(&mut self, copies: &[RowCopy]) {
        for &RowCopy { from, first, to, at, rows } in copies {
            let width = from.shape.width;
            let [source, target] = match self.states.get_disjoint_mut([from.index, to.index]) {
                Ok(states) => states,
                Err(_) => unreachable!("two states"),
            };
            target[at * width..][..rows * width].copy_from_slice(&source[first * width..][..rows * width]);
        }
    }

    pub fn take_rows(&mut self, other: &Self, copies: &[RowCopy]) {
        for &RowCopy { from, first, to, at, rows } in copies {
            let width = from.shape.width;
            let source = &other.states[from.index][first * width..][..rows * width];
            self.states[to.index][at * width..][..rows * width].copy_from_slice(source);
        }
    }

    pub fn u32_state(&self, state: State) -> &[u32] {
        &self.states[state.index]
    }

    pub fn f32_state(&self, state: State) -> &[f32] {
        bytemuck::cast_slice(&self.states[state.index])
    }

    pub fn run(&mut self, program: usize, weights: &Weights) {
        let Program { plan, shared, edits } = &mut self.programs[program];
        let mut memory = Memory { plan, states: &mut self.states, shared, edits };
        cpu::among_the_cores(|| {
            for node in &plan.graph.nodes {
                memory.run(node, weights);
            }
        });
    }
}

/// The values of one running plan.
struct Memory<'a> {
    plan: &'a Plan,
    states: &'a mut [Words],
    shared: &'a mut [Words],
    edits: &'a mut Vec<ScoreEdit>,
}

impl Memory<'_> {
    fn graph(&self) -> &Graph {
        &self.plan.graph
    }

    fn words(&self, value: Value) -> &[u32] {
        let elements = self.graph().shape(value).elements();
        let buffer = match (self.graph().values[value.0].home, self.plan.buffer_of[value.0]) {
            (Home::State(state), _) => &self.states[state.index],
            (Home::Planned, Some(buffer)) => &self.shared[buffer],
            (Home::Planned, None) => unreachable!("nodes come in run order, so an input has been made"),
        };
        &buffer[..elements]
    }

    fn f32(&self, value: Value) -> &[f32] {
        bytemuck::cast_slice(self.words(value))
    }

    fn columns(&self, columns: Columns) -> cpu::Columns<'_> {
        let stride = self.graph().shape(columns.value).width;
        cpu::Columns { data: self.f32(columns.value), stride, first: columns.first }
    }

    /// Takes a value's buffer out while something is written into it; the plan never lets a node's output share a
    /// buffer with its inputs.
    fn take(&mut self, value: Value) -> Taken {
        let elements = self.graph().shape(value).elements();
        Taken { value, elements, words: std::mem::take(self.slot(value)) }
    }

    fn put_back(&mut self, taken: Taken) {
        *self.slot(taken.value) = taken.words;
    }

    fn slot(&mut self, value: Value) -> &mut Words {
        match (self.plan.graph.values[value.0].home, self.plan.buffer_of[value.0]) {
            (Home::State(state), _) => &mut self.states[state.index],
            (Home::Planned, Some(buffer)) => &mut self.shared[buffer],
            (Home::Planned, None) => unreachable!("nodes come in run order, so an output has a buffer"),
        }
    }

    fn append_kv(&mut self, qkv: Value, cache_slots: Value, key_cache: Value, value_cache: Value) {
        let widths = [key_cache, value_cache].map(|cache| self.graph().shape(cache).width);
        let [mut keys, mut values] = [key_cache, value_cache].map(|cache| self.take(cache));
        cpu::append_kv(self.f32(qkv), self.words(cache_slots), widths, keys.f32(), values.f32());
        self.put_back(keys);
        self.put_back(values);
    }

    fn linear(
        &self,
        x: Value,
        linear: Linear,
        activation: Activation,
        join: Option<(Join, Value)>,
        weights: &Weights,
        out: &mut [f32],
    ) {
        let layer = cpu::Linear {
            weight: weights.cpu_matrix(linear.weight.index),
            inputs: linear.weight.inputs,
            bias: linear.bias.map(|bias| weights.cpu(bias.index)),
            scale: linear.scale,
        };
        let join = join.map(|(join, value)| (join, self.f32(value)));
        cpu::linear(self.f32(x), layer, activation, join, out);
    }

    fn layer_norm(
        &self,
        x: Value,
        residual: Option<Value>,
        norm: Normalization,
        weights: &Weights,
        out: &mut [f32],
    ) {
        let residual = residual.map(|value| self.f32(value));
        let beta = norm.beta.map(|beta| weights.cpu(beta.index));
        cpu::layer_norm(self.f32(x), residual, weights.cpu(norm.gamma.index), beta, norm.epsilon, out);
    }

    fn run(&mut self, node: &Node, weights: &Weights) {
        let mut output = node.output.map(|value| self.take(value));
        let out = output.as_mut().map_or(&mut [][..], Taken::f32);
        match node.op {
            Op::Embed { tokens, positions, table, scale } => {
                let positions = positions.map(|(index, rows)| (self.words(index), weights.cpu(rows.index)));
                let table_values = weights.cpu_matrix(table.index);
                cpu::embed(self.words(tokens), positions, table_values, table.inputs, scale, out);
            }
            Op::Linear { x, linear, activation, join } => {
                self.linear(x, linear, activation, join, weights, out);
            }
            Op::Attention { shape, queries, keys, values, key_mask, distance_bias } => {
                let [q, k, v] = [queries, keys, values].map(|columns| self.columns(columns));
                let bias = distance_bias.map(|table| weights.cpu(table.index));
                cpu::attention(&shape, q, k, v, self.words(key_mask), bias, out);
            }
            Op::AttentionWeights { shape, queries, keys, key_mask, distance_bias } => {
                let [q, k] = [queries, keys].map(|columns| self.columns(columns));
                let bias = distance_bias.map(|table| weights.cpu(table.index));
                cpu::attention_weights(&shape, q, k, self.words(key_mask), bias, out);
            }
            Op::LayerNorm { x, residual, norm } => self.layer_norm(x, residual, norm, weights, out),
            Op::NormalizedLinear { x, residual, norm, linear, activation, normalized } => {
                let mut taken = self.take(normalized);
                self.layer_norm(x, residual, norm, weights, taken.f32());
                self.put_back(taken);
                self.linear(normalized, linear, activation, None, weights, out);
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
                self.append_kv(qkv, cache_slots, key_cache, value_cache);
                let queries = self.columns(Columns { value: qkv, first: 0 });
                let [keys, values] = [key_cache, value_cache].map(|cache| self.f32(cache));
                let [slots, counts] = [slots, key_counts].map(|value| self.words(value));
                let bias = distance_bias.map(|table| weights.cpu(table.index));
                cpu::cached_attention(&shape, queries, keys, values, slots, counts, bias, out);
            }
            Op::AppendKv { qkv, cache_slots, key_cache, value_cache } => {
                self.append_kv(qkv, cache_slots, key_cache, value_cache);
            }
            Op::AppendRows { parts, cache_slots, cache } => {
                let mut kept = self.take(cache);
                let count = parts.iter().flatten().count();
                let mut matrices = [(&[][..], 0); MAX_PARTS];
                for (matrix, &part) in matrices.iter_mut().zip(parts.iter().flatten()) {
                    *matrix = (self.f32(part), self.graph().shape(part).width);
                }
                let width = self.graph().shape(cache).width / count;
                cpu::append_rows(&matrices[..count], self.words(cache_slots), width, kept.f32());
                self.put_back(kept);
            }
            Op::LogProbability { logits, targets, .. } => {
                cpu::log_probability(self.f32(logits), self.words(targets), out);
            }
            Op::SearchStep { .. } => unreachable!("on the CPU the host searches"),
            Op::LogSoftmaxTopK { shape, logits, edits, .. } => {
                let mut list = std::mem::take(self.edits);
                list.clear();
                list.extend(edits.into_iter().flat_map(|edits| decode_edits(self.words(edits))));
                let mut logits = self.take(logits); // edited in place
                let top = output.as_mut().map_or(&mut [][..], Taken::words);
                cpu::log_softmax_top_k(&shape, logits.f32(), &list, top);
                self.put_back(logits);
                *self.edits = list;
            }
        }
        if let Some(output) = output {
            self.put_back(output);
        }
    }
}

struct Taken {
    value: Value,
    elements: usize,
    words: Words,
}

impl Taken {
    fn words(&mut self) -> &mut [u32] {
        &mut self.words[..self.elements]
    }

    fn f32(&mut self) -> &mut [f32] {
        bytemuck::cast_slice_mut(self.words())
    }
}
