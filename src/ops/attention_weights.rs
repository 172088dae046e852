//! The weights of an attention, computed only to be shown.

use super::attention::{AttentionScores, ScoreFunction, reach};
use crate::cpu;
use crate::graph::{CpuRun, Graph, GraphError, Lowering, Operator, Value};
use crate::kernels::attention_weights;
use crate::shape::{Dtype, Shape};

#[derive(Debug)]
struct AttentionWeights {
    function: ScoreFunction,
    scores: AttentionScores,
    weights: Value,
}

impl Graph {
    /// Adds the weights of an attention; returns `[batch * heads * queries, keys]`.
    pub fn attention_weights(&mut self, scores: AttentionScores) -> Result<Value, GraphError> {
        self.attention_weights_by(ScoreFunction::Product, scores)
    }

    /// As [`Self::attention_weights`], with another function of the scores.
    pub fn attention_weights_by(
        &mut self,
        function: ScoreFunction,
        scores: AttentionScores,
    ) -> Result<Value, GraphError> {
        let op = "attention_weights";
        let shape = scores.shape;
        self.expect_scores(op, &scores)?;
        self.expect_distance_bias(op, scores.distance_bias, shape.heads)?;
        let made = Shape::new(shape.batch * shape.heads * shape.queries, shape.keys);
        let weights = self.value(op, made, Dtype::F32)?;
        self.push(AttentionWeights { function, scores, weights });
        Ok(weights)
    }
}

impl Operator for AttentionWeights {
    fn name(&self) -> &'static str {
        "attention_weights"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.scores.queries.value, self.scores.keys.value, self.scores.key_mask]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.weights]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let AttentionScores { shape, queries, keys, distance_bias, .. } = self.scores;
        let [q, k] = [queries, keys].map(|columns| to.layout(columns));
        let inputs = self.reads().into_iter().map(Into::into);
        let bindings = inputs.chain([distance_bias.into(), self.weights.into()]).collect();
        let dispatch = match self.function {
            ScoreFunction::Product => attention_weights::dispatch(&shape, q, k, reach(distance_bias)),
            ScoreFunction::Additive => {
                attention_weights::additive_dispatch(&shape, q, k, reach(distance_bias))
            }
        };
        to.launch(dispatch, bindings);
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.weights], |run, [weights]| {
            let scores = self.scores.on_cpu(run);
            match self.function {
                ScoreFunction::Product => cpu::attention_weights(&scores, weights),
                ScoreFunction::Additive => cpu::additive_attention_weights(&scores, weights),
            }
        });
    }
}
