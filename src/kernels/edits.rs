//! Edits of scores: bans and repetition penalties, listed by the host, or made by the device from each row's history.

use super::search_state::HistoryEdits;
use super::vocabulary_chunks::Chunks;
use super::{Access, Dispatch, Kernel, fold, stride};
use crate::scores::{ScoreSpace, TopKShape};

/// One invocation per edit.
pub static EDIT_SCORES: Kernel = Kernel {
    name: "edit_scores",
    wgsl: wgsl!("edit_scores" + "log_sum_exp" + "masked" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Write],
    params: EditScoresParams::FIELDS,
};

/// One invocation per earlier token of each row.
pub static PENALIZE_REPEATS: Kernel = Kernel {
    name: "penalize_repeats",
    wgsl: wgsl!("penalize_repeats" + "columns" + "search" + "log_sum_exp" + "masked" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Read, Access::Write],
    params: PenalizeRepeatsParams::FIELDS,
};

params! {
    /// Group 1 of `edit_scores.wgsl`.
    pub struct EditScoresParams {
        /// Capacity of the list of edits.
        pub capacity: u32,
        /// Rows of logits.
        pub rows: u32,
        /// Elements per row.
        pub vocabulary: u32,
        /// Row stride of logits, elements.
        pub logits_stride: u32,
        /// Chunks per row.
        pub chunks: u32,
    }
}

params! {
    /// Group 1 of `penalize_repeats.wgsl`.
    pub struct PenalizeRepeatsParams {
        /// Rows of logits.
        pub rows: u32,
        /// Elements per row.
        pub vocabulary: u32,
        /// Row stride, elements.
        pub logits_stride: u32,
        /// Chunks per row.
        pub chunks: u32,
        /// Rows per sentence.
        pub beams: u32,
        /// Words of the state of a sentence.
        pub block: u32,
        /// Cache slots per row.
        pub capacity: u32,
    }
}

/// Source of score edits; `B` is the type of a buffer.
#[derive(Clone, Copy, Debug)]
pub enum Edits<B> {
    /// No edits.
    None,
    /// A list that the host writes, u32 `[1 + capacity, 4]`, see [`encode_edits`](crate::scores::encode_edits).
    Listed {
        /// Capacity of the list.
        capacity: usize,
        /// The list.
        list: B,
    },
    /// Edits that the device makes from the history.
    ByHistory(HistoryEdits, HistoryBuffers<B>),
}

/// Inputs of the device's own edits, and its list of bans; u32.
#[derive(Clone, Copy, Debug)]
pub struct HistoryBuffers<B> {
    /// `[sentences, block]`
    pub search: B,
    /// `[rows, capacity]`
    pub slots: B,
    /// `[rows * capacity, 1]`
    pub slot_tokens: B,
    /// See [`Bans`](super::bans::Bans).
    pub bans: B,
    /// See [`Bans`](super::bans::Bans).
    pub phrases: B,
    /// `[rows, ban_words]`: banned tokens of each row.
    pub row_bans: B,
    /// `[sentences, vocabulary]`: tokens of the columns, if columns are not tokens.
    pub columns: B,
}

impl<B: Copy> Edits<B> {
    pub(super) fn history(&self) -> Option<HistoryEdits> {
        match self {
            Self::ByHistory(history, _) => Some(*history),
            Self::None | Self::Listed { .. } => None,
        }
    }

    /// The bans and the search that a selection reads.
    pub(super) fn ban_buffers(&self, nothing: B) -> [B; 2] {
        match self {
            Self::ByHistory(HistoryEdits { repeats: true, .. }, buffers) => [buffers.row_bans, nothing],
            Self::ByHistory(HistoryEdits { bans: true, .. }, buffers) => [buffers.bans, buffers.search],
            _ => [nothing; 2],
        }
    }
}

impl TopKShape {
    pub(super) fn is_in_log_probabilities(&self) -> bool {
        self.rules.space == ScoreSpace::LogProbabilities
    }

    /// Storage of [`PENALIZE_REPEATS`]: search, slots, their tokens, chunks, columns, logits.
    pub(super) fn penalty_launch(&self, history: &HistoryEdits, chunks: Chunks) -> Dispatch {
        let params = PenalizeRepeatsParams {
            rows: self.rows as u32,
            vocabulary: self.vocabulary as u32,
            logits_stride: stride(self.vocabulary) as u32,
            chunks: chunks.count as u32,
            beams: history.search.beams as u32,
            block: history.search.block() as u32,
            capacity: history.search.capacity as u32,
        };
        let constants = vec![
            ("LOG_PROBABILITIES", f64::from(self.is_in_log_probabilities())),
            ("HAS_COLUMNS", f64::from(history.columns)),
        ];
        let invocations = self.rows * history.search.capacity;
        Dispatch::new(&PENALIZE_REPEATS, constants, &params, fold(invocations, 32))
    }

    /// Storage of [`EDIT_SCORES`]: edits, chunks, logits.
    pub(super) fn edit_launch(&self, capacity: usize, chunks: Chunks) -> Dispatch {
        let params = EditScoresParams {
            capacity: capacity as u32,
            rows: self.rows as u32,
            vocabulary: self.vocabulary as u32,
            logits_stride: stride(self.vocabulary) as u32,
            chunks: chunks.count as u32,
        };
        let constants = vec![("LOG_PROBABILITIES", f64::from(self.is_in_log_probabilities()))];
        Dispatch::new(&EDIT_SCORES, constants, &params, fold(capacity, 32))
    }
}
