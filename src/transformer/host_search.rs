use std::sync::Arc;

use super::error::GenerateError;
use super::request::GenerateRequest;
use crate::decode::{BatchSearch, StepScores};
use crate::graph::{Graph, GraphError, Program, Session, State, StateTable, Value, Weights};
use crate::scores::{NO_TOKEN, ScoreEdit, TopKShape, TopScores, column_of, encode_edits};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct HostSearchKey {
    /// Maximal number of score edits per step; 0: never any.
    max_edits: usize,
    whole_rows: bool,
}

impl HostSearchKey {
    pub fn new(search: &BatchSearch) -> Self {
        Self {
            max_edits: match search.max_edits() {
                0 => 0,
                edits => edits.next_power_of_two(), // so that similar batches share a session
            },
            whole_rows: search.wants_whole_rows(),
        }
    }
}

/// A batch's search on the host, between two steps of the device.
pub(super) struct HostSearch {
    shape: TopKShape,
    edits: Option<State>,
    best: State,
    /// All scores, if the search reads them.
    scores: Option<State>,
    /// Output columns of each sentence, if not all tokens are computed.
    columns: Vec<Option<Arc<[u32]>>>,
    rows_each: usize,
    // Buffers: a step allocates nothing.
    edits_of_columns: Vec<ScoreEdit>,
    edit_words: Vec<[u32; 4]>,
    values: Vec<f32>,
    tokens: Vec<u32>,
}

impl HostSearch {
    pub fn new(key: HostSearchKey, shape: &TopKShape, rows_each: usize, states: &mut StateTable) -> Self {
        Self {
            shape: *shape,
            edits: (key.max_edits > 0).then(|| states.u32("score edits", 1 + key.max_edits, 4)),
            best: states.u32("best candidates", shape.rows, 2 * shape.candidates),
            scores: key.whole_rows.then(|| states.f32("scores", shape.rows, shape.vocabulary)),
            columns: Vec::new(),
            rows_each,
            edits_of_columns: Vec::new(),
            edit_words: Vec::new(),
            values: Vec::new(),
            tokens: Vec::new(),
        }
    }

    /// Takes the columns of a new batch.
    pub fn begin(&mut self, requests: &[&GenerateRequest]) {
        self.columns.clear();
        self.columns.extend(requests.iter().map(|request| request.options.columns.listed().cloned()));
    }

    /// Takes the columns of a request that has the rows of a finished sentence.
    pub fn seat(&mut self, sentence: usize, request: &GenerateRequest) {
        self.columns[sentence] = request.options.columns.listed().cloned();
    }

    /// Adds the search's part of a step, after its logits.
    pub fn add_to(&self, g: &mut Graph, logits: Value) -> Result<(), GraphError> {
        if let Some(scores) = self.scores {
            g.keep(logits, scores)?; // edited in place
        }
        let top = g.log_softmax_top_k(self.shape, logits, self.edits)?;
        g.keep(top, self.best)
    }

    /// Runs a step with written rows, and takes its answer.
    pub async fn advance(
        &mut self,
        session: &mut Session,
        weights: &Weights,
        step: Program,
        search: &mut BatchSearch,
    ) -> Result<(), GenerateError> {
        if let Some(edits) = self.edits {
            let columns = |row: u32| self.columns[row as usize / self.rows_each].as_deref();
            self.edits_of_columns.clear();
            self.edits_of_columns.extend(search.step().edits.iter().filter_map(|edit| {
                let token = column_of(columns(edit.row), edit.token)?;
                Some(ScoreEdit { token, ..*edit })
            }));
            encode_edits(&self.edits_of_columns, &mut self.edit_words);
            session.write(edits, bytemuck::cast_slice(&self.edit_words));
        }
        if let Some(scores) = self.scores {
            session.run(step, weights);
            let values = session.read(scores).await?;
            if self.columns.iter().any(Option::is_some) {
                let (vocabulary, values) = self.whole_rows(&values);
                return Ok(search.advance(StepScores::Whole { vocabulary, values: &values })?);
            }
            let vocabulary = self.shape.vocabulary;
            return Ok(search.advance(StepScores::Whole { vocabulary, values: &values })?);
        }
        let candidates = self.shape.candidates;
        let Self { values, tokens, columns, rows_each, .. } = self;
        session
            .run_and_read(step, weights, self.best, |words| {
                values.clear();
                tokens.clear();
                for (index, row) in words.chunks_exact(2 * candidates).enumerate() {
                    let (row_values, row_tokens) = row.split_at(candidates);
                    let columns = columns[index / *rows_each].as_deref();
                    values.extend(row_values.iter().copied().map(f32::from_bits));
                    tokens.extend(row_tokens.iter().map(|&column| token_of(columns, column)));
                }
            })
            .await?;
        Ok(search.advance(TopScores { candidates, values, tokens })?)
    }

    /// Scores of all tokens, from those of the columns; others are minus infinity. Returns the size of a row.
    fn whole_rows(&self, scores: &[f32]) -> (usize, Vec<f32>) {
        let last = self.columns.iter().flatten().filter_map(|columns| columns.last()).max();
        let vocabulary = last.map_or(0, |&last| last as usize + 1);
        let mut whole = vec![f32::NEG_INFINITY; self.shape.rows * vocabulary];
        let rows = whole.chunks_exact_mut(vocabulary.max(1)).zip(scores.chunks_exact(self.shape.vocabulary));
        for (index, (whole, scores)) in rows.enumerate() {
            for (&token, &score) in
                self.columns[index / self.rows_each].iter().flat_map(|list| &**list).zip(scores)
            {
                whole[token as usize] = score;
            }
        }
        (vocabulary, whole)
    }
}

/// The token of a column.
fn token_of(columns: Option<&[u32]>, column: u32) -> u32 {
    match columns {
        Some(columns) => columns.get(column as usize).copied().unwrap_or(NO_TOKEN),
        None => column,
    }
}
