//! The position-wise feed-forward network `W₂ · activation(W₁ x + b₁) + b₂`, Vaswani et al. 2017, section 3.3; gated:
//! `W₂ · (activation(V x) ⊙ W₁ x)`, Shazeer 2020, "GLU Variants Improve Transformer".

use super::attention::residual_block;
use super::blueprint::FeedForward;
use super::config::{ModelConfig, NormPlacement};
use super::tapped::block_output;
use crate::activation::Activation;
use crate::graph::{Graph, GraphError, TapView, Value};

pub(super) fn feed_forward(
    g: &mut Graph,
    config: &ModelConfig,
    weights: &FeedForward,
    x: Value,
) -> Result<Value, GraphError> {
    let switches = weights.switches;
    if switches.off {
        // the input alone goes on; after the norm, if norms come last
        return match config.norm {
            NormPlacement::Post if !switches.no_norm => g.layer_norm(x, None, weights.norm.of(config)),
            NormPlacement::Post | NormPlacement::Pre => Ok(x),
        };
    }
    let (y, ()) = residual_block(g, config, (weights.norm, switches), x, |g, x, residual| {
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
