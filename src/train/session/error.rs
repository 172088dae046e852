//! Errors of a training that reads and writes files.

use std::io;
use std::path::Path;

use super::super::TrainError;
use super::super::batches::BatchError;
use super::super::checkpoint::CheckpointError;
use super::super::folder::FolderError;
use super::super::new_model::NewModelError;
use super::super::new_projections::NewProjectionsError;
use super::super::new_vocabulary::NewVocabularyError;
use super::super::pairs::PairsError;
use super::super::schedule::ScheduleError;
use super::super::vocabulary::VocabularyError;
use super::super::write::WriteError;
use crate::evaluate::EvaluateError;
use crate::gpu::GpuError;
use crate::model::ModelError;
use crate::text::TextError;
use crate::transformer::GenerateError;
use crate::translate::TranslateError;

/// The reason why a training does not begin, or why it ended early. Options have the command's names.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum SessionError {
    /// Options that are not valid.
    #[error("{0}")]
    Usage(String),
    /// Files that are not valid, or do not fit the options.
    #[error("{0}")]
    Input(String),
    #[error("{what}: {source}")]
    Io { what: String, source: io::Error },
    /// The caller's [`Cancel`](crate::transformer::Cancel) ended the training. A checkpoint is written if it had begun.
    #[error("the training was stopped")]
    Interrupted,
    #[error(transparent)]
    Pairs(#[from] PairsError),
    #[error(transparent)]
    Vocabulary(#[from] VocabularyError),
    #[error(transparent)]
    NewVocabulary(#[from] NewVocabularyError),
    #[error("--attention: {0}")]
    NewProjections(#[from] NewProjectionsError),
    #[error(transparent)]
    Folder(#[from] FolderError),
    #[error(transparent)]
    Batch(#[from] BatchError),
    #[error(transparent)]
    Train(TrainError),
    #[error(transparent)]
    Checkpoint(#[from] CheckpointError),
    #[error(transparent)]
    Write(#[from] WriteError),
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Text(#[from] TextError),
    #[error(transparent)]
    Generate(GenerateError),
    #[error(transparent)]
    Evaluate(#[from] EvaluateError),
    #[error(transparent)]
    Gpu(#[from] GpuError),
}

impl From<NewModelError> for SessionError {
    fn from(error: NewModelError) -> Self {
        Self::Folder(error.into())
    }
}

impl From<ScheduleError> for SessionError {
    fn from(error: ScheduleError) -> Self {
        Self::Usage(error.to_string())
    }
}

impl From<TrainError> for SessionError {
    fn from(error: TrainError) -> Self {
        match error {
            TrainError::Cancelled => Self::Interrupted,
            error => Self::Train(error),
        }
    }
}

impl From<GenerateError> for SessionError {
    fn from(error: GenerateError) -> Self {
        match error {
            GenerateError::Cancelled => Self::Interrupted,
            error => Self::Generate(error),
        }
    }
}

impl From<TranslateError> for SessionError {
    fn from(error: TranslateError) -> Self {
        match error {
            TranslateError::Generate(error) => error.into(),
            TranslateError::Text(error) => Self::Text(error),
            error @ TranslateError::TooLong { .. } => {
                let (file, reason) = ("the text".to_owned(), error.to_string());
                Self::Text(TextError::Malformed { file, reason })
            }
        }
    }
}

impl SessionError {
    pub(super) fn cannot_read(path: &Path, source: io::Error) -> Self {
        Self::Io { what: format!("cannot read {}", path.display()), source }
    }

    pub(super) fn cannot_write(path: &Path, source: io::Error) -> Self {
        Self::Io { what: format!("cannot write {}", path.display()), source }
    }
}
