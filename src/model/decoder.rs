//! The decoder: from target tokens so far, and the memory, to the logits of the next one. Vaswani et al. 2017,
//! section 3.1.

use super::attention::{
    AttentionLayer, Memory, Sequences, Taps, cached_self_attention, cross_attention, self_attention,
};
use super::blueprint::Blueprint;
use super::config::ModelConfig;
use super::embedding::{Tokens, embedding, end_of_stack, keep_hidden};
use super::feed_forward::feed_forward;
use crate::activation::Activation;
use crate::graph::{Graph, GraphError, Value};
use crate::ops::Cache;

/// What a target token may look back at.
pub enum History<'a> {
    /// Whole targets at once (teacher forcing).
    Whole(Sequences),
    /// Whole prompts at once, whose keys and values go to the caches of each layer.
    Prompt(Sequences, &'a [Cache]),
    /// One new token per row, with the caches of each layer.
    Cached(&'a [Cache]),
}

/// The memory's keys and values for each layer of cross-attention, `[batch * length, heads * (d_k + d_v)]`; none in a
/// decoder-only model.
///
/// # Errors
/// [`GraphError`]
pub fn memory_key_values(
    g: &mut Graph,
    blueprint: &Blueprint,
    memory: Value,
) -> Result<Vec<Value>, GraphError> {
    let crosses = blueprint.decoder.iter().filter_map(|layer| layer.cross_attention);
    crosses
        .enumerate()
        .map(|(layer, cross)| {
            g.enter(format!("decoder.{layer}.cross.memory"));
            g.linear(memory, cross.key_value, Activation::Identity, None)
        })
        .collect()
}

/// What the decoder makes of its tokens.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// The last states.
    pub last: Value,
    /// The queries of its attention, in the first columns: of each layer its own, and those to the encoder where there is one.
    pub queries: Vec<Value>,
}

/// Adds the decoder to a graph.
///
/// * `tokens`: `rows` of them, those of one source sentence side by side
/// * `memories`: one for each layer, where there is an encoder
///
/// # Errors
/// [`GraphError`]
pub fn decoder(
    g: &mut Graph,
    config: &ModelConfig,
    blueprint: &Blueprint,
    tokens: Tokens,
    (history, memories): (&History<'_>, &[Memory]),
    taps: Taps<'_>,
) -> Result<Decoded, GraphError> {
    let stack = &blueprint.decoder_stack;
    let mut queries = Vec::new();
    g.enter("decoder.embedding");
    let mut x = embedding(g, config, blueprint, (blueprint.target_embedding, stack), tokens)?;
    for (index, layer) in blueprint.decoder.iter().enumerate() {
        keep_hidden(g, taps, index, x)?;
        let attention = AttentionLayer {
            config,
            stack: &config.decoder,
            layer: index,
            causal: true,
            distance_bias: stack.distance_bias,
            taps,
        };
        g.enter(format!("decoder.{index}.self"));
        let weights = &layer.self_attention;
        let fused;
        (x, fused) = match history {
            History::Whole(sequences) => self_attention(g, attention, weights, x, sequences, None)?,
            History::Prompt(sequences, caches) => {
                self_attention(g, attention, weights, x, sequences, Some(&caches[index]))?
            }
            History::Cached(caches) => cached_self_attention(g, attention, weights, x, &caches[index])?,
        };
        queries.push(fused);
        if let (Some(weights), Some(memory)) = (&layer.cross_attention, memories.get(index)) {
            g.enter(format!("decoder.{index}.cross"));
            let crossing;
            (x, crossing) = cross_attention(g, attention, weights, x, memory)?;
            queries.push(crossing);
        }
        g.enter(format!("decoder.{index}.feed_forward"));
        x = feed_forward(g, config, &layer.feed_forward, x)?;
    }
    g.enter("decoder.norm");
    let last = end_of_stack(g, config, stack.final_norm, blueprint.decoder.len(), x, taps)?;
    Ok(Decoded { last, queries })
}

/// Adds the way from a stack's last states to logits, `[rows, target_vocabulary]`: the output layer, after another layer
/// in some models.
///
/// # Errors
/// [`GraphError`]
pub fn output(
    g: &mut Graph,
    config: &ModelConfig,
    blueprint: &Blueprint,
    mut states: Value,
) -> Result<Value, GraphError> {
    g.enter("output");
    if let Some((linear, norm)) = blueprint.output_transform {
        let x = g.linear(states, linear, config.activation, None)?;
        states = g.layer_norm(x, None, norm.of(config))?;
    }
    g.linear(states, blueprint.output, Activation::Identity, None)
}
