//! One step: the request to the device and its answer.

use crate::scores::{BANNED, NO_TOKEN, ScoreEdit, TopScores};

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
    /// `[rows, BatchSearch::wanted]`, tokens of terms whose scores are needed besides the best ones; then
    /// [`NO_TOKEN`](crate::scores::NO_TOKEN).
    pub wanted: &'a [u32],
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
    /// Those, and the scores of [`StepRequest::wanted`].
    WithTerms(TopScores<'a>, Offers<'a>),
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

/// The scores of wanted tokens, and where the decoder looked.
#[derive(Debug, Clone, Copy)]
pub struct Offers<'a> {
    /// Tokens of [`StepRequest::wanted`] and their scores, in any order.
    pub wanted: TopScores<'a>,
    /// Number of source tokens of a row of `attention`; 0: unknown.
    pub source_tokens: usize,
    /// `[rows, source_tokens]`, cross-attention of the step.
    pub attention: &'a [f32],
}

impl<'a> Offers<'a> {
    fn rows(&self, first_row: usize, rows: usize) -> Self {
        let source = self.source_tokens;
        let attention = &self.attention[first_row * source..(first_row + rows) * source];
        Self { wanted: self.wanted.rows(first_row, rows), source_tokens: source, attention }
    }

    pub(super) fn attention_of(&self, row: usize) -> &'a [f32] {
        &self.attention[row * self.source_tokens..(row + 1) * self.source_tokens]
    }
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
            Self::WithTerms(best, offers) => {
                Self::WithTerms(best.rows(first_row, rows), offers.rows(first_row, rows))
            }
            Self::Whole { vocabulary, values } => {
                Self::Whole { vocabulary, values: &values[first_row * vocabulary..][..rows * vocabulary] }
            }
        }
    }

    pub(super) fn row(&self, row: usize) -> &'a [f32] {
        match self.rows(row, 1) {
            Self::Best(best) | Self::WithTerms(best, _) => best.values,
            Self::Whole { values, .. } => values,
        }
    }

    /// Fills `candidates` with the tokens of `row` that are not banned, and their scores.
    pub(super) fn candidates(&self, row: usize, candidates: &mut Vec<(u32, f64)>) {
        let scores = self.row(row).iter().map(|&score| f64::from(score));
        candidates.clear();
        match self.rows(row, 1) {
            Self::Best(best) | Self::WithTerms(best, _) => {
                candidates.extend(best.tokens.iter().copied().zip(scores))
            }
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
    pub wanted: Vec<u32>,
}

impl StepBuffers {
    /// Leaves the room of a row for wanted tokens empty.
    pub fn want_nothing(&mut self, room: usize) {
        self.wanted.extend(std::iter::repeat_n(NO_TOKEN, room));
    }
}
