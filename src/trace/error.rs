//! Why there is no trace.

use crate::text::TextError;
use crate::transformer::{ForwardError, GenerateError, ScoreError};
use crate::translate::TranslateError;

/// Why no trace could be made.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The translation failed, or was cancelled.
    #[error(transparent)]
    Translate(#[from] TranslateError),
    /// The pass that attention is taken from failed.
    #[error(transparent)]
    Forward(#[from] ForwardError),
    /// The target could not be scored.
    #[error(transparent)]
    Score(#[from] ScoreError),
    /// A target without a token after its prompt.
    #[error("the target has {tokens} tokens, of which {prompt} are given; one more is needed")]
    NoTarget {
        /// All tokens.
        tokens: usize,
        /// The prompt's.
        prompt: usize,
    },
    /// Attention stays on the device, and something else is wanted with it.
    #[error(
        "{what} cannot be had of a trace whose attention stays on the device: ask without, or use `Trace::of`"
    )]
    StaysOnDevice {
        /// What else.
        what: &'static str,
    },
    /// Somebody asked it to stop.
    #[error("cancelled")]
    Cancelled,
}

impl From<TextError> for TraceError {
    fn from(error: TextError) -> Self {
        Self::Translate(error.into())
    }
}

impl From<GenerateError> for TraceError {
    fn from(error: GenerateError) -> Self {
        Self::Translate(error.into())
    }
}

/// What `format` says in every trace, and the key of the metadata.
pub const FORMAT: &str = "wordloom.trace";
/// The version that is written, and the only one that is read.
pub const VERSION: u32 = 1;

/// Why a trace could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TraceFileError {
    /// Not the JSON of a trace.
    #[error("is not a trace: {0}")]
    Json(#[from] serde_json::Error),
    /// Not a safetensors file.
    #[error("is not a trace: {0}")]
    Safetensors(#[from] safetensors::SafeTensorError),
    /// A safetensors file of something else.
    #[error("is a safetensors file, but its metadata has no \"wordloom.trace\"")]
    NoMetadata,
    /// JSON of something else.
    #[error("is not a trace: \"format\" is {found:?}, not \"wordloom.trace\"")]
    Format {
        /// What it says it is.
        found: String,
    },
    /// A format that came later.
    #[error("is a trace of version {found}; this program reads version {VERSION}: use a newer one")]
    Version {
        /// The file's version.
        found: u32,
    },
    /// More bytes than are read.
    #[error("has {bytes} bytes, more than the {limit} that a trace may have")]
    TooLarge {
        /// Its bytes.
        bytes: u64,
        /// The most that are read.
        limit: u64,
    },
    /// Parts that do not belong together.
    #[error("is damaged: sentence {sentence}: {reason}")]
    Inconsistent {
        /// Counted from 0.
        sentence: usize,
        /// What is wrong.
        reason: String,
    },
}
