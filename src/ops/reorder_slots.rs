//! Reorders the tables of cache slots after a step of beam search on the device: each row takes its parent's history.
//! No cache is copied.

use super::search_states::SearchStates;
use crate::graph::{CpuRun, Graph, GraphError, Lowering, Operator, Value};
use crate::kernels::search_state::SearchShape;

#[derive(Debug)]
struct ReorderSlots {
    shape: SearchShape,
    search: Value,
    slots: Value,
}

impl Graph {
    /// Adds the reordering.
    pub fn reorder_slots(&mut self, shape: SearchShape, states: &SearchStates) -> Result<(), GraphError> {
        let state = states.values(self, "reorder_slots", &shape)?;
        self.push(ReorderSlots { shape, search: state.search, slots: state.slots });
        Ok(())
    }
}

impl Operator for ReorderSlots {
    fn name(&self) -> &'static str {
        "reorder_slots"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.search, self.slots]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.slots]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        to.launch(self.shape.reorder_launch(), vec![self.search.into(), self.slots.into()]);
    }

    fn run(&self, _: &mut CpuRun<'_>) {
        unreachable!("on the CPU the host searches");
    }
}
