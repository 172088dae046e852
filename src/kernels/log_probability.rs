//! The log-probability of one given token of each row, from logits `[rows, vocabulary]`. [`vocabulary_chunks`] runs
//! first, as for the [best tokens](super::log_softmax_top_k).

use super::vocabulary_chunks::{self, Chunks, Sums};
use super::{Access, Dispatch, Kernel, fold, stride};

/// One invocation per row.
pub static LOG_PROBABILITY: Kernel = Kernel {
    name: "log_probability",
    wgsl: wgsl!("log_probability" + "log_sum_exp" + "masked" + "grid"),
    storage: &[Access::Read, Access::Read, Access::Read, Access::Write],
    params: LogProbabilityParams::FIELDS,
};

params! {
    /// Group 1 of `log_probability.wgsl`.
    pub struct LogProbabilityParams {
        /// Rows of logits.
        pub rows: u32,
        /// Elements per row.
        pub vocabulary: u32,
        /// Row stride, elements.
        pub logits_stride: u32,
        /// Chunks per row.
        pub chunks: u32,
    }
}

/// Elements of the scratch buffer for chunks.
pub fn chunk_elements(rows: usize, vocabulary: usize) -> usize {
    rows * Chunks::strided(vocabulary).count * 4
}

/// Notes the chunks' sums. Storage: logits `[rows, vocabulary]`, nothing, nothing, chunks.
pub fn chunk_dispatch(rows: usize, vocabulary: usize) -> Dispatch {
    vocabulary_chunks::dispatch((rows, vocabulary), Chunks::strided(vocabulary), None, Sums::All)
}

/// Computes the targets' log-probabilities, after [`chunk_dispatch`].
///
/// * storage: logits `[rows, vocabulary]`, targets u32 `[rows, 1]`, chunks, result f32 `[rows, 1]` (0 if a target is
///   not in the vocabulary)
pub fn dispatch(rows: usize, vocabulary: usize) -> Dispatch {
    let params = LogProbabilityParams {
        rows: rows as u32,
        vocabulary: vocabulary as u32,
        logits_stride: stride(vocabulary) as u32,
        chunks: Chunks::strided(vocabulary).count as u32,
    };
    Dispatch::new(&LOG_PROBABILITY, Vec::new(), &params, fold(rows, 8))
}
