//! Planning: a graph without the nodes that no state depends on, and buffers for its values.

use super::buffers::Buffers;
use super::build::Graph;
use super::values::Home;

/// A graph, with a place for each of its values where every node is a step.
#[derive(Clone, Debug)]
pub struct Plan {
    pub(super) graph: Graph,
    pub(super) buffers: Buffers,
}

impl Plan {
    /// Plans a graph. A node is left out if no state depends on it: a pass that is run for its attention alone, for example,
    /// ends with its last attention.
    pub fn new(mut graph: Graph) -> Self {
        let mut live = live(&graph).into_iter();
        graph.nodes.retain(|_| live.next().unwrap_or(true));
        let buffers = Buffers::share(&graph.values, graph.nodes.iter().map(|node| node.touches()));
        Self { graph, buffers }
    }

    /// How many nodes are run.
    pub fn node_count(&self) -> usize {
        self.graph.nodes.len()
    }

    /// How many buffers the graph's temporary values share.
    pub fn buffer_count(&self) -> usize {
        self.buffers.elements.len()
    }

    /// Bytes of these buffers.
    pub fn buffer_bytes(&self) -> usize {
        self.buffers.elements.iter().sum::<usize>() * 4
    }
}

/// Of each node, whether it writes a state, or a value that a later live node reads.
fn live(graph: &Graph) -> Vec<bool> {
    let mut needed: Vec<bool> = graph.values.iter().map(|value| value.home != Home::Planned).collect();
    let mut live = vec![false; graph.nodes.len()];
    for (node, live) in graph.nodes.iter().zip(&mut live).rev() {
        *live = node.op.writes().into_iter().any(|value| needed[value.0]);
        if *live {
            node.op.reads().into_iter().for_each(|value| needed[value.0] = true);
        }
    }
    live
}
