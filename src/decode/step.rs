//! One step: what a device is asked, and what it answers.

use crate::scores::{BANNED, ScoreEdit, TopScores};

/// What the device has to do in one step: run the decoder on one token a row, then score the next one. Before the first
/// step it has to have run it on the rest of the prompt.
///
/// Rows are sentence by sentence, [`BatchSearch::rows_per_sentence`](super::BatchSearch::rows_per_sentence) each. Their number never changes: finished sentences
/// keep their rows until others [take their place](super::BatchSearch::replace).
#[derive(Debug, Clone, Copy)]
pub struct StepRequest<'a> {
    /// `[rows]`: tokens generated so far, the same number in the rows of a sentence; 0 in its first step, which takes the
    /// last token of the prompt. So the tokens' position is the prompt's length - 1 more.
    pub positions: &'a [usize],
    /// `[rows]`
    pub tokens: &'a [u32],
    /// `[rows]`: the row of the step before whose history each row continues; of the same sentence.
    pub parents: &'a [u32],
    /// By ascending row.
    pub edits: &'a [ScoreEdit],
}

impl<'a> StepRequest<'a> {
    /// The edits of one row.
    pub fn edits_of(&self, row: usize) -> &'a [ScoreEdit] {
        let start = self.edits.partition_point(|edit| (edit.row as usize) < row);
        let end = self.edits.partition_point(|edit| edit.row as usize <= row);
        &self.edits[start..end]
    }
}

/// What the device answers.
#[derive(Debug, Clone, Copy)]
pub enum StepScores<'a> {
    /// The best [`BatchSearch::candidates`](super::BatchSearch::candidates) of each row.
    Best(TopScores<'a>),
    /// Where [`BatchSearch::wants_whole_rows`](super::BatchSearch::wants_whole_rows): `[rows, vocabulary]`, edited. Logits will do, for sampling normalises
    /// what it draws from.
    Whole {
        /// Scores in a row.
        vocabulary: usize,
        /// The scores, row by row.
        values: &'a [f32],
    },
}

impl<'a> From<TopScores<'a>> for StepScores<'a> {
    fn from(best: TopScores<'a>) -> Self {
        Self::Best(best)
    }
}

impl<'a> StepScores<'a> {
    /// The rows `first_row..first_row + rows` alone.
    pub(super) fn rows(&self, first_row: usize, rows: usize) -> Self {
        match *self {
            Self::Best(best) => Self::Best(best.rows(first_row, rows)),
            Self::Whole { vocabulary, values } => {
                Self::Whole { vocabulary, values: &values[first_row * vocabulary..][..rows * vocabulary] }
            }
        }
    }

    pub(super) fn row(&self, row: usize) -> &'a [f32] {
        match self.rows(row, 1) {
            Self::Best(best) => best.values,
            Self::Whole { values, .. } => values,
        }
    }

    /// Replaces `candidates` by the tokens of `row` that are not banned and their scores.
    pub(super) fn candidates(&self, row: usize, candidates: &mut Vec<(u32, f64)>) {
        let scores = self.row(row).iter().map(|&score| f64::from(score));
        candidates.clear();
        match self.rows(row, 1) {
            Self::Best(best) => candidates.extend(best.tokens.iter().copied().zip(scores)),
            Self::Whole { .. } => candidates.extend((0..).zip(scores)),
        }
        candidates.retain(|&(_, score)| score > f64::from(BANNED));
    }
}

/// What a [`StepRequest`] shows.
#[derive(Default)]
pub(super) struct StepBuffers {
    pub positions: Vec<usize>,
    pub tokens: Vec<u32>,
    pub parents: Vec<u32>,
    pub edits: Vec<ScoreEdit>,
}
