//! Attention to the keys of a band and to a few side keys, and its weights. Beltagy et al. 2020, "Longformer", section
//! 3.1; Zaheer et al. 2020, "BigBird"; Guo et al. 2022, "LongT5". Nothing has the size length × length.

use crate::cpu;
use crate::graph::{Binding, Columns, CpuRun, Graph, GraphError, Lowering, Operator, Rows, Value};
use crate::kernels::ColumnLayout;
use crate::kernels::banded_attention::{self, BandedLayout};
use crate::shape::{BandedShape, Dtype, Shape};

/// The inputs of an attention to bands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BandedScores {
    /// Sizes and switches.
    pub shape: BandedShape,
    /// `[batch * length, …]`
    pub queries: Columns,
    /// `[batch * length, …]`
    pub keys: Columns,
    /// `[batch * length, …]`: columns of the value that has the keys
    pub values: Columns,
    /// u32 `[batch, length]`, nonzero = visible in bands
    pub key_mask: Value,
    /// `[bias_rows, heads]`: of the band's keys by distance, then of the side keys by distance in blocks.
    pub distance_bias: Option<Rows>,
    /// Keys that every query of a sentence sees.
    pub sides: Option<SideKeys>,
}

/// Keys that every query of a sentence sees: global tokens, or sums of blocks.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SideKeys {
    /// `[…, …]`
    pub keys: Columns,
    /// `[…, …]`: columns of the value that has the side keys
    pub values: Columns,
    /// u32 `[batch, 2 + most_sides]`: number of side keys, number of the first of them that count `side_copies` times,
    /// then their rows
    pub rows: Value,
}

#[derive(Debug)]
struct BandedAttention {
    scores: BandedScores,
    context: Value,
}

#[derive(Debug)]
struct BandedAttentionWeights {
    scores: BandedScores,
    weights: Value,
}

impl Graph {
    /// Adds attention to bands; returns `[batch * length, heads * d_value]`.
    pub fn banded_attention(&mut self, scores: BandedScores) -> Result<Value, GraphError> {
        let op = "banded_attention";
        self.expect_bands(op, &scores)?;
        let BandedShape { batch, heads, length, d_value, .. } = scores.shape;
        let context = self.value(op, Shape::new(batch * length, heads * d_value), Dtype::F32)?;
        self.push(BandedAttention { scores, context });
        Ok(context)
    }

    /// Adds the weights of an attention to bands; returns `[batch * heads * length, most_sides + band's width]`: those of
    /// the side keys, then those of the band, whose column j is key `query - left + j` (with blocks: from the first
    /// position of the query's block).
    pub fn banded_attention_weights(&mut self, scores: BandedScores) -> Result<Value, GraphError> {
        let op = "banded_attention_weights";
        self.expect_bands(op, &scores)?;
        let BandedShape { batch, heads, length, .. } = scores.shape;
        let made = Shape::new(batch * heads * length, scores.shape.weight_columns());
        let weights = self.value(op, made, Dtype::F32)?;
        self.push(BandedAttentionWeights { scores, weights });
        Ok(weights)
    }

    fn expect_bands(&self, op: &'static str, scores: &BandedScores) -> Result<(), GraphError> {
        let BandedScores { shape, queries, keys, values, key_mask, distance_bias, sides } = *scores;
        let BandedShape { batch, heads, length, d_head, d_value, .. } = shape;
        let rows = batch * length;
        self.expect_columns(op, "queries", queries, rows, heads * d_head)?;
        self.expect_columns(op, "keys", keys, rows, heads * d_head)?;
        self.expect_columns(op, "values", values, rows, heads * d_value)?;
        self.expect(op, "key_mask", key_mask, Shape::new(batch, length), Dtype::U32)?;
        let same = |what, keys: Columns, values: Columns| match keys.value == values.value {
            true => Ok(()),
            false => {
                let want = "columns of the value that has the keys".to_owned();
                Err(self.mismatch(op, what, self.shape(values.value), want))
            }
        };
        same("values", keys, values)?;
        let table = distance_bias.map_or(Shape::new(0, heads), |table| Shape::new(table.rows, table.width));
        if table != Shape::new(shape.bias_rows(), heads) {
            let want = format!("{} rows of {heads} heads", shape.bias_rows());
            return Err(self.mismatch(op, "distance_bias", table, want));
        }
        let Some(sides) = sides.filter(|_| shape.most_sides > 0) else { return Ok(()) };
        let side_rows = self.shape(sides.keys.value).rows;
        self.expect_columns(op, "side keys", sides.keys, side_rows, heads * d_head)?;
        self.expect_columns(op, "side values", sides.values, side_rows, heads * d_value)?;
        same("side values", sides.keys, sides.values)?;
        self.expect(op, "side rows", sides.rows, Shape::new(batch, 2 + shape.most_sides), Dtype::U32)
    }
}

impl BandedScores {
    fn reads(&self) -> Vec<Value> {
        let sides = self.sides.into_iter().flat_map(|sides| [sides.keys.value, sides.rows]);
        [self.queries.value, self.keys.value, self.key_mask].into_iter().chain(sides).collect()
    }

    fn layout(&self, to: &Lowering<'_>) -> BandedLayout {
        let nowhere = ColumnLayout { stride: 0, first: 0 };
        BandedLayout {
            queries: to.layout(self.queries),
            keys: to.layout(self.keys),
            values_first: self.values.first,
            side_keys: self.sides.map_or(nowhere, |sides| to.layout(sides.keys)),
            side_values_first: self.sides.map_or(0, |sides| sides.values.first),
        }
    }

    fn bindings(&self, output: Value) -> Vec<Binding> {
        let sides = self.sides;
        vec![
            self.queries.value.into(),
            self.keys.value.into(),
            self.key_mask.into(),
            self.distance_bias.into(),
            sides.map(|sides| sides.keys.value).into(),
            sides.map(|sides| sides.rows).into(),
            output.into(),
        ]
    }

    fn on_cpu<'a>(&self, run: &'a CpuRun<'_>) -> cpu::BandedScores<'a> {
        cpu::BandedScores {
            shape: self.shape,
            queries: run.columns(self.queries),
            keys: run.columns(self.keys),
            key_mask: run.u32(self.key_mask),
            distance_bias: self.distance_bias.map(|table| run.rows(table)),
            side_keys: run.columns(self.sides.map_or(self.keys, |sides| sides.keys)),
            side_rows: self.sides.map_or(&[], |sides| run.u32(sides.rows)),
        }
    }
}

impl Operator for BandedAttention {
    fn name(&self) -> &'static str {
        "banded_attention"
    }

    fn reads(&self) -> Vec<Value> {
        self.scores.reads()
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.context]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let dispatch = banded_attention::dispatch(&self.scores.shape, &self.scores.layout(to));
        to.launch(dispatch, self.scores.bindings(self.context));
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        let BandedScores { values, sides, .. } = self.scores;
        run.write([self.context], |run, [context]| {
            let side_values = run.columns(sides.map_or(values, |sides| sides.values));
            cpu::banded_attention(&self.scores.on_cpu(run), run.columns(values), side_values, context);
        });
    }
}

impl Operator for BandedAttentionWeights {
    fn name(&self) -> &'static str {
        "banded_attention_weights"
    }

    fn reads(&self) -> Vec<Value> {
        self.scores.reads()
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.weights]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let dispatch = banded_attention::weights_dispatch(&self.scores.shape, &self.scores.layout(to));
        to.launch(dispatch, self.scores.bindings(self.weights));
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.weights], |run, [weights]| {
            cpu::banded_attention_weights(&self.scores.on_cpu(run), weights);
        });
    }
}
