use super::error::GenerateError;
use crate::decode::{BatchSearch, StepScores};
use crate::graph::{Graph, GraphError, Program, Session, State, StateTable, Value, Weights};
use crate::scores::{TopKShape, TopScores, encode_edits};

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
    // Buffers: a step allocates nothing.
    edit_words: Vec<[u32; 4]>,
    values: Vec<f32>,
    tokens: Vec<u32>,
}

impl HostSearch {
    pub fn new(key: HostSearchKey, shape: &TopKShape, states: &mut StateTable) -> Self {
        Self {
            shape: *shape,
            edits: (key.max_edits > 0).then(|| states.u32("score edits", 1 + key.max_edits, 4)),
            best: states.u32("best candidates", shape.rows, 2 * shape.candidates),
            scores: key.whole_rows.then(|| states.f32("scores", shape.rows, shape.vocabulary)),
            edit_words: Vec::new(),
            values: Vec::new(),
            tokens: Vec::new(),
        }
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
            encode_edits(search.step().edits, &mut self.edit_words);
            session.write(edits, bytemuck::cast_slice(&self.edit_words));
        }
        if let Some(scores) = self.scores {
            session.run(step, weights);
            let values = session.read(scores).await?;
            let vocabulary = self.shape.vocabulary;
            return Ok(search.advance(StepScores::Whole { vocabulary, values: &values })?);
        }
        let candidates = self.shape.candidates;
        let Self { values, tokens, .. } = self;
        session
            .run_and_read(step, weights, self.best, |words| {
                values.clear();
                tokens.clear();
                for row in words.chunks_exact(2 * candidates) {
                    let (row_values, row_tokens) = row.split_at(candidates);
                    values.extend(row_values.iter().copied().map(f32::from_bits));
                    tokens.extend_from_slice(row_tokens);
                }
            })
            .await?;
        Ok(search.advance(TopScores { candidates, values, tokens })?)
    }
}
