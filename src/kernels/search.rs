//! The search on the device: greedy or beam search take their step, and the tables of reordered beams follow.
//!
//! What the device has to know of a sentence's search is a block of words ([`SentenceState`]); the searches of a batch lie
//! side by side. A step writes, for the host to follow, a record of what it saw.

use super::vocabulary_chunks::Chunks;
use super::{Access, AdapterClass, Dispatch, Kernel, fold};
use crate::scores::NO_TOKEN;

/// Greedy search; one invocation per sentence: for software adapters.
pub static GREEDY_STEP: Kernel = Kernel {
    name: "greedy_step",
    wgsl: wgsl!(
        "greedy_step"
            + "row_by_invocation"
            + "log_sum_exp"
            + "continue_row"
            + "search"
            + "candidate"
            + "masked"
            + "grid"
    ),
    storage: STEP_STORAGE,
    params: GreedyStepParams::FIELDS,
};

/// Greedy search; one workgroup per sentence: for GPUs.
pub static GREEDY_STEP_WORKGROUP: Kernel = Kernel {
    name: "greedy_step_workgroup",
    wgsl: wgsl!(
        "greedy_step"
            + "row_by_workgroup"
            + "reduce"
            + "continue_row"
            + "search"
            + "candidate"
            + "masked"
            + "grid"
    ),
    storage: STEP_STORAGE,
    params: GreedyStepParams::FIELDS,
};

/// Beam search; one invocation per sentence.
pub static BEAM_STEP: Kernel = Kernel {
    name: "beam_step",
    wgsl: wgsl!("beam_step" + "continue_row" + "search" + "divide" + "masked" + "grid"),
    storage: STEP_STORAGE,
    params: BeamStepParams::FIELDS,
};

/// One invocation per position of each sentence.
pub static REORDER_SLOTS: Kernel = Kernel {
    name: "reorder_slots",
    wgsl: wgsl!("reorder_slots" + "search" + "grid"),
    storage: &[Access::Read, Access::Write],
    params: ReorderSlotsParams::FIELDS,
};

const STEP_STORAGE: &[Access] = &[
    Access::Read,
    Access::Write,
    Access::Write,
    Access::Write,
    Access::Write,
    Access::Write,
    Access::Write,
    Access::Write,
];

params! {
    /// Group 1 of `greedy_step.wgsl`.
    pub struct GreedyStepParams {
        /// Rows, as many as sentences.
        pub rows: u32,
        /// Chunks of a row of logits.
        pub chunks: u32,
        /// 1.
        pub candidates: u32,
        /// Words of a sentence's block.
        pub block: u32,
        /// Slots of a row's cache.
        pub capacity: u32,
        /// Steps that the record holds.
        pub ring: u32,
        /// Row of the position table that the first token has.
        pub first_position: u32,
        /// The token that has a row of its own there.
        pub pad: u32,
    }
}

params! {
    /// Group 1 of `beam_step.wgsl`.
    pub struct BeamStepParams {
        /// Rows.
        pub rows: u32,
        /// Candidates of a row.
        pub candidates: u32,
        /// Words of a sentence's block.
        pub block: u32,
        /// End tokens that it has room for.
        pub ends: u32,
        /// Slots of a row's cache.
        pub capacity: u32,
        /// Steps that the record holds.
        pub ring: u32,
        /// Row of the position table that the first token has.
        pub first_position: u32,
        /// The token that has a row of its own there.
        pub pad: u32,
    }
}

params! {
    /// Group 1 of `reorder_slots.wgsl`.
    pub struct ReorderSlotsParams {
        /// Sentences.
        pub sentences: u32,
        /// Words of a sentence's block.
        pub block: u32,
        /// Where its rows' parents are among them.
        pub parents: u32,
        /// Slots of a row.
        pub capacity: u32,
    }
}

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

/// A buffer that a step binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SearchBuffer {
    /// What the selection left: of greedy search the chunks, of beam search the best candidates.
    Scores,
    /// u32 `[sentences, block]`
    Search,
    /// u32 `[rows]`: what each row is fed
    Tokens,
    /// u32 `[rows]`
    Positions,
    /// u32 `[rows]`
    KeyCounts,
    /// u32 `[rows]`
    CacheSlots,
    /// u32 `[rows * capacity]`: the token whose keys and values a slot holds
    SlotTokens,
    /// u32 `[ring * rows, 2 * candidates + 1]`: bits of the values, tokens, and the token that the row was fed
    Record,
    /// u32 `[rows, capacity]`
    Slots,
}

/// Words before a block's end tokens, as in `shared/search.wgsl`.
const HEADER: usize = 17;

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

    /// The launches of a step, after the chunks of rows with `vocabulary` logits are known, and candidates selected from them
    /// for beam search.
    pub fn launches(&self, vocabulary: usize, class: AdapterClass) -> Vec<(Dispatch, Vec<SearchBuffer>)> {
        use SearchBuffer::{
            CacheSlots, KeyCounts, Positions, Record, Scores, Search, SlotTokens, Slots, Tokens,
        };
        let bound = vec![Scores, Search, Tokens, Positions, KeyCounts, CacheSlots, SlotTokens, Record];
        let (rows, candidates) = (self.rows() as u32, self.candidates as u32);
        let (block, capacity, ring) = (self.block() as u32, self.capacity as u32, RING as u32);
        let first_position = self.first_position;
        let pad = self.pad_position.unwrap_or(NO_TOKEN);
        if self.beams == 1 {
            let chunks = Chunks::of(vocabulary, class).count as u32;
            let params =
                GreedyStepParams { rows, chunks, candidates, block, capacity, ring, first_position, pad };
            let step = match class.is_software() {
                true => Dispatch::new(&GREEDY_STEP, Vec::new(), &params, fold(self.sentences, 8)),
                false => Dispatch::new(&GREEDY_STEP_WORKGROUP, Vec::new(), &params, fold(self.sentences, 1)),
            };
            return vec![(step, bound)];
        }
        let ends = self.ends as u32;
        let params = BeamStepParams { rows, candidates, block, ends, capacity, ring, first_position, pad };
        let beams = || vec![("BEAMS", self.beams as f64)];
        let step = Dispatch::new(&BEAM_STEP, beams(), &params, fold(self.sentences, 8));
        let params = ReorderSlotsParams {
            sentences: self.sentences as u32,
            block,
            parents: (HEADER + self.ends + self.beams) as u32,
            capacity,
        };
        let reorder =
            Dispatch::new(&REORDER_SLOTS, beams(), &params, fold(self.sentences * self.capacity, 32));
        vec![(step, bound), (reorder, vec![Search, Slots])]
    }
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
