//! The common parts of attention, and cached self-attention and cross-attention as blocks. Vaswani et al. 2017, section
//! 3.2.3.

use super::blueprint::{BlockSwitches, Blueprint, CrossAttention, DistanceBias, Mixing, Norm, SelfAttention};
use super::config::{ModelConfig, NormPlacement, StackConfig};
use super::head::AttentionKind;
use super::projected_keys::projected_keys;
use super::self_attention::SelfAttentionKind;
use super::tapped::{block_output, tap_context, tap_heads, tap_scores, tapped_norm};
use crate::activation::Activation;
use crate::graph::{Columns, Graph, GraphError, Rows, State, TapView, Value};
use crate::ops::{AttentionScores, Cache, ScoreFunction};
use crate::shape::AttentionShape;

/// A batch of sequences, padded to one length.
#[derive(Clone, Copy, Debug)]
pub struct Sequences {
    /// Number of sequences.
    pub batch: usize,
    /// Tokens per sequence, with padding.
    pub length: usize,
    /// What may be attended to.
    pub visible: Visible,
    /// Tokens that see all tokens and are seen by all, if an encoder's layers have any.
    pub globals: Option<GlobalTokens>,
    /// Tokens of the first and of the last block, if an encoder's layers have blocks and the texts are long enough.
    pub ends: Option<GlobalTokens>,
    /// Blocks whose sums the tokens see, if an encoder's layers have any.
    pub blocks: Option<TextBlocks>,
}

/// The blocks of sources. u32 values.
#[derive(Clone, Copy, Debug)]
pub struct TextBlocks {
    /// Tokens of a block; the last block of a source also has the tokens that are left over.
    pub tokens: usize,
    /// Room for the blocks of a source.
    pub most: usize,
    /// `[batch * most, 2]`: first row of a block, and the end.
    pub ranges: Value,
    /// `[batch, 2 + most]`: number of blocks, 0, then their rows among those of the batch.
    pub rows: Value,
}

/// The tokens that attention may see.
#[derive(Clone, Copy, Debug)]
pub enum Visible {
    /// u32 `[batch, length]`, nonzero for a token.
    Mask(Value),
    /// Sentences packed one after the other, in a batch of one; causal ranges in a decoder.
    #[cfg(feature = "training")]
    Ranges(crate::ops::Ranges),
}

impl Visible {
    /// The mask, which packed sentences do not have.
    pub fn mask(self) -> Option<Value> {
        match self {
            Self::Mask(mask) => Some(mask),
            #[cfg(feature = "training")]
            Self::Ranges(_) => None,
        }
    }
}

/// The tokens of sources that see all tokens, and are seen by all. u32 values.
#[derive(Clone, Copy, Debug)]
pub struct GlobalTokens {
    /// Room for the global tokens of a source.
    pub most: usize,
    /// Room for the tokens that all tokens of a source see beside their band: more than `most` if a short source of
    /// blocks is attended to in full.
    pub most_sides: usize,
    /// `[batch, length]`, nonzero for tokens that are seen in bands.
    pub others: Value,
    /// `[batch, 2 + most_sides]`: number of those tokens, number of the first of them that count several times, then their
    /// rows among those of the batch.
    pub rows: Value,
    /// `[batch * most, 1]`: the same rows; any row for a global token that is not there.
    pub numbers: Value,
    /// `[batch * length, 1]`: a token's own row, or `batch * length` plus its row among the global tokens.
    pub merged: Value,
}

/// The state that keeps a value, if the caller needs it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tap(pub Option<State>);

/// States that keep values of a stack: one tap per layer, or none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Taps<'a> {
    /// Weights of self-attention, `[batch * heads * queries, keys]`; with windows those of
    /// [`Graph::banded_attention_weights`].
    pub attentions: &'a [Tap],
    /// Weights of global tokens, `[batch * heads * most, keys]`.
    pub global_attentions: &'a [Tap],
    /// Weights of cross-attention, `[batch * heads * queries, keys]`.
    pub cross_attentions: &'a [Tap],
    /// The embeddings, then each layer's output, `[rows, d_model]`: one more than layers.
    pub hidden_states: &'a [Tap],
    /// Queries, keys and values of self-attention, `[rows, heads * (2 * d_k + d_v)]`.
    pub projections: &'a [Tap],
}

/// The tap of a layer; empty if there is none.
pub(super) fn tap(taps: &[Tap], index: usize) -> Tap {
    taps.get(index).copied().unwrap_or_default()
}

#[derive(Clone, Copy, Debug)]
pub(super) struct AttentionLayer<'a> {
    pub config: &'a ModelConfig,
    pub stack: &'a StackConfig,
    /// Number of the layer, from 0.
    pub layer: usize,
    /// Whether a token sees only itself and earlier tokens, in self-attention over whole sequences.
    pub causal: bool,
    /// Relative positions.
    pub distance_bias: DistanceBias,
    /// Kind of self-attention.
    pub kind: &'a SelfAttentionKind,
    /// Factor of the scores, if it is not the model's.
    pub scale: Option<f32>,
    pub taps: Taps<'a>,
}

