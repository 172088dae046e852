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
use super::edits::{Edits, HistoryBuffers};
use super::search_state::HistoryEdits;
use super::vocabulary_chunks::{self, Chunks, Sums};
use super::{Access, AdapterClass, Dispatch, Kernel, fold, stride};
pub use crate::scores::TopKShape;

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

/// The buffers of a selection; `B` stands for a buffer.
#[derive(Clone, Copy, Debug)]
pub struct ScoreBuffers<B> {
    /// f32 `[rows, vocabulary]`; edited in place.
    pub logits: B,
    /// Scratch memory, [`TopKShape::chunk_elements`]: the chunks' best tokens and sums, then lists of candidates.
    pub chunks: B,
    /// Any buffer; it is not read.
    pub nothing: B,
}

/// Launches in order, with what each one binds.
pub type Launches<B> = Vec<(Dispatch, Vec<B>)>;

impl TopKShape {
    /// Elements of the scratch buffer for chunks, whatever the adapter class.
    pub fn chunk_elements(&self) -> usize {
        let lists = self.rows * self.candidates * 2 * self.candidates;
        vocabulary_chunks::chunk_elements(self.rows, self.vocabulary) + lists
    }

    /// The launches that edit scores and leave each chunk's best token and sum.
    pub fn chunk_launches<B: Copy>(
        &self,
        edits: &Edits<B>,
        buffers: ScoreBuffers<B>,
        class: AdapterClass,
    ) -> Launches<B> {
        let ScoreBuffers { logits, chunks, nothing } = buffers;
        let divided = Chunks::of(self.vocabulary, class);
        let note =
            |history, sums| vocabulary_chunks::dispatch((self.rows, self.vocabulary), divided, history, sums);
        // the sums of the logits before they are edited in place: penalties change log-probabilities
        let sums_before = self.is_in_log_probabilities()
            && match edits {
                Edits::None => false,
                Edits::Listed { .. } => true,
                Edits::ByHistory(history, _) => history.penalty,
            };
        let mut launches = Vec::new();
        if sums_before {
            launches.push((note(None, Sums::All), vec![logits, nothing, nothing, chunks]));
        }
        match edits {
            Edits::None => {}
            Edits::Listed { capacity, list } => {
                launches.push((self.edit_launch(*capacity, divided), vec![*list, chunks, logits]));
            }
            Edits::ByHistory(
                history,
                HistoryBuffers { search, slots, slot_tokens, bans, phrases, row_bans },
            ) => {
                if history.penalty {
                    let bound = vec![*search, *slots, *slot_tokens, chunks, logits];
                    launches.push((self.penalty_launch(history, divided), bound));
                }
                if history.repeats {
                    let launch = reset_launch(self.rows, self.vocabulary, history);
                    launches.push((launch, vec![*search, *bans, *row_bans]));
                    let launch = repeat_launch(self.rows, self.vocabulary, history);
                    launches.push((launch, vec![*search, *slots, *slot_tokens, *phrases, *row_bans]));
                }
            }
        }
        let [bans, search] = edits.ban_buffers(nothing);
        let sums = match (sums_before, self.rules.renormalize) {
            (true, false) => Sums::Kept,
            // log-probabilities stay what they were before tokens were banned
            (false, false) if self.is_in_log_probabilities() => Sums::All,
            _ => Sums::Allowed,
        };
        launches.push((note(edits.history(), sums), vec![logits, bans, search, chunks]));
        launches
    }

    /// The launches that pick the best tokens, once the chunks are known.
    ///
    /// * `top`: the result, u32 `[rows, 2 * candidates]`: each row has the bits of its values, then its tokens. Where a row
    ///   has fewer tokens that are not banned, [`NO_TOKEN`](crate::scores::NO_TOKEN) with a value below -1e30
    pub fn best_launches<B: Copy>(
        &self,
        edits: &Edits<B>,
        buffers: ScoreBuffers<B>,
        top: B,
        class: AdapterClass,
    ) -> Launches<B> {
        let ScoreBuffers { logits, chunks, nothing } = buffers;
        let [bans, search] = edits.ban_buffers(nothing);
        if class.is_software() {
            vec![
                (self.candidate_launch(edits.history()), vec![logits, bans, search, chunks]),
                (self.merge_launch(), vec![chunks, top]),
            ]
        } else {
            vec![(self.workgroup_launch(edits.history()), vec![logits, bans, search, chunks, top])]
        }
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
