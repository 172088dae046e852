//! The best tokens of each row by processed log-probability, for a search on the host. Score edits apply to the logits
//! in place. A search with terms also takes the scores of tokens that it wants, and the attention of each row.

use std::sync::{Mutex, PoisonError};

use crate::cpu;
use crate::graph::{Binding, CpuRun, Graph, GraphError, Lowering, Operator, State, Value};
use crate::kernels::edits::Edits;
use crate::kernels::log_softmax_top_k::ScoreBuffers;
use crate::kernels::term_scores;
use crate::scores::{ScoreEdit, TermScoresShape, TopKShape, decode_edits};
use crate::shape::{Dtype, Shape};

#[derive(Debug)]
struct LogSoftmaxTopK {
    shape: TopKShape,
    logits: Value,
    edits: Option<Value>,
    terms: Option<Terms>,
    /// Best tokens, or with terms the whole answer.
    top: Value,
    /// Kept so that a step on the CPU allocates nothing.
    buffers: Mutex<StepBuffers>,
}

#[derive(Debug)]
struct Terms {
    shape: TermScoresShape,
    wanted: Value,
    attention: Option<Value>,
}

#[derive(Debug, Default)]
struct StepBuffers {
    edits: Vec<ScoreEdit>,
    best: Vec<u32>,
}

/// What a search with terms takes besides.
#[derive(Clone, Copy, Debug)]
pub struct TermInputs {
    /// Sizes.
    pub shape: TermScoresShape,
    /// u32 `[rows, wanted]`
    pub wanted: State,
    /// Weights `[sentences * heads * beams, source]`
    pub attention: Option<Value>,
}

impl Graph {
    /// Adds the selection; returns u32 `[rows, 2 * candidates]`: the bits of the values, then the tokens. With `terms` a row goes
    /// on with the bits of the scores of wanted tokens, and of the attention.
    ///
    /// * `logits`: `[rows, vocabulary]`; `edits`: u32 `[1 + capacity, 4]`, the number of edits, then the edits
    pub fn log_softmax_top_k(
        &mut self,
        shape: TopKShape,
        logits: Value,
        edits: Option<State>,
        terms: Option<TermInputs>,
    ) -> Result<Value, GraphError> {
        let op = "log_softmax_top_k";
        self.expect(op, "logits", logits, Shape::new(shape.rows, shape.vocabulary), Dtype::F32)?;
        if let Some(state) = edits {
            self.agree(op, "edits", state.shape, Shape::new(state.shape.rows, 4))?;
        }
        let edits = edits.map(|state| self.state(state));
        let terms = terms.map(|terms| self.terms(op, shape.rows, terms)).transpose()?;
        let width = terms.as_ref().map_or(2 * shape.candidates, |terms| terms.shape.width(shape.candidates));
        let top = self.value(op, Shape::new(shape.rows, width), Dtype::U32)?;
        self.push(LogSoftmaxTopK { shape, logits, edits, terms, top, buffers: Mutex::default() });
        Ok(top)
    }

    fn terms(&mut self, op: &'static str, rows: usize, terms: TermInputs) -> Result<Terms, GraphError> {
        let TermInputs { shape, wanted, attention } = terms;
        let wanted = self.state(wanted);
        self.expect(op, "wanted tokens", wanted, Shape::new(rows, shape.wanted), Dtype::U32)?;
        if let Some(attention) = attention {
            self.expect(
                op,
                "attention",
                attention,
                Shape::new(rows * shape.heads, shape.source),
                Dtype::F32,
            )?;
        }
        Ok(Terms { shape, wanted, attention })
    }
}

impl Operator for LogSoftmaxTopK {
    fn name(&self) -> &'static str {
        "log_softmax_top_k"
    }

    fn reads(&self) -> Vec<Value> {
        let terms = self.terms.iter().flat_map(|terms| [Some(terms.wanted), terms.attention]);
        [self.logits].into_iter().chain(self.edits).chain(terms.flatten()).collect()
    }

    fn writes(&self) -> Vec<Value> {
        vec![self.logits, self.top]
    }

    fn lower(&self, to: &mut Lowering<'_>) {
        let class = to.class();
        let chunks = to.scratch(Shape::new(1, self.shape.chunk_elements()), Dtype::U32);
        let edits = match self.edits {
            Some(list) => Edits::Listed { capacity: to.shape(list).rows - 1, list: list.into() },
            None => Edits::None,
        };
        let buffers =
            ScoreBuffers { logits: self.logits.into(), chunks: chunks.into(), nothing: Binding::Nothing };
        to.launch_all(self.shape.chunk_launches(&edits, buffers, class));
        let Some(Terms { shape, wanted, attention }) = &self.terms else {
            to.launch_all(self.shape.best_launches(&edits, buffers, self.top.into(), class));
            return;
        };
        let best = to.scratch(Shape::new(self.shape.rows, 2 * self.shape.candidates), Dtype::U32);
        to.launch_all(self.shape.best_launches(&edits, buffers, best.into(), class));
        let bindings = vec![
            self.logits.into(),
            chunks.into(),
            best.into(),
            (*wanted).into(),
            (*attention).into(),
            self.top.into(),
        ];
        to.launch(term_scores::dispatch(&self.shape, shape, class), bindings);
    }

    fn run(&self, run: &mut CpuRun<'_>) {
        run.write_words([self.logits, self.top], |run, [logits, top]| {
            let mut buffers = self.buffers.lock().unwrap_or_else(PoisonError::into_inner);
            let StepBuffers { edits, best } = &mut *buffers;
            edits.clear();
            edits.extend(self.edits.into_iter().flat_map(|edits| decode_edits(run.u32(edits))));
            let logits: &mut [f32] = bytemuck::cast_slice_mut(logits);
            let Some(Terms { shape, wanted, attention }) = &self.terms else {
                return cpu::log_softmax_top_k(&self.shape, logits, edits, top);
            };
            best.resize(self.shape.rows * 2 * self.shape.candidates, 0);
            cpu::log_softmax_top_k(&self.shape, logits, edits, best);
            let attention = attention.map_or(&[][..], |attention| run.f32(attention));
            cpu::term_scores((&self.shape, shape), logits, (best, run.u32(*wanted)), attention, top);
        });
    }
}
