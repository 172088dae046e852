//! From logits `[rows, vocabulary]` to the best few tokens of each row and their log-probabilities.
//!
//! Small kernels without barriers, each launched for all rows at once:
//!
//! 1. `vocabulary_chunks`: the best token of each chunk of a row, and the sum of its exponentials
//! 2. `chunk_candidates`: the best K tokens of the best K chunks of a row
//! 3. `top_k_merge`: the best K of those, and their log-probabilities
//!
//! Only where a search edits scores (bans, repetition penalty) does `edit_scores` run before that, in place on the logits,
//! and where it edits log-probabilities, another `vocabulary_chunks` before that.

use super::{Access, Dispatch, Kernel, fold, stride};
use crate::scores::{EditKind, ScoreEdit, ScoreRules, ScoreSpace};

/// One invocation per chunk of each row.
pub static VOCABULARY_CHUNKS: Kernel = Kernel {
    name: "vocabulary_chunks",
    wgsl: wgsl!("vocabulary_chunks" + "candidate" + "masked" + "grid"),
    storage: &[Access::Read, Access::Write],
    params: VocabularyChunksParams::FIELDS,
};

/// One invocation per candidate of each row.
pub static CHUNK_CANDIDATES: Kernel = Kernel {
    name: "chunk_candidates",
    wgsl: wgsl!("chunk_candidates" + "candidate" + "masked" + "grid"),
    storage: &[Access::Read, Access::Write],
    params: ChunkCandidatesParams::FIELDS,
};

/// One invocation per edit.
pub static EDIT_SCORES: Kernel = Kernel {
    name: "edit_scores",
    wgsl: wgsl!("edit_scores" + "log_sum_exp" + "masked" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Write],
    params: EditScoresParams::FIELDS,
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
    }
}

params! {
    /// Group 1 of `edit_scores.wgsl`.
    pub struct EditScoresParams {
        /// Room in the list of edits.
        pub capacity: u32,
        /// Rows of logits.
        pub rows: u32,
        /// Elements of a row.
        pub vocabulary: u32,
        /// Between rows of logits, elements.
        pub logits_stride: u32,
        /// Chunks of a row.
        pub chunks: u32,
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
    /// u32 `[1 + capacity, 4]`, see [`encode_edits`].
    Edits,
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
        self.rows * chunks_of(self.vocabulary) * 3
    }

    /// The launches, in order, with the buffers that each one binds. `edits` is the room in the list of edits, `None`
    /// where no step has any.
    pub fn launches(&self, edits: Option<usize>) -> Vec<(Dispatch, Vec<TopKBuffer>)> {
        use TopKBuffer::{Chunks, Edits, Logits, Statistics, Top};
        let log_probabilities = self.rules.space == ScoreSpace::LogProbabilities;
        // The sums of the logits before they are edited, where they are needed: to know the log-probabilities that
        // penalties change, and to normalize by.
        let raw_sums = edits.is_some() && log_probabilities;
        let mut launches = Vec::new();
        if raw_sums {
            launches.push((chunk_launch(self.rows, self.vocabulary), vec![Logits, Statistics]));
        }
        if let Some(capacity) = edits {
            let statistics = if raw_sums { Statistics } else { Chunks };
            launches.push((self.edit_launch(capacity), vec![Edits, statistics, Logits]));
        }
        launches.push((chunk_launch(self.rows, self.vocabulary), vec![Logits, Chunks]));
        launches.push((self.candidate_launch(), vec![Logits, Chunks]));
        let normalized_by = if raw_sums && !self.rules.renormalize { Statistics } else { Chunks };
        launches.push((
            self.merge_launch(log_probabilities || self.rules.renormalize),
            vec![Chunks, normalized_by, Top],
        ));
        launches
    }

    fn candidate_launch(&self) -> Dispatch {
        let params = ChunkCandidatesParams {
            rows: self.rows as u32,
            vocabulary: self.vocabulary as u32,
            logits_stride: stride(self.vocabulary) as u32,
            chunks: chunks_of(self.vocabulary) as u32,
            candidates: self.candidates as u32,
            lists: self.statistics_elements() as u32,
        };
        Dispatch::new(&CHUNK_CANDIDATES, Vec::new(), &params, fold(self.rows * self.candidates, 8))
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

    fn edit_launch(&self, capacity: usize) -> Dispatch {
        let params = EditScoresParams {
            capacity: capacity as u32,
            rows: self.rows as u32,
            vocabulary: self.vocabulary as u32,
            logits_stride: stride(self.vocabulary) as u32,
            chunks: chunks_of(self.vocabulary) as u32,
        };
        let log_probabilities = self.rules.space == ScoreSpace::LogProbabilities;
        let constants = vec![("LOG_PROBABILITIES", f64::from(log_probabilities))];
        Dispatch::new(&EDIT_SCORES, constants, &params, fold(capacity, 32))
    }
}

/// Chunks of a row. Looking for the best chunk is as much work as looking through one when there are √vocabulary of them.
pub(super) fn chunks_of(vocabulary: usize) -> usize {
    vocabulary.isqrt().max(1)
}

/// The launch of [`VOCABULARY_CHUNKS`].
///
/// * storage: logits `[rows, vocabulary]`, chunks u32 `[rows, chunks, 3]` (best value, its token, sum)
pub(super) fn chunk_launch(rows: usize, vocabulary: usize) -> Dispatch {
    let chunks = chunks_of(vocabulary);
    let params = VocabularyChunksParams {
        rows: rows as u32,
        vocabulary: vocabulary as u32,
        logits_stride: stride(vocabulary) as u32,
        chunks: chunks as u32,
    };
    Dispatch::new(&VOCABULARY_CHUNKS, Vec::new(), &params, fold(rows * chunks, 32))
}

/// The edits of a step as the device reads them: `[count, 0, 0, 0]`, then `[row, token, kind, bits of the penalty]` for
/// each; kind 0 bans, kind 1 penalizes. Reuses `words`.
pub fn encode_edits(edits: &[ScoreEdit], words: &mut Vec<[u32; 4]>) {
    words.clear();
    words.push([edits.len() as u32, 0, 0, 0]);
    words.extend(edits.iter().map(|edit| match edit.kind {
        EditKind::Ban => [edit.row, edit.token, 0, 0],
        EditKind::Penalize(penalty) => [edit.row, edit.token, 1, penalty.to_bits()],
    }));
}

/// The edits that [`encode_edits`] wrote.
pub fn decode_edits(words: &[u32]) -> impl Iterator<Item = ScoreEdit> {
    let count = words.first().map_or(0, |&count| count as usize);
    words.chunks_exact(4).skip(1).take(count).map(|edit| ScoreEdit {
        row: edit[0],
        token: edit[1],
        kind: match edit[2] {
            0 => EditKind::Ban,
            _ => EditKind::Penalize(f32::from_bits(edit[3])),
        },
    })
}
