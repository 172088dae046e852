//! Errors of a translation.

use crate::decode::DecodeError;
use crate::gpu::GpuError;
use crate::text::TextError;
use crate::transformer::{DeviceFault, GenerateError};

/// The reason why a text could not be translated.
#[derive(Debug, thiserror::Error)]
pub enum TranslateError {
    /// The search failed, or was cancelled.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// A document that is longer than the model takes.
    #[error(
        "the document has {tokens} tokens, but the model takes {limit} at most; the last {excess} would have to be left out",
        excess = .tokens - .limit
    )]
    TooLong {
        /// Tokens of the document.
        tokens: usize,
        /// Tokens that the model takes at most.
        limit: usize,
    },
    /// The text could not be turned into tokens, or tokens into text.
    #[error(transparent)]
    Text(#[from] TextError),
}

impl From<GpuError> for TranslateError {
    fn from(error: GpuError) -> Self {
        Self::Generate(error.into())
    }
}

impl DeviceFault for TranslateError {
    fn device_fault(&self) -> Option<&GpuError> {
        match self {
            Self::Generate(error) => error.device_fault(),
            Self::TooLong { .. } | Self::Text(_) => None,
        }
    }
}

impl From<DecodeError> for TranslateError {
    fn from(error: DecodeError) -> Self {
        Self::Generate(error.into())
    }
}
