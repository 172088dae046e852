//! The candidates of a beam search: why a translation won, and where another can continue.

use crate::sorting;
use serde::{Deserialize, Serialize};

/// All candidate tokens of one sentence's search. The root, which is no node, is the prompt.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SearchTree {
    /// Number of beams; 1: greedy search, and the tree is a line.
    pub beams: usize,
    /// Exponent of the length in scores; see [`TreeNode::score`].
    pub length_penalty: f32,
    /// Nodes, parents before their children; within a step the best first.
    pub nodes: Vec<TreeNode>,
}

/// A candidate token.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct TreeNode {
    /// Index of the parent; `None`: the prompt.
    pub parent: Option<u32>,
    /// Number of tokens after the prompt, this one included.
    pub step: u32,
    /// Token id.
    pub token: u32,
    /// Natural logarithm of its probability after its ancestors, with the search's edits.
    pub log_probability: f32,
    /// Sum of log-probabilities after the prompt.
    pub sum: f32,
    /// Decision of the search.
    pub fate: Fate,
}

/// Decision of the search about a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Fate {
    /// It became one of the beams.
    Kept,
    /// It ended a hypothesis: with an end token, or at the maximal length.
    Finished,
    /// It was worse than others.
    Rejected,
}

impl TreeNode {
    /// Score of a finished hypothesis with this penalty: `sum / step ^ length_penalty`.
    pub fn score(&self, length_penalty: f32) -> f32 {
        self.sum / super::hypothesis::length_divisor(self.step as usize, length_penalty)
    }
}

impl SearchTree {
    /// Indices of the nodes from the prompt to `node`, that one included.
    ///
    /// # Panics
    /// If the node does not exist, or a parent comes after its child.
    pub fn path(&self, node: usize) -> Vec<usize> {
        let mut path = Vec::new();
        let mut at = Some(node);
        while let Some(index) = at {
            path.push(index);
            let parent = self.nodes[index].parent.map(|parent| parent as usize);
            assert!(parent.is_none_or(|parent| parent < index), "parents come first");
            at = parent;
        }
        path.reverse();
        path
    }

    /// Tokens after the prompt up to `node`.
    ///
    /// # Panics
    /// As [`path`](Self::path).
    pub fn tokens(&self, node: usize) -> Vec<u32> {
        self.path(node).into_iter().map(|index| self.nodes[index].token).collect()
    }

    /// Nodes that end hypotheses, best first under a length penalty; equal ones in their order in the tree.
    pub fn finished(&self, length_penalty: f32) -> Vec<usize> {
        let finished = (0..self.nodes.len()).filter(|&node| self.nodes[node].fate == Fate::Finished);
        let mut finished: Vec<usize> = finished.collect();
        let score = |&node: &usize| self.nodes[node].score(length_penalty);
        sorting::sort_by(&mut finished, |a, b| score(b).total_cmp(&score(a)));
        finished
    }

    /// Whether parents come before their children, steps are counted, and scores are numbers.
    pub fn is_sound(&self) -> bool {
        let follows = |(index, node): (usize, &TreeNode)| match node.parent {
            None => node.step == 1,
            Some(parent) => {
                let parent = parent as usize;
                parent < index && self.nodes[parent].step.checked_add(1) == Some(node.step)
            }
        };
        let numbers = self.nodes.iter().flat_map(|node| [node.log_probability, node.sum]);
        self.nodes.iter().enumerate().all(follows) && numbers.chain([self.length_penalty]).all(f32::is_finite)
    }
}

#[derive(Debug)]
pub(super) struct Growing {
    pub tree: SearchTree,
    /// Last node of each beam, best beam first.
    leaves: Vec<Option<u32>>,
    next_leaves: Vec<Option<u32>>,
}

impl Growing {
    pub fn new(beams: usize, length_penalty: f32) -> Self {
        let tree = SearchTree { beams, length_penalty, nodes: Vec::new() };
        Self { tree, leaves: vec![None; beams], next_leaves: Vec::new() }
    }

    /// Adds a candidate of this step to a beam of the last one. Kept candidates come in the order of the new beams.
    pub fn add(&mut self, beam: usize, token: u32, [log_probability, sum]: [f32; 2], fate: Fate) {
        let parent = self.leaves[beam];
        let step = parent.map_or(0, |parent| self.tree.nodes[parent as usize].step) + 1;
        if fate == Fate::Kept {
            self.next_leaves.push(Some(self.tree.nodes.len() as u32));
        }
        self.tree.nodes.push(TreeNode { parent, step, token, log_probability, sum, fate });
    }

    pub fn end_step(&mut self) {
        std::mem::swap(&mut self.leaves, &mut self.next_leaves);
        self.next_leaves.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two steps of two beams: "a b" is shorter, "a c d" is more probable per token.
    fn tree() -> SearchTree {
        let mut growing = Growing::new(2, 1.0);
        growing.add(0, 1, [-0.5, -0.5], Fate::Kept);
        growing.add(0, 2, [-2.0, -2.0], Fate::Rejected);
        growing.end_step();
        growing.add(0, 3, [-0.5, -1.0], Fate::Finished);
        growing.add(0, 4, [-0.6, -1.1], Fate::Kept);
        growing.end_step();
        growing.add(0, 5, [-0.1, -1.2], Fate::Finished);
        growing.tree
    }

    #[test]
    fn another_penalty_ranks_finished_hypotheses_anew() {
        let tree = tree();
        assert_eq!(tree.finished(0.0), [2, 4], "without a penalty the sum decides, and each token costs");
        assert_eq!(tree.finished(1.0), [4, 2], "by the mean, the longer one is better");
        assert_eq!(tree.finished(-1.0), [2, 4]);
        assert!(tree.is_sound());
    }

    #[test]
    fn a_path_leads_from_the_prompt_to_its_node() {
        let tree = tree();
        assert_eq!((tree.path(4), tree.tokens(4)), (vec![0, 3, 4], vec![1, 4, 5]));
        assert_eq!(tree.path(1), [1]);
    }
}
