//! A product whose weights lie in panels, shared between cores by rows and by panels.

use smallvec::SmallVec;

use super::parallel::Budget;

/// Outputs of a panel.
pub const PANEL: usize = 32;

/// Rows that stay in a core's cache while the weights pass.
pub const NEAR_ROWS: usize = 128;

/// Outputs of a row that are finished at a time, while a core's cache has them.
const FINISHED: usize = 8 * PANEL;

/// Rows of y, for some outputs.
pub type Rows<'y> = SmallVec<[&'y mut [f32]; NEAR_ROWS]>;

/// The factors of a product, which computes some outputs of some rows.
pub trait Factors: Copy + Send + Sync {
    /// Maximum rows side by side.
    const MOST_ROWS: usize;

    /// Sets the outputs from `output` on, a panel's first, of the rows from `row` on.
    fn multiply(self, row: usize, output: usize, y: &mut [&mut [f32]]);
}

/// A product, and what follows for each row of it.
#[derive(Clone, Copy)]
pub struct SharedProduct<'a, F> {
    /// x and the weights.
    pub factors: F,
    /// Elements of a row of y.
    pub outputs: usize,
    /// Called with a row, its first output, and the outputs from there on, for all of y in parts.
    pub finish: &'a (dyn Fn(usize, usize, &mut [f32]) + Sync),
}

impl<F: Factors> SharedProduct<'_, F> {
    /// Computes `y` `[rows, outputs]`.
    pub fn run(self, budget: Budget, y: &mut [f32]) {
        self.share_rows(budget, 0, y);
    }

    fn share_rows(self, budget: Budget, first: usize, y: &mut [f32]) {
        let outputs = self.outputs;
        let rows = y.len() / outputs;
        if rows > NEAR_ROWS {
            let half = (rows / 2).next_multiple_of(F::MOST_ROWS);
            let (low, high) = y.split_at_mut(half * outputs);
            return budget.join(
                |budget| self.share_rows(budget, first, low),
                |budget| self.share_rows(budget, first + half, high),
            );
        }
        self.share_outputs(budget, first, 0, y.chunks_exact_mut(outputs).collect());
    }

    fn share_outputs(self, budget: Budget, first: usize, output: usize, y: Rows) {
        let panels = y.first().map_or(0, |row| row.len().div_ceil(PANEL));
        if budget.allows_split() && panels > 1 {
            let half = panels / 2 * PANEL;
            let (low, high) = y.into_iter().map(|row| row.split_at_mut(half)).unzip();
            return budget.join(
                |budget| self.share_outputs(budget, first, output, low),
                |budget| self.share_outputs(budget, first, output + half, high),
            );
        }
        let mut y = y;
        let width = y.first().map_or(0, |row| row.len());
        for start in (0..width).step_by(FINISHED) {
            let end = width.min(start + FINISHED);
            let mut part: Rows = y.iter_mut().map(|row| &mut row[start..end]).collect();
            self.factors.multiply(first, output + start, &mut part);
            for (row, y) in part.into_iter().enumerate() {
                (self.finish)(first + row, output + start, y);
            }
        }
    }
}
