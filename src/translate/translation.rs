//! What a translation is.

use super::layout::Segment;
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

/// Puts a text's translations between what stood between its sentences.
pub fn put_together(layout: &[Segment<'_>], sentences: Vec<Sentence>) -> Translation {
    let ranks = sentences.iter().map(|sentence| sentence.hypotheses.len()).max().unwrap_or(1);
    let hypotheses: Vec<TextHypothesis> = (0..ranks)
        .map(|rank| {
            // a sentence with fewer translations keeps its last
            let mut chosen = sentences
                .iter()
                .filter_map(|sentence| sentence.hypotheses.get(rank).or(sentence.hypotheses.last()));
            let score = chosen.clone().map(|hypothesis| hypothesis.search.score).sum::<f32>()
                / sentences.len().max(1) as f32;
            let text = layout
                .iter()
                .map(|segment| match segment {
                    Segment::Between(space) => space,
                    Segment::Sentence => chosen.next().map_or("", |hypothesis| &hypothesis.text),
                })
                .collect();
            TextHypothesis { text, score }
        })
        .collect();
    Translation { text: hypotheses[0].text.clone(), hypotheses, sentences }
}
