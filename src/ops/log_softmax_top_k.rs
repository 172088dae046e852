//! The best tokens of each row by processed log-probability, for a search on the host. Score edits apply to the logits
//! in place.

use std::sync::{Mutex, PoisonError};

use crate::cpu;
use crate::graph::{Binding, CpuRun, Graph, GraphError, Lowering, Operator, State, Value};
use crate::kernels::edits::Edits;
use crate::kernels::log_softmax_top_k::ScoreBuffers;
use crate::scores::{ScoreEdit, TopKShape, decode_edits};
use crate::shape::{Dtype, Shape};

#[derive(Debug)]
struct LogSoftmaxTopK {
    shape: TopKShape,
    logits: Value,
    edits: Option<Value>,
    top: Value,
    /// Score edits of a step on the CPU, kept so that a step allocates nothing.
    list: Mutex<Vec<ScoreEdit>>,
}

impl Graph {
    /// Adds the selection; returns u32 `[rows, 2 * candidates]`: the bits of the values, then the tokens.
    ///
    /// * `logits`: `[rows, vocabulary]`; `edits`: u32 `[1 + capacity, 4]`, the number of edits, then the edits
    pub fn log_softmax_top_k(
        &mut self,
        shape: TopKShape,
        logits: Value,
        edits: Option<State>,
    ) -> Result<Value, GraphError> {
        let op = "log_softmax_top_k";
        self.expect(op, "logits", logits, Shape::new(shape.rows, shape.vocabulary), Dtype::F32)?;
        if let Some(state) = edits {
            self.agree(op, "edits", state.shape, Shape::new(state.shape.rows, 4))?;
        }
        let edits = edits.map(|state| self.state(state));
        let top = self.value(op, Shape::new(shape.rows, 2 * shape.candidates), Dtype::U32)?;
        self.push(LogSoftmaxTopK { shape, logits, edits, top, list: Mutex::default() });
        Ok(top)
    }
}

impl Operator for LogSoftmaxTopK {
    fn name(&self) -> &'static str {
        "log_softmax_top_k"
    }

    fn reads(&self) -> Vec<Value> {
        [self.logits].into_iter().chain(self.edits).collect()
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.logits, self.top]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let class = to.class();
        let chunks = to.scratch(Shape::new(1, self.shape.chunk_elements()), Dtype::U32);
        let edits = match self.edits {
            Some(list) => Edits::Listed { capacity: to.shape(list).rows - 1, list: list.into() },
            None => Edits::None,
        };
        let buffers =
            ScoreBuffers { logits: self.logits.into(), chunks: chunks.into(), nothing: Binding::Nothing };
        to.launch_all(self.shape.chunk_launches(&edits, buffers, class));
        to.launch_all(self.shape.best_launches(&edits, buffers, self.top.into(), class));
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write_words([self.logits, self.top], |run, [logits, top]| {
            let mut list = self.list.lock().unwrap_or_else(PoisonError::into_inner);
            list.clear();
            list.extend(self.edits.into_iter().flat_map(|edits| decode_edits(run.u32(edits))));
            cpu::log_softmax_top_k(&self.shape, bytemuck::cast_slice_mut(logits), &list, top);
        });
    }
}
