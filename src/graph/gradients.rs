//! Reverse mode: adds the nodes that compute gradients, from the last node to the first. Griewank & Walther 2008,
//! "Evaluating Derivatives", chapter 3. The graph is static, so nothing is recorded during a run.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::build::{Gradients, Graph};
use super::error::GraphError;
use super::training::{TRAINING, Training, TrainingGraph};
use super::values::{Home, State, Value};

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

impl Graph {
    /// Creates an empty graph for training: operators keep what their gradients need, and drop out.
    pub fn for_training(label: impl Into<String>, settings: Training) -> Self {
        let mut graph = Self::new(label);
        graph.training = Some(Box::new(TrainingGraph { settings, places: 0, packed_rows: None }));
        graph
    }

    /// The settings of a graph for training; `None` for inference.
    #[inline(always)]
    pub fn training(&self) -> Option<&Training> {
        if !TRAINING {
            return None; // known to the compiler, which then leaves out what only a training needs
        }
        self.training.as_ref().map(|training| &training.settings)
    }

    /// Lets the batch norms that are added from now on compute the statistics of a batch, over the rows of sentences, and change
    /// the running ones. `ranges`: u32 `[rows, 2]`, first row and end of the sentence of each row; equal for rows of none.
    pub fn normalize_batches(&mut self, ranges: State) {
        let ranges = self.state(ranges);
        if let Some(training) = &mut self.training {
            training.packed_rows = Some(ranges);
        }
    }

    /// The sentences of rows, if batch norms compute their statistics.
    #[inline]
    pub(crate) fn packed_rows(&self) -> Option<Value> {
        self.training.as_ref().filter(|_| TRAINING)?.packed_rows
    }

    /// A number for a dropout that no other one in the graph has.
    pub(crate) fn next_place(&mut self) -> u32 {
        match &mut self.training {
            Some(training) => {
                training.places += 1;
                training.places - 1
            }
            None => unreachable!("only training drops values"),
        }
    }

    /// The sorted rows of a state with token ids or positions.
    pub(crate) fn sorted_rows(&mut self, ids: Value) -> Option<[Value; 2]> {
        let state = self.state_of(ids)?;
        let sorted = self.training()?.sorted.iter().find(|(known, _)| *known == state)?.1;
        Some([self.state(sorted.order), self.state(sorted.segments)])
    }

    fn state_of(&self, value: Value) -> Option<State> {
        match self.values[value.0].home {
            Home::State(state) => Some(state),
            Home::Planned => None,
        }
    }
}
