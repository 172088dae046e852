//! `softmax(scale · Q Kᵀ + bias + mask) V` for each head. Vaswani et al. 2017, section 3.2.1, equation (1); bias by
//! distance: Raffel et al. 2020 (T5), section 2.1.

use crate::cpu;
use crate::graph::{Columns, CpuRun, Graph, GraphError, Lowering, Operator, Rows, Value};
use crate::kernels::attention;
use crate::shape::{AttentionShape, Dtype, Shape};

/// The inputs of the weights `softmax(scale · Q Kᵀ + bias + mask)`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AttentionScores {
    /// Batch, heads, lengths, widths of a head, scale, causal.
    pub shape: AttentionShape,
    /// `[batch * queries, …]`
    pub queries: Columns,
    /// `[batch * keys, …]`
    pub keys: Columns,
    /// u32 `[batch, keys]`, nonzero = visible
    pub key_mask: Value,
    /// `[2 * reach + 1, heads]`; row `clamp(key - query, -reach, reach) + reach` is added to the scores.
    pub distance_bias: Option<Rows>,
}

/// How a query and a key of one head make a score.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ScoreFunction {
    /// `scale · q·k`. Vaswani et al. 2017, equation (1).
    #[default]
    Product,
    /// `scale · Σ tanh(q + k)`. Bahdanau et al. 2015, appendix A.1.2, with equal numbers for v.
    Additive,
}

#[derive(Debug)]
struct Attention {
    function: ScoreFunction,
    scores: AttentionScores,
    values: Columns,
    context: Value,
}

impl AttentionScores {
    /// The operands of the CPU function.
    pub(super) fn on_cpu<'a>(&self, run: &'a CpuRun<'_>) -> cpu::AttentionScores<'a> {
        cpu::AttentionScores {
            shape: self.shape,
            queries: run.columns(self.queries),
            keys: run.columns(self.keys),
            key_mask: run.u32(self.key_mask),
            distance_bias: self.distance_bias.map(|table| run.rows(table)),
        }
    }
}

pub(super) fn reach(table: Option<Rows>) -> Option<usize> {
    table.map(|table| (table.rows - 1) / 2)
}

impl Graph {
    /// Adds attention; returns `[batch * queries, heads * d_value]`. `values`: `[batch * keys, …]`.
    pub fn attention(&mut self, scores: AttentionScores, values: Columns) -> Result<Value, GraphError> {
        self.attention_by(ScoreFunction::Product, scores, values)
    }

    /// As [`Self::attention`], with another function of the scores.
    pub fn attention_by(
        &mut self,
        function: ScoreFunction,
        scores: AttentionScores,
        values: Columns,
    ) -> Result<Value, GraphError> {
        let op = "attention";
        let AttentionShape { batch, heads, queries, keys, d_value, .. } = scores.shape;
        self.expect_scores(op, &scores)?;
        self.expect_columns(op, "values", values, batch * keys, heads * d_value)?;
        self.expect_distance_bias(op, scores.distance_bias, heads)?;
        let context = self.value(op, Shape::new(batch * queries, heads * d_value), Dtype::F32)?;
        self.push(Attention { function, scores, values, context });
        Ok(context)
    }

    /// Checks the inputs, except the bias by distance.
    pub(super) fn expect_scores(&self, op: &'static str, scores: &AttentionScores) -> Result<(), GraphError> {
        let AttentionShape { batch, heads, queries, keys, d_head, .. } = scores.shape;
        self.expect_columns(op, "queries", scores.queries, batch * queries, heads * d_head)?;
        self.expect_columns(op, "keys", scores.keys, batch * keys, heads * d_head)?;
        self.expect(op, "key_mask", scores.key_mask, Shape::new(batch, keys), Dtype::U32)
    }

    pub(super) fn expect_distance_bias(
        &self,
        op: &'static str,
        table: Option<Rows>,
        heads: usize,
    ) -> Result<(), GraphError> {
        let Some(Rows { rows, width, .. }) = table else { return Ok(()) };
        if rows % 2 == 1 && width == heads {
            return Ok(());
        }
        let want = format!("an odd number of rows of {heads} heads");
        Err(self.mismatch(op, "distance_bias", Shape::new(rows, width), want))
    }
}

impl Operator for Attention {
    fn name(&self) -> &'static str {
        match self.function {
            ScoreFunction::Product => "attention",
            ScoreFunction::Additive => "additive_attention",
        }
    }

    fn reads(&self) -> Vec<Value> {
        let AttentionScores { queries, keys, key_mask, .. } = self.scores;
        vec![queries.value, keys.value, self.values.value, key_mask]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.context]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let AttentionScores { shape, queries, keys, distance_bias, .. } = self.scores;
        let [q, k, v] = [queries, keys, self.values].map(|columns| to.layout(columns));
        let reach = reach(distance_bias);
        let dispatch = match self.function {
            ScoreFunction::Product => attention::dispatch(&shape, q, k, v, reach, to.class()),
            ScoreFunction::Additive => attention::additive_dispatch(&shape, q, k, v, reach, to.class()),
        };
        let inputs = self.reads().into_iter().map(Into::into);
        to.launch(dispatch, inputs.chain([distance_bias.into(), self.context.into()]).collect());
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.context], |run, [context]| {
            let (scores, values) = (self.scores.on_cpu(run), run.columns(self.values));
            match self.function {
                ScoreFunction::Product => cpu::attention(&scores, values, context),
                ScoreFunction::Additive => cpu::additive_attention(&scores, values, context),
            }
        });
    }
}
