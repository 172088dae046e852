//! The encoder: from source tokens to the memory that the decoder attends to. Vaswani et al. 2017, section 3.1.

use super::attention::{AttentionLayer, Sequences, Taps, Visible};
use super::blueprint::Blueprint;
use super::config::ModelConfig;
use super::embedding::{Tokens, embedding, end_of_stack, keep_hidden};
use super::feed_forward::feed_forward;
use super::whole_attention::self_attention;
use crate::graph::{Graph, GraphError, TapView, Value};

/// Adds the encoder to a graph; returns the memory, `[batch * length, d_model]`. `tokens`: `batch * length` tokens.
pub fn encoder(
    g: &mut Graph,
    config: &ModelConfig,
    blueprint: &Blueprint,
    tokens: Tokens,
    sequences: &Sequences,
    taps: Taps<'_>,
) -> Result<Value, GraphError> {
    let stack = &blueprint.encoder_stack;
    g.enter("encoder.embedding");
    let mut x = embedding(g, config, blueprint, (blueprint.source_embedding, stack), tokens, false)?;
    for (index, layer) in blueprint.encoder.iter().enumerate() {
        keep_hidden(g, taps, index, x)?;
        let kind = match sequences.visible {
            Visible::Mask(_) => config.encoder_kind(index).for_length(sequences.length),
            // the length of many sentences together
            #[cfg(feature = "training")]
            Visible::Ranges(_) => config.encoder_kind(index),
        };
        let attention = AttentionLayer {
            config,
            stack: &config.encoder,
            layer: index,
            causal: false,
            distance_bias: layer.self_attention.distance_bias,
            kind,
            scale: layer.self_attention.switches.scale,
            taps,
        };
        g.enter(format!("encoder.{index}.self"));
        (x, _) = self_attention(g, attention, &layer.self_attention, x, sequences, None)?;
        g.enter(format!("encoder.{index}.feed_forward"));
        x = feed_forward(g, config, &layer.feed_forward, x)?;
    }
    g.enter("encoder.norm");
    let last = end_of_stack(g, config, stack.final_norm, blueprint.encoder.len(), x, taps)?;
    g.tap_named("encoder.output", TapView::Rows, |_| Ok(last.into()))?;
    Ok(last)
}
