//! The best tokens of each row and their log-probabilities, from logits `[rows, vocabulary]`.
//!
//! 1. [`vocabulary_chunks`]: the best token and the sum of exponentials of each chunk of a row; on a GPU, the [output
//!    layer](super::output_layer) may have noted them
//! 2. on software adapters, small kernels without barriers: `chunk_candidates` (the best K tokens of the best K
//!    chunks), then `top_k_merge` (the best K of those, and their log-probabilities)
//! 3. on GPUs, `top_k_workgroup` instead of both, one workgroup per row
//!
//! Score edits (bans, repetition penalty) run before. If the host lists them: `edit_scores`, in place on the logits. If
//! the device makes them from each row's history: `penalize_repeats`, and `reset_bans` and `ban_repeats` for the lists
//! that the selection skips. If log-probabilities are edited in place, another `vocabulary_chunks` runs first.

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
        /// Elements per row.
        pub vocabulary: u32,
        /// Row stride, elements.
        pub logits_stride: u32,
        /// Chunks per row.
        pub chunks: u32,
        /// Number of candidates of each chunk, and number of chunks searched.
        pub candidates: u32,
        /// First word of the lists of candidates.
        pub lists: u32,
        /// Words per list of bans.
        pub ban_words: u32,
        /// Rows per sentence.
        pub beams: u32,
        /// Words of the state of a sentence.
        pub block: u32,
    }
}

params! {
    /// Group 1 of `top_k_merge.wgsl`.
    pub struct TopKMergeParams {
        /// Rows.
        pub rows: u32,
        /// Chunks per row.
        pub chunks: u32,
        /// Number of candidates.
        pub candidates: u32,
        /// First word of the chunks' lists.
        pub lists: u32,
    }
}

params! {
    /// Group 1 of `top_k_workgroup.wgsl`.
    pub struct TopKWorkgroupParams {
        /// Rows of logits.
        pub rows: u32,
        /// Elements per row.
        pub vocabulary: u32,
        /// Row stride, elements.
        pub logits_stride: u32,
        /// Chunks per row: panels.
        pub chunks: u32,
        /// Number of candidates.
        pub candidates: u32,
        /// Words per list of bans.
        pub ban_words: u32,
        /// Rows per sentence.
        pub beams: u32,
        /// Words of the state of a sentence.
        pub block: u32,
    }
}

/// The buffers of a selection; `B` is the type of a buffer.
#[derive(Clone, Copy, Debug)]
pub struct ScoreBuffers<B> {
    /// f32 `[rows, vocabulary]`; edited in place.
    pub logits: B,
    /// Scratch memory, [`TopKShape::chunk_elements`] elements: best tokens and sums of the chunks, then lists of
    /// candidates.
    pub chunks: B,
    /// Any buffer; it is not read.
    pub nothing: B,
}

/// Launches in order, with their bindings.
pub type Launches<B> = Vec<(Dispatch, Vec<B>)>;

impl TopKShape {
    /// Elements of the scratch buffer for chunks, for any adapter class.
    pub fn chunk_elements(&self) -> usize {
        let lists = self.rows * self.candidates * 2 * self.candidates;
        vocabulary_chunks::chunk_elements(self.rows, self.vocabulary) + lists
    }

    /// The launches that edit scores and note each chunk's best token and sum.
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
        // sums of the logits before in-place edits: penalties change log-probabilities
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
                HistoryBuffers { search, slots, slot_tokens, bans, phrases, row_bans, columns },
            ) => {
                if history.penalty {
                    let bound = vec![*search, *slots, *slot_tokens, chunks, *columns, logits];
                    launches.push((self.penalty_launch(history, divided), bound));
                }
                if history.repeats {
                    let launch = reset_launch(self.rows, self.vocabulary, history);
                    launches.push((launch, vec![*search, *bans, *row_bans]));
                    let launch = repeat_launch(self.rows, self.vocabulary, history);
                    launches
                        .push((launch, vec![*search, *slots, *slot_tokens, *phrases, *columns, *row_bans]));
                }
            }
        }
        let [bans, search] = edits.ban_buffers(nothing);
        let sums = match (sums_before, self.rules.renormalize) {
            (true, false) => Sums::Kept,
            // bans do not change log-probabilities
            (false, false) if self.is_in_log_probabilities() => Sums::All,
            _ => Sums::Allowed,
        };
        launches.push((note(edits.history(), sums), vec![logits, bans, search, chunks]));
        launches
    }

    /// The launches that pick the best tokens from the noted chunks.
    ///
    /// * `top`: the result, u32 `[rows, 2 * candidates]`: the bits of each row's values, then its tokens. If a row has
    ///   too few allowed tokens, [`NO_TOKEN`](crate::scores::NO_TOKEN) with a value below -1e30
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

    pub(super) fn normalizes(&self) -> f64 {
        f64::from(self.is_in_log_probabilities() || self.rules.renormalize)
    }

    /// First word of the lists of candidates, on a software adapter.
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
