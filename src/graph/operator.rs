//! The interface of an operator for planning and running.

use std::fmt;
use std::sync::Arc;

use super::cpu_run::CpuRun;
use super::error::GraphError;
use super::gradients::Gradients;
use super::lower::Lowering;
use super::values::Value;

/// One operator of a graph, with its values. [`Graph::push`](super::Graph::push) adds it. [`ops`](crate::ops) has the
/// operators of the Transformer; other programs may add their own.
pub trait Operator: fmt::Debug + Send + Sync {
    /// Name in messages.
    fn name(&self) -> &'static str;

    /// Values that the operator reads.
    fn reads(&self) -> Vec<Value>;

    /// Values that it makes or changes in place, states included.
    fn writes(&self) -> Vec<Value>;

    /// Whether it changes weights: such a node always runs.
    fn changes_weights(&self) -> bool {
        false
    }

    /// Adds the launches of the operator on a GPU.
    fn lower(&self, to: &mut Lowering<'_>);

    /// Adds the nodes that carry the gradients of its outputs to its inputs and weights.
    ///
    /// # Errors
    /// [`GraphError::NoGradient`] if the operator has no gradient: the default.
    fn backward(&self, gradients: &mut Gradients<'_>) -> Result<(), GraphError> {
        Err(gradients.unsupported(self))
    }

    /// Runs the operator on the CPU. It must not allocate, because it runs for every token.
    fn run(&self, run: &mut CpuRun<'_>);
}

/// A step of a graph.
#[derive(Clone, Debug)]
pub struct Node {
    /// Place in the model, e.g. `encoder.0.feed_forward`.
    pub place: Arc<str>,
    /// Operator of the node.
    pub op: Arc<dyn Operator>,
}

impl Node {
    /// Values that the node reads or writes; some of them twice.
    pub(super) fn touches(&self) -> impl Iterator<Item = Value> + use<> {
        self.op.reads().into_iter().chain(self.op.writes())
    }
}
