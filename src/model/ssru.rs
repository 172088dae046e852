//! The simpler simple recurrent unit as a block: x = W·in, f = σ(W_f·in + b_f), c = f ⊙ c₋₁ + (1 − f) ⊙ x, and
//! max(c, 0) goes on.  Kim et al. 2019, "From Research to Production and Back: Ludicrously Fast Neural Machine
//! Translation", section 3.1; Marian's `rnn/cells.h`.

use super::attention::{Sequences, residual_block};
use super::blueprint::Ssru;
use super::cache::History;
use super::config::ModelConfig;
use crate::activation::Activation;
use crate::graph::{Graph, GraphError, Value};

/// Adds the block, in a post-norm model: without its norm, the residual is an operator of its own. `layer`: number of the layer, from 0.
pub(super) fn ssru(
    g: &mut Graph,
    config: &ModelConfig,
    weights: &Ssru,
    layer: usize,
    x: Value,
    history: &History<'_>,
) -> Result<Value, GraphError> {
    let (y, ()) = residual_block(g, config, (weights.norm, weights.switches), x, |g, x, residual| {
        let projected = g.linear(x, weights.input, Activation::Identity, None)?;
        let y = match history {
            History::Whole(Sequences { batch, .. }) => g.ssru(projected, *batch, None)?,
            History::Prompt(Sequences { batch, .. }, caches) => {
                g.ssru(projected, *batch, Some(&caches[layer].cells()))?
            }
            History::Cached(caches) => g.cached_ssru(projected, &caches[layer].cells())?,
        };
        let y = match residual {
            Some(residual) => g.sum(residual, y)?,
            None => y,
        };
        Ok((y, ()))
    })?;
    Ok(y)
}
