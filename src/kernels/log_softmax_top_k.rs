//! From logits `[rows, vocabulary]` to the best few tokens of each row and their log-probabilities.
//!
//! 1. [`vocabulary_chunks`]: the best token of each chunk of a row, and the sum of its exponentials; on a GPU the
//!    [output layer](super::output_layer) may have noted that already
//! 2. on software adapters, in small kernels without barriers: `chunk_candidates`, the best K tokens of the best K chunks of a
//!    row; and `top_k_merge`, the best K of those, and their log-probabilities
//! 3. on GPUs instead of both `top_k_workgroup`, with a workgroup for each row
//!
//! Only where a search edits scores (bans, repetition penalty) does more run before that: `edit_scores` where the host
//! lists the edits, in place on the logits; where the device makes them itself from what rows had before,
//! `penalize_repeats`, and `reset_bans` and `ban_repeats` for lists of what the selection then passes over. Where
//! log-probabilities are edited in place, another `vocabulary_chunks` comes first.

use super::bans::{BanParams, repeat_launch, reset_launch};
use super::edits::{Edits, HistoryEdits};
use super::vocabulary_chunks::{self, Chunks, Sums};
use super::{Access, AdapterClass, Dispatch, Kernel, fold, stride};
use crate::scores::{ScoreRules, ScoreSpace};

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
    storage: &[Access::Read, Access::Write],
    params: TopKMergeParams::FIELDS,
};

/// One workgroup per row.
pub static TOP_K_WORKGROUP: Kernel = Kernel {
    name: "top_k_workgroup",
    wgsl: wgsl!(
        "top_k_workgroup"
            + "row_by_workgroup"
            + "reduce"
            + "bans"
            + "search"
            + "candidate"
            + "masked"
            + "grid"
    ),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Write, Access::Write],
    params: TopKWorkgroupParams::FIELDS,
};

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

