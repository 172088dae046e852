use super::forward::ForwardError;
use crate::decode::DecodeError;
use crate::gpu::GpuError;
use crate::graph::GraphError;
use crate::model::SelfAttentionError;

/// The reason why a generation failed.
#[derive(Debug, thiserror::Error)]
pub enum GenerateError {
    /// A model that only reads.
    #[error("a \"{model_type}\" model has no decoder and generates nothing; `forward` runs it")]
    NoDecoder {
        /// Family of the model.
        model_type: &'static str,
    },
    /// A model without cross-attention, whose attention is to be kept.
    #[error("a \"{model_type}\" model does not translate, so that there is nothing to trace; see `forward`")]
    NotATranslator {
        /// Family of the model.
        model_type: &'static str,
    },
    /// A source without tokens.
    #[error("there are no input ids; at least one is needed")]
    Empty,
    /// A source longer than the model's positions, or than is sensible for a model without positions.
    #[error("there are {length} input ids, but the model takes {limit} at most; split it")]
    TooLong {
        /// Number of input ids.
        length: usize,
        /// Maximal number of input ids.
        limit: usize,
    },
    /// A token id outside the vocabulary.
    #[error("input id {token} is too large: the source vocabulary has {vocabulary} tokens")]
    Token {
        /// Token id.
        token: u32,
        /// Size of the vocabulary.
        vocabulary: usize,
    },
    /// Invalid global tokens.
    #[error(transparent)]
    Attention(#[from] SelfAttentionError),
    /// An error of the pass that computes the attention of layers with bands.
    #[error(transparent)]
    Forward(Box<ForwardError>),
    /// Invalid search options.
    #[error(transparent)]
    Decode(#[from] DecodeError),
    /// An invalid size of a graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A fault of the device.
    #[error(transparent)]
    Gpu(#[from] GpuError),
    /// The device's search and the same search on the host chose different tokens: a bug of the driver or of Wordloom.
    #[error(
        "at token {step} of row {row} the device's search chose another token than the same search on the CPU; this is a \
         fault of its driver, or of Wordloom: please report it, and use another device (`--device cpu`)"
    )]
    SearchDiverged {
        /// Token, counted from 1.
        step: usize,
        /// Row of the batch.
        row: usize,
    },
    /// [`Cancel::cancel`](super::Cancel::cancel) was called.
    #[error("cancelled")]
    Cancelled,
}

impl From<ForwardError> for GenerateError {
    fn from(error: ForwardError) -> Self {
        match error {
            ForwardError::Attention(error) => Self::Attention(error),
            ForwardError::Graph(error) => Self::Graph(error),
            ForwardError::Gpu(error) => Self::Gpu(error),
            error => Self::Forward(Box::new(error)),
        }
    }
}
