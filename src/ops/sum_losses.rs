//! Sums of a pass's losses, kept on the device until the host reads many at once.

use crate::cpu::LOSS_COLUMNS;
use crate::graph::{CpuRun, Graph, GraphError, Lowering, Operator, State, Value, step_word};
use crate::kernels::sum_losses;
use crate::shape::{Dtype, Shape};

#[derive(Debug)]
struct SumLosses {
    losses: Value,
    step: Value,
    metrics: Value,
}

impl Graph {
    /// Adds the sums of `losses`, `[rows, 4]`, to the row of `metrics`, `[slots, 4]`, that the step state names.
    pub fn sum_losses(&mut self, losses: Value, step: State, metrics: State) -> Result<(), GraphError> {
        let op = "sum_losses";
        let rows = self.shape(losses).rows;
        self.expect(op, "losses", losses, Shape::new(rows, LOSS_COLUMNS), Dtype::F32)?;
        let (step, metrics) = (self.state(step), self.state(metrics));
        self.push(SumLosses { losses, step, metrics });
        Ok(())
    }
}

impl Operator for SumLosses {
    fn name(&self) -> &'static str {
        "sum_losses"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.losses, self.step, self.metrics]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.metrics]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let (rows, slots) = (to.shape(self.losses).rows, to.shape(self.metrics).rows);
        let dispatch = sum_losses::dispatch(rows, slots, step_word::SLOT, true);
        to.launch(dispatch, vec![self.losses.into(), self.step.into(), self.metrics.into()]);
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.metrics], |run, [metrics]| {
            let slot = run.u32(self.step)[step_word::SLOT] as usize;
            let sums = &mut metrics[slot * LOSS_COLUMNS..][..LOSS_COLUMNS];
            for (column, sum) in sums.iter_mut().enumerate() {
                let losses = run.f32(self.losses)[column..].iter().step_by(LOSS_COLUMNS);
                *sum += losses.map(|&loss| f64::from(loss)).sum::<f64>() as f32;
            }
        });
    }
}
