//! What an operator says of itself: everything that planning and running ask.

use std::fmt;
use std::sync::Arc;

use super::cpu_run::CpuRun;
use super::lower::Lowering;
use super::values::Value;

/// One operator of a graph, with the values that it works on.
///
/// [`Graph::push`](super::Graph::push) adds it to a graph. [`ops`](crate::ops) has the operators of the Transformer; a
/// program may bring its own.
pub trait Operator: fmt::Debug + Send + Sync {
    /// The operator's name in messages.
    fn name(&self) -> &'static str;

    /// Values that it reads.
    fn reads(&self) -> Vec<Value>;

    /// Values that it makes, and those that it changes in place, states among them.
    fn writes(&self) -> Vec<Value>;

    /// Adds the launches that compute it on a GPU.
    fn lower(&self, to: &mut Lowering<'_>);

    /// Computes it on the CPU. It must not allocate, because it runs for every token.
    fn run(&self, run: &mut CpuRun<'_>);
}

/// One step of a graph.
#[derive(Clone, Debug)]
pub struct Node {
    /// The place in the model, e.g. `encoder.0.feed_forward`.
    pub place: Arc<str>,
    /// What it computes.
    pub op: Arc<dyn Operator>,
}

impl Node {
    /// Values that it reads or writes; some of them twice.
    pub(super) fn touches(&self) -> impl Iterator<Item = Value> + use<> {
        self.op.reads().into_iter().chain(self.op.writes())
    }
}
