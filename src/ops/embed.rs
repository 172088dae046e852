//! `y[r] = scale * table[tokens[r]] + positions[r-th position]`.  Vaswani et al. 2017, sections 3.4 and 3.5.

use super::embedding_gradient::{ReadTable, embedding_gradients};
use crate::cpu;
use crate::graph::{CpuRun, Gradients, Graph, GraphError, Lowering, Matrix, Operator, Rows, Value};
use crate::kernels::embed::{self, EmbedShape};
use crate::kernels::embedding_gradient::TableLayout;
use crate::shape::{Dtype, Shape};

#[derive(Debug)]
struct Embed {
    tokens: Value,
    /// Positions, and the table that they index, if they are added.
    positions: Option<(Value, Option<Rows>)>,
    table: Matrix,
    scale: f32,
    zero_start: bool,
    y: Value,
}

impl Graph {
    /// Adds token embeddings, plus position embeddings if any; returns `[rows, d_model]`.
    ///
    /// * `tokens`: u32 `[rows, 1]`; `positions`: u32 `[rows, 1]`, and the table that they index
    /// * `table`: `[vocabulary, d_model]`, perhaps shared with the output projection; `scale`: √d_model, or 1
    pub fn embed(
        &mut self,
        tokens: Value,
        positions: Option<(Value, Rows)>,
        table: Matrix,
        scale: f32,
    ) -> Result<Value, GraphError> {
        let positions = positions.map(|(index, table)| (index, Some(table)));
        self.add_embed(tokens, positions, table, scale, false)
    }

    /// As [`embed`](Self::embed), but position 0 comes without a token embedding. Without a table of positions they are
    /// not added.
    pub fn embed_after_start(
        &mut self,
        tokens: Value,
        positions: (Value, Option<Rows>),
        table: Matrix,
        scale: f32,
    ) -> Result<Value, GraphError> {
        self.add_embed(tokens, Some(positions), table, scale, true)
    }

    fn add_embed(
        &mut self,
        tokens: Value,
        positions: Option<(Value, Option<Rows>)>,
        table: Matrix,
        scale: f32,
        zero_start: bool,
    ) -> Result<Value, GraphError> {
        let op = "embed";
        let rows = self.shape(tokens).rows;
        self.expect(op, "tokens", tokens, Shape::new(rows, 1), Dtype::U32)?;
        if let Some((index, position_table)) = positions {
            self.expect(op, "positions", index, Shape::new(rows, 1), Dtype::U32)?;
            if let Some(Rows { rows, width, .. }) = position_table {
                self.agree(op, "position table", Shape::new(rows, width), Shape::new(rows, table.inputs))?;
            }
        }
        let y = self.value(op, Shape::new(rows, table.inputs), Dtype::F32)?;
        self.push(Embed { tokens, positions, table, scale, zero_start, y });
        Ok(y)
    }
}

impl Operator for Embed {
    fn name(&self) -> &'static str {
        "embed"
    }

    fn reads(&self) -> Vec<Value> {
        [self.tokens].into_iter().chain(self.positions.map(|(index, _)| index)).collect()
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.y]
    }

    fn backward(&self, to: &mut Gradients<'_>) -> Result<(), GraphError> {
        to.expect_training(self)?;
        let Some(dy) = to.of(self.y) else { return Ok(()) };
        if self.zero_start {
            return Err(to.unsupported(self));
        }
        let Matrix { index: weight, outputs: rows, inputs: width } = self.table;
        let (ids, scale, layout) = (self.tokens, self.scale, TableLayout::Panels);
        embedding_gradients(to, self, ReadTable { ids, weight, rows, width, scale, layout }, dy)?;
        let Some((ids, Some(Rows { index: weight, rows, width }))) = self.positions else { return Ok(()) };
        let (scale, layout) = (1.0, TableLayout::Rows);
        embedding_gradients(to, self, ReadTable { ids, weight, rows, width, scale, layout }, dy)
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let shape = EmbedShape {
            rows: to.shape(self.tokens).rows,
            d_model: self.table.inputs,
            scale: self.scale,
            positions: self.positions.is_some_and(|(_, table)| table.is_some()),
            zero_start: self.zero_start,
            precision: to.precision(),
        };
        let (index, position_table) = self.positions.unzip();
        for (tokens, part) in to.parts(self.table) {
            let bindings =
                vec![self.tokens.into(), part, index.into(), position_table.flatten().into(), self.y.into()];
            to.launch(embed::dispatch(&shape, tokens), bindings);
        }
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.y], |run, [y]| {
            let positions =
                self.positions.map(|(index, table)| (run.u32(index), table.map(|table| run.rows(table))));
            let added = positions.and_then(|(index, table)| Some((index, table?)));
            let Self { table, scale, .. } = *self;
            cpu::embed(run.u32(self.tokens), added, run.matrix(table), table.inputs, scale, y);
            if let (true, Some((index, table))) = (self.zero_start, positions) {
                cpu::start_rows(index, table, y);
            }
        });
    }
}
