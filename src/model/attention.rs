//! The three kinds of attention as blocks: encoder self-attention, masked decoder self-attention, and cross-attention.
//! Vaswani et al. 2017, section 3.2.3.

use super::blueprint::{CrossAttention, LayerNorm, SelfAttention};
use super::config::{ModelConfig, NormPlacement};
use crate::activation::Activation;
use crate::graph::{Columns, Graph, GraphError, State, Value};
use crate::kernels::attention::AttentionShape;

/// Sequences side by side, all of one padded length.
#[derive(Clone, Copy, Debug)]
pub struct Sequences {
    /// How many.
    pub batch: usize,
    /// Tokens in each, padding included.
    pub length: usize,
    /// u32 `[batch, length]`, nonzero where there is a token.
    pub mask: Value,
}

/// Where attention weights go when somebody wants to see them.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tap(pub Option<State>);

/// A residual block: `norm(x + f(x))`, or `x + f(norm(x))` in models that normalize first. `block` gets its input and
/// the residual that its last linear layer has to add, if any. Section 3.1; Xiong et al. 2020.
pub(super) fn residual_block(
    g: &mut Graph,
    config: &ModelConfig,
    norm: LayerNorm,
    x: Value,
    block: impl FnOnce(&mut Graph, Value, Option<Value>) -> Result<Value, GraphError>,
) -> Result<Value, GraphError> {
    let epsilon = config.layer_norm_eps;
    match config.norm {
        NormPlacement::Post => {
            let y = block(g, x, None)?;
            g.layer_norm(y, Some(x), norm.gamma, Some(norm.beta), epsilon)
        }
        NormPlacement::Pre => {
            let normalized = g.layer_norm(x, None, norm.gamma, Some(norm.beta), epsilon)?;
            block(g, normalized, Some(x))
        }
    }
}

/// Self-attention over whole sequences: the encoder's, or with `causal` the decoder's under teacher forcing.
pub(super) fn self_attention(
    g: &mut Graph,
    config: &ModelConfig,
    weights: &SelfAttention,
    (heads, causal): (usize, bool),
    x: Value,
    sequences: &Sequences,
    tap: Tap,
) -> Result<Value, GraphError> {
    let d_model = config.d_model;
    let shape = attention_shape(config, heads, sequences.batch, sequences.length, sequences.length, causal);
    residual_block(g, config, weights.norm, x, |g, x, residual| {
        let qkv = g.linear(x, weights.qkv, Activation::Identity, None)?;
        let [queries, keys, values] = [0, 1, 2].map(|part| Columns { value: qkv, first: part * d_model });
        capture(g, shape, queries, keys, sequences.mask, tap)?;
        let context = g.attention(shape, queries, keys, values, sequences.mask, None)?;
        g.linear(context, weights.output, Activation::Identity, residual)
    })
}

/// The key–value cache of one decoder layer and the index tables that all layers share.
#[derive(Clone, Copy, Debug)]
pub struct Cache {
    /// `[rows * capacity, d_model]`
    pub keys: State,
    /// `[rows * capacity, d_model]`
    pub values: State,
    /// u32 `[rows, 1]`: where this step's keys and values go
    pub cache_slots: State,
    /// u32 `[rows, capacity]`: where those of each row's history are
    pub slots: State,
    /// u32 `[rows, 1]`: how long that history is, this step included
    pub key_counts: State,
}

/// Self-attention of one new token per row to its history.
pub(super) fn cached_self_attention(
    g: &mut Graph,
    config: &ModelConfig,
    weights: &SelfAttention,
    x: Value,
    cache: &Cache,
) -> Result<Value, GraphError> {
    let heads = config.decoder.heads;
    residual_block(g, config, weights.norm, x, |g, x, residual| {
        let qkv = g.linear(x, weights.qkv, Activation::Identity, None)?;
        g.append_kv(qkv, cache.cache_slots, cache.keys, cache.values)?;
        let queries = Columns { value: qkv, first: 0 };
        let scale = scale(config.d_model / heads);
        let context = g.cached_attention(
            heads,
            scale,
            queries,
            cache.keys,
            cache.values,
            cache.slots,
            cache.key_counts,
            None,
        )?;
        g.linear(context, weights.output, Activation::Identity, residual)
    })
}

/// The encoder's output as the decoder sees it: keys and values of one layer, computed once per sentence.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// `[batch * length, 2 * d_model]`
    pub key_values: Value,
    /// The source sentences.
    pub sequences: Sequences,
}

/// Attention of the target to the source. A sentence's beams, like the tokens of a teacher-forced target, are so many
/// queries to one memory.
pub(super) fn cross_attention(
    g: &mut Graph,
    config: &ModelConfig,
    weights: &CrossAttention,
    x: Value,
    memory: &Memory,
    tap: Tap,
) -> Result<Value, GraphError> {
    let d_model = config.d_model;
    let Sequences { batch, length, mask } = memory.sequences;
    let queries_each = g.shape(x).rows / batch;
    let shape = attention_shape(config, config.decoder.heads, batch, queries_each, length, false);
    residual_block(g, config, weights.norm, x, |g, x, residual| {
        let queries = Columns { value: g.linear(x, weights.query, Activation::Identity, None)?, first: 0 };
        let [keys, values] = [0, 1].map(|part| Columns { value: memory.key_values, first: part * d_model });
        capture(g, shape, queries, keys, mask, tap)?;
        let context = g.attention(shape, queries, keys, values, mask, None)?;
        g.linear(context, weights.output, Activation::Identity, residual)
    })
}

fn capture(
    g: &mut Graph,
    shape: AttentionShape,
    queries: Columns,
    keys: Columns,
    mask: Value,
    tap: Tap,
) -> Result<(), GraphError> {
    if let Some(state) = tap.0 {
        let weights = g.attention_weights(shape, queries, keys, mask, None)?;
        g.keep(weights, state)?;
    }
    Ok(())
}

fn attention_shape(
    config: &ModelConfig,
    heads: usize,
    batch: usize,
    queries: usize,
    keys: usize,
    causal: bool,
) -> AttentionShape {
    let d_head = config.d_model / heads;
    AttentionShape { batch, heads, queries, keys, d_head, d_value: d_head, scale: scale(d_head), causal }
}

/// 1 / √d_k. Section 3.2.1.
fn scale(d_head: usize) -> f32 {
    (1.0 / (d_head as f64).sqrt()) as f32
}
