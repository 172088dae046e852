//! The position-wise feed-forward network: `W₂ · activation(W₁ x + b₁) + b₂`, Vaswani et al. 2017, section 3.3; or gated:
//! `W₂ · (activation(V x) ⊙ W₁ x)`, Shazeer 2020, "GLU Variants Improve Transformer".

use super::attention::residual_block;
use super::blueprint::FeedForward;
use super::config::ModelConfig;
use super::hidden::Hidden;
use crate::activation::Activation;
use crate::graph::{Graph, GraphError};

pub(super) fn feed_forward(
    g: &mut Graph,
    config: &ModelConfig,
    weights: &FeedForward,
    x: Hidden,
) -> Result<Hidden, GraphError> {
    let (y, ()) = residual_block(g, config, weights.norm, x, |g, x, residual| {
        let hidden = match weights.gate {
            Some(gate) => {
                let up = x.linear(g, weights.up, Activation::Identity)?;
                let x = x.value(g)?;
                g.gated_linear(x, gate, config.activation, up)?
            }
            None => x.linear(g, weights.up, config.activation)?,
        };
        Ok((g.linear(hidden, weights.down, Activation::Identity, residual)?, ()))
    })?;
    Ok(y)
}
