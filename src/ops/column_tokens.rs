//! Columns to tokens, in place, for a search on the device over [selected outputs](Graph::selected_linear).

use super::edit_scores::EditedScores;
use crate::graph::{CpuRun, Graph, GraphError, Lowering, Operator, State, Value};
use crate::kernels::column_tokens::{self, Places};
use crate::shape::{Dtype, Shape};

#[derive(Debug)]
struct ColumnTokens {
    words: Value,
    rows: usize,
    places: Places,
    columns: Value,
}

impl Graph {
    /// Makes tokens of the columns in [best tokens](Self::best_tokens). `columns`: as in
    /// [`selected_linear`](Self::selected_linear).
    pub fn tokens_of_best(&mut self, top: Value, columns: State) -> Result<(), GraphError> {
        let Shape { rows, width } = self.shape(top);
        self.add_column_tokens(top, rows, Places::of_best(width / 2), columns)
    }

    /// Makes tokens of the columns in the notes on chunks, for a [greedy step](Self::greedy_step).
    pub fn tokens_of_chunks(&mut self, scores: EditedScores, columns: State) -> Result<(), GraphError> {
        let places = Places::OfChunks { vocabulary: scores.shape.vocabulary };
        self.add_column_tokens(scores.chunks, scores.shape.rows, places, columns)
    }

    fn add_column_tokens(
        &mut self,
        words: Value,
        rows: usize,
        places: Places,
        columns: State,
    ) -> Result<(), GraphError> {
        let op = "column_tokens";
        let columns = self.state(columns);
        let shape = self.shape(columns);
        self.expect(op, "columns", columns, shape, Dtype::U32)?;
        if shape.rows == 0 || !rows.is_multiple_of(shape.rows) {
            return Err(self.mismatch(op, "columns", shape, format!("lists for a divisor of {rows} rows")));
        }
        self.push(ColumnTokens { words, rows, places, columns });
        Ok(())
    }
}

impl Operator for ColumnTokens {
    fn name(&self) -> &'static str {
        "column_tokens"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.columns, self.words]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.words]
    }

    fn shares_class(&self) -> bool {
        true // of the notes on chunks
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let Self { words, rows, places, columns } = *self;
        let Shape { rows: sentences, width } = to.shape(columns);
        let dispatch = column_tokens::dispatch(rows, rows / sentences, places, width, to.class());
        to.launch(dispatch, vec![columns.into(), words.into()]);
    }

    fn run(&self, _: &mut CpuRun<'_>) {
        unreachable!("on the CPU the host searches");
    }
}