impl AttentionLayer<'_> {
    fn scale(&self) -> f32 {
        let own = || self.config.attention_scale.factor(self.stack.d_k, self.layer);
        self.scale.unwrap_or_else(own)
    }

    pub(super) fn shape(&self, batch: usize, queries: usize, keys: usize, causal: bool) -> AttentionShape {
        let &StackConfig { heads, d_k, d_v, .. } = self.stack;
        AttentionShape { batch, heads, queries, keys, d_head: d_k, d_value: d_v, scale: self.scale(), causal }
    }
}

/// Adds a residual block: `norm(x + f(x))`, or `x + f(norm(x))` in pre-norm models. `block` gets its input, and the
/// residual that its last linear layer must add, if any; its second result is passed on. Section 3.1; Xiong et al.
/// 2020. Switches leave out the norm or the residual.
pub(super) fn residual_block<T>(
    g: &mut Graph,
    config: &ModelConfig,
    (norm, switches): (Norm, BlockSwitches),
    x: Value,
    block: impl FnOnce(&mut Graph, Value, Option<Value>) -> Result<(Value, T), GraphError>,
) -> Result<(Value, T), GraphError> {
    let residual = (!switches.no_residual).then_some(x);
    let norm = norm.of(config);
    g.tap("input", TapView::Rows, |_| Ok(x.into()))?;
    match config.norm {
        _ if switches.no_norm => {
            let (y, besides) = block(g, x, residual)?;
            g.tap("residual", TapView::Rows, |_| Ok(y.into()))?;
            Ok((y, besides))
        }
        NormPlacement::Post => {
            let (y, besides) = block(g, x, None)?;
            g.tap("output", TapView::Rows, |_| Ok(y.into()))?;
            Ok((tapped_norm(g, "norm.", y, residual, norm)?, besides))
        }
        NormPlacement::Pre => {
            let normalized = tapped_norm(g, "norm.", x, None, norm)?;
            let (y, besides) = block(g, normalized, residual)?;
            g.tap("residual", TapView::Rows, |_| Ok(y.into()))?;
            Ok((y, besides))
        }
    }
}

/// Adds self-attention of one new token per row to its history, which the token then extends. Also returns the fused
/// projection, which begins with the queries.
pub(super) fn cached_self_attention(
    g: &mut Graph,
    attention: AttentionLayer<'_>,
    weights: &SelfAttention,
    x: Value,
    cache: &Cache,
) -> Result<(Value, Value), GraphError> {
    residual_block(g, attention.config, (weights.norm, weights.switches), x, |g, x, residual| {
        let qkv = g.linear(x, weights.qkv, Activation::Identity, None)?;
        let (heads, scale) = (attention.stack.heads, attention.scale());
        let context = g.cached_attention(heads, scale, qkv, cache, attention.distance_bias.keys)?;
        Ok((g.linear(context, weights.output, Activation::Identity, residual)?, qkv))
    })
}

/// The memory for one layer: keys and values of the encoder's output, computed once per sentence.
#[derive(Clone, Copy, Debug)]
pub struct Memory {
    /// `[batch * length, heads * (d_k + d_v)]`
    pub key_values: Value,
    /// Source sentences.
    pub sequences: Sequences,
}

/// Adds cross-attention. A sentence's beams, or the tokens of a teacher-forced target, are queries to one memory. Also
/// returns the queries.
pub(super) fn cross_attention(
    g: &mut Graph,
    attention: AttentionLayer<'_>,
    weights: &CrossAttention,
    x: Value,
    memory: &Memory,
) -> Result<(Value, Value), GraphError> {
    let Sequences { batch, length, visible, .. } = memory.sequences;
    let shape = attention.shape(batch, g.shape(x).rows / batch, length, false);
    residual_block(g, attention.config, (weights.norm, weights.switches), x, |g, x, residual| {
        let queries = Columns { value: g.linear(x, weights.query, Activation::Identity, None)?, first: 0 };
        let [keys, values] =
            [0, attention.stack.key_width()].map(|first| Columns { value: memory.key_values, first });
        tap_heads(g, attention.stack, [queries, keys, values])?;
        tap_scores(g, shape, visible.mask(), [queries, keys], None)?;
        let tap = tap(attention.taps.cross_attentions, attention.layer);
        let context = attend(g, shape, visible, ([queries, keys, values], None), tap)?;
        tap_context(g, attention.stack, context)?;
        Ok((block_output(g, context, weights.output, residual)?, queries.value))
    })
}

