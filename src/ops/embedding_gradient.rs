//! Gradients of embedding tables: the rows of `dy` summed by the table row that each has read. Rows come sorted, so that
//! the sums have the same order in every run.

use crate::cpu;
use crate::graph::{CpuRun, Gradients, GraphError, Lowering, Operator, Value};
use crate::kernels::embedding_gradient::{self, EmbeddingGradientShape, TableLayout};

/// A table of embeddings or positions, and its readers.
#[derive(Clone, Copy, Debug)]
pub(super) struct ReadTable {
    /// Token ids or positions, u32 `[rows, 1]`.
    pub ids: Value,
    /// Index of the table in the weights.
    pub weight: usize,
    /// Rows of the table.
    pub rows: usize,
    /// Elements of a row of the table.
    pub width: usize,
    /// Factor of the rows.
    pub scale: f32,
    /// Layout of the table on a GPU.
    pub layout: TableLayout,
}

#[derive(Debug)]
struct EmbeddingGradient {
    dy: Value,
    table: ReadTable,
    order: Value,
    segments: Value,
    dtable: Value,
}

/// Adds the gradient of a table, if it is trained. `op`: the reader, for the error of ids that are not sorted.
pub(super) fn embedding_gradients(
    to: &mut Gradients<'_>,
    op: &dyn Operator,
    table: ReadTable,
    dy: Value,
) -> Result<(), GraphError> {
    let Some(dtable) = to.weight(table.weight) else { return Ok(()) };
    let Some([order, segments]) = to.graph().sorted_rows(table.ids) else { return Err(to.unsupported(op)) };
    to.graph().push(EmbeddingGradient { dy, table, order, segments, dtable });
    Ok(())
}

impl Operator for EmbeddingGradient {
    fn name(&self) -> &'static str {
        "embedding_gradient"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.dy, self.order, self.segments, self.dtable]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.dtable]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let ReadTable { rows: table_rows, width, scale, layout, .. } = self.table;
        let (rows, segments) = (to.shape(self.dy).rows, to.shape(self.segments).rows);
        let shape = EmbeddingGradientShape { rows, width, segments, scale, layout };
        let bindings = vec![self.dy.into(), self.order.into(), self.segments.into(), self.dtable.into()];
        to.launch(embedding_gradient::dispatch(&shape, 0..table_rows), bindings);
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.dtable], |run, [dtable]| {
            let ReadTable { width, scale, .. } = self.table;
            let (order, segments) = (run.u32(self.order), run.u32(self.segments));
            cpu::embedding_gradient(run.f32(self.dy), order, segments, scale, width, dtable);
        });
    }
}
