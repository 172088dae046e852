//! The encoder: from source tokens to the memory that the decoder attends to. Vaswani et al. 2017, section 3.1.

use super::attention::{Sequences, Tap, self_attention};
use super::blueprint::{Blueprint, LayerNorm};
use super::config::ModelConfig;
use super::feed_forward::feed_forward;
use crate::graph::{Graph, GraphError, Value};

/// Adds the encoder to a graph.
///
/// * `tokens`, `positions`: u32 `[batch * length, 1]`
/// * returns the memory, `[batch * length, d_model]`
///
/// # Errors
/// [`GraphError`]
pub fn encoder(
    g: &mut Graph,
    config: &ModelConfig,
    blueprint: &Blueprint,
    tokens: Value,
    positions: Value,
    sequences: &Sequences,
    taps: &[Tap],
) -> Result<Value, GraphError> {
    g.enter("encoder.embedding");
    let positions = Some((positions, blueprint.encoder_positions));
    let mut x = g.embed(tokens, positions, blueprint.source_embedding, config.embedding_scale)?;
    for (index, layer) in blueprint.encoder.iter().enumerate() {
        let tap = taps.get(index).copied().unwrap_or_default();
        g.enter(format!("encoder.{index}.self"));
        x = self_attention(
            g,
            config,
            &layer.self_attention,
            (config.encoder.heads, false),
            x,
            sequences,
            tap,
        )?;
        g.enter(format!("encoder.{index}.feed_forward"));
        x = feed_forward(g, config, &layer.feed_forward, x)?;
    }
    g.enter("encoder.norm");
    final_norm(g, config, blueprint.encoder_norm, x)
}

pub(super) fn final_norm(
    g: &mut Graph,
    config: &ModelConfig,
    norm: Option<LayerNorm>,
    x: Value,
) -> Result<Value, GraphError> {
    match norm {
        Some(norm) => g.layer_norm(x, None, norm.gamma, Some(norm.beta), config.layer_norm_eps),
        None => Ok(x),
    }
}
