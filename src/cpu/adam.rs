//! One step of Adam. Kingma & Ba 2015, algorithm 1; decoupled weight decay: Loshchilov & Hutter 2019.

use super::parallel::Budget;
use super::vector::in_widest_vectors;

/// Constants of a step.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdamStep {
    /// Decay of the mean of gradients.
    pub beta1: f64,
    /// Decay of the mean of their squares.
    pub beta2: f64,
    /// Number added to the root of the squares' mean.
    pub epsilon: f32,
    /// Share of a weight that a learning rate of 1 takes away.
    pub weight_decay: f32,
    /// Learning rate.
    pub learning_rate: f32,
    /// `1 / (1 - β₁ᵗ)`
    pub correction1: f32,
    /// `1 / (1 - β₂ᵗ)`
    pub correction2: f32,
    /// Factor of the gradients, from clipping.
    pub factor: f32,
}

/// Elements at a time.
const BLOCK: usize = 4096;

/// Updates weights and moments; sets the gradients to zero.
pub fn adam(
    step: AdamStep,
    weights: &mut [f32],
    gradients: &mut [f32],
    means: &mut [f32],
    squares: &mut [f32],
) {
    let AdamStep { beta1, beta2, epsilon, weight_decay, learning_rate, correction1, correction2, factor } =
        step;
    let [(beta1, rest1), (beta2, rest2)] = [beta1, beta2].map(|beta| (beta as f32, (1.0 - beta) as f32));
    let update = |weights: &mut [f32], gradients: &mut [f32], means: &mut [f32], squares: &mut [f32]| {
        in_widest_vectors(
            #[inline(always)]
            || {
                let moments = means.iter_mut().zip(squares.iter_mut());
                for ((weight, gradient), (mean, square)) in
                    weights.iter_mut().zip(gradients.iter_mut()).zip(moments)
                {
                    let g = *gradient * factor;
                    *mean = beta1 * *mean + rest1 * g;
                    *square = beta2 * *square + rest2 * g * g;
                    *weight -= learning_rate * weight_decay * *weight;
                    *weight -=
                        learning_rate * (*mean * correction1) / ((*square * correction2).sqrt() + epsilon);
                    *gradient = 0.0;
                }
            },
        );
    };
    in_pieces(weights, gradients, means, squares, &update);
}

/// Calls `update` with equal pieces of four slices of one length, on all cores.
fn in_pieces(
    weights: &mut [f32],
    gradients: &mut [f32],
    means: &mut [f32],
    squares: &mut [f32],
    update: &(impl Fn(&mut [f32], &mut [f32], &mut [f32], &mut [f32]) + Sync),
) {
    let middle = (weights.len() / 2).next_multiple_of(BLOCK);
    if middle >= weights.len() {
        return update(weights, gradients, means, squares);
    }
    let (w, weights) = weights.split_at_mut(middle);
    let (g, gradients) = gradients.split_at_mut(middle);
    let (m, means) = means.split_at_mut(middle);
    let (s, squares) = squares.split_at_mut(middle);
    Budget::new(weights.len())
        .join(|_| in_pieces(w, g, m, s, update), |_| in_pieces(weights, gradients, means, squares, update));
}

/// The sum of the squares of values, in f64.
pub fn sum_of_squares(values: &[f32]) -> f64 {
    in_widest_vectors(
        #[inline(always)]
        || {
            let mut sums = [0.0f64; 16];
            for values in values.chunks(16) {
                for (sum, &value) in sums.iter_mut().zip(values) {
                    *sum += f64::from(value) * f64::from(value);
                }
            }
            sums.iter().sum()
        },
    )
}
