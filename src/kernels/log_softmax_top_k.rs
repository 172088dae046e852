//! From logits `[rows, vocabulary]` to the best few tokens of each row and their log-probabilities.
//!
//! Small kernels without barriers, each launched for all rows at once:
//!
//! 1. `vocabulary_chunks`: the best token of each chunk of a row, and the sum of its exponentials
//! 2. `chunk_candidates`: the best K tokens of the best K chunks of a row
//! 3. `top_k_merge`: the best K of those, and their log-probabilities
//!
//! Only where a search edits scores (bans, repetition penalty) does more run before that: `edit_scores` where the host
//! lists the edits, in place on the logits; where the device makes them itself from what rows had before,
//! `penalize_repeats`, and `reset_bans` and `ban_repeats` for lists of what the selection then passes over. Where
//! log-probabilities are edited in place, another `vocabulary_chunks` comes first.

use super::bans::{BanParams, repeat_launch, reset_launch};
use super::edits::{Edits, HistoryEdits};
use super::{Access, Dispatch, Kernel, fold, stride};
use crate::scores::{ScoreRules, ScoreSpace};

/// One invocation per chunk of each row.
pub static VOCABULARY_CHUNKS: Kernel = Kernel {
    name: "vocabulary_chunks",
    wgsl: wgsl!("vocabulary_chunks" + "bans" + "search" + "candidate" + "masked" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Write],
    params: VocabularyChunksParams::FIELDS,
};

/// One invocation per candidate of each row.
pub static CHUNK_CANDIDATES: Kernel = Kernel {
    name: "chunk_candidates",
    wgsl: wgsl!("chunk_candidates" + "bans" + "search" + "candidate" + "masked" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Write],
    params: ChunkCandidatesParams::FIELDS,
};

/// One invocation per row.
pub static TOP_K_MERGE: Kernel = Kernel {
    name: "top_k_merge",
    wgsl: wgsl!("top_k_merge" + "log_sum_exp" + "candidate" + "masked" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Write],
    params: TopKMergeParams::FIELDS,
};

params! {
    /// Group 1 of `vocabulary_chunks.wgsl`.
    pub struct VocabularyChunksParams {
        /// Rows of logits.
        pub rows: u32,
        /// Elements of a row.
        pub vocabulary: u32,
        /// Between rows, elements.
        pub logits_stride: u32,
        /// Chunks of a row: chunk c holds the tokens c, c + chunks, c + 2 · chunks …
        pub chunks: u32,
        /// Words of a list of bans.
        pub ban_words: u32,
        /// Rows of a sentence.
        pub beams: u32,
        /// Words of a sentence's search.
        pub block: u32,
    }
}

params! {
    /// Group 1 of `chunk_candidates.wgsl`.
    pub struct ChunkCandidatesParams {
        /// Rows of logits.
        pub rows: u32,
        /// Elements of a row.
        pub vocabulary: u32,
        /// Between rows, elements.
        pub logits_stride: u32,
        /// Chunks of a row.
        pub chunks: u32,
        /// Candidates wanted, of each chunk and of how many chunks.
        pub candidates: u32,
        /// Where their lists begin.
        pub lists: u32,
        /// Words of a list of bans.
        pub ban_words: u32,
        /// Rows of a sentence.
        pub beams: u32,
        /// Words of a sentence's search.
        pub block: u32,
    }
}

params! {
    /// Group 1 of `top_k_merge.wgsl`.
    pub struct TopKMergeParams {
        /// Rows.
        pub rows: u32,
        /// Chunks of a row.
        pub chunks: u32,
        /// Candidates wanted.
        pub candidates: u32,
        /// Where the lists of the chunks begin.
        pub lists: u32,
    }
}

/// What a selection computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TopKShape {
    /// Rows of logits.
    pub rows: usize,
    /// Elements of a row.
    pub vocabulary: usize,
    /// Candidates of each row.
    pub candidates: usize,
    /// From logits to scores.
    pub rules: ScoreRules,
}

