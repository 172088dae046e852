//! From logits `[rows, vocabulary]` to the log-probability of one given token of each row.
//!
//! [`vocabulary_chunks`] goes first, as it does for the [best tokens](super::log_softmax_top_k).

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
        /// Elements of a row.
        pub vocabulary: u32,
        /// Between rows, elements.
        pub logits_stride: u32,
        /// Chunks of a row.
        pub chunks: u32,
    }
}

/// A buffer that the launches bind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum LogProbabilityBuffer {
    /// f32 `[rows, vocabulary]`
    Logits,
    /// u32 `[rows, 1]`
    Targets,
    /// Scratch, [`chunk_elements`]: the chunks' best tokens and sums.
    Chunks,
    /// Any buffer; it is not read.
    Nothing,
    /// The result, f32 `[rows, 1]`; 0 where a target is not below the vocabulary.
    LogProbabilities,
}

/// Elements of the scratch buffer [`LogProbabilityBuffer::Chunks`].
pub fn chunk_elements(rows: usize, vocabulary: usize) -> usize {
    rows * Chunks::strided(vocabulary).count * 4
}

/// The launches, in order, with the buffers that each one binds.
pub fn launches(rows: usize, vocabulary: usize) -> [(Dispatch, Vec<LogProbabilityBuffer>); 2] {
    use LogProbabilityBuffer::{self as Buffer, LogProbabilities, Logits, Nothing, Targets};
    let divided = Chunks::strided(vocabulary);
    let params = LogProbabilityParams {
        rows: rows as u32,
        vocabulary: vocabulary as u32,
        logits_stride: stride(vocabulary) as u32,
        chunks: divided.count as u32,
    };
    let pick = Dispatch::new(&LOG_PROBABILITY, Vec::new(), &params, fold(rows, 8));
    [
        (
            vocabulary_chunks::dispatch(rows, vocabulary, divided, None, Sums::All),
            vec![Logits, Nothing, Nothing, Buffer::Chunks],
        ),
        (pick, vec![Logits, Targets, Buffer::Chunks, LogProbabilities]),
    ]
}
