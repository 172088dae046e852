//! The decoder: from target tokens so far, and the memory, to the logits of the next one. Vaswani et al. 2017,
//! section 3.1.

use super::attention::{
    Cache, Memory, Sequences, Tap, cached_self_attention, cross_attention, self_attention,
};
use super::blueprint::Blueprint;
use super::config::ModelConfig;
use super::encoder::final_norm;
use super::feed_forward::feed_forward;
use crate::activation::Activation;
use crate::graph::{Graph, GraphError, Value};

/// What a target token may look back at.
pub enum History<'a> {
    /// Whole targets at once (teacher forcing); taps for each layer's self-attention.
    Whole(Sequences, &'a [Tap]),
    /// One new token per row, with the caches of each layer.
    Cached(&'a [Cache]),
}

/// The memory's keys and values for one layer of cross-attention, `[batch * length, 2 * d_model]`.
///
/// # Errors
/// [`GraphError`]
pub fn memory_key_values(
    g: &mut Graph,
    blueprint: &Blueprint,
    layer: usize,
    memory: Value,
) -> Result<Value, GraphError> {
    g.enter(format!("decoder.{layer}.cross.memory"));
    g.linear(memory, blueprint.decoder[layer].cross_attention.key_value, Activation::Identity, None)
}

/// Adds the decoder to a graph.
///
/// * `tokens`, `positions`: u32 `[rows, 1]`, the rows of one source sentence side by side
/// * `memories`: one for each layer
/// * `cross_taps`: where each layer's cross-attention weights go; may be empty
/// * returns the logits, `[rows, target_vocabulary]`
///
/// # Errors
/// [`GraphError`]
#[expect(clippy::too_many_arguments, reason = "each is an input of the decoder in the paper's figure 1")]
pub fn decoder(
    g: &mut Graph,
    config: &ModelConfig,
    blueprint: &Blueprint,
    tokens: Value,
    positions: Value,
    history: &History<'_>,
    memories: &[Memory],
    cross_taps: &[Tap],
) -> Result<Value, GraphError> {
    g.enter("decoder.embedding");
    let positions = Some((positions, blueprint.decoder_positions));
    let mut x = g.embed(tokens, positions, blueprint.target_embedding, config.embedding_scale)?;
    for (index, (layer, memory)) in blueprint.decoder.iter().zip(memories).enumerate() {
        g.enter(format!("decoder.{index}.self"));
        x = match history {
            History::Whole(sequences, taps) => {
                let tap = taps.get(index).copied().unwrap_or_default();
                let heads = config.decoder.heads;
                self_attention(g, config, &layer.self_attention, (heads, true), x, sequences, tap)?
            }
            History::Cached(caches) => {
                cached_self_attention(g, config, &layer.self_attention, x, &caches[index])?
            }
        };
        g.enter(format!("decoder.{index}.cross"));
        let tap = cross_taps.get(index).copied().unwrap_or_default();
        x = cross_attention(g, config, &layer.cross_attention, x, memory, tap)?;
        g.enter(format!("decoder.{index}.feed_forward"));
        x = feed_forward(g, config, &layer.feed_forward, x)?;
    }
    g.enter("decoder.norm");
    let x = final_norm(g, config, blueprint.decoder_norm, x)?;
    g.enter("output");
    g.linear(x, blueprint.output, Activation::Identity, None)
}
