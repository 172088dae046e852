//! Planning: which buffer holds which value, and for how long.
//!
//! A value needs its buffer from the node that makes it to the last node that reads it. Values whose times do not
//! overlap share *whole* buffers, largest first (Pisarchyk & Lee 2020, "Efficient Memory Management for Deep Neural
//! Net Inference", greedy by size): WebGPU refuses one buffer as input and output of a dispatch, even in disjoint
//! ranges, so there is no arena to cut ranges from.

use super::build::{Graph, Home, Value};
use crate::kernels::stride;
use crate::shape::{Dtype, Shape};

/// A graph, with a place for each of its values.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) graph: Graph,
    /// For each value the buffer that it shares; none for states and for values that nobody makes.
    pub(super) buffer_of: Vec<Option<usize>>,
    /// Sizes of these buffers, 4-byte elements.
    pub(super) buffers: Vec<usize>,
}

impl Plan {
    /// Plans a graph. Nodes that nothing outside ever hears of are left out: a pass that is run for its attention alone, for
    /// example, ends where the last of it is known.
    pub fn new(mut graph: Graph) -> Self {
        let heard = heard(&graph);
        let mut heard = heard.into_iter();
        graph.nodes.retain(|_| heard.next().unwrap_or(true));
        let mut lifetimes: Vec<Lifetime> = Vec::new();
        for (time, node) in graph.nodes.iter().enumerate() {
            for input in node.op.inputs() {
                if let Some(lifetime) = lifetimes.iter_mut().find(|lifetime| lifetime.value == input) {
                    lifetime.last_use = time;
                }
            }
            for value in node.op.made().into_iter().chain(node.output) {
                let info = graph.values[value.0];
                if info.home == Home::Planned {
                    let elements = stored_elements(info.shape, info.dtype);
                    lifetimes.push(Lifetime { value, made: time, last_use: time, elements });
                }
            }
        }
        lifetimes.sort_by_key(|lifetime| (std::cmp::Reverse(lifetime.elements), lifetime.made));

        let mut buffer_of = vec![None; graph.values.len()];
        let mut buffers: Vec<usize> = Vec::new();
        let mut tenants: Vec<Vec<Lifetime>> = Vec::new();
        for lifetime in lifetimes {
            let free =
                tenants.iter().position(|others| !others.iter().any(|other| other.overlaps(&lifetime)));
            let buffer = free.unwrap_or_else(|| {
                buffers.push(lifetime.elements); // the largest tenant comes first
                tenants.push(Vec::new());
                buffers.len() - 1
            });
            buffer_of[lifetime.value.0] = Some(buffer);
            tenants[buffer].push(lifetime);
        }
        Self { graph, buffer_of, buffers }
    }

    /// How many nodes are run.
    pub fn node_count(&self) -> usize {
        self.graph.nodes.len()
    }

    /// How many buffers the graph's temporary values share.
    pub fn buffer_count(&self) -> usize {
        self.buffers.len()
    }

    /// Bytes of these buffers.
    pub fn buffer_bytes(&self) -> usize {
        self.buffers.iter().sum::<usize>() * 4
    }
}

/// Of each node, whether it writes a state or makes a value that such a node needs, at once or by way of others.
fn heard(graph: &Graph) -> Vec<bool> {
    let mut needed: Vec<bool> =
        graph.values.iter().map(|value| matches!(value.home, Home::State(_))).collect();
    let mut heard = vec![false; graph.nodes.len()];
    for (node, heard) in graph.nodes.iter().zip(&mut heard).rev() {
        let mut made = node.op.made().into_iter().chain(node.output);
        *heard = node.op.writes_states() || made.any(|value| needed[value.0]);
        if *heard {
            node.op.inputs().into_iter().for_each(|input| needed[input.0] = true);
        }
    }
    heard
}

/// Times are node indices, both inclusive: a node's output must not share a buffer with its inputs.
#[derive(Clone, Copy, Debug)]
struct Lifetime {
    value: Value,
    made: usize,
    last_use: usize,
    elements: usize,
}

impl Lifetime {
    fn overlaps(&self, other: &Self) -> bool {
        self.made <= other.last_use && other.made <= self.last_use
    }
}

/// Elements that a value takes on a GPU: f32 rows are padded to a multiple of four.
pub(super) fn stored_elements(shape: Shape, dtype: Dtype) -> usize {
    match dtype {
        Dtype::F32 => shape.rows * stride(shape.width),
        Dtype::U32 => shape.elements(),
    }
}