params! {
    /// Group 1 of `top_k_workgroup.wgsl`.
    pub struct TopKWorkgroupParams {
        /// Rows of logits.
        pub rows: u32,
        /// Elements of a row.
        pub vocabulary: u32,
        /// Between rows, elements.
        pub logits_stride: u32,
        /// Chunks of a row, panels.
        pub chunks: u32,
        /// Candidates wanted.
        pub candidates: u32,
        /// Words of a list of bans.
        pub ban_words: u32,
        /// Rows of a sentence.
        pub beams: u32,
        /// Words of a sentence's search.
        pub block: u32,
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
    /// The result, u32 `[rows, 2 * candidates]`: each row has the bits of its values, then its tokens. Where a row has
    /// fewer tokens that are not banned, [`NO_TOKEN`](crate::scores::NO_TOKEN) with a value below -1e30.
    Top,
}

impl TopKShape {
    /// Elements of the scratch buffer [`TopKBuffer::Chunks`], whatever the adapter class.
    pub fn chunk_elements(&self) -> usize {
        let lists = self.rows * self.candidates * 2 * self.candidates;
        vocabulary_chunks::chunk_elements(self.rows, self.vocabulary) + lists
    }

    /// The launches, in order, with the buffers that each one binds.
    pub fn launches(&self, edits: Edits, class: AdapterClass) -> Vec<(Dispatch, Vec<TopKBuffer>)> {
        let mut launches = self.chunk_launches(edits, class);
        launches.extend(self.best_launches(edits, class));
        launches
    }

    /// The launches that leave each chunk's best token and sum, of scores as they are after edits.
    pub fn chunk_launches(&self, edits: Edits, class: AdapterClass) -> Vec<(Dispatch, Vec<TopKBuffer>)> {
        use TopKBuffer::{Bans, Chunks, Logits, Nothing, Phrases, RowBans, Search, SlotTokens, Slots};
        let mut launches = Vec::new();
        let divided = vocabulary_chunks::Chunks::of(self.vocabulary, class);
        let chunks =
            |history, sums| vocabulary_chunks::dispatch(self.rows, self.vocabulary, divided, history, sums);
        if self.needs_sums_before(edits) {
            launches.push((chunks(None, Sums::All), vec![Logits, Nothing, Nothing, Chunks]));
        }
        let (history, bans, search) = match edits {
            Edits::None => (None, Nothing, Nothing),
            Edits::Listed(capacity) => {
                let launch = self.edit_launch(capacity, divided);
                launches.push((launch, vec![TopKBuffer::Edits, Chunks, Logits]));
                (None, Nothing, Nothing)
            }
            Edits::ByHistory(history) => {
                if history.penalty {
                    let bound = vec![Search, Slots, SlotTokens, Chunks, Logits];
                    launches.push((self.penalty_launch(&history, divided), bound));
                }
                if history.repeats {
                    let launch = reset_launch(self.rows, self.vocabulary, &history);
                    launches.push((launch, vec![Search, Bans, RowBans]));
                    let launch = repeat_launch(self.rows, self.vocabulary, &history);
                    launches.push((launch, vec![Search, Slots, SlotTokens, Phrases, RowBans]));
                }
                let [bans, search] = ban_buffers(edits);
                (Some(history), bans, search)
            }
        };
        let sums = match self.needs_sums_before(edits) && !self.rules.renormalize {
            true => Sums::Kept,
            false => self.sums(),
        };
        launches.push((chunks(history, sums), vec![Logits, bans, search, Chunks]));
        launches
    }

    /// The launches that pick the best tokens, once the chunks are known.
    pub fn best_launches(&self, edits: Edits, class: AdapterClass) -> Vec<(Dispatch, Vec<TopKBuffer>)> {
        use TopKBuffer::{Chunks, Logits, Top};
        let history = match edits {
            Edits::ByHistory(history) => Some(history),
            _ => None,
        };
        let [bans, search] = ban_buffers(edits);
        if class.is_software() {
            vec![
                (self.candidate_launch(history), vec![Logits, bans, search, Chunks]),
                (self.merge_launch(), vec![Chunks, Top]),
            ]
        } else {
            vec![(self.workgroup_launch(history), vec![Logits, bans, search, Chunks, Top])]
        }
    }

    /// Which tokens count in a row's sum: log-probabilities stay what they were before tokens were banned.
    pub(super) fn sums(&self) -> Sums {
        match self.is_in_log_probabilities() && !self.rules.renormalize {
            true => Sums::All,
            false => Sums::Allowed,
        }
    }

    pub(super) fn is_in_log_probabilities(&self) -> bool {
        self.rules.space == ScoreSpace::LogProbabilities
    }

    /// Whether the sums of the logits before they are edited in place are needed: to know the log-probabilities that
    /// penalties change, and to normalize by.
    fn needs_sums_before(&self, edits: Edits) -> bool {
        let in_place = match edits {
            Edits::None => false,
            Edits::Listed(_) => true,
            Edits::ByHistory(history) => history.penalty,
        };
        in_place && self.is_in_log_probabilities()
    }

    fn normalizes(&self) -> f64 {
        f64::from(self.is_in_log_probabilities() || self.rules.renormalize)
    }

    /// Where the lists of candidates begin, on a software adapter.
    fn lists(&self) -> u32 {
        (self.rows * Chunks::strided(self.vocabulary).count * 4) as u32
    }

    fn candidate_launch(&self, history: Option<HistoryEdits>) -> Dispatch {
        let bans = BanParams::new(self.vocabulary, history);
        let params = ChunkCandidatesParams {
            rows: self.rows as u32,
            vocabulary: self.vocabulary as u32,
            logits_stride: stride(self.vocabulary) as u32,
            chunks: Chunks::strided(self.vocabulary).count as u32,
            candidates: self.candidates as u32,
            lists: self.lists(),
            ban_words: bans.words,
            beams: bans.beams,
            block: bans.block,
        };
        let constants = vec![("BANS", bans.kind)];
        Dispatch::new(&CHUNK_CANDIDATES, constants, &params, fold(self.rows * self.candidates, 8))
    }

    fn merge_launch(&self) -> Dispatch {
        let params = TopKMergeParams {
            rows: self.rows as u32,
            chunks: Chunks::strided(self.vocabulary).count as u32,
            candidates: self.candidates as u32,
            lists: self.lists(),
        };
        Dispatch::new(&TOP_K_MERGE, vec![("NORMALIZE", self.normalizes())], &params, fold(self.rows, 8))
    }

    fn workgroup_launch(&self, history: Option<HistoryEdits>) -> Dispatch {
        let bans = BanParams::new(self.vocabulary, history);
        let params = TopKWorkgroupParams {
            rows: self.rows as u32,
            vocabulary: self.vocabulary as u32,
            logits_stride: stride(self.vocabulary) as u32,
            chunks: Chunks::panels(self.vocabulary).count as u32,
            candidates: self.candidates as u32,
            ban_words: bans.words,
            beams: bans.beams,
            block: bans.block,
        };
        let constants = vec![("BANS", bans.kind), ("NORMALIZE", self.normalizes())];
        Dispatch::new(&TOP_K_WORKGROUP, constants, &params, fold(self.rows, 1))
    }
}

/// The lists of bans that a selection reads, and the search that tells which is a sentence's.
fn ban_buffers(edits: Edits) -> [TopKBuffer; 2] {
    match edits {
        Edits::ByHistory(HistoryEdits { repeats: true, .. }) => [TopKBuffer::RowBans, TopKBuffer::Nothing],
        Edits::ByHistory(HistoryEdits { bans: true, .. }) => [TopKBuffer::Bans, TopKBuffer::Search],
        _ => [TopKBuffer::Nothing; 2],
    }
}
