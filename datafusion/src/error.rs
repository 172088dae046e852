//! Errors of the function.

use datafusion::arrow::datatypes::DataType;
use datafusion::error::DataFusionError;
use rayon::ThreadPoolBuildError;
use wordloom::{GpuError, ModelError, TextError, TranslateError};

/// The reason why a call of `translate` has no result. DataFusion passes it on as [`DataFusionError::External`].
#[derive(Debug, thiserror::Error)]
pub enum FunctionError {
    /// Another number of arguments.
    #[error(
        "translate has {count} arguments; it takes a text and two languages: translate(text, 'en', 'de')"
    )]
    Arguments {
        /// Number of arguments.
        count: usize,
    },
    /// A column that has no strings.
    #[error("translate: the {argument} is {kind}; cast it to a string: CAST(… AS VARCHAR)")]
    NoString {
        /// `text`, `source language` or `target language`.
        argument: &'static str,
        /// Its type.
        kind: DataType,
    },
    /// A language that is NULL, a column or an expression.
    #[error("translate: the {argument} is {found}; write it as a literal, such as 'en'")]
    NoLiteral {
        /// `source language` or `target language`.
        argument: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// Two languages for which no model was given.
    #[error(
        "translate: there is no model from {from:?} to {to:?}; there are: {known}; Translations::with_folder adds one"
    )]
    UnknownPair {
        /// The source language as given.
        from: String,
        /// The target language as given.
        to: String,
        /// All pairs, as a phrase.
        known: String,
    },
    /// A device that does not exist, or whose driver fails.
    #[error("translate: {0}")]
    Device(#[from] GpuError),
    /// A model that cannot be loaded.
    #[error("translate: {0}")]
    Model(#[from] ModelError),
    /// Languages that the pair's model does not have.
    #[error("translate from {from:?} to {to:?}: {error}")]
    Languages {
        /// The pair's source language.
        from: String,
        /// The pair's target language.
        to: String,
        /// The tokenizer's reason.
        error: TextError,
    },
    /// A text that could not be translated.
    #[error("translate: {0}")]
    Translate(#[from] TranslateError),
    /// Threads that the system does not give.
    #[error("translate: {0}; Translations::with_threads asks for fewer threads")]
    Threads(#[from] ThreadPoolBuildError),
    /// Translations that a column of [`DataType::Utf8`] cannot hold.
    #[error(
        "translate: the translations of a batch have more than 2 GiB; lower datafusion.execution.batch_size, or cast the \
         text to LargeUtf8 with arrow_cast"
    )]
    TooLong,
}

impl From<FunctionError> for DataFusionError {
    fn from(error: FunctionError) -> Self {
        Self::External(Box::new(error))
    }
}
