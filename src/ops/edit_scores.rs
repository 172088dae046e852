//! Edits the scores of a search on the device, and notes the best token of each chunk of the vocabulary. Repeated
//! tokens are penalized in place; banned tokens are listed for each row.

use super::search_states::{SearchStates, SearchTable};
use crate::graph::{Binding, CpuRun, Graph, GraphError, Lowering, Operator, State, Value};
use crate::kernels::bans::ban_words;
use crate::kernels::edits::{Edits, HistoryBuffers};
use crate::kernels::log_softmax_top_k::ScoreBuffers;
use crate::kernels::search_state::HistoryEdits;
use crate::scores::TopKShape;
use crate::shape::{Dtype, Shape};

/// Edited logits, and notes on them.
#[derive(Clone, Copy, Debug)]
pub struct EditedScores {
    pub(super) shape: TopKShape,
    pub(super) history: HistoryEdits,
    /// `[rows, vocabulary]`
    pub(super) logits: Value,
    /// Best token and sum of exponentials of each chunk.
    pub(super) chunks: Value,
    /// `[rows, ban_words]`: banned tokens of each row, one bit per token.
    pub(super) row_bans: Value,
    pub(super) state: SearchTable<Value>,
    /// u32 `[sentences, vocabulary]`: the token of each column, if columns are not tokens.
    pub(super) columns: Option<Value>,
}

#[derive(Debug)]
struct EditScores(EditedScores);

impl Graph {
    /// Edits `logits` `[rows, vocabulary]` in place, by the history of each row. `columns`: as in
    /// [`selected_linear`](Self::selected_linear), if logits are of some tokens only.
    pub fn edit_scores(
        &mut self,
        shape: TopKShape,
        history: HistoryEdits,
        logits: Value,
        states: &SearchStates,
        columns: Option<State>,
    ) -> Result<EditedScores, GraphError> {
        let op = "edit_scores";
        let TopKShape { rows, vocabulary, .. } = shape;
        self.expect(op, "logits", logits, Shape::new(rows, vocabulary), Dtype::F32)?;
        let state = states.values(self, op, &history.search)?;
        let chunks = self.value(op, Shape::new(1, shape.chunk_elements()), Dtype::U32)?;
        let row_bans = self.value(op, Shape::new(rows, ban_words(vocabulary)), Dtype::U32)?;
        let columns = columns.map(|columns| self.state(columns));
        if let Some(columns) = columns {
            self.expect(
                op,
                "columns",
                columns,
                Shape::new(history.search.sentences, vocabulary),
                Dtype::U32,
            )?;
        }
        let edited = EditedScores { shape, history, logits, chunks, row_bans, state, columns };
        self.push(EditScores(edited));
        Ok(edited)
    }
}

impl EditedScores {
    pub(super) fn edits(&self) -> Edits<Binding> {
        let SearchTable { search, slots, slot_tokens, bans, phrases, .. } = self.state;
        let buffers = HistoryBuffers {
            search: search.into(),
            slots: slots.into(),
            slot_tokens: slot_tokens.into(),
            bans: bans.into(),
            phrases: phrases.into(),
            row_bans: self.row_bans.into(),
            columns: self.columns.into(),
        };
        Edits::ByHistory(self.history, buffers)
    }

    pub(super) fn buffers(&self) -> ScoreBuffers<Binding> {
        let nothing = Binding::Nothing;
        ScoreBuffers { logits: self.logits.into(), chunks: self.chunks.into(), nothing }
    }
}

impl Operator for EditScores {
    fn name(&self) -> &'static str {
        "edit_scores"
    }

    fn reads(&self) -> Vec<Value> {
        let SearchTable { search, slots, slot_tokens, bans, phrases, .. } = self.0.state;
        let values = [self.0.logits, search, slots, slot_tokens, bans, phrases];
        values.into_iter().chain(self.0.columns).collect()
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.0.logits, self.0.chunks, self.0.row_bans]
    }

    fn shares_class(&self) -> bool {
        true // of the notes on chunks
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        to.launch_all(self.0.shape.chunk_launches(&self.0.edits(), self.0.buffers(), to.class()));
    }

    fn run(&self, _: &mut CpuRun<'_>) {
        unreachable!("on the CPU the host searches");
    }
}
