use std::sync::Arc;

use super::error::GenerateError;
use super::request::GenerateRequest;
use crate::decode::{BatchSearch, Offers, StepScores};
use crate::graph::{Graph, GraphError, Program, Session, State, StateTable, Value, Weights};
use crate::ops::TermInputs;
use crate::scores::{NO_TOKEN, ScoreEdit, TermScoresShape, TopKShape, TopScores, column_of, encode_edits};

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct HostSearchKey {
    /// Maximal number of score edits per step; 0: never any.
    max_edits: usize,
    whole_rows: bool,
    /// What a search with terms takes besides the best tokens.
    terms: Option<TermScoresShape>,
}

impl HostSearchKey {
    /// * `source`: source tokens and heads of a cross-attention, if there is any
    pub fn new(search: &BatchSearch, source: Option<[usize; 2]>) -> Self {
        let [source, heads] = source.unwrap_or([0, 1]);
        Self {
            terms: (search.wanted() > 0).then(|| TermScoresShape {
                wanted: search.wanted().next_power_of_two(),
                source,
                heads,
                beams: search.rows_per_sentence(),
            }),
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
    /// Sizes, and the tokens whose scores are wanted.
    terms: Option<(TermScoresShape, State)>,
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
    wanted: Vec<u32>,
    offered: Offered,
}

/// What a step answered about terms; buffers.
#[derive(Default)]
struct Offered {
    scores: Vec<f32>,
    tokens: Vec<u32>,
    attention: Vec<f32>,
}

impl HostSearch {
    pub fn new(key: HostSearchKey, shape: &TopKShape, rows_each: usize, states: &mut StateTable) -> Self {
        let width = key.terms.map_or(2 * shape.candidates, |terms| terms.width(shape.candidates));
        Self {
            shape: *shape,
            edits: (key.max_edits > 0).then(|| states.u32("score edits", 1 + key.max_edits, 4)),
            best: states.u32("best candidates", shape.rows, width),
            terms: key.terms.map(|terms| (terms, states.u32("wanted tokens", shape.rows, terms.wanted))),
            scores: key.whole_rows.then(|| states.f32("scores", shape.rows, shape.vocabulary)),
            columns: Vec::new(),
            rows_each,
            edits_of_columns: Vec::new(),
            edit_words: Vec::new(),
            values: Vec::new(),
            tokens: Vec::new(),
            wanted: Vec::new(),
            offered: Offered::default(),
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

    /// Whether a step needs the weights of a cross-attention.
    pub fn wants_attention(&self) -> bool {
        self.terms.is_some_and(|(terms, _)| terms.source > 0)
    }

    /// Adds the search's part of a step, after its logits. `attention`: weights of a cross-attention, if they are wanted.
    pub fn add_to(&self, g: &mut Graph, logits: Value, attention: Option<Value>) -> Result<(), GraphError> {
        if let Some(scores) = self.scores {
            g.keep(logits, scores)?; // edited in place
        }
        let terms = self.terms.map(|(shape, wanted)| TermInputs { shape, wanted, attention });
        let top = g.log_softmax_top_k(self.shape, logits, self.edits, terms)?;
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
        self.write_wanted(session, search);
        let candidates = self.shape.candidates;
        let Self { values, tokens, columns, rows_each, terms, wanted, offered, .. } = self;
        let width = self.best.shape.width;
        session
            .run_and_read(step, weights, self.best, |words| {
                values.clear();
                tokens.clear();
                offered.clear();
                for (index, row) in words.chunks_exact(width).enumerate() {
                    if let Some((terms, _)) = terms {
                        offered.take(terms, &wanted[index * terms.wanted..], &row[2 * candidates..]);
                    }
                    let (row_values, row_tokens) = row[..2 * candidates].split_at(candidates);
                    let columns = columns[index / *rows_each].as_deref();
                    values.extend(row_values.iter().copied().map(f32::from_bits));
                    tokens.extend(row_tokens.iter().map(|&column| token_of(columns, column)));
                }
            })
            .await?;
        let best = TopScores { candidates, values, tokens };
        let scores = match terms {
            Some((terms, _)) => StepScores::WithTerms(best, offered.of(terms)),
            None => best.into(),
        };
        Ok(search.advance(scores)?)
    }

    /// Writes the tokens whose scores the step has to answer.
    fn write_wanted(&mut self, session: &mut Session, search: &BatchSearch) {
        let Some((terms, state)) = self.terms else { return };
        let room = search.wanted();
        self.wanted.clear();
        for row in search.step().wanted.chunks_exact(room) {
            let end = self.wanted.len() + terms.wanted;
            self.wanted.extend(row);
            self.wanted.resize(end, NO_TOKEN);
        }
        if self.columns.iter().all(Option::is_none) {
            session.write(state, &self.wanted);
            return;
        }
        let rows = self.wanted.chunks_exact(terms.wanted).enumerate();
        let columns = rows.flat_map(|(row, tokens)| {
            let listed = self.columns[row / self.rows_each].as_deref();
            tokens.iter().map(move |&token| column_of(listed, token).unwrap_or(NO_TOKEN))
        });
        session.write(state, &columns.collect::<Vec<u32>>());
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

impl Offered {
    fn clear(&mut self) {
        self.scores.clear();
        self.tokens.clear();
        self.attention.clear();
    }

    /// Takes the words of a row behind its best tokens.
    fn take(&mut self, terms: &TermScoresShape, wanted: &[u32], words: &[u32]) {
        let (scores, attention) = words.split_at(terms.wanted);
        self.scores.extend(scores.iter().copied().map(f32::from_bits));
        self.tokens.extend_from_slice(&wanted[..terms.wanted]);
        self.attention.extend(attention.iter().copied().map(f32::from_bits));
    }

    fn of(&self, terms: &TermScoresShape) -> Offers<'_> {
        let Self { scores, tokens, attention } = self;
        let wanted = TopScores { candidates: terms.wanted, values: scores, tokens };
        Offers { wanted, source_tokens: terms.source, attention }
    }
}

/// The token of a column.
fn token_of(columns: Option<&[u32]>, column: u32) -> u32 {
    match columns {
        Some(columns) => columns.get(column as usize).copied().unwrap_or(NO_TOKEN),
        None => column,
    }
}
