//! What a trace has.

use crate::model::AttentionKind;
use crate::transformer::KeepAttention;

/// What a trace has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TraceOptions {
    /// What the model is called in it.
    pub model: String,
    /// The kinds of attention.
    pub kinds: Vec<AttentionKind>,
    /// Memory for the attention of all sentences, bytes.
    pub memory: u64,
    /// Whether it tells how probable the target's tokens are.
    pub scores: bool,
    /// Whether it has the trees of the searches, for translations that [keep](crate::transformer::Keep::tree) them.
    pub search: bool,
    /// Whether it tells what becomes of the residual stream after every layer.
    pub depth: bool,
    /// With [`scores`](Self::scores): how many of the most probable tokens are kept at each place.
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
            alternatives: 5,
        }
    }
}

impl TraceOptions {
    /// What a translation has to [keep](crate::transformer::Keep::attention) so that [`Trace::of_search`](super::Trace::of_search)
    /// has its attention.
    pub fn keep_attention(&self) -> KeepAttention {
        KeepAttention { kinds: self.kinds.clone(), memory: self.memory }
    }
}