/// A buffer that the launches bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum TopKBuffer {
    /// f32 `[rows, vocabulary]`; edited in place.
    Logits,
    /// u32 `[1 + capacity, 4]`, see [`encode_edits`](super::edits::encode_edits).
    Edits,
    /// u32: see [`Bans`](super::bans::Bans)
    Bans,
    /// Scratch, u32 `[rows, ban_words]`
    RowBans,
    /// u32: see [`Bans`](super::bans::Bans)
    Phrases,
    /// u32 `[sentences, block]`
    Search,
    /// u32 `[rows, capacity]`
    Slots,
    /// u32 `[rows * capacity]`
    SlotTokens,
    /// Any buffer; it is not read.
    Nothing,
    /// Scratch, [`TopKShape::chunk_elements`]: the chunks' best tokens and sums, then lists of candidates.
    Chunks,
    /// Scratch, [`TopKShape::statistics_elements`]: the same bests and sums of the logits before they are edited.
    Statistics,
    /// The result, u32 `[rows, 2 * candidates]`: each row has the bits of its values, then its tokens. Where a row has
    /// fewer tokens that are not banned, [`NO_TOKEN`](crate::scores::NO_TOKEN) with a value below -1e30.
    Top,
}

impl TopKShape {
    /// Elements of the scratch buffer [`TopKBuffer::Chunks`].
    pub fn chunk_elements(&self) -> usize {
        self.statistics_elements() + self.rows * self.candidates * 2 * self.candidates
    }

    /// Elements of the scratch buffer [`TopKBuffer::Statistics`].
    pub fn statistics_elements(&self) -> usize {
        self.rows * chunks_of(self.vocabulary) * 4
    }

    /// The launches, in order, with the buffers that each one binds.
    pub fn launches(&self, edits: Edits) -> Vec<(Dispatch, Vec<TopKBuffer>)> {
        use TopKBuffer::{Bans, Chunks, Logits, Nothing, RowBans, Search, Top};
        let mut launches = self.chunk_launches(edits);
        let history = match edits {
            Edits::ByHistory(history) => Some(history),
            _ => None,
        };
        let (bans, search) = match history {
            Some(HistoryEdits { repeats: true, .. }) => (RowBans, Nothing),
            Some(HistoryEdits { bans: true, .. }) => (Bans, Search),
            _ => (Nothing, Nothing),
        };
        launches.push((self.candidate_launch(history), vec![Logits, bans, search, Chunks]));
        let normalizes = self.is_in_log_probabilities() || self.rules.renormalize;
        let by = if self.needs_statistics(edits) && !self.rules.renormalize {
            TopKBuffer::Statistics
        } else {
            Chunks
        };
        launches.push((self.merge_launch(normalizes), vec![Chunks, by, Top]));
        launches
    }

    /// The launches that leave each chunk's best token and sum, of scores as they are after edits.
    pub fn chunk_launches(&self, edits: Edits) -> Vec<(Dispatch, Vec<TopKBuffer>)> {
        use TopKBuffer::{
            Bans, Chunks, Logits, Nothing, Phrases, RowBans, Search, SlotTokens, Slots, Statistics,
        };
        let mut launches = Vec::new();
        let statistics = match self.needs_statistics(edits) {
            true => {
                let launch = chunk_launch(self.rows, self.vocabulary, None, true);
                launches.push((launch, vec![Logits, Nothing, Nothing, Statistics]));
                Statistics
            }
            false => Nothing,
        };
        let (history, bans, search) = match edits {
            Edits::None => (None, Nothing, Nothing),
            Edits::Listed(capacity) => {
                launches.push((self.edit_launch(capacity), vec![TopKBuffer::Edits, statistics, Logits]));
                (None, Nothing, Nothing)
            }
            Edits::ByHistory(history) => {
                if history.penalty {
                    let bound = vec![Search, Slots, SlotTokens, statistics, Logits];
                    launches.push((self.penalty_launch(&history), bound));
                }
                let (bans, search) = match history {
                    HistoryEdits { repeats: true, .. } => {
                        launches.push((
                            reset_launch(self.rows, self.vocabulary, &history),
                            vec![Search, Bans, RowBans],
                        ));
                        let bound = vec![Search, Slots, SlotTokens, Phrases, RowBans];
                        launches.push((repeat_launch(self.rows, self.vocabulary, &history), bound));
                        (RowBans, Nothing)
                    }
                    HistoryEdits { bans: true, .. } => (Bans, Search),
                    _ => (Nothing, Nothing),
                };
                (Some(history), bans, search)
            }
        };
        // log-probabilities stay what they were before tokens were banned
        let sum_banned = self.is_in_log_probabilities() && !self.rules.renormalize;
        let launch = chunk_launch(self.rows, self.vocabulary, history, sum_banned);
        launches.push((launch, vec![Logits, bans, search, Chunks]));
        launches
    }

