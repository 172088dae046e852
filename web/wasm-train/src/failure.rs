//! Errors for JavaScript: an `Error` with a `kind`.

use js_sys::{Error, Object, Reflect};
use wasm_bindgen::prelude::*;
use wordloom::train::{LONGEST_TEXT, MOST_PAIRS, TaskError, TrainError};
use wordloom::transformer::{ForwardError, GenerateError};
use wordloom::{GpuError, ModelError};

/// The reason why a call failed.
pub struct Failure {
    kind: &'static str,
    message: String,
    /// Stable name of the error with its values, for texts in another language.
    code: Option<(&'static str, Vec<(&'static str, String)>)>,
}

impl Failure {
    pub fn input(message: impl Into<String>) -> Self {
        Self { kind: "input", message: message.into(), code: None }
    }

    pub fn unsupported(message: impl Into<String>) -> Self {
        Self { kind: "unsupported", message: message.into(), code: None }
    }

    pub fn internal(message: String) -> Self {
        Self { kind: "internal", message, code: None }
    }
}

impl From<Failure> for JsValue {
    fn from(Failure { kind, message, code }: Failure) -> Self {
        // the library's messages name options of the command
        let message = message
            .replace("`--device cpu`", "the CPU (`device: \"cpu\"`)")
            .replace("`--device gpu`", "a GPU (`device: \"gpu\"`)");
        let error = Error::new(&message);
        // a plain object accepts every property
        let _ = Reflect::set(&error, &"kind".into(), &kind.into());
        if let Some((name, values)) = code {
            let _ = Reflect::set(&error, &"code".into(), &name.into());
            let of_error = Object::new();
            for (name, value) in values {
                let _ = Reflect::set(&of_error, &name.into(), &value.into());
            }
            let _ = Reflect::set(&error, &"values".into(), &of_error);
        }
        error.into()
    }
}

impl From<GpuError> for Failure {
    fn from(error: GpuError) -> Self {
        let code = match &error {
            GpuError::NoAdapter { .. } => Some(("no-gpu", Vec::new())),
            _ => None,
        };
        Self { kind: error.kind(), message: error.to_string(), code }
    }
}

impl From<TrainError> for Failure {
    fn from(error: TrainError) -> Self {
        match error {
            TrainError::Gpu(error)
            | TrainError::Model(ModelError::Gpu(error))
            | TrainError::Generate(GenerateError::Gpu(error))
            | TrainError::Forward(ForwardError::Gpu(error)) => error.into(),
            error @ (TrainError::Graph(_) | TrainError::Generate(_) | TrainError::Forward(_)) => {
                Self::internal(error.to_string())
            }
            TrainError::Task(error) => {
                let code = task_code(&error);
                Self { code, ..Self::input(error.to_string()) }
            }
            error => Self::input(error.to_string()),
        }
    }
}

/// The errors of pasted pairs.
fn task_code(error: &TaskError) -> Option<(&'static str, Vec<(&'static str, String)>)> {
    let of = |name, values: &[(&'static str, &dyn ToString)]| {
        Some((name, values.iter().map(|(name, value)| (*name, value.to_string())).collect()))
    };
    match error {
        TaskError::Long { line, characters, .. } => {
            of("long-line", &[("line", line), ("length", characters), ("limit", &LONGEST_TEXT)])
        }
        TaskError::Columns { line, .. } => of("no-tab", &[("line", line)]),
        TaskError::Empty { line, .. } => of("empty-line", &[("line", line)]),
        TaskError::NoPairs => of("no-pairs", &[]),
        TaskError::Many { found } => of("many-pairs", &[("length", found), ("limit", &MOST_PAIRS)]),
        _ => None,
    }
}
