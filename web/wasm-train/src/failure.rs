//! Errors for JavaScript: an `Error` with a `kind`.

use js_sys::{Error, Reflect};
use wasm_bindgen::prelude::*;
use wordloom::train::TrainError;
use wordloom::transformer::{ForwardError, GenerateError};
use wordloom::{GpuError, ModelError};

/// The reason why a call failed.
pub struct Failure {
    kind: &'static str,
    message: String,
}

impl Failure {
    pub fn input(message: impl Into<String>) -> Self {
        Self { kind: "input", message: message.into() }
    }

    pub fn internal(message: String) -> Self {
        Self { kind: "internal", message }
    }
}

impl From<Failure> for JsValue {
    fn from(Failure { kind, message }: Failure) -> Self {
        // the library's messages name options of the command
        let message = message
            .replace("`--device cpu`", "the CPU (`device: \"cpu\"`)")
            .replace("`--device gpu`", "a GPU (`device: \"gpu\"`)");
        let error = Error::new(&message);
        // a plain object accepts every property
        let _ = Reflect::set(&error, &"kind".into(), &kind.into());
        error.into()
    }
}

impl From<GpuError> for Failure {
    fn from(error: GpuError) -> Self {
        Self { kind: error.kind(), message: error.to_string() }
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
            error => Self::input(error.to_string()),
        }
    }
}
