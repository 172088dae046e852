//! What a command can end with, and its exit code.

use std::fmt::Write;
use std::process::ExitCode;

use wordloom::heatmap::HeatmapError;
use wordloom::trace::TraceError;
use wordloom::transformer::{ForwardError, GenerateError, ScoreError};
use wordloom::{GpuError, ModelError, TextError, TranslateError};

use super::resume::ResumeError;
use super::{interrupt, notice};

#[derive(Debug, thiserror::Error)]
pub enum CliError {
    /// An option that makes no sense.
    #[error("{0}")]
    Usage(String),
    /// Reading or writing failed.
    #[error("{what}: {source}")]
    Io { what: String, source: std::io::Error },
    /// Whoever read our output stopped reading, as `head` does. Not a failure.
    #[error("the reader of the output went away")]
    ClosedPipe,
    /// Ctrl-C.
    #[error("interrupted; what was finished before has been written")]
    Interrupted,
    /// The input is not what the command reads.
    #[error("{0}")]
    Input(String),
    /// A run that cannot go on where another one stopped.
    #[error(transparent)]
    Resume(#[from] ResumeError),
    #[error(transparent)]
    Gpu(#[from] GpuError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Text(#[from] TextError),
    #[error(transparent)]
    Generate(GenerateError),
    #[error(transparent)]
    Forward(#[from] ForwardError),
    #[error(transparent)]
    Score(ScoreError),
    #[error(transparent)]
    Trace(TraceError),
    #[error(transparent)]
    Heatmap(#[from] HeatmapError),
}

impl From<GenerateError> for CliError {
    fn from(error: GenerateError) -> Self {
        match error {
            GenerateError::Cancelled => Self::Interrupted,
            error => Self::Generate(error),
        }
    }
}

impl From<ScoreError> for CliError {
    fn from(error: ScoreError) -> Self {
        match error {
            ScoreError::Cancelled => Self::Interrupted,
            error => Self::Score(error),
        }
    }
}

impl From<TranslateError> for CliError {
    fn from(error: TranslateError) -> Self {
        match error {
            TranslateError::Generate(error) => error.into(),
            TranslateError::Text(error) => Self::Text(error),
        }
    }
}

impl From<TraceError> for CliError {
    fn from(error: TraceError) -> Self {
        match error {
            TraceError::Translate(error) => error.into(),
            TraceError::Score(error) => error.into(),
            TraceError::Cancelled => Self::Interrupted,
            error => Self::Trace(error),
        }
    }
}

impl CliError {
    /// Says in one line on stderr what went wrong.
    pub fn report(&self) -> ExitCode {
        let code = match self {
            Self::ClosedPipe => return ExitCode::SUCCESS,
            Self::Interrupted => interrupt::EXIT_CODE,
            Self::Usage(_) => 2,
            _ => 1,
        };
        notice(&format!("error: {}", one_line(&self.to_string())));
        ExitCode::from(code)
    }
}

/// What `clap` says over several paragraphs, without its usage, as an error of ours; help and version are printed.
pub fn report_usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() || error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    {
        let _ = error.print(); // a closed pipe is nobody's fault
        return ExitCode::from(error.exit_code() as u8);
    }
    let text = error.to_string();
    let paragraphs = text
        .split("\n\n")
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|paragraph| !paragraph.is_empty() && !paragraph.starts_with("Usage:"))
        .map(|paragraph| match paragraph.strip_prefix("For more information, try '--help'.") {
            Some(_) => "see --help".to_owned(),
            None => paragraph,
        });
    let line = paragraphs.collect::<Vec<_>>().join("; ");
    CliError::Usage(line.strip_prefix("error: ").unwrap_or(&line).to_owned()).report()
}

/// Messages quote files: without line breaks and what else a terminal would obey, and of bounded length.
pub fn one_line(message: &str) -> String {
    const LENGTH: usize = 1000;
    let mut characters = message.chars();
    let line =
        characters.by_ref().take(LENGTH).fold(String::with_capacity(message.len()), |mut line, character| {
            match character {
                '\n' | '\r' | '\t' => line.push(' '),
                control if control.is_control() => _ = write!(line, "{}", control.escape_default()),
                other => line.push(other),
            }
            line
        });
    if characters.next().is_some() { line + "…" } else { line }
}
