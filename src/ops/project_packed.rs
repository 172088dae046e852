//! Keys and values of packed sentences as sums of their rows, for training, and the gradients of rows and factors. Wang et al.
//! 2020, "Linformer", equation (7).
//!
//! The queries are copied, so that attention reads them from a value of their own: the gradient of the fused projection is then
//! made once, here, and has no columns that are not written.

use super::project_length::LengthProjections;
use super::ranged_attention::Ranges;
use crate::cpu::{self, PackedRows};
use crate::graph::{Columns, CpuRun, Gradients, Graph, GraphError, Lowering, Operator, Value};
use crate::kernels::project_packed::{self, PackedShape};
use crate::shape::{Dtype, Shape};

/// The result of a projection of packed sentences.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ProjectedRows {
    /// `[rows, queries]`
    pub queries: Value,
    /// `[rows, keys + values]`: the sums of a sentence in the places of its first rows.
    pub key_values: Value,
    /// The rows of sums that each token sees, and the reverse.
    pub ranges: Ranges,
}

#[derive(Clone, Copy, Debug)]
struct ProjectPacked {
    /// Queries, keys and values.
    qkv: Value,
    widths: [usize; 3],
    sentences: Value,
    factors: LengthProjections,
    made: ProjectedRows,
}

#[derive(Debug)]
struct RowGradient {
    forward: ProjectPacked,
    dqueries: Value,
    dkey_values: Value,
    dqkv: Value,
}

/// Of the factors of keys or values.
#[derive(Debug)]
struct FactorGradient {
    forward: ProjectPacked,
    dkey_values: Value,
    /// Columns of `dkey_values` and of the fused projection.
    first: [usize; 2],
    width: usize,
    dfactors: Value,
}

impl Graph {
    /// Adds projections of the keys and values of packed sentences. A sentence of no more rows than sums keeps its own.
    ///
    /// * `qkv`: `[rows, …]`, queries, keys and values of the given widths
    /// * `sentences`: u32 `[rows, 2]`, first row of each row's sentence, and the end; rows without a sentence come last
    pub fn project_packed(
        &mut self,
        qkv: Value,
        widths: [usize; 3],
        sentences: Value,
        factors: LengthProjections,
    ) -> Result<ProjectedRows, GraphError> {
        let op = "project_packed";
        let (rows, [queries, keys, values]) = (self.shape(qkv).rows, widths);
        self.expect(
            op,
            "queries, keys and values",
            qkv,
            Shape::new(rows, queries + keys + values),
            Dtype::F32,
        )?;
        self.expect(op, "sentences", sentences, Shape::new(rows, 2), Dtype::U32)?;
        // the host keeps sentences within the positions
        self.expect_factors(op, factors, 1)?;
        let mut ranges = || self.value(op, Shape::new(rows, 2), Dtype::U32);
        let ranges = Ranges { keys: ranges()?, queries: ranges()? };
        let queries = self.value(op, Shape::new(rows, queries), Dtype::F32)?;
        let key_values = self.value(op, Shape::new(rows, keys + values), Dtype::F32)?;
        let made = ProjectedRows { queries, key_values, ranges };
        self.push(ProjectPacked { qkv, widths, sentences, factors, made });
        Ok(made)
    }
}

impl ProjectPacked {
    fn kernel_shape(&self, to: &Lowering<'_>) -> PackedShape {
        PackedShape { rows: to.shape(self.qkv).rows, widths: self.widths, factors: self.factors.shape() }
    }

    fn rows<'a>(&self, run: &'a CpuRun<'_>) -> PackedRows<'a> {
        PackedRows { sentences: run.u32(self.sentences), widths: self.widths }
    }
}

