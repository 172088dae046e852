//! The decoder: from target tokens and the memory to logits of the next token. Vaswani et al. 2017, section 3.1.

use super::attention::{AttentionLayer, Memory, Taps, cached_self_attention, cross_attention};
use super::blueprint::{Blueprint, Mixing};
pub use super::cache::History;
use super::config::ModelConfig;
use super::embedding::{Tokens, embedding, end_of_stack, keep_hidden};
use super::feed_forward::feed_forward;
use super::self_attention::SelfAttentionKind;
use super::ssru::ssru;
use super::whole_attention::self_attention;
use crate::activation::Activation;
use crate::graph::{Graph, GraphError, State, TapView, Value};

/// Adds the memory's keys and values for each cross-attention, `[batch * length, heads * (d_k + d_v)]`; none in a
/// decoder-only model.
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

/// The results of the decoder.
#[derive(Clone, Debug)]
pub struct Decoded {
    /// Last states.
    pub last: Value,
    /// Queries in the first columns: each layer's self-attention, unless it is recurrent, then its cross-attention if
    /// there is an encoder.
    pub queries: Vec<Value>,
}

/// Adds the decoder to a graph.
///
/// * `tokens`: `rows` tokens, those of one source sentence side by side
/// * `memories`: one per layer, if there is an encoder
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
    let table = (blueprint.target_embedding, stack);
    let mut x = embedding(g, config, blueprint, table, tokens, config.zero_start)?;
    for (index, layer) in blueprint.decoder.iter().enumerate() {
        keep_hidden(g, taps, index, x)?;
        let attention = AttentionLayer {
            config,
            stack: &config.decoder,
            layer: index,
            causal: true,
            distance_bias: layer.mixing.distance_bias(),
            kind: &SelfAttentionKind::Full,
            scale: layer.mixing.switches().scale,
            taps,
        };
        g.enter(format!("decoder.{index}.self"));
        x = match &layer.mixing {
            Mixing::Ssru(weights) => ssru(g, config, weights, index, x, history)?,
            Mixing::Attention(weights) => {
                let (y, fused) = match history {
                    History::Whole(sequences) => self_attention(g, attention, weights, x, sequences, None)?,
                    History::Prompt(sequences, caches) => {
                        let cache = caches[index].key_value();
                        self_attention(g, attention, weights, x, sequences, Some(&cache))?
                    }
                    History::Cached(caches) => {
                        cached_self_attention(g, attention, weights, x, &caches[index].key_value())?
                    }
                };
                queries.push(fused);
                y
            }
        };
        if let (Some(weights), Some(memory)) = (&layer.cross_attention, memories.get(index)) {
            g.enter(format!("decoder.{index}.cross"));
            let attention = AttentionLayer { scale: weights.switches.scale, ..attention };
            let crossing;
            (x, crossing) = cross_attention(g, attention, weights, x, memory)?;
            queries.push(crossing);
        }
        g.enter(format!("decoder.{index}.feed_forward"));
        x = feed_forward(g, config, &layer.feed_forward, x)?;
    }
    g.enter("decoder.norm");
    let last = end_of_stack(g, config, stack.final_norm, blueprint.decoder.len(), x, taps)?;
    g.tap_named("decoder.output", TapView::Rows, |_| Ok(last.into()))?;
    Ok(Decoded { last, queries })
}

/// Adds the way from last states to logits, `[rows, target_vocabulary]`: the output layer, in some models after another
/// layer. `columns`: the tokens of each sentence that are computed, u32 `[sentences, columns]`; logits are then `[rows,
/// columns]`.
pub fn output(
    g: &mut Graph,
    config: &ModelConfig,
    blueprint: &Blueprint,
    mut states: Value,
    columns: Option<State>,
) -> Result<Value, GraphError> {
    g.enter("output");
    if let (Some((linear, norm)), Some(activation)) = (blueprint.output_transform, config.output.transform) {
        let x = g.linear(states, linear, activation, None)?;
        states = g.layer_norm(x, None, norm.of(config))?;
    }
    let logits = match columns {
        Some(columns) => g.selected_linear(states, blueprint.output, columns),
        None => g.linear(states, blueprint.output, Activation::Identity, None),
    }?;
    for (name, view) in [("logits", TapView::Rows), ("log_probabilities", TapView::LogSoftmax)] {
        g.tap_named(name, view, |_| Ok(logits.into()))?;
    }
    Ok(logits)
}
