//! What a translation is.

use super::alignment::SentenceAlignment;
use crate::decode::{Hypothesis, SearchTree};
use crate::transformer::KeptAttention;

/// The translation of one text.
#[derive(Clone, Debug, PartialEq)]
pub struct Translation {
    /// The best translation; line breaks, blank lines and the spaces between sentences are those of the source.
    pub text: String,
    /// Translations of the whole text, best first, as many as were asked for: the first is made of the best of every
    /// sentence, the second of their second best, and so on. [`text`](Self::text) is the first.
    pub hypotheses: Vec<TextHypothesis>,
    /// Its sentences, in order.
    pub sentences: Vec<Sentence>,
}

/// One translation of a whole text.
#[derive(Clone, Debug, PartialEq)]
pub struct TextHypothesis {
    /// The translation.
    pub text: String,
    /// The mean of its sentences' scores; 0 for a text without sentences.
    pub score: f32,
}

/// One translated sentence.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Sentence {
    /// The source, without the white space around it.
    pub source: String,
    /// Token ids of the source, the end token included.
    pub source_ids: Vec<u32>,
    /// Translations, best first.
    pub hypotheses: Vec<SentenceHypothesis>,
    /// The candidates that the search weighed; see [`Keep::tree`](crate::transformer::Keep::tree).
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
    /// Its tokens, scores and the log-probability of each.
    pub search: Hypothesis,
    /// Whether the search was ended by the maximal length, so that something may be missing.
    pub reached_max_length: bool,
}
