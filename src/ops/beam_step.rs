//! A step of beam search on the device: extends the hypotheses of each sentence and advances the state by one token.
//! [Slots are reordered](Graph::reorder_slots) after it.

use super::search_states::{SearchStates, SearchTable};
use crate::graph::{CpuRun, Graph, GraphError, Lowering, Operator, Value};
use crate::kernels::search_state::SearchShape;
use crate::shape::{Dtype, Shape};

#[derive(Debug)]
struct BeamStep {
    search: SearchShape,
    top: Value,
    state: SearchTable<Value>,
}

impl Graph {
    /// Adds a step of beam search. `top`: the [best tokens](Self::best_tokens) of each row.
    pub fn beam_step(
        &mut self,
        search: SearchShape,
        top: Value,
        states: &SearchStates,
    ) -> Result<(), GraphError> {
        let op = "beam_step";
        self.expect(op, "top", top, Shape::new(search.rows(), 2 * search.candidates), Dtype::U32)?;
        let state = states.values(self, op, &search)?;
        self.push(BeamStep { search, top, state });
        Ok(())
    }
}

impl Operator for BeamStep {
    fn name(&self) -> &'static str {
        "beam_step"
    }

    fn reads(&self) -> Vec<Value> {
        [&[self.top][..], &self.state.of_step()].concat()
    }

    fn writes(&self) -> Vec<Value> {
        self.state.of_step().to_vec()
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        to.launch(self.search.beam_launch(), self.reads().into_iter().map(Into::into).collect());
    }

    fn run(&self, _: &mut CpuRun<'_>) {
        unreachable!("on the CPU the host searches");
    }
}
