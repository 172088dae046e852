use crate::model::{AttentionKind, HeadName};
use crate::trace::TraceError;
use crate::transformer::ForwardError;
use crate::translate::TranslateError;

/// The reason why an attention could not be explained.
#[derive(Debug, thiserror::Error)]
pub enum ExplainError {
    /// A kind of attention that the model lacks.
    #[error("this \"{model_type}\" model has no {kind} attention{}", instead(.kind))]
    NoAttention {
        /// The kind.
        kind: AttentionKind,
        /// Family of the model.
        model_type: &'static str,
    },
    /// A head that the model lacks.
    #[error(
        "there is no head {head}; layers of the {} attention are 0 to {}, heads 0 to {}",
        head.kind, layers.saturating_sub(1), heads.saturating_sub(1)
    )]
    Head {
        /// The head.
        head: HeadName,
        /// Number of layers.
        layers: usize,
        /// Number of heads.
        heads: usize,
    },
    /// A layer whose tokens see only some others.
    #[error(
        "encoder layer {layer} has {kind} attention, which has no matrix of products q·k; choose full attention for it, or a layer \
         that has it"
    )]
    Sparse {
        /// Number of the layer.
        layer: usize,
        /// Its kind of attention.
        kind: String,
    },
    /// A token that the text lacks.
    #[error("there is no token {token:?} in {side}; its tokens are {}", listed(.tokens))]
    Token {
        /// The requested token.
        token: String,
        /// `the source` or `the translation`.
        side: &'static str,
        /// Labels of the tokens.
        tokens: Vec<String>,
    },
    /// A trace without the numbers of this attention.
    #[error(
        "the trace has no numbers of {head}; `wordloom attend TEXT --tap '*' -o FILE` makes one that has all numbers, and so does the option `taps: ['*']` of `trace`"
    )]
    NoTaps {
        /// The head.
        head: HeadName,
    },
    /// A tap of a trace that does not fit its tokens, or its model.
    #[error("the trace is damaged: its tap {name:?} is {shape:?}; its tokens need {expected:?}")]
    Tap {
        /// Name of the tap.
        name: String,
        /// Shape in the trace.
        shape: Vec<usize>,
        /// The shape that it should have.
        expected: Vec<usize>,
    },
    /// A text without words.
    #[error("there is nothing to explain: the text has no words")]
    Empty,
    /// A row that the attention lacks.
    #[error("there is no query {query}; queries are 0 to {}", queries.saturating_sub(1))]
    Query {
        /// Row of the attention map.
        query: usize,
        /// Number of rows.
        queries: usize,
    },
    /// An error in the trace of the text.
    #[error(transparent)]
    Trace(#[from] TraceError),
    /// An error in the pass.
    #[error(transparent)]
    Forward(#[from] ForwardError),
}

impl From<TranslateError> for ExplainError {
    fn from(error: TranslateError) -> Self {
        Self::Trace(error.into())
    }
}

fn instead(kind: &AttentionKind) -> &'static str {
    match kind {
        AttentionKind::Decoder => ": its decoder is recurrent; encoder and cross can be explained",
        _ => "",
    }
}

/// Tokens with their numbers, the first ones of many.
fn listed(tokens: &[String]) -> String {
    const SHOWN: usize = 24;
    let shown = tokens.iter().take(SHOWN).enumerate();
    let shown: Vec<String> = shown.map(|(index, token)| format!("#{index} {token}")).collect();
    shown.join(", ") + if tokens.len() > SHOWN { ", …" } else { "" }
}
