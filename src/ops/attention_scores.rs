//! The scores of an attention, computed only to be shown.

use super::attention::{AttentionScores, reach};
use crate::cpu;
use crate::graph::{CpuRun, Graph, GraphError, Lowering, Operator, Value};
use crate::kernels::attention_scores;
use crate::shape::{Dtype, Shape};

/// How far the scores of an attention are computed. Vaswani et al. 2017, section 3.2.1.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScoreStage {
    /// `Q Kᵀ`.
    Products,
    /// `scale · Q Kᵀ`.
    Scaled,
    /// `scale · Q Kᵀ + bias`; -10³⁸ for invisible keys.
    Masked,
}

#[derive(Debug)]
struct ScoresNode {
    scores: AttentionScores,
    masked: bool,
    made: Value,
}

impl Graph {
    /// Adds the scores of an attention; returns `[batch * heads * queries, keys]`.
    pub fn attention_scores(
        &mut self,
        mut scores: AttentionScores,
        stage: ScoreStage,
    ) -> Result<Value, GraphError> {
        let op = "attention_scores";
        self.expect_scores(op, &scores)?;
        self.expect_distance_bias(op, scores.distance_bias, scores.shape.heads)?;
        if stage == ScoreStage::Products {
            scores.shape.scale = 1.0;
        }
        let masked = stage == ScoreStage::Masked;
        if !masked {
            scores.distance_bias = None;
        }
        let shape = scores.shape;
        let made =
            self.value(op, Shape::new(shape.batch * shape.heads * shape.queries, shape.keys), Dtype::F32)?;
        self.push(ScoresNode { scores, masked, made });
        Ok(made)
    }
}

impl Operator for ScoresNode {
    fn name(&self) -> &'static str {
        "attention_scores"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.scores.queries.value, self.scores.keys.value, self.scores.key_mask]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.made]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let AttentionScores { shape, queries, keys, distance_bias, .. } = self.scores;
        let [q, k] = [queries, keys].map(|columns| to.layout(columns));
        let inputs = self.reads().into_iter().map(Into::into);
        let bindings = inputs.chain([distance_bias.into(), self.made.into()]).collect();
        let dispatch = attention_scores::dispatch(&shape, q, k, reach(distance_bias), self.masked);
        to.launch(dispatch, bindings);
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.made], |run, [made]| {
            cpu::attention_scores(&self.scores.on_cpu(run), self.masked, made);
        });
    }
}
