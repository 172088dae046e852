//! One row of scores, from the model's logits to the candidates of a search.
//!
//! This is plain code for one row of `[rows, vocabulary]` scores: the oracle of the kernels, and the CPU runner's own code.

/// The kind of scores that are edited.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ScoreSpace {
    /// The model's output: greedy search.
    Logits,
    /// `log_softmax` of the model's output: beam search.
    LogProbabilities,
}

/// The steps from a row of logits to a row of scores, for all rows and steps of a batch.
///
/// 1. `log_softmax`, in the space [`ScoreSpace::LogProbabilities`]
/// 2. the step's [`ScoreEdit`]s
/// 3. `log_softmax`, if `renormalize`
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScoreRules {
    /// The kind of scores before editing.
    pub space: ScoreSpace,
    /// Whether to normalize. Greedy search always does, so that its score is a log-probability. For beam search, it only
    /// matters in steps with edits.
    pub renormalize: bool,
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

/// What a step of a search with terms answers besides the best tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TermScoresShape {
    /// Wanted tokens of a row.
    pub wanted: usize,
    /// Source tokens of a row; 0 without attention.
    pub source: usize,
    /// Heads of the attention.
    pub heads: usize,
    /// Rows per sentence.
    pub beams: usize,
}

impl TermScoresShape {
    /// Words of a row of the answer: values and tokens of the best candidates, scores of wanted tokens, attention.
    pub fn width(&self, candidates: usize) -> usize {
        2 * candidates + self.wanted + self.source
    }
}

/// The place of a token among the columns of a row; `None` if it is none of them. Without a list every token is one.
pub(crate) fn column_of(columns: Option<&[u32]>, token: u32) -> Option<u32> {
    match columns {
        Some(columns) => columns.binary_search(&token).ok().map(|place| place as u32),
        None => Some(token),
    }
}

/// A change of one score. A step has at most one per row and token.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ScoreEdit {
    /// Row of the batch, one for each beam.
    pub row: u32,
    /// Token whose score changes.
    pub token: u32,
    /// The kind of the change.
    pub kind: EditKind,
}

/// The kind of a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum EditKind {
    /// Minus infinity. A device may use any finite stand-in below -1e30.
    Ban,
    /// `score * p` if the score is negative, `score / p` otherwise.
    Penalize(f32),
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

/// The limit at or below which a token counts as banned: no sum of log-probabilities is near it.
pub(crate) const BANNED: f32 = -1e8;

/// The filler of [`TopScores::tokens`], if a row has fewer allowed tokens than candidates.
pub const NO_TOKEN: u32 = u32::MAX;

/// The best scores of every row, best first, equal scores by ascending token.
#[derive(Debug, Clone, Copy)]
pub struct TopScores<'a> {
    /// Number of candidates per row.
    pub candidates: usize,
    /// `[rows, candidates]` log-probabilities. Unused entries are minus infinity or a device's stand-in for it.
    pub values: &'a [f32],
    /// `[rows, candidates]` tokens. Unused entries are [`NO_TOKEN`].
    pub tokens: &'a [u32],
}

impl<'a> TopScores<'a> {
    /// The `(token, log-probability)` pairs of `row`.
    pub(crate) fn row(&self, row: usize) -> impl Iterator<Item = (u32, f32)> + use<'a> {
        let range = row * self.candidates..(row + 1) * self.candidates;
        self.tokens[range.clone()].iter().copied().zip(self.values[range].iter().copied())
    }

    /// The rows `first_row..first_row + rows` alone.
    pub(crate) fn rows(&self, first_row: usize, rows: usize) -> Self {
        let range = first_row * self.candidates..(first_row + rows) * self.candidates;
        Self { candidates: self.candidates, values: &self.values[range.clone()], tokens: &self.tokens[range] }
    }
}

/// Turns one row of logits `[vocabulary]` into scores, in place. `edits` are those of this row.
pub fn process_row(logits: &mut [f32], rules: ScoreRules, edits: &[ScoreEdit]) {
    process_row_with(log_softmax, logits, rules, edits);
}

/// As [`process_row`], with another function for `log_softmax`.
pub(crate) fn process_row_with(
    log_softmax: impl Fn(&mut [f32]),
    logits: &mut [f32],
    rules: ScoreRules,
    edits: &[ScoreEdit],
) {
    if rules.space == ScoreSpace::LogProbabilities {
        log_softmax(logits);
    }
    for edit in edits {
        if let Some(score) = logits.get_mut(edit.token as usize) {
            *score = match edit.kind {
                EditKind::Ban => f32::NEG_INFINITY,
                EditKind::Penalize(penalty) if *score < 0.0 => *score * penalty,
                EditKind::Penalize(penalty) => *score / penalty,
            };
        }
    }
    if rules.renormalize {
        log_softmax(logits);
    }
}

/// Writes the best `values.len()` scores of one row and their tokens, equal scores by ascending token. Banned tokens are
/// left out. NaN counts as the best score, so that it is detected.
///
/// * `scores`: `[vocabulary]`; `values`, `tokens`: `[candidates]`
pub fn top_scores(scores: &[f32], values: &mut [f32], tokens: &mut [u32]) {
    let candidates = values.len().min(tokens.len());
    values.fill(f32::NEG_INFINITY);
    tokens.fill(NO_TOKEN);
    if candidates == 0 {
        return;
    }
    let last = candidates - 1;
    const AT_A_TIME: usize = 64;
    for (chunk, scores) in scores.chunks(AT_A_TIME).enumerate() {
        // the common case, tested in vectors; a later token with an equal score loses
        if scores.iter().fold(true, |all, &score| all & (score <= values[last])) {
            continue;
        }
        for (i, &score) in scores.iter().enumerate() {
            if score <= values[last] {
                continue;
            }
            let place = values[..last].partition_point(|&better| better >= score || better.is_nan());
            values[place..candidates].rotate_right(1);
            tokens[place..candidates].rotate_right(1);
            (values[place], tokens[place]) = (score, (chunk * AT_A_TIME + i) as u32);
        }
    }
}

/// `x - ln Σ exp(x)`, summed in f64. A row of minus infinities stays as it is.
fn log_softmax(row: &mut [f32]) {
    let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    if max == f32::NEG_INFINITY {
        return;
    }
    let sum: f64 = row.iter().map(|&x| f64::from((x - max).exp())).sum();
    let log_sum = f64::from(max) + sum.ln();
    for x in row {
        *x = (f64::from(*x) - log_sum) as f32;
    }
}
