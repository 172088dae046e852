//! The best tokens of each row of edited scores, for beam search on the device.

use super::edit_scores::EditedScores;
use crate::graph::{CpuRun, Graph, GraphError, Lowering, Operator, Value};
use crate::shape::{Dtype, Shape};

#[derive(Debug)]
struct BestTokens {
    scores: EditedScores,
    top: Value,
}

impl Graph {
    /// Adds the selection; returns u32 `[rows, 2 * candidates]`: the bits of the values, then the tokens.
    pub fn best_tokens(&mut self, scores: EditedScores) -> Result<Value, GraphError> {
        let shape = Shape::new(scores.shape.rows, 2 * scores.shape.candidates);
        let top = self.value("best_tokens", shape, Dtype::U32)?;
        self.push(BestTokens { scores, top });
        Ok(top)
    }
}

impl Operator for BestTokens {
    fn name(&self) -> &'static str {
        "best_tokens"
    }

    fn reads(&self) -> Vec<Value> {
        let EditedScores { logits, chunks, row_bans, state, .. } = self.scores;
        vec![logits, chunks, row_bans, state.bans, state.search]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.scores.chunks, self.top] // candidates are listed behind the chunks
    }

    fn shares_class(&self) -> bool {
        true // of the notes on chunks
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let Self { scores, top } = self;
        let (edits, buffers) = (scores.edits(), scores.buffers());
        to.launch_all(scores.shape.best_launches(&edits, buffers, (*top).into(), to.class()));
    }

    fn run(&self, _: &mut CpuRun<'_>) {
        unreachable!("on the CPU the host searches");
    }
}
