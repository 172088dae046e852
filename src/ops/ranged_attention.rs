//! Attention over packed sentences, for training: the sentences of a batch are rows of one value, one after the other,
//! without padding. Each query sees a range of keys; a causal mask is a range, too. Vaswani et al. 2017, section 3.2.1.
//!
//! The forward pass keeps queries, keys, values and the log-sum-exp of each row's scores. Backward computes the weights
//! from them again. Dao et al. 2022, "FlashAttention", section 3.1.

use crate::cpu::{self, DropoutShare, RangedShape};
use crate::graph::{Binding, Columns, CpuRun, Gradients, Graph, GraphError, Lowering, Operator, Rows, Value};
use crate::kernels::dropout::Dropout;
use crate::kernels::ranged_attention::{self, MAX_HEAD, RangedAttentionShape};
use crate::ops::attention::reach;
use crate::ops::dropout::dropout_key;
use crate::shape::{AttentionShape, Dtype, Shape};

/// The rows that see each other. u32 `[rows, 2]` each: the first row, and the end.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Ranges {
    /// For each query, the keys that it sees.
    pub keys: Value,
    /// For each key, the queries that see it.
    pub queries: Value,
}

/// The inputs of the attention weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RangedScores {
    /// Heads, widths of a head, scale; one batch, with all queries and all keys.
    pub shape: AttentionShape,
    /// `[queries, …]`
    pub queries: Columns,
    /// `[keys, …]`
    pub keys: Columns,
    /// What sees what.
    pub ranges: Ranges,
    /// As in [`AttentionScores`](super::AttentionScores).
    pub distance_bias: Option<Rows>,
}

#[derive(Clone, Copy, Debug)]
struct RangedAttention {
    scores: RangedScores,
    values: Columns,
    /// Share of weights that are dropped, number of the dropout, and the step state.
    dropout: Option<(f32, u32, Value)>,
    log_sums: Value,
    context: Value,
}

#[derive(Debug)]
struct RangedAttentionGradient {
    forward: RangedAttention,
    dcontext: Value,
    /// Inner products of contexts and their gradients, `[queries, heads]`.
    products: Value,
    dqueries: Value,
    /// Gradient of keys and values; the same value as `dqueries` in self-attention.
    dkeys: Value,
    dbias: Option<Value>,
}

impl Graph {
    /// Adds attention over packed sentences; returns `[queries, heads * d_value]`. Keys and values are columns of one
    /// value.
    pub fn ranged_attention(&mut self, scores: RangedScores, values: Columns) -> Result<Value, GraphError> {
        let op = "ranged_attention";
        let AttentionShape { heads, queries, keys, d_head, d_value, .. } = scores.shape;
        self.expect_columns(op, "queries", scores.queries, queries, heads * d_head)?;
        self.expect_columns(op, "keys", scores.keys, keys, heads * d_head)?;
        self.expect_columns(op, "values", values, keys, heads * d_value)?;
        self.expect(op, "key ranges", scores.ranges.keys, Shape::new(queries, 2), Dtype::U32)?;
        self.expect(op, "query ranges", scores.ranges.queries, Shape::new(keys, 2), Dtype::U32)?;
        self.expect_distance_bias(op, scores.distance_bias, heads)?;
        if d_head.max(d_value) > MAX_HEAD {
            let want = format!("heads of at most {MAX_HEAD} columns");
            return Err(self.mismatch(op, "queries", Shape::new(queries, d_head.max(d_value)), want));
        }
        if scores.keys.value != values.value {
            let got = self.shape(values.value);
            return Err(self.mismatch(
                op,
                "values",
                got,
                "columns of the value that has the keys".to_owned(),
            ));
        }
        let settings = self.training().map(|training| (training.attention_dropout, training.step));
        let dropout =
            settings.filter(|(p, _)| *p > 0.0).map(|(p, step)| (p, self.next_place(), self.state(step)));
        let log_sums = self.value(op, Shape::new(queries, heads), Dtype::F32)?;
        let context = self.value(op, Shape::new(queries, heads * d_value), Dtype::F32)?;
        self.push(RangedAttention { scores, values, dropout, log_sums, context });
        Ok(context)
    }
}

impl RangedAttention {
    fn inputs(&self) -> impl Iterator<Item = Value> + use<> {
        let RangedScores { queries, keys, ranges, .. } = self.scores;
        [queries.value, keys.value, ranges.keys].into_iter().chain(self.dropout.map(|(_, _, step)| step))
    }

    fn kernel_shape(&self, to: &Lowering<'_>) -> RangedAttentionShape {
        let RangedScores { shape, queries, keys, distance_bias, .. } = self.scores;
        let AttentionShape { queries: q_rows, keys: key_rows, heads, d_head, d_value, scale, .. } = shape;
        RangedAttentionShape {
            q_rows,
            key_rows,
            heads,
            d_head,
            d_value,
            q_width: to.shape(queries.value).width,
            q_first: queries.first,
            kv_width: to.shape(keys.value).width,
            k_first: keys.first,
            v_first: self.values.first,
            scale,
            reach: reach(distance_bias),
            dropout: self.dropout.map(|(probability, place, _)| Dropout { probability, place }),
        }
    }

    fn on_cpu<'a>(&self, run: &'a CpuRun<'_>) -> cpu::RangedAttention<'a> {
        let RangedScores { shape, queries, keys, ranges, distance_bias } = self.scores;
        let AttentionShape { heads, d_head, d_value, scale, .. } = shape;
        cpu::RangedAttention {
            shape: RangedShape { heads, d_head, d_value, scale },
            queries: run.columns(queries),
            keys: run.columns(keys),
            values: run.columns(self.values),
            key_ranges: run.u32(ranges.keys),
            distance_bias: distance_bias.map(|table| run.rows(table)),
            dropout: self
                .dropout
                .map(|(p, place, step)| (DropoutShare::new(p), dropout_key(run.u32(step), place))),
        }
    }
}

