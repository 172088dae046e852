//! `log_softmax(logits)[target]` of each row: the log-probability of given tokens.

use crate::cpu;
use crate::graph::{Binding, CpuRun, Graph, GraphError, Lowering, Operator, Value};
use crate::kernels::log_probability;
use crate::shape::{Dtype, Shape};

#[derive(Debug)]
struct LogProbability {
    logits: Value,
    targets: Value,
    result: Value,
}

impl Graph {
    /// Adds log-probabilities of given tokens; returns `[rows, 1]`, 0 if a target is not in the vocabulary. `logits`:
    /// `[rows, vocabulary]`; `targets`: u32 `[rows, 1]`.
    pub fn log_probability(&mut self, logits: Value, targets: Value) -> Result<Value, GraphError> {
        let op = "log_probability";
        let Shape { rows, width } = self.shape(logits);
        self.expect(op, "logits", logits, Shape::new(rows, width), Dtype::F32)?;
        self.expect(op, "targets", targets, Shape::new(rows, 1), Dtype::U32)?;
        let result = self.value(op, Shape::new(rows, 1), Dtype::F32)?;
        self.push(LogProbability { logits, targets, result });
        Ok(result)
    }
}

impl Operator for LogProbability {
    fn name(&self) -> &'static str {
        "log_probability"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.logits, self.targets]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.result]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let Shape { rows, width } = to.shape(self.logits);
        let elements = log_probability::chunk_elements(rows, width);
        let chunks = to.scratch(Shape::new(1, elements), Dtype::U32);
        let noted = vec![self.logits.into(), Binding::Nothing, Binding::Nothing, chunks.into()];
        to.launch(log_probability::chunk_dispatch(rows, width), noted);
        let bindings = [self.logits, self.targets, chunks, self.result].map(Into::into);
        to.launch(log_probability::dispatch(rows, width), bindings.to_vec());
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.result], |run, [result]| {
            cpu::log_probability(run.f32(self.logits), run.u32(self.targets), result);
        });
    }
}
