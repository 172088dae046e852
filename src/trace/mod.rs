//! What can be seen of a translation: its tokens, how probable they were, what else might have come, and every attention
//! map of the three kinds.
//!
//! * [`Trace::of`] makes a [`Trace`] of a translation, [`Trace::of_pair`] of a given one, in one more pass of the model;
//!   [`record`] does the same for token ids
//! * [`Trace::of_search`] makes one of a translation that [kept](crate::transformer::Keep::attention) its attention, without
//!   running anything; [`Trace::on_device`] and [`attend`] leave the attention of what is given on the device, to be
//!   painted there
//! * [`Trace::to_json`], [`Trace::to_safetensors`] and [`Trace::from_bytes`]: its file, `docs/trace.md`
//! * [`statistics`]: numbers and a plain name for every head
//! * [`alignment`]: which word was translated to which

mod depth;
mod error;
mod file;
mod make;
mod options;
mod record;
pub mod statistics;

pub use crate::model::{AttentionKind, HeadName, LayerAttention, Map};
pub use crate::text::Token;
pub use crate::transformer::{KeptAttention, LeftOut};
pub use crate::translate::alignment;
pub use depth::{CombinedRank, Depth, Stack};
pub use error::{FORMAT, TraceError, TraceFileError, VERSION};
pub use file::MAX_FILE_BYTES;
pub use options::TraceOptions;
pub use record::{Recording, TraceRequest, attend, record};

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::decode::SearchTree;
use crate::translate::alignment::Alignment;

/// What can be seen of a translation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// What the model is called.
    pub model: String,
    /// The sentences of the text, in order.
    pub sentences: Vec<TracedSentence>,
}

/// One sentence and its translation, as the model saw them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TracedSentence {
    /// The source, without the white space around it.
    pub source: String,
    /// Where the source begins in the text that was translated, bytes.
    pub offset: usize,
    /// Its translation.
    pub target: String,
    /// What the encoder read.
    pub source_tokens: Vec<Token>,
    /// From the decoder's start token to the last token that it produced. The decoder read all but the last: query `i` of
    /// its attention is where it read token `i`, and produced token `i + 1`.
    pub target_tokens: Vec<TargetToken>,
    /// How many of the target's first tokens were given: the start token, and in some models a language.
    pub prompt: usize,
    /// Kept attention: by kind, then by layer.
    pub attention: Vec<LayerAttention>,
    /// What there was no room for.
    pub left_out: Vec<LeftOut>,
    /// The search, where its tree was kept.
    pub search: Option<TracedSearch>,
    /// The residual stream of both stacks, bottom to top, where that was asked for.
    pub depth: Vec<Depth>,
}

/// A search, readable without its model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TracedSearch {
    /// The candidates that it weighed.
    pub tree: SearchTree,
    /// Each of its tokens as the tokenizer has it.
    pub pieces: BTreeMap<u32, String>,
}

/// One token of the target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetToken {
    /// The token.
    #[serde(flatten)]
    pub token: Token,
    /// Natural logarithm of its probability after the tokens before it; `None` for what was given.
    pub log_probability: Option<f32>,
    /// The most probable tokens here, best first, whatever was chosen.
    pub alternatives: Vec<Alternative>,
}

/// What might have come.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// Its id.
    pub id: u32,
    /// As the tokenizer has it.
    pub piece: String,
    /// Natural logarithm of its probability.
    pub log_probability: f32,
}

impl TracedSentence {
    /// A kept layer.
    pub fn layer(&self, kind: AttentionKind, layer: usize) -> Option<&LayerAttention> {
        self.attention.iter().find(|attention| attention.kind == kind && attention.layer == layer)
    }

    /// The kept layers of a kind, in order.
    pub fn layers(&self, kind: AttentionKind) -> impl DoubleEndedIterator<Item = &LayerAttention> {
        self.attention.iter().filter(move |attention| attention.kind == kind)
    }

    /// The tokens that a kind's queries are named after: what the encoder read, or what the decoder produced there.
    pub fn query_tokens(&self, kind: AttentionKind) -> Vec<&Token> {
        match kind.queries_target() {
            false => self.source_tokens.iter().collect(),
            true => self.target_tokens.iter().skip(1).map(|target| &target.token).collect(),
        }
    }

    /// The tokens that a kind's keys are: what the encoder or the decoder read.
    pub fn key_tokens(&self, kind: AttentionKind) -> Vec<&Token> {
        match kind.keys_target() {
            false => self.source_tokens.iter().collect(),
            true => {
                let read = self.target_tokens.len().saturating_sub(1);
                self.target_tokens[..read].iter().map(|target| &target.token).collect()
            }
        }
    }

    /// Which word of the source was translated to which word of the target.
    pub fn alignment(&self) -> Alignment {
        let kind = AttentionKind::Cross;
        let tokens = [self.key_tokens(kind), self.query_tokens(kind)];
        Alignment::of([&self.source, &self.target], tokens, self.layers(kind))
    }

    /// What a reader sees of a kind's queries, one label for each row.
    pub fn query_labels(&self, kind: AttentionKind) -> Vec<String> {
        let text = if kind.queries_target() { &self.target } else { &self.source };
        self.query_tokens(kind).into_iter().map(|token| token.label(text)).collect()
    }

    /// What a reader sees of a kind's keys, one label for each column.
    pub fn key_labels(&self, kind: AttentionKind) -> Vec<String> {
        let text = if kind.keys_target() { &self.target } else { &self.source };
        self.key_tokens(kind).into_iter().map(|token| token.label(text)).collect()
    }
}
