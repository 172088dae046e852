use crate::json_problem::json_problem;
use crate::text::TextError;
use crate::transformer::{ForwardError, GenerateError, ScoreError};
use crate::translate::TranslateError;

/// The reason why a trace could not be made.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// An error in the translation.
    #[error(transparent)]
    Translate(#[from] TranslateError),
    /// An error in the forward pass.
    #[error(transparent)]
    Forward(#[from] ForwardError),
    /// An error in scoring the target.
    #[error(transparent)]
    Score(#[from] ScoreError),
    /// A target without a token after its prompt.
    #[error("the target has {tokens} tokens, of which {prompt} are given; one more is needed")]
    NoTarget {
        /// Number of tokens.
        tokens: usize,
        /// Number of the prompt's tokens.
        prompt: usize,
    },
    /// An option that needs attention on the host, for a trace whose attention stays on the device.
    #[error(
        "{what} cannot be had of a trace whose attention stays on the device: ask without, or use `Trace::of`"
    )]
    StaysOnDevice {
        /// Name of the option.
        what: &'static str,
    },
    /// Tapped tensors beyond the memory of the trace.
    #[error(
        "the tapped tensors have {bytes} bytes, and a trace may take {memory}: choose fewer taps, a shorter text or more memory"
    )]
    TooManyTaps {
        /// Bytes of the tensors so far.
        bytes: u64,
        /// The memory for attention and taps.
        memory: u64,
    },
    /// [`Cancel::cancel`](crate::transformer::Cancel::cancel) was called.
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

/// Value of `format` in every trace, and key of the metadata.
pub const FORMAT: &str = "wordloom.trace";
/// Newest version of the format: 2 has bands, 3 has taps. Traces without them are written as version 1, which older programs read.
pub const VERSION: u32 = 3;

/// The reason why a trace could not be read or written.
#[derive(Debug, thiserror::Error)]
pub enum TraceFileError {
    /// Invalid JSON.
    #[error("is not a trace: {}", json_problem(.0))]
    Json(#[from] serde_json::Error),
    /// An invalid safetensors file.
    #[error("is not a trace: {0}")]
    Safetensors(#[from] safetensors::SafeTensorError),
    /// Another safetensors file.
    #[error("is a safetensors file, but its metadata has no \"wordloom.trace\"")]
    NoMetadata,
    /// Other JSON.
    #[error("is not a trace: \"format\" is {found:?}, not \"wordloom.trace\"")]
    Format {
        /// Value of `format`.
        found: String,
    },
    /// A newer version.
    #[error("is a trace of version {found}; this program reads versions 1 to {VERSION}: use a newer one")]
    Version {
        /// Version of the file.
        found: u32,
    },
    /// A file above the limit.
    #[error("has {bytes} bytes, more than the {limit} that a trace may have")]
    TooLarge {
        /// Bytes of the file.
        bytes: u64,
        /// Bytes of the largest file.
        limit: u64,
    },
    /// A tap with a value that is no number: the model computes none here.
    #[error("cannot hold the tap {name:?}, which has a value that is no number")]
    NoNumber {
        /// Name of the tap.
        name: String,
    },
    /// Sizes that no model has.
    #[error("is damaged: its \"anatomy\" has sizes that no model has, or is in a trace before version 3")]
    Anatomy,
    /// Inconsistent parts.
    #[error("is damaged: sentence {sentence}: {reason}")]
    Inconsistent {
        /// Index of the sentence.
        sentence: usize,
        /// Description of the inconsistency.
        reason: String,
    },
}
