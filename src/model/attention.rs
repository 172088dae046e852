//! The three kinds of attention as blocks: encoder self-attention, masked decoder self-attention, and cross-attention.
//! Vaswani et al. 2017, section 3.2.3.

use super::blueprint::{Blueprint, CrossAttention, Norm, SelfAttention, qkv_columns};
use super::config::{ModelConfig, NormPlacement, StackConfig};
use super::head::AttentionKind;
use super::hidden::Hidden;
use crate::activation::Activation;
use crate::graph::{Columns, Graph, GraphError, Rows, State, Value};
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

/// Where a value goes when somebody wants to see it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tap(pub Option<State>);

/// What somebody wants to see of a stack: one tap for each layer, or none at all.
#[derive(Clone, Copy, Debug, Default)]
pub struct Taps<'a> {
    /// Weights of self-attention, `[batch * heads * queries, keys]`.
    pub attentions: &'a [Tap],
    /// Weights of the attention to the encoder, `[batch * heads * queries, keys]`.
    pub cross_attentions: &'a [Tap],
    /// The embeddings and each layer's output, `[rows, d_model]`: one more than there are layers.
    pub hidden_states: &'a [Tap],
    /// Queries, keys and values of self-attention, `[rows, heads * (2 * d_k + d_v)]`.
    pub projections: &'a [Tap],
}

/// A tap of many.
pub(super) fn tap(taps: &[Tap], index: usize) -> Tap {
    taps.get(index).copied().unwrap_or_default()
}

/// Which attention of the model this is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Site<'a> {
    pub config: &'a ModelConfig,
    pub stack: &'a StackConfig,
    /// Counted from 0.
    pub layer: usize,
    /// Whether a token sees itself and those before it only, in self-attention over whole sequences.
    pub causal: bool,
    /// Relative positions: one table for all layers of a stack.
    pub distance_bias: Option<Rows>,
}

impl Site<'_> {
    fn scale(&self) -> f32 {
        self.config.attention_scale.factor(self.stack.d_k, self.layer)
    }

    fn shape(&self, batch: usize, queries: usize, keys: usize, causal: bool) -> AttentionShape {
        let &StackConfig { heads, d_k, d_v, .. } = self.stack;
        AttentionShape { batch, heads, queries, keys, d_head: d_k, d_value: d_v, scale: self.scale(), causal }
    }
}

/// A residual block: `norm(x + f(x))`, or `x + f(norm(x))` in models that normalize first. `block` gets its input and
/// the residual that its last linear layer has to add, if any; what it gives besides its result is passed on. Section 3.1;
/// Xiong et al. 2020.
pub(super) fn residual_block<T>(
    g: &mut Graph,
    config: &ModelConfig,
    norm: Norm,
    mut x: Hidden,
    block: impl FnOnce(&mut Graph, &mut Hidden, Option<Value>) -> Result<(Value, T), GraphError>,
) -> Result<(Hidden, T), GraphError> {
    match config.norm {
        NormPlacement::Post => {
            let (y, besides) = block(g, &mut x, None)?;
            let residual = x.value(g)?;
            Ok((Hidden::normalized(config, norm, y, Some(residual)), besides))
        }
        NormPlacement::Pre => {
            let residual = x.value(g)?;
            let mut normalized = Hidden::normalized(config, norm, residual, None);
            let (y, besides) = block(g, &mut normalized, Some(residual))?;
            Ok((Hidden::Known(y), besides))
        }
    }
}

/// Self-attention over whole sequences: the encoder's, or the decoder's under teacher forcing and over a prompt. With a cache,
/// keys and values are kept in it as well. Gives its fused projection, too, which begins with the queries.
pub(super) fn self_attention(
    g: &mut Graph,
    site: Site<'_>,
    weights: &SelfAttention,
    x: Hidden,
    sequences: &Sequences,
    cache: Option<&Cache>,
    taps: Taps<'_>,
) -> Result<(Hidden, Value), GraphError> {
    let Sequences { batch, length, mask } = *sequences;
    let shape = site.shape(batch, length, length, site.causal);
    residual_block(g, site.config, weights.norm, x, |g, x, residual| {
        let qkv = x.linear(g, weights.qkv, Activation::Identity)?;
        if let Some(state) = tap(taps.projections, site.layer).0 {
            g.keep(qkv, state)?;
        }
        if let Some(cache) = cache {
            g.append_kv(qkv, cache.cache_slots, cache.keys, cache.values)?;
        }
        let [queries, keys, values] = qkv_columns(site.stack).map(|first| Columns { value: qkv, first });
        let tap = tap(taps.attentions, site.layer);
        capture(g, shape, queries, keys, mask, site.distance_bias, tap)?;
        let context = g.attention(shape, queries, keys, values, mask, site.distance_bias)?;
        Ok((g.linear(context, weights.output, Activation::Identity, residual)?, qkv))
    })
}

