//! Traces of translations: tokens, their probabilities and alternatives, and attention maps of all three kinds.
//!
//! * [`Trace::of`] traces a translation, [`Trace::of_pair`] a given pair of texts, [`record`] token ids; each in one
//!   pass of the model
//! * [`Trace::of_search`] uses [kept](crate::transformer::Keep::attention) attention, without a pass;
//!   [`Trace::on_device`] and [`attend`] leave attention on the device, to be painted there
//! * [`Trace::to_json`], [`Trace::to_safetensors`] and [`Trace::from_bytes`]: files, see `docs/trace.md`
//! * [`statistics`]: numbers and a label for every head
//! * [`spectrum`]: singular values, and components for most of the variance
//! * [`alignment`]: word alignment

mod anatomy;
mod bands;
mod depth;
mod error;
mod file;
mod make;
mod options;
mod record;
pub mod spectrum;
pub mod statistics;
mod taps;

pub use crate::model::{AttentionKind, BandLayout, Bands, HeadName, LayerAttention, Map, SideColumns};
pub use crate::shape::Band;
pub use crate::text::Token;
pub use crate::transformer::{KeptAttention, LeftOut};
pub use crate::translate::alignment;
pub use anatomy::Anatomy;
pub use depth::{CombinedHeads, Depth, Stack};
pub use error::{FORMAT, TraceError, TraceFileError, VERSION};
pub use file::MAX_FILE_BYTES;
pub use options::TraceOptions;
pub use record::{Recording, TraceRequest, attend, record};
pub use taps::TracedTap;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::decode::SearchTree;
use crate::translate::alignment::Alignment;

/// The record of a translation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trace {
    /// Name of the model.
    pub model: String,
    /// Sentences in order.
    pub sentences: Vec<TracedSentence>,
    /// Parts and sizes of the model, if there are taps.
    pub anatomy: Option<Anatomy>,
}

/// One sentence and its translation.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TracedSentence {
    /// Source without surrounding white space.
    pub source: String,
    /// Offset of the source in the text, in bytes.
    pub offset: usize,
    /// Translation.
    pub target: String,
    /// Tokens that the encoder read.
    pub source_tokens: Vec<Token>,
    /// Tokens from the decoder's start token to the last one. The decoder read all but the last: query `i` of its
    /// attention read token `i` and produced token `i + 1`.
    pub target_tokens: Vec<TargetToken>,
    /// Number of given target tokens: the start token, and in some models a language.
    pub prompt: usize,
    /// Kept attention by kind, then by layer.
    pub attention: Vec<LayerAttention>,
    /// Layers without room.
    pub left_out: Vec<LeftOut>,
    /// The search, if its tree was kept.
    pub search: Option<TracedSearch>,
    /// Residual stream of both stacks, from the embeddings up, if requested.
    pub depth: Vec<Depth>,
    /// Tapped tensors, if requested.
    pub taps: Vec<TracedTap>,
}

/// A search, readable without its model.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TracedSearch {
    /// Candidates.
    pub tree: SearchTree,
    /// Piece of each token id.
    pub pieces: BTreeMap<u32, String>,
}

/// One token of the target.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TargetToken {
    /// The token.
    #[serde(flatten)]
    pub token: Token,
    /// Natural logarithm of its probability after the tokens before it; `None` in the prompt.
    pub log_probability: Option<f32>,
    /// Most probable tokens at this position, best first, the chosen one included.
    pub alternatives: Vec<Alternative>,
}

/// A possible token at a position.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Alternative {
    /// Token id.
    pub id: u32,
    /// Piece of the vocabulary.
    pub piece: String,
    /// Natural logarithm of its probability.
    pub log_probability: f32,
}

impl TracedSentence {
    /// A kept layer.
    pub fn layer(&self, kind: AttentionKind, layer: usize) -> Option<&LayerAttention> {
        self.attention.iter().find(|attention| attention.kind == kind && attention.layer == layer)
    }

    /// Kept layers of a kind, in order.
    pub fn layers(&self, kind: AttentionKind) -> impl DoubleEndedIterator<Item = &LayerAttention> {
        self.attention.iter().filter(move |attention| attention.kind == kind)
    }

    /// Tokens that name the queries: read by the encoder, or produced by the decoder.
    pub fn query_tokens(&self, kind: AttentionKind) -> Vec<&Token> {
        match kind.queries_target() {
            false => self.source_tokens.iter().collect(),
            true => self.target_tokens.iter().skip(1).map(|target| &target.token).collect(),
        }
    }

    /// Tokens of the keys, read by the encoder or the decoder.
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

    /// Labels of the columns of a kind's whole matrices: of the keys, and of the sums that some layers see.
    pub fn column_labels(&self, kind: AttentionKind) -> Vec<String> {
        let mut labels = self.key_labels(kind);
        let keys = labels.len();
        let layouts = self.layers(kind).filter_map(|layer| layer.bands.as_ref()).map(|bands| &bands.layout);
        if let Some(layout) = layouts.max_by_key(|layout| layout.sums()) {
            labels.extend((0..layout.sums()).map(|sum| layout.sum_label(sum, keys)));
        }
        labels
    }

    /// Labels of a kind's keys, one per token.
    pub fn key_labels(&self, kind: AttentionKind) -> Vec<String> {
        let text = if kind.keys_target() { &self.target } else { &self.source };
        self.key_tokens(kind).into_iter().map(|token| token.label(text)).collect()
    }
}
