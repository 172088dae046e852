//! The recipe of a training: everything but data, model and learning rate.

use super::TrainError;
use crate::ops::AdamConstants;
use crate::precision::Products;

/// Regularization and optimizer. The default is the paper's. Vaswani et al. 2017, sections 5.3 and 5.4.
#[derive(Clone, Debug, PartialEq)]
pub struct Recipe {
    /// Seed of dropout.
    pub seed: u64,
    /// Share of values that are dropped: of embeddings, and of each sublayer's output.
    pub dropout: f32,
    /// Share of attention weights that are dropped.
    pub attention_dropout: f32,
    /// ε of label smoothing.
    pub label_smoothing: f32,
    /// Decay of the mean of gradients.
    pub beta1: f64,
    /// Decay of the mean of their squares.
    pub beta2: f64,
    /// Number added to the root of the squares' mean.
    pub epsilon: f32,
    /// Share of a weight that a learning rate of 1 takes away in a step.
    pub weight_decay: f32,
    /// Largest norm of all gradients together; larger ones are clipped.
    pub max_norm: Option<f32>,
    /// How matrices are multiplied.
    pub products: Products,
    /// Parts of names of tensors that stay as they are.
    pub freeze: Vec<String>,
    /// Parts of names of tensors that alone are trained; empty: all that are not frozen.
    pub train_only: Vec<String>,
}

impl Default for Recipe {
    fn default() -> Self {
        Self {
            seed: 1,
            dropout: 0.1,
            attention_dropout: 0.0,
            label_smoothing: 0.1,
            beta1: 0.9,
            beta2: 0.98,
            epsilon: 1e-9,
            weight_decay: 0.0,
            max_norm: None,
            products: Products::F32,
            freeze: Vec::new(),
            train_only: Vec::new(),
        }
    }
}

impl Recipe {
    pub(super) fn adam(&self) -> AdamConstants {
        let Self { beta1, beta2, epsilon, weight_decay, .. } = *self;
        AdamConstants { beta1, beta2, epsilon, weight_decay }
    }

    /// Checks the ranges.
    ///
    /// # Errors
    /// [`TrainError::Option`] names the option and its range.
    pub fn check(&self) -> Result<(), TrainError> {
        const SHARE: &str = "a number from 0 to below 1";
        let share = |value: f32| (0.0..1.0).contains(&value);
        let positive = |value: f32| value.is_finite() && value > 0.0;
        let checks = [
            ("dropout", self.dropout, SHARE, share(self.dropout)),
            ("attention dropout", self.attention_dropout, SHARE, share(self.attention_dropout)),
            ("label smoothing", self.label_smoothing, SHARE, share(self.label_smoothing)),
            ("β1", self.beta1 as f32, SHARE, share(self.beta1 as f32)),
            ("β2", self.beta2 as f32, SHARE, share(self.beta2 as f32)),
            ("Adam's ε", self.epsilon, "a positive number", positive(self.epsilon)),
            ("weight decay", self.weight_decay, SHARE, share(self.weight_decay)),
            (
                "the largest norm",
                self.max_norm.unwrap_or(1.0),
                "a positive number",
                self.max_norm.is_none_or(positive),
            ),
        ];
        match checks.into_iter().find(|(.., valid)| !valid) {
            Some((option, value, want, _)) => {
                Err(TrainError::Option { option, value: value.to_string(), want })
            }
            None => Ok(()),
        }
    }
}
