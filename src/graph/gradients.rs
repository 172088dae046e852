//! Reverse mode: adds the nodes that compute gradients, from the last node to the first. Griewank & Walther 2008,
//! "Evaluating Derivatives", chapter 3. The graph is static, so nothing is recorded during a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::build::Graph;
use super::error::GraphError;
use super::operator::Operator;
use super::training::TRAINING;
use super::values::Value;

/// The gradients of a graph's values so far. Each is a value, too: it is never changed once it is made.
pub struct Gradients<'a> {
    graph: &'a mut Graph,
    of_value: BTreeMap<Value, Value>,
}

impl Graph {
    /// Adds the gradients of `loss`, the output of a loss operator, with respect to all trained weights.
    ///
    /// # Errors
    /// [`GraphError::NoGradient`] if an operator on the way has none.
    pub fn add_gradients(&mut self, loss: Value) -> Result<(), GraphError> {
        let forward = self.nodes.clone();
        let place = self.place.clone();
        let mut gradients = Gradients { graph: self, of_value: BTreeMap::from([(loss, loss)]) };
        for node in forward.iter().rev() {
            if node.op.writes().iter().any(|value| gradients.of_value.contains_key(value)) {
                gradients.graph.enter(Arc::from(format!("{}.gradient", node.place)));
                node.op.backward(&mut gradients)?;
            }
        }
        self.enter(place);
        Ok(())
    }
}

impl Gradients<'_> {
    /// The graph, for nodes and values.
    pub fn graph(&mut self) -> &mut Graph {
        self.graph
    }

    /// The gradient of a value so far; `None` if the loss does not depend on it.
    pub fn of(&self, value: Value) -> Option<Value> {
        self.of_value.get(&value).copied()
    }

    /// Sets the gradient of a value, with [what was there](Self::of) included.
    pub fn set(&mut self, value: Value, gradient: Value) {
        self.of_value.insert(value, gradient);
    }

    /// Adds to the gradient of a value.
    pub fn add(&mut self, value: Value, gradient: Value) -> Result<(), GraphError> {
        let sum = match self.of(value) {
            Some(earlier) => self.graph.sum(earlier, gradient)?,
            None => gradient,
        };
        self.set(value, sum);
        Ok(())
    }

    /// The state that gathers the gradient of a weight; `None` if the weight is not trained.
    pub fn weight(&mut self, index: usize) -> Option<Value> {
        let state = self.graph.training()?.weight_gradients.get(index).copied().flatten()?;
        Some(self.graph.state(state))
    }

    /// Refuses without the feature `training`. Each `backward` begins with it: the compiler then leaves out the rest, with the
    /// operators and kernels that only gradients use.
    #[inline(always)]
    pub fn expect_training(&self, op: &impl Operator) -> Result<(), GraphError> {
        match TRAINING {
            true => Ok(()),
            false => Err(self.unsupported(op)),
        }
    }

    /// The error of an operator that cannot be trained.
    pub fn unsupported(&self, op: &(impl Operator + ?Sized)) -> GraphError {
        GraphError::NoGradient { op: op.name(), place: self.graph.place.to_string() }
    }
}
