//! The answer to a step of a search with terms: the best tokens, the scores of wanted tokens, and the row's attention. It runs
//! after the [best tokens](super::log_softmax_top_k) are selected, from the same chunks.

use super::log_softmax_top_k::TopKShape;
use super::vocabulary_chunks::Chunks;
use super::{Access, AdapterClass, Dispatch, Kernel, fold, stride};
use crate::scores::TermScoresShape;

/// One invocation per word of the answer.
pub static TERM_SCORES: Kernel = Kernel {
    name: "term_scores",
    wgsl: wgsl!("term_scores" + "log_sum_exp" + "masked" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Read, Access::Read, Access::Write],
    params: TermScoresParams::FIELDS,
};

params! {
    /// Group 1 of `term_scores.wgsl`.
    pub struct TermScoresParams {
        /// Rows of logits.
        pub rows: u32,
        /// Elements per row.
        pub vocabulary: u32,
        /// Row stride of logits, elements.
        pub logits_stride: u32,
        /// Chunks per row.
        pub chunks: u32,
        /// Words of a row of best tokens.
        pub best: u32,
        /// Wanted tokens of a row.
        pub wanted: u32,
        /// Source tokens of a row; 0 without attention.
        pub source: u32,
        /// Row stride of attention, elements.
        pub attention_stride: u32,
        /// Heads of the attention.
        pub heads: u32,
        /// Rows per sentence.
        pub beams: u32,
    }
}

/// Computes the answer.
///
/// * storage: logits `[rows, vocabulary]`, chunks, best tokens u32 `[rows, 2 * candidates]`, wanted tokens u32
///   `[rows, wanted]`, attention weights `[sentences * heads * beams, source]`, answer u32 `[rows, width]`
pub fn dispatch(shape: &TopKShape, terms: &TermScoresShape, class: AdapterClass) -> Dispatch {
    let params = TermScoresParams {
        rows: shape.rows as u32,
        vocabulary: shape.vocabulary as u32,
        logits_stride: stride(shape.vocabulary) as u32,
        chunks: Chunks::of(shape.vocabulary, class).count as u32,
        best: 2 * shape.candidates as u32,
        wanted: terms.wanted as u32,
        source: terms.source as u32,
        attention_stride: stride(terms.source) as u32,
        heads: terms.heads.max(1) as u32,
        beams: terms.beams as u32,
    };
    let constants = vec![("NORMALIZE", shape.normalizes())];
    Dispatch::new(&TERM_SCORES, constants, &params, fold(shape.rows * terms.width(shape.candidates), 32))
}
