//! One step: the request to the device and its answer.

use crate::scores::{BANNED, ScoreEdit, TopScores};

/// One step of the device: the decoder runs on one token per row, then scores the next one. Before the first step the
/// device has run the rest of the prompt.
///
/// Rows are sentence by sentence, [`BatchSearch::rows_per_sentence`](super::BatchSearch::rows_per_sentence) each. Their
/// number is constant: finished sentences keep their rows until they [are replaced](super::BatchSearch::replace).
#[derive(Debug, Clone, Copy)]
pub struct StepRequest<'a> {
    /// `[rows]`, number of generated tokens; 0 in a sentence's first step, which reads the prompt's last token. The
    /// token's position is this number plus the prompt's length - 1.
    pub positions: &'a [usize],
    /// `[rows]`, token ids
    pub tokens: &'a [u32],
    /// `[rows]`, row of the previous step whose history the row continues; of the same sentence
    pub parents: &'a [u32],
    /// Edits by ascending row.
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

/// The device's answer to a [`StepRequest`].
#[derive(Debug, Clone, Copy)]
pub enum StepScores<'a> {
    /// The best [`BatchSearch::candidates`](super::BatchSearch::candidates) of each row.
    Best(TopScores<'a>),
    /// All edited scores, `[rows, vocabulary]`, if
    /// [`BatchSearch::wants_whole_rows`](super::BatchSearch::wants_whole_rows). Logits suffice, because sampling
    /// normalises.
    Whole {
        /// Number of scores of a row.
        vocabulary: usize,
        /// `[rows, vocabulary]`
        values: &'a [f32],
    },
}

impl<'a> From<TopScores<'a>> for StepScores<'a> {
    fn from(best: TopScores<'a>) -> Self {
        Self::Best(best)
    }
}

impl<'a> StepScores<'a> {
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

    /// Fills `candidates` with the tokens of `row` that are not banned, and their scores.
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

#[derive(Default)]
pub(super) struct StepBuffers {
    pub positions: Vec<usize>,
    pub tokens: Vec<u32>,
    pub parents: Vec<u32>,
    pub edits: Vec<ScoreEdit>,
}
