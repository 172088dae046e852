//! The optimizer: norm of all gradients, clipping, and Adam. Kingma & Ba 2015, algorithm 1; Vaswani et al. 2017, section
//! 5.3; Pascanu et al. 2013, section 3.2; decoupled weight decay: Loshchilov & Hutter 2019.

use crate::cpu::{self, AdamStep};
use crate::graph::{Binding, CpuRun, Graph, GraphError, Lowering, Operator, State, Value, step_word};
use crate::kernels::adam::{self, AdamShape};
use crate::kernels::{clip, stride};
use crate::shape::{Dtype, Shape};

/// Constants of Adam.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamConstants {
    /// Decay of the mean of gradients.
    pub beta1: f64,
    /// Decay of the mean of their squares.
    pub beta2: f64,
    /// Number added to the root of the squares' mean.
    pub epsilon: f32,
    /// Share of a weight that a learning rate of 1 takes away in a step.
    pub weight_decay: f32,
}

/// A trained weight: its index, elements, gradient and moments, all in the layout that the device gives the weight.
#[derive(Clone, Copy, Debug)]
pub struct TrainedWeight {
    /// Index in the table of weights.
    pub index: usize,
    /// Number of elements on the CPU.
    pub elements: usize,
    /// Sum of the gradients since the last step.
    pub gradient: State,
    /// Mean of gradients.
    pub mean: State,
    /// Mean of squared gradients.
    pub square: State,
}

/// Norm and factor of the gradients.
#[derive(Debug)]
struct GradientNorm {
    gradients: Vec<(Value, usize)>,
    max_norm: Option<f32>,
    /// `[1, 2]`: the norm, and the factor that clips.
    clip: Value,
}

#[derive(Debug)]
struct Adam {
    weight: TrainedWeight,
    constants: AdamConstants,
    step: Value,
    clip: Value,
    gradient: Value,
    mean: Value,
    square: Value,
}

impl Graph {
    /// Adds one step of Adam for all weights. The gradients are then zero.
    ///
    /// * `clip`: state `[1, 2]`, which gets the norm of all gradients and the factor that reduces it to `max_norm`
    /// * `tied`: weights with tied rows, and for each row the first row of its group, u32 `[rows, 1]`
    /// * `step`: state with the learning rate and Adam's corrections
    pub fn adam(
        &mut self,
        (weights, tied): (&[TrainedWeight], &[(usize, State)]),
        constants: AdamConstants,
        max_norm: Option<f32>,
        (step, clip): (State, State),
    ) -> Result<(), GraphError> {
        let (step, clip) = (self.state(step), self.state(clip));
        self.expect("adam", "clip", clip, Shape::new(1, 2), Dtype::F32)?;
        let mut gradients = Vec::with_capacity(weights.len());
        for weight in weights {
            let gradient = self.state(weight.gradient);
            let gradient = match tied.iter().find(|(index, _)| *index == weight.index) {
                Some(&(_, first_rows)) => self.tie_gradients(gradient, first_rows)?,
                None => gradient,
            };
            gradients.push((gradient, weight.elements));
        }
        self.push(GradientNorm { gradients, max_norm, clip });
        for &weight in weights {
            let [gradient, mean, square] =
                [weight.gradient, weight.mean, weight.square].map(|state| self.state(state));
            self.push(Adam { weight, constants, step, clip, gradient, mean, square });
        }
        Ok(())
    }
}

impl Operator for GradientNorm {
    fn name(&self) -> &'static str {
        "gradient_norm"
    }

    fn reads(&self) -> Vec<Value> {
        self.gradients.iter().map(|(gradient, _)| *gradient).collect()
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.clip]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let words = |to: &Lowering<'_>, gradient: Value| {
            let Shape { rows, width } = to.shape(gradient);
            rows * stride(width)
        };
        let counts = self.gradients.iter().map(|&(gradient, _)| clip::partial_sums(words(to, gradient)));
        let count = counts.sum();
        let partials = to.scratch(Shape::new(1, count), Dtype::F32);
        let mut first = 0;
        for &(gradient, _) in &self.gradients {
            let words = words(to, gradient);
            to.launch(clip::sum_squares_dispatch(words, first), vec![gradient.into(), partials.into()]);
            first += clip::partial_sums(words);
        }
        to.launch(clip::factor_dispatch(count, self.max_norm), vec![partials.into(), self.clip.into()]);
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write([self.clip], |run, [clip]| {
            let gradients = self.gradients.iter().map(|&(gradient, elements)| &run.f32(gradient)[..elements]);
            let norm = gradients.map(cpu::sum_of_squares).sum::<f64>().sqrt();
            // the summand of torch's `clip_grad_norm_`
            let factor = self.max_norm.map_or(1.0, |most| (f64::from(most) / (norm + 1e-6)).min(1.0));
            clip.copy_from_slice(&[norm as f32, factor as f32]);
        });
    }
}

impl Operator for Adam {
    fn name(&self) -> &'static str {
        "adam"
    }

    fn reads(&self) -> Vec<Value> {
        vec![self.step, self.clip, self.gradient, self.mean, self.square]
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.gradient, self.mean, self.square]
    }

    fn changes_weights(&self) -> bool {
        true
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let AdamConstants { beta1, beta2, epsilon, weight_decay } = self.constants;
        let shape = AdamShape {
            beta1,
            beta2,
            epsilon,
            weight_decay,
            rate_word: step_word::LEARNING_RATE,
            correction_words: [step_word::CORRECTION_1, step_word::CORRECTION_2],
        };
        let Shape { rows, width } = to.shape(self.gradient);
        let weight = Binding::Weight { index: self.weight.index, part: 0 };
        let inputs = [self.step.into(), self.clip.into(), weight];
        let moments = [self.gradient.into(), self.mean.into(), self.square.into()];
        let bindings = inputs.into_iter().chain(moments).collect();
        to.launch(adam::dispatch(&shape, rows * stride(width)), bindings);
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        let words = run.u32(self.step);
        let [learning_rate, correction1, correction2] =
            [step_word::LEARNING_RATE, step_word::CORRECTION_1, step_word::CORRECTION_2]
                .map(|word| f32::from_bits(words[word]));
        let AdamConstants { beta1, beta2, epsilon, weight_decay } = self.constants;
        let factor = run.f32(self.clip)[1];
        let step =
            AdamStep { beta1, beta2, epsilon, weight_decay, learning_rate, correction1, correction2, factor };
        let elements = self.weight.elements;
        run.update_weight(self.weight.index, |run, weights| {
            run.write([self.gradient, self.mean, self.square], |_, moments| {
                let [gradients, means, squares] = moments.map(|values| &mut values[..elements]);
                cpu::adam(step, weights, gradients, means, squares);
            });
        });
    }
}
