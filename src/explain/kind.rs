//! The kinds of steps.

use serde::Serialize;

/// A step of attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum StepKind {
    /// Token embedding plus position.
    Embedding,
    /// The layer's input.
    Input,
    /// Norm of the input, in models with the norm first.
    NormBefore,
    /// The query of the token.
    Query,
    /// The keys of all tokens.
    Keys,
    /// Query times keys.
    Products,
    /// Products divided by √d_k.
    Scale,
    /// Scores with bias and mask.
    Mask,
    /// Weights.
    Softmax,
    /// Values, and their weighted mean.
    Values,
    /// Contexts of all heads.
    Heads,
    /// Output projection.
    Output,
    /// Sum with the input.
    Residual,
    /// Norm of the sum, in models with the norm after the block.
    NormAfter,
    /// Feed-forward network of the layer.
    FeedForward,
    /// Final state of the stack, after its last layer.
    End,
    /// Logits, after the decoder's last layer.
    Logits,
}
