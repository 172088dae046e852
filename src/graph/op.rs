//! The operators: few, and named after what they compute. Fusion is a named operator, not a pattern found later.

use super::build::Value;
use super::weights::{Matrix, Rows, Vector};
use crate::activation::Activation;
use crate::join::Join;
use crate::kernels::attention::AttentionShape;
use crate::kernels::cached_attention::CachedAttentionShape;
use crate::kernels::log_softmax_top_k::TopKShape;

/// Some columns of a value, e.g. the queries in a fused `[rows, 3 * d_model]` projection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Columns {
    /// The value.
    pub value: Value,
    /// First column.
    pub first: usize,
}

/// A linear layer: `scale·x·Wᵀ + b`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Linear {
    /// `[outputs, inputs]`
    pub weight: Matrix,
    /// `[outputs]`
    pub bias: Option<Vector>,
    /// Factor of the product: 1, or 1 / √d_model where T5 ties its output layer to the embedding.
    pub scale: f32,
}

/// What a node computes. Values are f32 unless noted.
#[derive(Clone, Debug, PartialEq)]
pub enum Op {
    /// `y[r] = scale * table[tokens[r]] + positions[r-th position]`. Vaswani et al. 2017, sections 3.4 and 3.5.
    Embed {
        /// u32 `[rows, 1]`
        tokens: Value,
        /// u32 `[rows, 1]`, and the table that it points into
        positions: Option<(Value, Rows)>,
        /// `[vocabulary, d_model]`, possibly shared with the output projection
        table: Matrix,
        /// √d_model, or 1
        scale: f32,
    },
    /// `y = activation(scale·x·Wᵀ + b)`, then `y + z` or `y ⊙ z`
    Linear {
        /// `[rows, inputs]`
        x: Value,
        /// The layer's weights.
        linear: Linear,
        /// Applied before the join.
        activation: Activation,
        /// z, `[rows, outputs]`: a residual or what is gated
        join: Option<(Join, Value)>,
    },
    /// `softmax(scale · Q Kᵀ + bias + mask) V` for each head. Section 3.2.1, equation (1); the bias by distance: Raffel et
    /// al. 2020 (T5), section 2.1.
    Attention {
        /// Batch, heads, lengths, widths of a head, scale, causal.
        shape: AttentionShape,
        /// `[batch * queries, …]`
        queries: Columns,
        /// `[batch * keys, …]`
        keys: Columns,
        /// `[batch * keys, …]`
        values: Columns,
        /// u32 `[batch, keys]`, nonzero = visible
        key_mask: Value,
        /// `[2 * reach + 1, heads]`, of which the scores get row `clamp(key - query, -reach, reach) + reach`
        distance_bias: Option<Rows>,
    },
    /// The weights of that attention, for whoever wants to look at them: `[batch * heads * queries, keys]`.
    AttentionWeights {
        /// As in [`Op::Attention`].
        shape: AttentionShape,
        /// As in [`Op::Attention`].
        queries: Columns,
        /// As in [`Op::Attention`].
        keys: Columns,
        /// As in [`Op::Attention`].
        key_mask: Value,
        /// As in [`Op::Attention`].
        distance_bias: Option<Rows>,
    },
    /// Attention of one query per row over a key–value cache, in the order of an index table.
    CachedAttention {
        /// Rows, heads, widths of a head, cache positions per row, scale.
        shape: CachedAttentionShape,
        /// `[rows, …]`
        queries: Columns,
        /// `[rows * capacity, heads * d_head]`
        key_cache: Value,
        /// `[rows * capacity, heads * d_value]`
        value_cache: Value,
        /// u32 `[rows, capacity]`: row of the cache for each visible key
        slots: Value,
        /// u32 `[rows, 1]`: how many of them there are
        key_counts: Value,
        /// As in [`Op::Attention`]; the query stands where its last key does.
        distance_bias: Option<Rows>,
    },
    /// Copies the keys and values of a fused projection into the caches; rows whose slot is beyond them are left out.
    /// Writes its two caches and makes no value of its own.
    AppendKv {
        /// `[rows, 2 * heads * d_head + heads * d_value]`
        qkv: Value,
        /// u32 `[rows, 1]`: row of the caches to write
        cache_slots: Value,
        /// `[rows * capacity, heads * d_head]`
        key_cache: Value,
        /// `[rows * capacity, heads * d_value]`
        value_cache: Value,
    },
    /// Layer normalization of `x + residual`. Ba et al. 2016; Vaswani et al. 2017, section 3.1. Without a shift it is RMS
    /// normalization, which does not subtract the mean either. Zhang & Sennrich 2019, equation (4).
    LayerNorm {
        /// `[rows, d_model]`
        x: Value,
        /// `[rows, d_model]`
        residual: Option<Value>,
        /// `[d_model]`
        gamma: Vector,
        /// `[d_model]`
        beta: Option<Vector>,
        /// Added to the variance.
        epsilon: f32,
    },
    /// `log_softmax(logits)[target]` of each row, `[rows, 1]`: what the model thought of tokens that are given; 0 where the
    /// target is not below the vocabulary.
    LogProbability {
        /// `[rows, vocabulary]`
        logits: Value,
        /// u32 `[rows, 1]`
        targets: Value,
        /// The kernels' notes on parts of the vocabulary.
        chunks: Value,
    },
    /// The best tokens of each row by processed log-probability: u32 `[rows, 2 * candidates]`, the bits of the values,
    /// then the tokens. Score edits, where there are any, are applied to `logits` in place.
    LogSoftmaxTopK {
        /// Rows, vocabulary, candidates, rules.
        shape: TopKShape,
        /// `[rows, vocabulary]`
        logits: Value,
        /// u32 `[1 + capacity, 4]`: the number of edits, then the edits
        edits: Option<Value>,
        /// The kernels' notes on parts of the vocabulary.
        chunks: Value,
        /// Their notes on the logits before the edits.
        statistics: Value,
    },
}