    pub(super) fn is_in_log_probabilities(&self) -> bool {
        self.rules.space == ScoreSpace::LogProbabilities
    }

    /// Whether the sums of the logits before they are edited in place are needed: to know the log-probabilities that
    /// penalties change, and to normalize by.
    fn needs_statistics(&self, edits: Edits) -> bool {
        let in_place = match edits {
            Edits::None => false,
            Edits::Listed(_) => true,
            Edits::ByHistory(history) => history.penalty,
        };
        in_place && self.is_in_log_probabilities()
    }

    fn candidate_launch(&self, history: Option<HistoryEdits>) -> Dispatch {
        let bans = BanParams::new(self.vocabulary, history);
        let params = ChunkCandidatesParams {
            rows: self.rows as u32,
            vocabulary: self.vocabulary as u32,
            logits_stride: stride(self.vocabulary) as u32,
            chunks: chunks_of(self.vocabulary) as u32,
            candidates: self.candidates as u32,
            lists: self.statistics_elements() as u32,
            ban_words: bans.words,
            beams: bans.beams,
            block: bans.block,
        };
        let constants = vec![("BANS", bans.kind)];
        Dispatch::new(&CHUNK_CANDIDATES, constants, &params, fold(self.rows * self.candidates, 8))
    }

    fn merge_launch(&self, normalize: bool) -> Dispatch {
        let params = TopKMergeParams {
            rows: self.rows as u32,
            chunks: chunks_of(self.vocabulary) as u32,
            candidates: self.candidates as u32,
            lists: self.statistics_elements() as u32,
        };
        Dispatch::new(&TOP_K_MERGE, vec![("NORMALIZE", f64::from(normalize))], &params, fold(self.rows, 8))
    }
}

/// Chunks of a row. Looking for the best chunk is as much work as looking through one when there are √vocabulary of them.
pub fn chunks_of(vocabulary: usize) -> usize {
    vocabulary.isqrt().max(1)
}

/// The launch of [`VOCABULARY_CHUNKS`].
///
/// * storage: logits `[rows, vocabulary]`, bans, search, chunks u32 `[rows, chunks, 4]` (best value, its token, maximum,
///   sum)
pub(super) fn chunk_launch(
    rows: usize,
    vocabulary: usize,
    history: Option<HistoryEdits>,
    sum_banned: bool,
) -> Dispatch {
    let chunks = chunks_of(vocabulary);
    let bans = BanParams::new(vocabulary, history);
    let params = VocabularyChunksParams {
        rows: rows as u32,
        vocabulary: vocabulary as u32,
        logits_stride: stride(vocabulary) as u32,
        chunks: chunks as u32,
        ban_words: bans.words,
        beams: bans.beams,
        block: bans.block,
    };
    let constants = vec![("BANS", bans.kind), ("SUM_BANNED", f64::from(sum_banned))];
    Dispatch::new(&VOCABULARY_CHUNKS, constants, &params, fold(rows * chunks, 32))
}
