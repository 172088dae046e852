//! Planning: removes the nodes that no state depends on, and assigns buffers.

use super::buffers::Buffers;
use super::build::Graph;
use super::values::{Home, State};

/// A graph, with a buffer for each value if every node is a step.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) graph: Graph,
    pub(super) buffers: Buffers,
}

impl Plan {
    /// Plans a graph without the nodes that no state depends on. A pass that computes only attention ends with its last
    /// attention.
    pub fn new(mut graph: Graph) -> Self {
        let mut live = live(&graph).into_iter();
        graph.nodes.retain(|_| live.next().unwrap_or(true));
        let buffers = Buffers::share(&graph.values, graph.nodes.iter().map(|node| node.touches()));
        Self { graph, buffers }
    }

    /// The states that the plan reads or writes.
    pub(crate) fn states(&self) -> impl Iterator<Item = State> {
        self.graph.values.iter().filter_map(|value| match value.home {
            Home::State(state) => Some(state),
            Home::Planned => None,
        })
    }

    /// Number of nodes that run.
    pub fn node_count(&self) -> usize {
        self.graph.nodes.len()
    }

    /// Number of buffers that the temporary values share.
    pub fn buffer_count(&self) -> usize {
        self.buffers.elements.len()
    }

    /// Bytes of these buffers.
    pub fn buffer_bytes(&self) -> usize {
        self.buffers.elements.iter().sum::<usize>() * 4
    }
}

/// Whether each node changes weights, writes a state, or a value that a later live node reads.
fn live(graph: &Graph) -> Vec<bool> {
    let mut needed: Vec<bool> = graph.values.iter().map(|value| value.home != Home::Planned).collect();
    let mut live = vec![false; graph.nodes.len()];
    for (node, live) in graph.nodes.iter().zip(&mut live).rev() {
        *live = node.op.changes_weights() || node.op.writes().into_iter().any(|value| needed[value.0]);
        if *live {
            node.op.reads().into_iter().for_each(|value| needed[value.0] = true);
        }
    }
    live
}
