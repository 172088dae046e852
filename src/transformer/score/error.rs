//! Why nothing was scored.

use crate::decode::DecodeError;
use crate::gpu::GpuError;
use crate::graph::GraphError;

/// Why nothing was scored.
#[derive(Debug, thiserror::Error)]
pub enum ScoreError {
    /// A model that predicts no next token.
    #[error("a \"{model_type}\" model has no decoder, so that it gives no text a probability; see `forward`")]
    NoDecoder {
        /// The model's family.
        model_type: &'static str,
    },
    /// Nothing to read, or nothing to score.
    #[error("{input} is empty; at least one token is needed")]
    Empty {
        /// Which part of the request.
        input: &'static str,
    },
    /// A sequence longer than the model's positions.
    #[error("{input} has {length} tokens, but the model has {limit} positions; split it")]
    TooLong {
        /// Which part of the request.
        input: &'static str,
        /// Its length.
        length: usize,
        /// The model's positions.
        limit: usize,
    },
    /// A token id that the model does not have.
    #[error("{input}: id {token} is too large, the vocabulary has {vocabulary} tokens")]
    Token {
        /// Which part of the request.
        input: &'static str,
        /// The id.
        token: u32,
        /// Tokens of the vocabulary.
        vocabulary: usize,
    },
    /// No start token.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// A size that a graph cannot have.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A fault of the device.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// [`Cancel::cancel`](crate::transformer::Cancel::cancel) was called.
    #[error("cancelled")]
    Cancelled,
}
