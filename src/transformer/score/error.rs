use crate::decode::DecodeError;
use crate::gpu::GpuError;
use crate::graph::GraphError;
use crate::model::SelfAttentionError;

/// The reason why targets could not be scored.
#[derive(Debug, thiserror::Error)]
pub enum ScoreError {
    /// A model without a decoder.
    #[error("a \"{model_type}\" model has no decoder, so that it gives no text a probability; see `forward`")]
    NoDecoder {
        /// Family of the model.
        model_type: &'static str,
    },
    /// An empty part of a request.
    #[error("{input} is empty; at least one token is needed")]
    Empty {
        /// Name of the part.
        input: &'static str,
    },
    /// A sequence longer than the model's positions.
    #[error("{input} has {length} tokens, but the model has {limit} positions; split it")]
    TooLong {
        /// Name of the part.
        input: &'static str,
        /// Number of tokens.
        length: usize,
        /// Number of positions.
        limit: usize,
    },
    /// A token id outside the vocabulary.
    #[error("{input}: id {token} is too large, the vocabulary has {vocabulary} tokens")]
    Token {
        /// Name of the part.
        input: &'static str,
        /// Token id.
        token: u32,
        /// Size of the vocabulary.
        vocabulary: usize,
    },
    /// Invalid global tokens.
    #[error(transparent)]
    Attention(#[from] SelfAttentionError),
    /// No start token.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// An invalid size of a graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// An error of the device.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// [`Cancel::cancel`](crate::transformer::Cancel::cancel) was called.
    #[error("cancelled")]
    Cancelled,
}
