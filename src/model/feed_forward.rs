//! The position-wise feed-forward network `W₂ · activation(W₁ x + b₁) + b₂`, Vaswani et al. 2017, section 3.3; gated:
//! `W₂ · (activation(V x) ⊙ W₁ x)`, Shazeer 2020, "GLU Variants Improve Transformer".

use super::attention::{block_output, residual_block};
use super::blueprint::FeedForward;
use super::config::ModelConfig;
use crate::activation::Activation;
use crate::graph::{Graph, GraphError, TapView, Value};

pub(super) fn feed_forward(
    g: &mut Graph,
    config: &ModelConfig,
    weights: &FeedForward,
    x: Value,
) -> Result<Value, GraphError> {
    let (y, ()) = residual_block(g, config, weights.norm, x, |g, x, residual| {
        let hidden = match weights.gate {
            Some(gate) => {
                let up = g.linear(x, weights.up, Activation::Identity, None)?;
                g.gated_linear(x, gate, config.activation, up)?
            }
            None => g.linear(x, weights.up, config.activation, None)?,
        };
        g.tap("inner", TapView::Rows, |_| Ok(hidden.into()))?;
        Ok((block_output(g, hidden, weights.down, residual)?, ()))
    })?;
    Ok(y)
}