/// Adds attention of queries to keys and values, with its weights if they have a tap.
pub(super) fn attend(
    g: &mut Graph,
    shape: AttentionShape,
    visible: Visible,
    ([queries, keys, values], distance_bias): ([Columns; 3], Option<Rows>),
    tap: Tap,
) -> Result<Value, GraphError> {
    match visible {
        #[cfg(feature = "training")]
        Visible::Ranges(ranges) => g.ranged_attention(
            crate::ops::RangedScores { shape, queries, keys, ranges, distance_bias },
            values,
        ),
        Visible::Mask(key_mask) => {
            let scores = AttentionScores { shape, queries, keys, key_mask, distance_bias };
            if let Some(state) = tap.0 {
                let weights = g.attention_weights(scores)?;
                g.keep(weights, state)?;
            }
            g.attention(scores, values)
        }
    }
}

/// As [`attend`], with scores v · tanh(q + k). Bahdanau et al. 2015, appendix A.1.2.
pub(super) fn attend_additively(
    g: &mut Graph,
    shape: AttentionShape,
    visible: Visible,
    ([queries, keys, values], distance_bias): ([Columns; 3], Option<Rows>),
    tap: Tap,
) -> Result<Value, GraphError> {
    let key_mask = visible.mask().ok_or_else(|| g.no_gradient("additive_attention"))?;
    let scores = AttentionScores { shape, queries, keys, key_mask, distance_bias };
    if let Some(state) = tap.0 {
        let weights = g.attention_weights_by(ScoreFunction::Additive, scores)?;
        g.keep(weights, state)?;
    }
    g.attention_by(ScoreFunction::Additive, scores, values)
}

/// Adds the attention weights of sentences, `[sentences * heads * queries, keys]`, from their queries and keys alone. `mask`: u32
/// `[sentences, keys]`.
pub(crate) fn weights_of(
    g: &mut Graph,
    config: &ModelConfig,
    blueprint: &Blueprint,
    (kind, layer): (AttentionKind, usize),
    [queries, keys]: [Columns; 2],
    mask: Value,
) -> Result<Value, GraphError> {
    let stack = if kind == AttentionKind::Encoder { &config.encoder } else { &config.decoder };
    let own = |attention: SelfAttention| (attention.switches, attention.distance_bias);
    let found = match kind {
        AttentionKind::Encoder => blueprint.encoder.get(layer).map(|layer| own(layer.self_attention)),
        AttentionKind::Decoder => blueprint.decoder.get(layer).and_then(|layer| match layer.mixing {
            Mixing::Attention(attention) => Some(own(attention)),
            Mixing::Ssru(_) => None,
        }),
        // its queries and keys have no distance
        AttentionKind::Cross => {
            let cross = blueprint.decoder.get(layer).and_then(|layer| layer.cross_attention);
            cross.map(|cross| (cross.switches, DistanceBias::default()))
        }
    };
    let (switches, distance_bias) = found.unwrap_or_default();
    let causal = kind == AttentionKind::Decoder;
    let full = &SelfAttentionKind::Full;
    let attention = AttentionLayer {
        config,
        stack,
        layer,
        causal,
        distance_bias,
        kind: full,
        scale: switches.scale,
        taps: Taps::default(),
    };
    let sentences = g.shape(mask).rows;
    let [query_count, key_count] =
        [queries, keys].map(|columns| g.shape(columns.value).rows / sentences.max(1));
    let shape = attention.shape(sentences, query_count, key_count, causal);
    g.enter(format!("{kind}.{layer}"));
    let own =
        if kind == AttentionKind::Encoder { config.encoder_kind(layer) } else { &SelfAttentionKind::Full };
    let mut function = ScoreFunction::Product;
    let mut key_mask = mask;
    let distance_bias = distance_bias.keys;
    let (shape, keys, distance_bias) = match own.for_length(key_count) {
        SelfAttentionKind::Uniform => (AttentionShape { scale: 0.0, ..shape }, keys, None),
        SelfAttentionKind::SharedQk => (shape, queries, distance_bias),
        SelfAttentionKind::Additive => {
            function = ScoreFunction::Additive;
            (shape, keys, distance_bias)
        }
        SelfAttentionKind::Linformer { rank, .. } => {
            let (projected, visible) = projected_keys(g, blueprint, (layer, *rank), shape, (keys, mask))?;
            key_mask = visible;
            (shape, projected, distance_bias)
        }
        // windows and blocks have no matrix of weights, but for texts of few blocks
        SelfAttentionKind::Full
        | SelfAttentionKind::Window { .. }
        | SelfAttentionKind::TransientGlobal { .. }
        | SelfAttentionKind::Blocks(_) => (shape, keys, distance_bias),
    };
    g.attention_weights_by(function, AttentionScores { shape, queries, keys, key_mask, distance_bias })
}