/// The key–value cache of one decoder layer and the index tables that all layers share.
#[derive(Clone, Copy, Debug)]
pub struct Cache {
    /// `[rows * capacity, heads * d_k]`
    pub keys: State,
    /// `[rows * capacity, heads * d_v]`
    pub values: State,
    /// u32 `[tokens, 1]`: where the keys and values of the tokens that are run go; nowhere if beyond the cache
    pub cache_slots: State,
    /// u32 `[rows, capacity]`: where those of each row's history are
    pub slots: State,
    /// u32 `[rows, 1]`: how long that history is, this step included
    pub key_counts: State,
}

/// Self-attention of one new token per row to its history, which it becomes the end of. Gives its fused projection, too, which
/// begins with the queries.
pub(super) fn cached_self_attention(
    g: &mut Graph,
    site: Site<'_>,
    weights: &SelfAttention,
    x: Hidden,
    cache: &Cache,
) -> Result<(Hidden, Value), GraphError> {
    residual_block(g, site.config, weights.norm, x, |g, x, residual| {
        let qkv = x.linear(g, weights.qkv, Activation::Identity)?;
        let context = g.cached_attention(
            site.stack.heads,
            site.scale(),
            qkv,
            cache.cache_slots,
            cache.keys,
            cache.values,
            cache.slots,
            cache.key_counts,
            site.distance_bias,
        )?;
        Ok((g.linear(context, weights.output, Activation::Identity, residual)?, qkv))
    })
}

/// The encoder's output as the decoder sees it: keys and values of one layer, computed once per sentence.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// `[batch * length, heads * (d_k + d_v)]`
    pub key_values: Value,
    /// The source sentences.
    pub sequences: Sequences,
}

/// Attention of the target to the source. A sentence's beams, like the tokens of a teacher-forced target, are so many
/// queries to one memory. Gives these queries, too.
pub(super) fn cross_attention(
    g: &mut Graph,
    site: Site<'_>,
    weights: &CrossAttention,
    x: Hidden,
    memory: &Memory,
    tap: Tap,
) -> Result<(Hidden, Value), GraphError> {
    let Sequences { batch, length, mask } = memory.sequences;
    let shape = site.shape(batch, x.rows(g) / batch, length, false);
    residual_block(g, site.config, weights.norm, x, |g, x, residual| {
        let queries = Columns { value: x.linear(g, weights.query, Activation::Identity)?, first: 0 };
        let [keys, values] =
            [0, site.stack.key_width()].map(|first| Columns { value: memory.key_values, first });
        capture(g, shape, queries, keys, mask, None, tap)?;
        let context = g.attention(shape, queries, keys, values, mask, None)?;
        Ok((g.linear(context, weights.output, Activation::Identity, residual)?, queries.value))
    })
}

fn capture(
    g: &mut Graph,
    shape: AttentionShape,
    queries: Columns,
    keys: Columns,
    mask: Value,
    distance_bias: Option<Rows>,
    tap: Tap,
) -> Result<(), GraphError> {
    if let Some(state) = tap.0 {
        let weights = g.attention_weights(shape, queries, keys, mask, distance_bias)?;
        g.keep(weights, state)?;
    }
    Ok(())
}

/// Adds the weights of one attention of one sentence, `[heads * queries, keys]`, from its queries and keys alone.
///
/// * `lengths`: queries and keys; `mask`: u32 `[1, keys]`
///
/// # Errors
/// [`GraphError`]
pub(crate) fn weights_of(
    g: &mut Graph,
    config: &ModelConfig,
    blueprint: &Blueprint,
    (kind, layer): (AttentionKind, usize),
    [queries, keys]: [Columns; 2],
    lengths: [usize; 2],
    mask: Value,
) -> Result<Value, GraphError> {
    let (stack, distance_bias) = match kind {
        AttentionKind::Encoder => (&config.encoder, blueprint.encoder_ends.distance_bias),
        AttentionKind::Decoder => (&config.decoder, blueprint.decoder_ends.distance_bias),
        AttentionKind::Cross => (&config.decoder, None), // its queries and keys have no distance
    };
    let causal = kind == AttentionKind::Decoder;
    let site = Site { config, stack, layer, causal, distance_bias };
    let shape = site.shape(1, lengths[0], lengths[1], causal);
    g.enter(format!("{kind}.{layer}"));
    g.attention_weights(shape, queries, keys, mask, distance_bias)
}
