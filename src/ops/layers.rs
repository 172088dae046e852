//! The weights of linear layers and norms.

use crate::graph::{Matrix, Vector};

/// A linear layer: `scale·x·Wᵀ + b`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear {
    /// `[outputs, inputs]`
    pub weight: Matrix,
    /// `[outputs]`
    pub bias: Option<Vector>,
    /// Factor of the product: 1, or 1 / √d_model if T5 ties its output layer to the embedding.
    pub scale: f32,
}

impl Linear {
    /// Indices of its weights in the table of weights.
    pub fn entries(&self) -> impl Iterator<Item = usize> + use<> {
        [self.weight.index].into_iter().chain(self.bias.map(|bias| bias.index))
    }
}

/// Scale, shift and ε of a norm, and the statistics of a batch norm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normalization {
    /// `[width]`
    pub gamma: Vector,
    /// `[width]`; `None` for RMS norms.
    pub beta: Option<Vector>,
    /// Running means and variances, `[2 * width]`: a batch norm. `None`: the statistics are those of each row.
    pub running: Option<Vector>,
    /// Number added to the variance.
    pub epsilon: f32,
}
