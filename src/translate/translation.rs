//! Results of a translation.

use std::ops::Range;

use super::alignment::SentenceAlignment;
use crate::decode::{Hypothesis, SearchTree};
use crate::transformer::KeptAttention;

/// The translation of one text.
#[derive(Clone, Debug, PartialEq)]
pub struct Translation {
    /// The best translation, with line breaks, blank lines and spaces between sentences as in the source.
    pub text: String,
    /// Translations of the whole text, best first: the first joins the best of every sentence, the second their second
    /// best, and so on. [`text`](Self::text) is the first.
    pub hypotheses: Vec<TextHypothesis>,
    /// Sentences in order.
    pub sentences: Vec<Sentence>,
}

/// One translation of a whole text.
#[derive(Clone, Debug, PartialEq)]
pub struct TextHypothesis {
    /// The translation.
    pub text: String,
    /// Mean of the sentences' scores; 0 without sentences.
    pub score: f32,
}

/// One translated sentence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sentence {
    /// Source without surrounding white space.
    pub source: String,
    /// Token ids of the source, the end token included.
    pub source_ids: Vec<u32>,
    /// Number of tokens at the end of a document that were left out; see [`Excess::LeaveOut`](super::Excess::LeaveOut).
    pub left_out_tokens: usize,
    /// Translations, best first.
    pub hypotheses: Vec<SentenceHypothesis>,
    /// Candidates of the search; see [`Keep::tree`](crate::transformer::Keep::tree).
    pub tree: Option<SearchTree>,
    /// Attention of the best translation; see [`Keep::attention`](crate::transformer::Keep::attention).
    pub attention: Option<KeptAttention>,
    /// The tokens and words that belong together in the source and in the best translation; see
    /// [`TranslateOptions::alignments`](super::TranslateOptions::alignments).
    pub alignment: Option<SentenceAlignment>,
}

/// One translation of a sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct SentenceHypothesis {
    /// The translation.
    pub text: String,
    /// Tokens, score and log-probabilities.
    pub search: Hypothesis,
    /// Whether the maximal length ended the search; text may be missing.
    pub reached_max_length: bool,
    /// Where a glossary's terms are in the tokens of `search`.
    pub prescribed: Vec<Range<usize>>,
}
