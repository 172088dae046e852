//! Rows of a table that are one parameter: a bias by distance has a row for each distance, but distances of a bucket
//! share their values. Raffel et al. 2020 (T5), section 2.1.

use crate::graph::{CpuRun, Graph, Lowering, Operator, Rows, State, Value};

/// Before the optimizer: the first row of each group gets the sum of the group's gradients, the others get zero.
#[derive(Debug)]
struct GatherGradients {
    first_rows: Value,
    gradient: Value,
}

/// After the optimizer: every row of a group gets the values of its first row.
#[derive(Debug)]
struct SpreadRows {
    first_rows: Value,
    table: Rows,
}

impl Graph {
    /// Gathers the gradients of tied rows. `first_rows`: u32 `[rows, 1]`, the first row of each row's group.
    pub fn gather_tied_gradients(&mut self, first_rows: State, gradient: State) {
        let (first_rows, gradient) = (self.state(first_rows), self.state(gradient));
        self.push(GatherGradients { first_rows, gradient });
    }

    /// Makes tied rows of a weight equal again.
    pub fn spread_tied_rows(&mut self, first_rows: State, table: Rows) {
        let first_rows = self.state(first_rows);
        self.push(SpreadRows { first_rows, table });
    }
}

impl Operator for GatherGradients {
    fn name(&self) -> &'static str {
        "gather_tied_gradients"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.first_rows, self.gradient]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.gradient]
    }

    fn lower(&self, _: &mut Lowering<'_>) {
        todo!("kernel")
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        let width = run.shape(self.gradient).width;
        run.write([self.gradient], |run, [gradient]| {
            for (row, &first) in
                run.u32(self.first_rows).iter().enumerate().filter(|(row, first)| **first as usize != *row)
            {
                let (before, from) = gradient.split_at_mut(row * width);
                let sum = &mut before[first as usize * width..][..width];
                sum.iter_mut().zip(&mut from[..width]).for_each(|(sum, value)| *sum += std::mem::take(value));
            }
        });
    }
}

impl Operator for SpreadRows {
    fn name(&self) -> &'static str {
        "spread_tied_rows"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.first_rows]
    }

    /// None: it changes a weight. The planner keeps the node because [`Operator::changes_weights`] says so.
    fn writes(&self) -> Vec<Value> {
        Vec::new()
    }

    fn changes_weights(&self) -> bool {
        true
    }

    fn lower(&self, _: &mut Lowering<'_>) {
        todo!("kernel")
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        let width = self.table.width;
        run.update_weight(self.table.index, |run, table| {
            for (row, &first) in run.u32(self.first_rows).iter().enumerate() {
                let first = first as usize * width;
                table.copy_within(first..first + width, row * width);
            }
        });
    }
}
