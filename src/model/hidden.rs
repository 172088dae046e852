//! What goes from block to block: hidden states, whose last norm may still be to come.

use super::blueprint::Norm;
use super::config::ModelConfig;
use crate::activation::Activation;
use crate::graph::{Graph, GraphError, Linear, Normalization, Value};

/// Hidden states, `[rows, d_model]`. A norm waits for the projection that reads it, because the two may be one launch
/// ([`Graph::normalized_linear`]).
#[derive(Clone, Copy, Debug)]
pub enum Hidden {
    /// Here they are.
    Known(Value),
    /// They are the norm of `x + residual`.
    ToNormalize {
        /// `[rows, d_model]`
        x: Value,
        /// `[rows, d_model]`
        residual: Option<Value>,
        /// The norm.
        norm: Normalization,
    },
}

impl Hidden {
    /// The norm of `x + residual`.
    pub(super) fn normalized(config: &ModelConfig, norm: Norm, x: Value, residual: Option<Value>) -> Self {
        let Norm { gamma, beta } = norm;
        Self::ToNormalize { x, residual, norm: Normalization { gamma, beta, epsilon: config.layer_norm_eps } }
    }

    /// How many rows there are.
    pub(super) fn rows(self, g: &Graph) -> usize {
        match self {
            Self::Known(x) | Self::ToNormalize { x, .. } => g.shape(x).rows,
        }
    }

    /// The states themselves, which are known from then on.
    pub(super) fn value(&mut self, g: &mut Graph) -> Result<Value, GraphError> {
        let value = match *self {
            Self::Known(value) => value,
            Self::ToNormalize { x, residual, norm } => g.layer_norm(x, residual, norm)?,
        };
        *self = Self::Known(value);
        Ok(value)
    }

    /// A linear layer of them; they are known from then on.
    pub(super) fn linear(
        &mut self,
        g: &mut Graph,
        linear: Linear,
        activation: Activation,
    ) -> Result<Value, GraphError> {
        match *self {
            Self::Known(x) => g.linear(x, linear, activation, None),
            Self::ToNormalize { x, residual, norm } => {
                let [normalized, y] = g.normalized_linear(x, residual, norm, linear, activation)?;
                *self = Self::Known(normalized);
                Ok(y)
            }
        }
    }
}
