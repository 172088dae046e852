//! Errors of commands, and their exit codes.

use std::fmt::Write;
use std::process::ExitCode;

use wordloom::heatmap::HeatmapError;
use wordloom::trace::TraceError;
use wordloom::train::TrainError;
use wordloom::train::average::AverageError;
use wordloom::train::batches::BatchError;
use wordloom::train::checkpoint::CheckpointError;
use wordloom::train::pairs::PairsError;
use wordloom::train::schedule::ScheduleError;
use wordloom::train::session::SessionError;
use wordloom::train::vocabulary::VocabularyError;
use wordloom::train::write::WriteError;
use wordloom::transformer::{ForwardError, GenerateError, ScoreError};
use wordloom::{GpuError, ModelError, TextError, TranslateError};
use wordloom_documents::DocumentError;
use wordloom_hub::HubError;

use super::resume::ResumeError;
use super::{interrupt, notice};

#[derive(Debug, thiserror::Error)]
pub enum CliError {
    #[error("{0}")]
    Usage(String),
    #[error("{what}: {source}")]
    Io { what: String, source: std::io::Error },
    /// The reader of the output, such as `head`, stopped reading: not a failure.
    #[error("the reader of the output went away")]
    ClosedPipe,
    #[error("interrupted; what was finished before has been written")]
    Interrupted,
    #[error("{0}")]
    Input(String),
    #[error("{file}: {source}")]
    Document { file: String, source: DocumentError },
    #[error(transparent)]
    Resume(#[from] ResumeError),
    #[error(transparent)]
    Hub(#[from] HubError),
    #[error(transparent)]
    Gpu(#[from] GpuError),
    #[error(transparent)]
    Model(#[from] ModelError),
    /// A folder that does not exist; perhaps a name was meant.
    #[error("{0}; {1}")]
    NoFolder(ModelError, &'static str),
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
    #[error(transparent)]
    Pairs(#[from] PairsError),
    #[error("--vocabulary: {0}")]
    Vocabulary(#[from] VocabularyError),
    #[error(transparent)]
    Batch(#[from] BatchError),
    #[error(transparent)]
    Session(Box<SessionError>),
    #[error(transparent)]
    Train(TrainError),
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    #[error(transparent)]
    Average(#[from] AverageError),
    #[error(transparent)]
    Write(#[from] WriteError),
}

impl From<SessionError> for CliError {
    fn from(error: SessionError) -> Self {
        match error {
            SessionError::Usage(problem) => Self::Usage(problem),
            SessionError::Interrupted => Self::Interrupted,
            error => Self::Session(Box::new(error)),
        }
    }
}

impl From<TrainError> for CliError {
    fn from(error: TrainError) -> Self {
        match error {
            TrainError::Cancelled => Self::Interrupted,
            error => Self::Train(error),
        }
    }
}

impl From<ScheduleError> for CliError {
    fn from(error: ScheduleError) -> Self {
        Self::Usage(error.to_string())
    }
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
            error @ TranslateError::TooLong { .. } => Self::Input(error.to_string()),
        }
    }
}

impl From<TraceError> for CliError {
    fn from(error: TraceError) -> Self {
        match error {
            TraceError::Translate(error) => error.into(),
            TraceError::Score(error) => error.into(),
            TraceError::Cancelled => Self::Interrupted,
            // names of taps come from options
            TraceError::Forward(error @ ForwardError::Tap { .. }) => Self::Usage(error.to_string()),
            error => Self::Trace(error),
        }
    }
}

impl CliError {
    pub fn report(&self) -> ExitCode {
        let code = match self {
            Self::ClosedPipe => return ExitCode::SUCCESS,
            Self::Interrupted | Self::Hub(HubError::Cancelled) => interrupt::EXIT_CODE,
            Self::Usage(_) | Self::Hub(HubError::NoPair { .. } | HubError::NotBuiltIn { .. }) => 2,
            _ => 1,
        };
        notice(&format!("error: {}", one_line(&self.to_string())));
        ExitCode::from(code)
    }
}

/// Reports `clap`'s error in one line, without usage. Prints help and version.
pub fn report_usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() || error.kind() == clap::error::ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
    {
        let _ = error.print(); // a closed pipe is not an error
        return ExitCode::from(error.exit_code() as u8);
    }
    let text = error.to_string();
    let paragraphs = text
        .split("\n\n")
        .map(|paragraph| paragraph.split_whitespace().collect::<Vec<_>>().join(" "))
        .filter(|paragraph| !paragraph.is_empty() && !paragraph.starts_with("Usage:"))
        .filter(|paragraph| !is_idle_tip(paragraph))
        .map(|paragraph| match paragraph.strip_prefix("For more information, try '--help'.") {
            Some(_) => "see --help".to_owned(),
            None => paragraph,
        });
    let line = paragraphs.map(|paragraph| shortened(&paragraph)).collect::<Vec<_>>().join("; ");
    CliError::Usage(line.strip_prefix("error: ").unwrap_or(&line).to_owned()).report()
}

/// "to pass '-f' as a value, use '-- -f'" helps with a text that begins with a dash: one of several words, or a number.
fn is_idle_tip(paragraph: &str) -> bool {
    let value = paragraph.strip_prefix("tip: to pass '-").and_then(|rest| rest.split_once("' as a value"));
    value.is_some_and(|(value, _)| !value.contains(' ') && !value.starts_with(|c: char| c.is_ascii_digit()))
}

/// A message with the beginnings of long words, which are values: they would hide the rest.
fn shortened(message: &str) -> String {
    const LENGTH: usize = 100;
    let word = |word: &str| match word.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}…", &word[..end]),
        None => word.to_owned(),
    };
    message.split(' ').map(word).collect::<Vec<_>>().join(" ")
}

/// A message in one line of limited length, without control characters: messages quote files.
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
