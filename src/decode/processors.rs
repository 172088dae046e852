//! Edits of scores before a token is chosen: HF's `LogitsProcessor`s in the order of `_get_logits_processor`.

use super::options::DecodeOptions;
use crate::scores::{EditKind, ScoreEdit};

pub(super) struct Processors {
    bad_tokens: Vec<u32>,
    bad_phrases: Vec<Vec<u32>>, // of two and more tokens
    eos: Vec<u32>,
    prompt_length: usize,
    min_length: usize,
    max_length: usize,
    forced_bos: Option<u32>,
    forced_eos: Option<u32>,
    no_repeat_ngram_size: usize,
    repetition_penalty: f32,
    // Buffers: sorted distinct tokens.
    banned: Vec<u32>,
    penalized: Vec<u32>,
}

impl Processors {
    pub(super) fn new(options: &DecodeOptions) -> Self {
        let (single, bad_phrases): (Vec<_>, Vec<_>) =
            options.bad_words.iter().cloned().partition(|word| word.len() == 1);
        let mut bad_tokens: Vec<u32> =
            single.into_iter().flatten().filter(|token| !options.eos.contains(token)).collect();
        sort_distinct(&mut bad_tokens);
        Self {
            bad_tokens,
            bad_phrases,
            eos: options.eos.clone(),
            prompt_length: options.prompt.len(),
            min_length: options.min_length,
            max_length: options.max_length,
            forced_bos: options.forced_bos,
            forced_eos: options.forced_eos,
            no_repeat_ngram_size: options.no_repeat_ngram_size,
            repetition_penalty: options.repetition_penalty,
            banned: Vec::new(),
            penalized: Vec::new(),
        }
    }

    /// The token that must follow `length` tokens: its log-probability is 0, all others are minus infinity.
    /// `ForcedBOSTokenLogitsProcessor`, `ForcedEOSTokenLogitsProcessor`; the latter runs last and wins.
    pub(super) fn forced(&self, length: usize) -> Option<u32> {
        let last = self.forced_eos.filter(|_| length + 1 == self.max_length);
        last.or(self.forced_bos.filter(|_| length == 1))
    }

    /// Appends the edits of `row` by ascending token: bans, then penalties. `history` begins with the prompt.
    pub(super) fn edit(&mut self, row: u32, history: &[u32], edits: &mut Vec<ScoreEdit>) {
        self.banned.clear();
        self.banned.extend(&self.bad_tokens);
        self.banned.extend(self.bad_phrases.iter().filter_map(|phrase| completed_by(phrase, history)));
        if history.len() < self.min_length {
            self.banned.extend(&self.eos);
        }
        self.banned.extend(repeated_ngrams(self.no_repeat_ngram_size, history));
        sort_distinct(&mut self.banned);

        self.penalized.clear();
        if self.repetition_penalty != 1.0 {
            self.penalized.extend(history);
            sort_distinct(&mut self.penalized);
            self.penalized.retain(|token| self.banned.binary_search(token).is_err());
        }

        let edit = |kind| move |&token: &u32| ScoreEdit { row, token, kind };
        edits.extend(self.banned.iter().map(edit(EditKind::Ban)));
        edits.extend(self.penalized.iter().map(edit(EditKind::Penalize(self.repetition_penalty))));
    }

    /// Number of generated tokens before the first possible end token.
    pub(super) fn first_end(&self) -> usize {
        self.min_length.saturating_sub(self.prompt_length) + 1
    }

    pub(super) fn max_new_tokens(&self) -> usize {
        self.max_length - self.prompt_length
    }

    /// Maximal number of edits of a row in one step.
    pub(super) fn max_edits_per_row(&self) -> usize {
        let ends = if self.min_length > self.prompt_length { self.eos.len() } else { 0 };
        let looks_back = self.no_repeat_ngram_size > 0 || self.repetition_penalty != 1.0;
        let history = if looks_back { self.max_length } else { 0 };
        self.bad_tokens.len() + self.bad_phrases.len() + ends + history
    }
}

/// The last token of `phrase`, if `history` ends with the others.  `NoBadWordsLogitsProcessor` of transformers 5.
fn completed_by(phrase: &[u32], history: &[u32]) -> Option<u32> {
    let (&last, prefix) = phrase.split_last()?;
    history.ends_with(prefix).then_some(last)
}

/// The tokens that would repeat an n-gram of `history`.  `NoRepeatNGramLogitsProcessor`.
///
/// This is a pass over the history, because a table of n-grams would have to follow every reordering of the beams.
fn repeated_ngrams(size: usize, history: &[u32]) -> impl Iterator<Item = u32> {
    let (size, history) = if size > 0 { (size, history) } else { (1, &[][..]) };
    let prefix = &history[(history.len() + 1).saturating_sub(size)..];
    history.windows(size).filter_map(move |window| window.strip_prefix(prefix).map(|last| last[0]))
}

fn sort_distinct(tokens: &mut Vec<u32>) {
    tokens.sort_unstable();
    tokens.dedup();
}
