//! Dropout and sums of values: `y = z + x ⊙ mask / (1 - p)`. Srivastava et al. 2014; Vaswani et al. 2017, section 5.4.
//! Backward makes the mask again, from the same numbers.

use crate::cpu::{self, DropoutKey, DropoutShare};
use crate::graph::{
    CpuRun, Gradients, Graph, GraphError, Lowering, Operator, State, TRAINING, Value, step_word,
};
use crate::kernels::dropout;
use crate::shape::{Dtype, Shape};

#[derive(Debug)]
struct Dropout {
    x: Value,
    z: Option<Value>,
    p: f32,
    /// Number of the dropout, and the step state; `None` for a sum.
    random: Option<(u32, Value)>,
    y: Value,
}

impl Graph {
    /// Adds `z + dropout(x)` in a graph for training, `z + x` in others.
    pub(crate) fn drop_and_add(&mut self, x: Value, z: Option<Value>) -> Result<Value, GraphError> {
        let settings = self.training().map(|training| (training.dropout, training.step));
        match (settings, z) {
            (Some((p, step)), z) if p > 0.0 => {
                let place = self.next_place();
                self.add_dropout(x, z, p, Some((place, step)))
            }
            (_, Some(z)) => self.sum(z, x),
            (_, None) => Ok(x),
        }
    }

    /// Adds the sum of two values.
    pub fn sum(&mut self, z: Value, x: Value) -> Result<Value, GraphError> {
        self.add_dropout(x, Some(z), 0.0, None)
    }

    fn add_dropout(
        &mut self,
        x: Value,
        z: Option<Value>,
        p: f32,
        random: Option<(u32, State)>,
    ) -> Result<Value, GraphError> {
        let op = "dropout";
        let shape = self.shape(x);
        if let Some(z) = z {
            self.expect(op, "z", z, shape, Dtype::F32)?;
        }
        let y = self.value(op, shape, Dtype::F32)?;
        let random = random.map(|(place, step)| (place, self.state(step)));
        self.push(Dropout { x, z, p, random, y });
        Ok(y)
    }
}

/// The numbers of a pass, for the dropout `place`.
pub(super) fn dropout_key(step: &[u32], place: u32) -> DropoutKey {
    use step_word::{PASS, SEED};
    DropoutKey { seed: [step[SEED], step[SEED + 1]], pass: [step[PASS], step[PASS + 1]], place }
}

impl Operator for Dropout {
    fn name(&self) -> &'static str {
        "dropout"
    }

    fn reads(&self) -> Vec<Value> {
        [self.x].into_iter().chain(self.z).chain(self.random.map(|(_, step)| step)).collect()
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.y]
    }

    fn backward(&self, to: &mut Gradients<'_>) -> Result<(), GraphError> {
        to.expect_training(self)?;
        let Some(dy) = to.of(self.y) else { return Ok(()) };
        if let Some(z) = self.z {
            to.add(z, dy)?;
        }
        let Some(random) = self.random else { return to.add(self.x, dy) };
        let earlier = to.of(self.x);
        let g = to.graph();
        let dx = g.value(self.name(), g.shape(self.x), Dtype::F32)?;
        g.push(Self { x: dy, z: earlier, p: self.p, random: Some(random), y: dx });
        to.set(self.x, dx);
        Ok(())
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let Shape { rows, width } = to.shape(self.x);
        let (place, step) = self.random.unzip();
        let dropout = dropout::Dropout { probability: self.p, place: place.unwrap_or(0) };
        let dispatch = dropout::dispatch(rows, width, dropout, self.z.is_some());
        to.launch(dispatch, vec![self.x.into(), self.z.into(), step.into(), self.y.into()]);
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.y], |run, [y]| {
            let (x, z) = (run.f32(self.x), self.z.map(|z| run.f32(z)));
            // without training, the compiler leaves the random numbers out
            if let Some((place, step)) = self.random.filter(|_| TRAINING) {
                let key = dropout_key(run.u32(step), place);
                return cpu::dropout(x, z, DropoutShare::new(self.p), key, y);
            }
            y.copy_from_slice(x);
            if let Some(z) = z {
                y.iter_mut().zip(z).for_each(|(y, z)| *y += z);
            }
        });
    }
}
