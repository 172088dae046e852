//! A search's state on the device: what its buffers depend on, and the block of words that a sentence begins with.

use crate::scores::NO_TOKEN;

/// Steps that the record holds: as many as one submit takes at most.
pub const RING: usize = 8;

/// A search, as far as the device's buffers depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SearchShape {
    /// Sentences.
    pub sentences: usize,
    /// Rows of each; 1: greedy search.
    pub beams: usize,
    /// Candidates of a row.
    pub candidates: usize,
    /// End tokens of a sentence at most.
    pub ends: usize,
    /// Cache slots of a row; at least as many as tokens.
    pub capacity: usize,
    /// The row of the position table that a target's first token has.
    pub first_position: u32,
    /// The token that has a row of its own, of its number.
    pub pad_position: Option<u32>,
}

/// Words before a block's end tokens, as in `shared/search.wgsl`.
pub(super) const HEADER: usize = 17;

impl SearchShape {
    /// Rows of a step.
    pub fn rows(&self) -> usize {
        self.sentences * self.beams
    }

    /// Words of a sentence's block.
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

/// Edits that the device makes itself, out of what the search's state says and what rows had before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryEdits {
    /// Whether there are banned tokens.
    pub bans: bool,
    /// Whether some are banned because of what came before: n-grams, phrases.
    pub repeats: bool,
    /// Banned phrases of a sentence at most.
    pub phrases: usize,
    /// Whether repeated tokens are penalized.
    pub penalty: bool,
    /// The search.
    pub search: SearchShape,
}

/// When a beam search stops that has as many hypotheses as beams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopping {
    /// At once.
    AtOnce = 0,
    /// When the best beam, ended now, would not be better than the worst hypothesis.
    ByLengthSoFar = 1,
    /// When it would not even at the greatest length.
    ByMaxLength = 2,
}

/// What a sentence's search begins with.
pub struct SentenceState<'a> {
    /// Steps that the batch has taken before, which decides where its record goes.
    pub clock: usize,
    /// Tokens of the prompt but its last.
    pub history: usize,
    /// Tokens to generate at most.
    pub max_new_tokens: usize,
    /// Tokens before the first that may be an end token.
    pub min_new_tokens: usize,
    /// See [`Stopping`].
    pub stopping: Stopping,
    /// The first token, whatever the scores say.
    pub forced_first: Option<u32>,
    /// The last one, where the greatest length is reached.
    pub forced_last: Option<u32>,
    /// Where the sentence's two lists of bans begin, in words.
    pub ban_lists: usize,
    /// Of tokens that occurred before; 1: none.
    pub repetition_penalty: f32,
    /// See `ban_repeats.wgsl`.
    pub no_repeat_ngram_size: usize,
    /// Where the sentence's banned phrases are listed, in words.
    pub phrases: usize,
    /// How many of them there are.
    pub phrase_count: usize,
    /// Its end tokens.
    pub ends: &'a [u32],
    /// What the sum of a hypothesis' log-probabilities is divided by, given its length; of beam search only.
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
            // scores, parents and finished scores are zero
            words.resize(end - self.capacity - 1, 0);
            words.extend((0..=state.max_new_tokens).map(|length| (state.length_divisor)(length).to_bits()));
        }
        words.resize(end, 0);
    }
}
