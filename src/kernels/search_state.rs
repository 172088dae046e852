//! The state of a search on the device: the shape of its buffers, and a sentence's first block of words.

use crate::scores::NO_TOKEN;

/// Capacity of the record: the maximum steps of one submit.
pub const RING: usize = 8;

/// The shape of a search's buffers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchShape {
    /// Sentences.
    pub sentences: usize,
    /// Rows per sentence; 1 for greedy search.
    pub beams: usize,
    /// Candidates per row.
    pub candidates: usize,
    /// Maximum end tokens of a sentence.
    pub ends: usize,
    /// Cache slots per row; at least the number of tokens.
    pub capacity: usize,
    /// First target token's row of the position table.
    pub first_position: u32,
    /// Token whose row of the position table is its own id.
    pub pad_position: Option<u32>,
}

/// Words before a block's end tokens, as in `shared/search.wgsl`.
pub(super) const HEADER: usize = 17;

impl SearchShape {
    /// Rows of a step.
    pub fn rows(&self) -> usize {
        self.sentences * self.beams
    }

    /// Words of the state of a sentence.
    pub fn block(&self) -> usize {
        let beams = match self.beams {
            1 => 0,
            beams => 3 * beams + self.capacity + 1,
        };
        HEADER + self.ends + beams
    }

    /// Words of a row in the record.
    pub fn record_width(&self) -> usize {
        2 * self.candidates + 1
    }
}

/// Edits that the device makes from the search's state and the rows' history.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryEdits {
    /// Whether tokens are banned.
    pub bans: bool,
    /// Whether bans depend on the history: n-grams, phrases.
    pub repeats: bool,
    /// Maximum banned phrases of a sentence.
    pub phrases: usize,
    /// Whether repeated tokens are penalized.
    pub penalty: bool,
    /// Whether logits are of some columns only, a list for each sentence.
    pub columns: bool,
    /// The search.
    pub search: SearchShape,
}

/// The time when a beam search with as many hypotheses as beams stops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopping {
    /// At once.
    AtOnce = 0,
    /// When the best beam, if it ended now, would not beat the worst hypothesis.
    ByLengthSoFar = 1,
    /// When the best beam would not beat it even at the maximum length.
    ByMaxLength = 2,
}

/// The initial state of a sentence's search.
pub struct SentenceState<'a> {
    /// Steps of the batch so far; they decide the place in the record.
    pub clock: usize,
    /// Prompt tokens, without the last.
    pub history: usize,
    /// Maximum tokens to generate.
    pub max_new_tokens: usize,
    /// Minimum tokens before an end token.
    pub min_new_tokens: usize,
    /// See [`Stopping`].
    pub stopping: Stopping,
    /// Forced first token.
    pub forced_first: Option<u32>,
    /// Forced last token, at the maximum length.
    pub forced_last: Option<u32>,
    /// First word of the sentence's two lists of bans.
    pub ban_lists: usize,
    /// Penalty of repeated tokens; 1 for none.
    pub repetition_penalty: f32,
    /// See `ban_repeats.wgsl`.
    pub no_repeat_ngram_size: usize,
    /// First word of the list of the sentence's banned phrases.
    pub phrases: usize,
    /// Number of banned phrases.
    pub phrase_count: usize,
    /// End tokens.
    pub ends: &'a [u32],
    /// Divisor of a hypothesis' log-probability, by its length; for beam search only.
    pub length_divisor: &'a dyn Fn(usize) -> f32,
}

impl SearchShape {
    /// Appends a sentence's block to `words`.
    pub fn encode(&self, state: &SentenceState<'_>, words: &mut Vec<u32>) {
        let end = words.len() + self.block();
        let live = 1; // all beams are equal before the first token
        words.extend([
            0,
            live,
            0,
            0,
            state.clock as u32,
            state.history as u32,
            state.max_new_tokens as u32,
            state.min_new_tokens as u32,
            state.stopping as u32,
            state.forced_first.unwrap_or(NO_TOKEN),
            state.forced_last.unwrap_or(NO_TOKEN),
            state.ban_lists as u32,
            state.repetition_penalty.to_bits(),
            state.no_repeat_ngram_size as u32,
            state.phrases as u32,
            state.phrase_count as u32,
            state.ends.len() as u32,
        ]);
        words.extend(state.ends);
        if self.beams > 1 {
            // scores, parents and finished scores start as zeros
            words.resize(end - self.capacity - 1, 0);
            words.extend((0..=state.max_new_tokens).map(|length| (state.length_divisor)(length).to_bits()));
        }
        words.resize(end, 0);
    }
}
