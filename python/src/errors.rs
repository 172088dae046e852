//! Exceptions, named after the library's errors.

use pyo3::exceptions::{PyException, PyValueError};
use pyo3::{PyErr, create_exception};
use wordloom::train::TrainError as LibraryTrainError;
use wordloom::train::session::SessionError;
use wordloom::transformer::GenerateError as LibraryGenerateError;

create_exception!(wordloom, WordloomError, PyException, "Any error of Wordloom.");
create_exception!(wordloom, ModelError, WordloomError, "A model that cannot be opened or loaded.");
create_exception!(wordloom, HubError, WordloomError, "A model that cannot be fetched by its name.");
create_exception!(wordloom, GpuError, WordloomError, "A device that does not exist, or that failed.");
create_exception!(wordloom, TranslateError, WordloomError, "A text that cannot be translated.");
create_exception!(
    wordloom,
    GenerateError,
    TranslateError,
    "A search that failed, or whose options are not valid."
);
create_exception!(
    wordloom,
    TextError,
    TranslateError,
    "Text, languages or tasks that the model's tokenizer refuses."
);
create_exception!(wordloom, ForwardError, WordloomError, "Inputs that the model cannot run on.");
create_exception!(wordloom, ScoreError, WordloomError, "Targets that cannot be scored.");
create_exception!(wordloom, TraceError, WordloomError, "A translation whose attention cannot be recorded.");
create_exception!(
    wordloom,
    EvaluateError,
    WordloomError,
    "Hypotheses and references that cannot be compared."
);
create_exception!(wordloom, TrainError, WordloomError, "A training that cannot begin, or that failed.");
create_exception!(wordloom, ArrowError, WordloomError, "Arrow data that cannot be read or written.");
create_exception!(wordloom, Cancelled, WordloomError, "The call was cancelled.");

/// The Python exception of a library's error. (The orphan rule forbids `From`.)
pub trait IntoPython {
    fn into_python(self) -> PyErr;
}

/// Results whose error has an exception.
pub trait OrRaise<T> {
    fn or_raise(self) -> Result<T, PyErr>;
}

impl<T, E: IntoPython> OrRaise<T> for Result<T, E> {
    fn or_raise(self) -> Result<T, PyErr> {
        self.map_err(IntoPython::into_python)
    }
}

fn cancelled() -> PyErr {
    Cancelled::new_err("cancelled")
}

/// Declares which exception an error becomes.
macro_rules! raised_as {
    ($($error:ty => $exception:ident,)*) => {$(
        impl IntoPython for $error {
            fn into_python(self) -> PyErr {
                $exception::new_err(self.to_string())
            }
        }
    )*};
}

raised_as! {
    wordloom::ModelError => ModelError,
    wordloom::GpuError => GpuError,
    wordloom::TextError => TextError,
    wordloom::evaluate::EvaluateError => EvaluateError,
    wordloom::trace::TraceFileError => TraceError,
    wordloom::decode::DecodeError => GenerateError,
    arrow_schema::ArrowError => ArrowError,
}

impl IntoPython for LibraryGenerateError {
    fn into_python(self) -> PyErr {
        match self {
            Self::Cancelled => cancelled(),
            Self::Gpu(error) => error.into_python(),
            error => GenerateError::new_err(error.to_string()),
        }
    }
}

impl IntoPython for wordloom::TranslateError {
    fn into_python(self) -> PyErr {
        match self {
            Self::Generate(error) => error.into_python(),
            Self::Text(error) => error.into_python(),
            error @ Self::TooLong { .. } => GenerateError::new_err(format!(
                "{error}; truncate=True of summarize, document=\"truncate\" of translate and truncation=True of a pipeline leave them out"
            )),
        }
    }
}

impl IntoPython for wordloom::transformer::ForwardError {
    fn into_python(self) -> PyErr {
        match self {
            Self::Gpu(error) => error.into_python(),
            error => ForwardError::new_err(error.to_string()),
        }
    }
}

impl IntoPython for wordloom::transformer::ScoreError {
    fn into_python(self) -> PyErr {
        match self {
            Self::Cancelled => cancelled(),
            Self::Gpu(error) => error.into_python(),
            error => ScoreError::new_err(error.to_string()),
        }
    }
}

impl IntoPython for wordloom::trace::TraceError {
    fn into_python(self) -> PyErr {
        TraceError::new_err(self.to_string())
    }
}

impl IntoPython for wordloom_hub::HubError {
    fn into_python(self) -> PyErr {
        match self {
            Self::Cancelled => cancelled(),
            Self::Folder(error) => error.into_python(),
            error => HubError::new_err(error.to_string()),
        }
    }
}

impl IntoPython for SessionError {
    fn into_python(self) -> PyErr {
        match self {
            Self::Usage(problem) => wrong_value(option_names(&problem)),
            Self::Interrupted => cancelled(),
            Self::Model(error) | Self::Train(LibraryTrainError::Model(error)) => error.into_python(),
            Self::Gpu(error) | Self::Train(LibraryTrainError::Gpu(error)) => error.into_python(),
            Self::Text(error) => error.into_python(),
            error => TrainError::new_err(option_names(&error.to_string())),
        }
    }
}

/// A message with Python's names for the command's options: `max_steps` for `--max-steps`.
pub fn option_names(message: &str) -> String {
    let mut parts = message.split("--");
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let is_name = |character: char| character.is_ascii_lowercase() || character == '-';
        let end = part.find(|character| !is_name(character)).unwrap_or(part.len());
        match part[..end].trim_end_matches('-') {
            "" => text += "--",
            "from" => text += "source_lang",
            "to" => text += "target_lang",
            "resume" => text += "resume=True",
            name => text += &name.replace('-', "_"),
        }
        text += &part[part[..end].trim_end_matches('-').len()..];
    }
    text
}

/// The exception of an argument with a wrong value.
pub fn wrong_value(message: impl Into<String>) -> PyErr {
    PyValueError::new_err(message.into())
}
