use crate::gpu::GpuError;
use crate::graph::GraphError;
use crate::model::{ModelError, SelfAttentionError};

/// The reason why a forward pass could not run.
#[derive(Debug, thiserror::Error)]
pub enum ForwardError {
    /// An input tensor with a wrong number of elements.
    #[error("{input} has {got} elements, but [{rows}, {columns}] needs {}", rows * columns)]
    Size {
        /// Name of the input.
        input: &'static str,
        /// Number of elements.
        got: usize,
        /// Expected rows.
        rows: usize,
        /// Expected columns.
        columns: usize,
    },
    /// A model without an encoder.
    #[error("a \"{model_type}\" model has no encoder")]
    NoEncoder {
        /// Family of the model.
        model_type: &'static str,
    },
    /// An empty input.
    #[error("{input} is empty; at least one sentence of one token is needed")]
    Empty {
        /// Name of the input.
        input: &'static str,
    },
    /// An input that the model does not take.
    #[error("a \"{model_type}\" model takes no {input}; leave it out")]
    Unwanted {
        /// Name of the input.
        input: &'static str,
        /// Family of the model.
        model_type: &'static str,
    },
    /// A sequence longer than the model's positions.
    #[error("{input} has {length} tokens a sentence, but the model has {limit} positions")]
    TooLong {
        /// Name of the input.
        input: &'static str,
        /// Number of tokens.
        length: usize,
        /// Number of positions.
        limit: usize,
    },
    /// A token id outside the vocabulary.
    #[error("{input} has token id {token} at [{row}, {column}], but the vocabulary has {vocabulary} tokens")]
    Token {
        /// Name of the input.
        input: &'static str,
        /// Token id.
        token: u32,
        /// Index of the sentence.
        row: usize,
        /// Index of the token in the sentence.
        column: usize,
        /// Size of the vocabulary.
        vocabulary: usize,
    },
    /// A token type that the model lacks.
    #[error("token_type_ids has the value {value} at [{row}, {column}], but the model has {types} types")]
    TokenType {
        /// Token type.
        value: u32,
        /// Index of the sentence.
        row: usize,
        /// Index of the token in the sentence.
        column: usize,
        /// Number of token types.
        types: usize,
    },
    /// A mask value other than 0 and 1.
    #[error("{input} has the value {value} at [{row}, {column}]; {}", values_of(input))]
    Mask {
        /// Name of the mask.
        input: &'static str,
        /// Value of the mask.
        value: u32,
        /// Index of the sentence.
        row: usize,
        /// Index of the token in the sentence.
        column: usize,
    },
    /// A layer that the model lacks.
    #[error("there is no {kind} layer {layer}; the model has {layers}, counted from 0")]
    Layer {
        /// `encoder` or `decoder`.
        kind: &'static str,
        /// Index of the layer.
        layer: usize,
        /// Number of layers.
        layers: usize,
    },
    /// A tap that the model lacks.
    #[error("there is no tap {name:?}; {}; `forward --taps` lists all of them", nearest_of(.nearest))]
    Tap {
        /// The name or pattern.
        name: String,
        /// The most similar names.
        nearest: Vec<String>,
    },
    /// Invalid global tokens.
    #[error(transparent)]
    Attention(#[from] SelfAttentionError),
    /// An invalid size of a graph.
    #[error(transparent)]
    Graph(#[from] GraphError),
    /// A model whose taps cannot be listed.
    #[error(transparent)]
    Model(Box<ModelError>),
    /// An error of the device.
    #[error(transparent)]
    Gpu(#[from] GpuError),
}

/// Similar names, in words.
fn nearest_of(names: &[String]) -> String {
    match names {
        [] => "the model has none".to_owned(),
        names => format!("similar ones are {}", names.join(", ")),
    }
}

/// The meaning of a mask's values.
fn values_of(mask: &str) -> &'static str {
    match mask {
        "global_attention_mask" => "1 is a token that sees all and is seen by all, 0 is another",
        _ => "1 is a token, 0 is padding",
    }
}