impl Op {
    /// The operator's name in messages.
    pub fn name(&self) -> &'static str {
        match self {
            Op::Embed { .. } => "embed",
            Op::Linear { .. } => "linear",
            Op::Attention { .. } => "attention",
            Op::AttentionWeights { .. } => "attention_weights",
            Op::CachedAttention { .. } => "cached_attention",
            Op::AppendKv { .. } => "append_kv",
            Op::LayerNorm { .. } => "layer_norm",
            Op::LogProbability { .. } => "log_probability",
            Op::LogSoftmaxTopK { .. } => "log_softmax_top_k",
        }
    }

    /// Values that the node uses as scratch memory while it runs.
    pub(super) fn scratch(&self) -> Vec<Value> {
        match *self {
            Op::LogProbability { chunks, .. } => vec![chunks],
            Op::LogSoftmaxTopK { chunks, statistics, .. } => vec![chunks, statistics],
            _ => Vec::new(),
        }
    }

    /// Every value that the node reads.
    pub fn inputs(&self) -> Vec<Value> {
        match *self {
            Op::Embed { tokens, positions, .. } => {
                [tokens].into_iter().chain(positions.map(|(rows, _)| rows)).collect()
            }
            Op::Linear { x, join, .. } => [x].into_iter().chain(join.map(|(_, value)| value)).collect(),
            Op::LayerNorm { x, residual, .. } => [x].into_iter().chain(residual).collect(),
            Op::Attention { queries, keys, values, key_mask, .. } => {
                vec![queries.value, keys.value, values.value, key_mask]
            }
            Op::AttentionWeights { queries, keys, key_mask, .. } => vec![queries.value, keys.value, key_mask],
            Op::CachedAttention { queries, key_cache, value_cache, slots, key_counts, .. } => {
                vec![queries.value, key_cache, value_cache, slots, key_counts]
            }
            Op::AppendKv { qkv, cache_slots, .. } => vec![qkv, cache_slots],
            Op::LogProbability { logits, targets, .. } => vec![logits, targets],
            Op::LogSoftmaxTopK { logits, edits, .. } => [logits].into_iter().chain(edits).collect(),
        }
    }
}

/// One step of a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// Where in the model, e.g. `encoder.0.feed_forward`.
    pub place: String,
    /// What it computes.
    pub op: Op,
    /// The value that it makes; none for operators that write states only.
    pub output: Option<Value>,
}
