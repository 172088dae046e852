//! A step of greedy search on the device: each row takes its best token, and the state advances by one token.

use super::edit_scores::EditedScores;
use crate::graph::{CpuRun, Graph, Lowering, Operator, Value};

#[derive(Debug)]
struct GreedyStep(EditedScores);

impl Graph {
    /// Adds a step of greedy search.
    pub fn greedy_step(&mut self, scores: EditedScores) {
        self.push(GreedyStep(scores));
    }
}

impl Operator for GreedyStep {
    fn name(&self) -> &'static str {
        "greedy_step"
    }

    fn reads(&self) -> Vec<Value> {
        [&[self.0.chunks][..], &self.0.state.of_step()].concat()
    }

    fn writes(&self) -> Vec<Value> {
        self.0.state.of_step().to_vec()
    }

    fn shares_class(&self) -> bool {
        true // of the notes on chunks
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let dispatch = self.0.history.search.greedy_launch(self.0.shape.vocabulary, to.class());
        to.launch(dispatch, self.reads().into_iter().map(Into::into).collect());
    }

    fn run(&self, _: &mut CpuRun<'_>) {
        unreachable!("on the CPU the host searches");
    }
}
