//! Why a forward pass could not be run.

use crate::gpu::GpuError;
use crate::graph::GraphError;

/// Why a forward pass could not be run.
#[derive(Debug, thiserror::Error)]
pub enum ForwardError {
    /// An input tensor has another size than its shape says.
    #[error("{input} has {got} elements, but [{rows}, {columns}] needs {}", rows * columns)]
    Size {
        /// Which one.
        input: &'static str,
        /// Its elements.
        got: usize,
        /// Rows asked for.
        rows: usize,
        /// Columns asked for.
        columns: usize,
    },
    /// A model that only continues text.
    #[error("a \"{model_type}\" model has no encoder")]
    NoEncoder {
        /// The model's family.
        model_type: &'static str,
    },
    /// An empty input.
    #[error("{input} is empty; at least one sentence of one token is needed")]
    Empty {
        /// Which one.
        input: &'static str,
    },
    /// An input that this kind of model does not take.
    #[error("a \"{model_type}\" model takes no {input}; leave it out")]
    Unwanted {
        /// Which one.
        input: &'static str,
        /// The model's family.
        model_type: &'static str,
    },
    /// A sequence longer than the model's positions.
    #[error("{input} has {length} tokens a sentence, but the model has {limit} positions")]
    TooLong {
        /// Which one.
        input: &'static str,
        /// Its length.
        length: usize,
        /// The model's positions.
        limit: usize,
    },
    /// A token id that the model does not have.
    #[error("{input} has token id {token} at [{row}, {column}], but the vocabulary has {vocabulary} tokens")]
    Token {
        /// Which one.
        input: &'static str,
        /// The id.
        token: u32,
        /// Sentence.
        row: usize,
        /// Token of the sentence.
        column: usize,
        /// Tokens of the vocabulary.
        vocabulary: usize,
    },
    /// A kind of text that the model does not have.
    #[error("token_type_ids has the value {value} at [{row}, {column}], but the model has {types} types")]
    TokenType {
        /// The value.
        value: u32,
        /// Sentence.
        row: usize,
        /// Token of the sentence.
        column: usize,
        /// Types of the model.
        types: usize,
    },
    /// A mask with a value that is neither 0 nor 1.
    #[error("attention_mask has the value {value} at [{row}, {column}]; 1 is a token, 0 is padding")]
    Mask {
        /// The value.
        value: u32,
        /// Sentence.
        row: usize,
        /// Token of the sentence.
        column: usize,
    },
    /// A layer that the model does not have.
    #[error("there is no {kind} layer {layer}; the model has {layers}, counted from 0")]
    Layer {
        /// `encoder` or `decoder`.
        kind: &'static str,
        /// The layer asked for.
        layer: usize,
        /// How many there are.
        layers: usize,
    },
    /// A size that a graph cannot have.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A fault of the device.
    #[error(transparent)]
    Gpu(#[from] GpuError),
}
