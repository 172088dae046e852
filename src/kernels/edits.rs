//! Edits of scores: bans and repetition penalties, listed by the host, or made by the device out of what rows had before.

use super::log_softmax_top_k::TopKShape;
use super::search::SearchShape;
use super::vocabulary_chunks::Chunks;
use super::{Access, Dispatch, Kernel, fold, stride};
use crate::scores::{EditKind, ScoreEdit};

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
    wgsl: wgsl!("penalize_repeats" + "search" + "log_sum_exp" + "masked" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Write],
    params: PenalizeRepeatsParams::FIELDS,
};

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
    /// Group 1 of `penalize_repeats.wgsl`.
    pub struct PenalizeRepeatsParams {
        /// Rows of logits.
        pub rows: u32,
        /// Elements of a row.
        pub vocabulary: u32,
        /// Between rows, elements.
        pub logits_stride: u32,
        /// Chunks of a row.
        pub chunks: u32,
        /// Rows of a sentence.
        pub beams: u32,
        /// Words of a sentence's search.
        pub block: u32,
        /// Slots of a row's cache.
        pub capacity: u32,
    }
}

/// Where scores are edited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edits {
    /// Nowhere.
    None,
    /// By a list that the host writes, with room for so many.
    Listed(usize),
    /// On the device.
    ByHistory(HistoryEdits),
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

impl TopKShape {
    /// The launch of [`PENALIZE_REPEATS`]: search, slots, their tokens, chunks, logits.
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
        let constants = vec![("LOG_PROBABILITIES", f64::from(self.is_in_log_probabilities()))];
        let invocations = self.rows * history.search.capacity;
        Dispatch::new(&PENALIZE_REPEATS, constants, &params, fold(invocations, 32))
    }

    /// The launch of [`EDIT_SCORES`]: edits, chunks, logits.
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