impl Operator for ProjectPacked {
    fn name(&self) -> &'static str {
        "project_packed"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.qkv, self.sentences]
    }

    fn writes(&self) -> Vec<Value> {
        let ProjectedRows { queries, key_values, ranges } = self.made;
        vec![queries, key_values, ranges.keys, ranges.queries]
    }

    fn backward(&self, to: &mut Gradients<'_>) -> Result<(), GraphError> {
        to.expect_training(self)?;
        let ProjectedRows { queries, key_values, .. } = self.made;
        let (Some(dqueries), Some(dkey_values)) = (to.of(queries), to.of(key_values)) else { return Ok(()) };
        let [query_width, key_width, value_width] = self.widths;
        let LengthProjections { keys, values } = self.factors;
        let parts = [
            (keys, [0, query_width], key_width),
            (values, [key_width, query_width + key_width], value_width),
        ];
        for (factors, first, width) in parts {
            if let Some(dfactors) = to.weight(factors.index) {
                to.graph().push(FactorGradient { forward: *self, dkey_values, first, width, dfactors });
            }
        }
        let g = to.graph();
        let dqkv = g.value("project_packed_gradient", g.shape(self.qkv), Dtype::F32)?;
        g.push(RowGradient { forward: *self, dqueries, dkey_values, dqkv });
        to.add(self.qkv, dqkv)
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let LengthProjections { keys, values } = self.factors;
        let inputs = [self.qkv.into(), self.sentences.into(), keys.into(), values.into()];
        let outputs = self.writes().into_iter().map(Into::into);
        let dispatch = project_packed::dispatch(&self.kernel_shape(to));
        to.launch(dispatch, inputs.into_iter().chain(outputs).collect());
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        let ProjectedRows { queries, key_values, ranges } = self.made;
        let [query_width, ..] = self.widths;
        run.write([queries], |run, [queries]| {
            let width: usize = self.widths.iter().sum();
            let rows = queries.chunks_exact_mut(query_width).zip(run.f32(self.qkv).chunks_exact(width));
            rows.for_each(|(queries, qkv)| queries.copy_from_slice(&qkv[..query_width]));
        });
        run.write([key_values], |run, [y]| {
            cpu::project_packed(self.rows(run), run.f32(self.qkv), self.factors.on_cpu(run), y);
        });
        run.write_words([ranges.keys, ranges.queries], |run, [keys, queries]| {
            cpu::packed_ranges(self.rows(run), self.factors.rank(), keys, queries);
        });
    }
}

impl Operator for RowGradient {
    fn name(&self) -> &'static str {
        "project_packed_gradient"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.dqueries, self.dkey_values, self.forward.sentences]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.dqkv]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let LengthProjections { keys, values } = self.forward.factors;
        let gradients = [self.dqueries, self.dkey_values, self.forward.sentences].map(Into::into);
        let others = [keys.into(), values.into(), self.dqkv.into()];
        let dispatch = project_packed::row_gradient_dispatch(&self.forward.kernel_shape(to));
        to.launch(dispatch, gradients.into_iter().chain(others).collect());
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.dqkv], |run, [dqkv]| {
            let gradients = (run.f32(self.dqueries), run.f32(self.dkey_values));
            let factors = self.forward.factors.on_cpu(run);
            cpu::packed_row_gradient(self.forward.rows(run), gradients, factors, dqkv);
        });
    }
}

impl FactorGradient {
    /// The columns of the gradient of the sums, and of the rows.
    fn columns(&self) -> [Columns; 2] {
        let [of_dy, of_x] = self.first;
        [Columns { value: self.dkey_values, first: of_dy }, Columns { value: self.forward.qkv, first: of_x }]
    }
}

impl Operator for FactorGradient {
    fn name(&self) -> &'static str {
        "length_projection_gradient"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.dkey_values, self.forward.qkv, self.forward.sentences, self.dfactors]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.dfactors]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let (rows, factors) = (to.shape(self.forward.qkv).rows, self.forward.factors.shape());
        let layouts = self.columns().map(|columns| to.layout(columns));
        let dispatch = project_packed::factor_gradient_dispatch(rows, factors, self.width, layouts);
        let values = [self.dkey_values, self.forward.qkv, self.forward.sentences, self.dfactors];
        to.launch(dispatch, values.map(Into::into).to_vec());
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.dfactors], |run, [gradient]| {
            let [dy, x] = self.columns().map(|columns| run.columns(columns));
            let sentences = run.u32(self.forward.sentences);
            let rank = self.forward.factors.rank();
            cpu::length_factor_gradient(sentences, (x, dy, self.width), rank, gradient);
        });
    }
}
