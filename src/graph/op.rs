//! The operators: few, and named after what they compute. Fusion is a named operator, not a pattern found later.

use super::build::{State, Value};
use super::weights::{Matrix, Rows, Vector};
use crate::activation::Activation;
use crate::join::Join;
use crate::kernels::append_rows::MAX_PARTS;
use crate::kernels::attention::AttentionShape;
use crate::kernels::cached_attention::CachedAttentionShape;
use crate::kernels::edits::HistoryEdits;
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

/// Scale, shift and ε of a norm.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normalization {
    /// `[width]`
    pub gamma: Vector,
    /// `[width]`; RMS norms have none.
    pub beta: Option<Vector>,
    /// Added to the variance.
    pub epsilon: f32,
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
    /// Attention of one query per row over a key–value cache, in the order of an index table, to which the row's own key
    /// and value are added before; rows whose cache slot is beyond the caches only attend.
    CachedAttention {
        /// Rows, heads, widths of a head, cache positions per row, scale.
        shape: CachedAttentionShape,
        /// A fused projection, `[rows, 2 * heads * d_head + heads * d_value]`
        qkv: Value,
        /// u32 `[rows, 1]`: row of the caches to write, the last that the row sees; no other row may see it in this run
        cache_slots: Value,
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
    /// Copies the keys and values of whole prompts, in a fused projection, into the caches; rows whose slot is beyond them
    /// are left out. Writes its two caches and makes no value of its own.
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
    /// Copies the first columns of several values, side by side, into a cache, as many of each as make it full; rows whose slot
    /// is beyond it are left out. Writes its cache and makes no value of its own.
    AppendRows {
        /// `[rows, …]`, from the first on
        parts: [Option<Value>; MAX_PARTS],
        /// u32 `[rows, 1]`: row of the cache to write
        cache_slots: Value,
        /// `[slots, parts * width]`
        cache: Value,
    },
    /// Layer normalization of `x + residual`. Ba et al. 2016; Vaswani et al. 2017, section 3.1. Without a shift it is RMS
    /// normalization, which does not subtract the mean either. Zhang & Sennrich 2019, equation (4).
    LayerNorm {
        /// `[rows, d_model]`
        x: Value,
        /// `[rows, d_model]`
        residual: Option<Value>,
        /// `[d_model]`
        norm: Normalization,
    },
    /// A layer norm, as above, and a linear layer of it: `y = activation(scale·n·Wᵀ + b)` with n the norm of `x + residual`.
    /// Makes both; on a GPU n is left out where nobody reads it and a kernel can do without.
    NormalizedLinear {
        /// `[rows, inputs]`
        x: Value,
        /// `[rows, inputs]`
        residual: Option<Value>,
        /// `[inputs]`
        norm: Normalization,
        /// The layer's weights.
        linear: Linear,
        /// The layer's activation.
        activation: Activation,
        /// n, `[rows, inputs]`
        normalized: Value,
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
    },
    /// The whole of a search's step, on the device: hidden states projected to logits, scores edited, the best tokens of each
    /// row chosen, and the search's state moved on by one token. Writes that state and makes no value that anyone else may
    /// read. On the CPU, where nothing has to wait for anything, the search is the host's own.
    SearchStep {
        /// `[rows, inputs]`
        x: Value,
        /// The output layer, `[vocabulary, inputs]`
        linear: Linear,
        /// Rows, vocabulary, candidates, rules.
        shape: TopKShape,
        /// The search, and which edits it may make.
        edits: HistoryEdits,
        /// `[rows, vocabulary]`
        logits: Value,
        /// The kernels' notes on parts of the vocabulary.
        chunks: Value,
        /// The best candidates of each row, u32 `[rows, 2 * candidates]`.
        top: Value,
        /// What each row may not take, a bit for each token.
        row_bans: Value,
        /// What it reads and writes.
        state: SearchValues,
    },
}

