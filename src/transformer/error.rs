//! Why nothing was generated.

use crate::decode::DecodeError;
use crate::gpu::GpuError;
use crate::graph::GraphError;

/// Why nothing was generated.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// A model that only reads.
    #[error("a \"{model_type}\" model has no decoder and generates nothing; `forward` runs it")]
    NoDecoder {
        /// The model's family.
        model_type: &'static str,
    },
    /// A model of one stack, whose attention shall be kept.
    #[error("a \"{model_type}\" model does not translate, so that there is nothing to trace; see `forward`")]
    NotATranslator {
        /// The model's family.
        model_type: &'static str,
    },
    /// A source without tokens.
    #[error("there are no input ids; at least one is needed")]
    Empty,
    /// A source longer than the model's positions.
    #[error("there are {length} input ids, but the model has {limit} positions; split it")]
    TooLong {
        /// Its length.
        length: usize,
        /// The model's positions.
        limit: usize,
    },
    /// A token id that the model does not have.
    #[error("input id {token} is too large: the source vocabulary has {vocabulary} tokens")]
    Token {
        /// The id.
        token: u32,
        /// Tokens of the vocabulary.
        vocabulary: usize,
    },
    /// Options that cannot be searched with.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// A size that a graph cannot have.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A fault of the device.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// The device's search chose another token than the same search on the host: its driver computes something else than
    /// it should, or Wordloom does.
    #[error(
        "at token {step} of row {row} the device's search chose another token than the same search on the CPU; this is a \
         fault of its driver, or of Wordloom: please report it, and use another device (`--device cpu`)"
    )]
    SearchDiverged {
        /// Counted from 1.
        step: usize,
        /// Of the batch.
        row: usize,
    },
    /// [`Cancel::cancel`](super::Cancel::cancel) was called.
    #[error("cancelled")]
    Cancelled,
}
