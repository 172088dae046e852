use crate::model::AttentionKind;
use crate::transformer::KeepAttention;

/// Options of a trace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceOptions {
    /// Name of the model in the trace.
    pub model: String,
    /// The kinds of attention.
    pub kinds: Vec<AttentionKind>,
    /// Bytes for the attention of all sentences.
    pub memory: u64,
    /// Whether to compute log-probabilities of target tokens.
    pub scores: bool,
    /// Whether to include the trees of searches that [kept](crate::transformer::Keep::tree) them.
    pub search: bool,
    /// Whether to measure the residual stream after every layer.
    pub depth: bool,
    /// Names of [taps](crate::transformer::taps) to keep, in which `*` stands for any characters. They count as memory.
    pub taps: Vec<String>,
    /// Number of most probable tokens per position, with [`scores`](Self::scores).
    pub alternatives: usize,
}

impl Default for TraceOptions {
    fn default() -> Self {
        let KeepAttention { kinds, memory } = KeepAttention::default();
        Self {
            model: String::new(),
            kinds,
            memory,
            scores: true,
            search: false,
            depth: false,
            taps: Vec::new(),
            alternatives: 5,
        }
    }
}

impl TraceOptions {
    /// The attention that a translation [keeps](crate::transformer::Keep::attention) for
    /// [`Trace::of_search`](super::Trace::of_search).
    pub fn keep_attention(&self) -> KeepAttention {
        KeepAttention { kinds: self.kinds.clone(), memory: self.memory }
    }
}