/// The state of a search on the device; u32, all of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchTable<T> {
    /// `[sentences, block]`
    pub search: T,
    /// `[rows, 1]`: what each row is fed
    pub tokens: T,
    /// `[rows, 1]`: its row of the position table
    pub positions: T,
    /// `[rows, 1]`: how many keys it sees
    pub key_counts: T,
    /// `[rows, 1]`: where its keys and values go
    pub cache_slots: T,
    /// `[rows, capacity]`: where those of its history are
    pub slots: T,
    /// `[rows * capacity, 1]`: the token of each slot
    pub slot_tokens: T,
    /// `[ring * rows, 2 * candidates + 1]`: what the last steps saw, for the host
    pub record: T,
    /// `[1, words]`: lists of banned tokens
    pub bans: T,
    /// `[1, words]`: banned phrases
    pub phrases: T,
}

/// As values of a graph.
pub type SearchValues = SearchTable<Value>;
/// As states of a session.
pub type SearchStates = SearchTable<State>;

impl<T: Copy> SearchTable<T> {
    /// The same table of something else.
    pub fn map<U>(&self, mut map: impl FnMut(T) -> U) -> SearchTable<U> {
        SearchTable {
            search: map(self.search),
            tokens: map(self.tokens),
            positions: map(self.positions),
            key_counts: map(self.key_counts),
            cache_slots: map(self.cache_slots),
            slots: map(self.slots),
            slot_tokens: map(self.slot_tokens),
            record: map(self.record),
            bans: map(self.bans),
            phrases: map(self.phrases),
        }
    }
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
            Op::AppendRows { .. } => "append_rows",
            Op::LayerNorm { .. } => "layer_norm",
            Op::NormalizedLinear { .. } => "normalized_linear",
            Op::LogProbability { .. } => "log_probability",
            Op::LogSoftmaxTopK { .. } => "log_softmax_top_k",
            Op::SearchStep { .. } => "search_step",
        }
    }

    /// Values that the node makes besides its output: scratch memory while it runs, or a second output.
    pub(super) fn made(&self) -> Vec<Value> {
        match *self {
            Op::NormalizedLinear { normalized, .. } => vec![normalized],
            Op::LogProbability { chunks, .. } => vec![chunks],
            Op::LogSoftmaxTopK { chunks, .. } => vec![chunks],
            Op::SearchStep { logits, chunks, top, row_bans, .. } => vec![logits, chunks, top, row_bans],
            _ => Vec::new(),
        }
    }

    /// Whether the node writes states that are not among the values it makes.
    pub(super) fn writes_states(&self) -> bool {
        use Op::{AppendKv, AppendRows, CachedAttention, SearchStep};
        matches!(self, CachedAttention { .. } | AppendKv { .. } | AppendRows { .. } | SearchStep { .. })
    }

    /// Every value that the node reads.
    pub fn inputs(&self) -> Vec<Value> {
        match *self {
            Op::Embed { tokens, positions, .. } => {
                [tokens].into_iter().chain(positions.map(|(rows, _)| rows)).collect()
            }
            Op::Linear { x, join, .. } => [x].into_iter().chain(join.map(|(_, value)| value)).collect(),
            Op::LayerNorm { x, residual, .. } | Op::NormalizedLinear { x, residual, .. } => {
                [x].into_iter().chain(residual).collect()
            }
            Op::Attention { queries, keys, values, key_mask, .. } => {
                vec![queries.value, keys.value, values.value, key_mask]
            }
            Op::AttentionWeights { queries, keys, key_mask, .. } => vec![queries.value, keys.value, key_mask],
            Op::CachedAttention { qkv, cache_slots, key_cache, value_cache, slots, key_counts, .. } => {
                vec![qkv, cache_slots, key_cache, value_cache, slots, key_counts]
            }
            Op::AppendKv { qkv, cache_slots, .. } => vec![qkv, cache_slots],
            Op::AppendRows { parts, cache_slots, .. } => {
                parts.into_iter().flatten().chain([cache_slots]).collect()
            }
            Op::LogProbability { logits, targets, .. } => vec![logits, targets],
            Op::LogSoftmaxTopK { logits, edits, .. } => [logits].into_iter().chain(edits).collect(),
            Op::SearchStep { x, .. } => vec![x], // all else are states
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
