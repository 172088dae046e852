//! What a command can end with, and its exit code.

use std::process::ExitCode;

use wordloom::transformer::GenerateError;
use wordloom::transformer::ForwardError;
use wordloom::{GpuError, ModelError, TextError, TranslateError};

#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// An option that makes no sense: exit code 2, as for options that cannot be parsed.
    #[error("{0}")]
    Usage(String),
    /// Reading or writing failed.
    #[error("{what}: {source}")]
    Io { what: String, source: std::io::Error },
    /// Whoever read our output stopped reading, as `head` does. Not a failure.
    #[error("the reader of the output went away")]
    ClosedPipe,
    /// The input is not what the command reads.
    #[error("{0}")]
    Input(String),
    #[error(transparent)]
    Gpu(#[from] GpuError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Text(#[from] TextError),
    #[error(transparent)]
    Generate(#[from] GenerateError),
    #[error(transparent)]
    Forward(#[from] ForwardError),
}

impl From<TranslateError> for CliError {
    fn from(error: TranslateError) -> Self {
        match error {
            TranslateError::Generate(error) => Self::Generate(error),
            TranslateError::Text(error) => Self::Text(error),
        }
    }
}

impl CliError {
    /// Says what went wrong, in one line on stderr.
    pub fn report(self) -> ExitCode {
        let code = match &self {
            Self::ClosedPipe => return ExitCode::SUCCESS,
            Self::Generate(GenerateError::Cancelled) => super::interrupt::EXIT_CODE,
            // the search's options came from the command line, unless the message names a line of input
            Self::Usage(_) | Self::Generate(GenerateError::Decode(_)) => 2,
            _ => 1,
        };
        let line = self.to_string().replace(['\n', '\r'], " ");
        anstream::eprintln!("{} {line}", "error:");
        ExitCode::from(code)
    }
}