impl Operator for RangedAttention {
    fn name(&self) -> &'static str {
        "ranged_attention"
    }

    fn reads(&self) -> Vec<Value> {
        self.inputs().collect()
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.log_sums, self.context]
    }

    fn backward(&self, to: &mut Gradients<'_>) -> Result<(), GraphError> {
        to.expect_training(self)?;
        let op = "ranged_attention_gradient";
        let Some(dcontext) = to.of(self.context) else { return Ok(()) };
        let RangedScores { queries, keys, distance_bias, .. } = self.scores;
        let dbias = distance_bias.and_then(|table| to.weight(table.index));
        let g = to.graph();
        let products = g.value(op, g.shape(self.log_sums), Dtype::F32)?;
        let dqueries = g.value(op, g.shape(queries.value), Dtype::F32)?;
        let dkeys = match queries.value == keys.value {
            true => dqueries,
            false => g.value(op, g.shape(keys.value), Dtype::F32)?,
        };
        g.push(RangedAttentionGradient { forward: *self, dcontext, products, dqueries, dkeys, dbias });
        to.add(queries.value, dqueries)?;
        if queries.value != keys.value {
            to.add(keys.value, dkeys)?;
        }
        Ok(())
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let RangedScores { queries, keys, ranges, distance_bias, .. } = self.scores;
        let step = self.dropout.map(|(_, _, step)| step);
        let inputs: [Binding; 5] =
            [queries.value.into(), keys.value.into(), ranges.keys.into(), distance_bias.into(), step.into()];
        let outputs = [self.context.into(), self.log_sums.into()];
        let dispatch = ranged_attention::dispatch(&self.kernel_shape(to));
        to.launch(dispatch, inputs.into_iter().chain(outputs).collect());
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.log_sums, self.context], |run, [log_sums, context]| {
            cpu::ranged_attention(&self.on_cpu(run), log_sums, context);
        });
    }
}

impl RangedAttentionGradient {
    fn on_cpu<'a>(&self, run: &'a CpuRun<'_>, products: &'a [f32]) -> cpu::ContextGradient<'a> {
        cpu::ContextGradient {
            query_ranges: run.u32(self.forward.scores.ranges.queries),
            log_sums: run.f32(self.forward.log_sums),
            products,
            dcontext: run.f32(self.dcontext),
        }
    }
}

impl Operator for RangedAttentionGradient {
    fn name(&self) -> &'static str {
        "ranged_attention_gradient"
    }

    fn reads(&self) -> Vec<Value> {
        let RangedAttention { scores, log_sums, context, .. } = self.forward;
        let own = [scores.ranges.queries, log_sums, context, self.dcontext];
        self.forward.inputs().chain(own).chain(self.dbias).collect()
    }

    fn writes(&self) -> Vec<Value> {
        let dkeys = Some(self.dkeys).filter(|dkeys| *dkeys != self.dqueries);
        [self.products, self.dqueries].into_iter().chain(dkeys).chain(self.dbias).collect()
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let forward = &self.forward;
        let shape = forward.kernel_shape(to);
        let RangedScores { queries, keys, ranges, distance_bias, .. } = forward.scores;
        // log-sums, then products
        let statistics = to.scratch(Shape::new(shape.q_rows, 2 * shape.heads), Dtype::F32);
        let bindings =
            vec![forward.log_sums.into(), forward.context.into(), self.dcontext.into(), statistics.into()];
        to.launch(ranged_attention::statistics_dispatch(&shape), bindings);
        let step = forward.dropout.map(|(_, _, step)| step);
        let bindings = |ranges: Value, output: Value| -> Vec<Binding> {
            let inputs = [queries.value.into(), keys.value.into(), ranges.into(), distance_bias.into()];
            let others = [statistics.into(), self.dcontext.into(), step.into(), output.into()];
            inputs.into_iter().chain(others).collect()
        };
        to.launch(ranged_attention::query_gradient_dispatch(&shape), bindings(ranges.keys, self.dqueries));
        to.launch(ranged_attention::key_gradient_dispatch(&shape), bindings(ranges.queries, self.dkeys));
        if let Some(dbias) = self.dbias {
            to.launch(ranged_attention::bias_gradient_dispatch(&shape), bindings(ranges.keys, dbias));
        }
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        let Self { forward, dcontext, products, dqueries, dkeys, dbias } = self;
        let RangedScores { queries, keys, .. } = forward.scores;
        run.write([*products], |run, [products]| {
            let shape = forward.on_cpu(run).shape;
            cpu::context_products(shape, run.f32(forward.context), run.f32(*dcontext), products);
        });
        run.write([*dqueries], |run, [gradient]| {
            let (attention, of) = (forward.on_cpu(run), self.on_cpu(run, run.f32(*products)));
            cpu::ranged_query_gradient(
                &attention,
                &of,
                (gradient, run.shape(*dqueries).width, queries.first),
            );
        });
        run.write([*dkeys], |run, [gradient]| {
            let (attention, of) = (forward.on_cpu(run), self.on_cpu(run, run.f32(*products)));
            let firsts = [keys.first, forward.values.first];
            cpu::ranged_key_gradient(&attention, &of, (gradient, run.shape(*dkeys).width, firsts));
        });
        if let Some(dbias) = dbias {
            run.write([*dbias], |run, [gradient]| {
                let (attention, of) = (forward.on_cpu(run), self.on_cpu(run, run.f32(*products)));
                cpu::ranged_bias_gradient(&attention, &of, gradient);
            });
        }
    }
}
