//! Errors for JavaScript: an `Error` with a `kind`.

use js_sys::{Error, JsString, Object, Reflect};
use wasm_bindgen::prelude::*;
use wordloom::heatmap::HeatmapError;
use wordloom::model::SwitchError;
use wordloom::trace::{TraceError, TraceFileError};
use wordloom::transformer::{ForwardError, GenerateError, MuteError, ScoreError};
use wordloom::{GpuError, ModelError, TextError, TranslateError};

use crate::codes::{self, Code};
use crate::options::{js_name, js_names};

/// The reason why a call failed.
#[derive(Clone)]
pub enum Failure {
    /// An error that JavaScript threw, or the reason of a rejected promise. It is passed through.
    Js(JsValue),
    /// An error of the library.
    Ours { kind: &'static str, message: String, code: Option<Code> },
}

impl Failure {
    pub fn of(kind: &'static str, message: impl Into<String>, code: Option<Code>) -> Self {
        Self::Ours { kind, message: message.into(), code }
    }

    pub fn input(message: impl Into<String>) -> Self {
        Self::of("input", message, None)
    }

    /// A request that this model does not support.
    pub fn unsupported(message: impl Into<String>) -> Self {
        Self::of("unsupported", message, None)
    }

    pub fn aborted() -> Self {
        Self::of("aborted", "aborted", None)
    }

    /// Whether the device was lost, so that a new device may help.
    pub fn is_loss(&self) -> bool {
        matches!(self, Self::Ours { kind: "device-lost", .. })
    }

    pub fn is_cancelled(&self) -> bool {
        matches!(self, Self::Ours { kind: "aborted", .. })
    }

    /// The value to throw.
    pub fn into_js(self) -> JsValue {
        match self {
            Self::Js(error) => error,
            Self::Ours { kind, message, code } => {
                // the library's messages name options of the command
                let message = message
                    .replace("`--device cpu`", "the CPU (`device: \"cpu\"`)")
                    .replace("`--device gpu`", "a GPU (`device: \"gpu\"`)")
                    .replace("`--weights f32`", "the option `weights: \"f32\"`")
                    .replace("`--target-lang CODE`", "the option `targetLanguage`")
                    .replace("`wordloom inspect` lists", "`info.model.languages` has");
                let error = Error::new(&message);
                // a plain object accepts every property
                let _ = Reflect::set(&error, &"kind".into(), &kind.into());
                if let Some(Code { name, values }) = code {
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
    }
}

impl From<Failure> for JsValue {
    fn from(failure: Failure) -> Self {
        failure.into_js()
    }
}

impl From<GpuError> for Failure {
    fn from(error: GpuError) -> Self {
        let code = codes::of_gpu(&error);
        Self::of(error.kind(), error.to_string(), code)
    }
}

impl From<ModelError> for Failure {
    fn from(error: ModelError) -> Self {
        match error {
            ModelError::Gpu(error) => error.into(),
            ModelError::InvalidValue { file, key, value, expected } if file == OPTIONS => {
                Self::input(format!("the option {:?} is {value}; expected {expected}", js_name(key)))
            }
            error => {
                let code = codes::of_model(&error);
                Self::of("input", error.to_string(), code)
            }
        }
    }
}

/// The library's name for the options of a call.
pub const OPTIONS: &str = "the options";

impl From<GenerateError> for Failure {
    fn from(error: GenerateError) -> Self {
        match error {
            GenerateError::Gpu(error) => error.into(),
            GenerateError::Cancelled => Self::aborted(),
            error @ GenerateError::NotATranslator { .. } => Self::unsupported(error.to_string()),
            GenerateError::Decode(wordloom::decode::DecodeError::Option { option, value, allowed }) => {
                let (name, allowed) = (js_name(option), js_names(&allowed));
                Self::input(format!("the option {name:?} is {value}; it must be {allowed}"))
            }
            GenerateError::Decode(error @ wordloom::decode::DecodeError::NotANumber { .. }) => {
                Self::of("internal", error.to_string(), None)
            }
            error => {
                let code = codes::of_generate(&error);
                Self::of("input", error.to_string(), code)
            }
        }
    }
}

impl From<TranslateError> for Failure {
    fn from(error: TranslateError) -> Self {
        match error {
            TranslateError::Generate(error) => error.into(),
            TranslateError::Text(error) => error.into(),
            TranslateError::TooLong { tokens, limit } => {
                let instead = "give `document: \"truncate\"` to leave them out";
                let what = format!("the document has {tokens} tokens, but the model takes {limit} at most");
                Self::input(format!("{what}; the last {} do not fit: {instead}", tokens - limit))
            }
        }
    }
}

impl From<ForwardError> for Failure {
    fn from(error: ForwardError) -> Self {
        match error {
            ForwardError::Gpu(error) => error.into(),
            error => {
                let code = codes::of_forward(&error);
                Self::of("input", error.to_string(), code)
            }
        }
    }
}

impl From<MuteError> for Failure {
    fn from(error: MuteError) -> Self {
        match error {
            MuteError::Model(error) => error.into(),
            error => Self::input(error.to_string()),
        }
    }
}

impl From<SwitchError> for Failure {
    fn from(error: SwitchError) -> Self {
        match error {
            SwitchError::Model(error) => error.into(),
            error => Self::input(error.to_string()),
        }
    }
}

impl From<TraceError> for Failure {
    fn from(error: TraceError) -> Self {
        match error {
            TraceError::Translate(error) => error.into(),
            TraceError::Forward(error) => error.into(),
            TraceError::Score(ScoreError::Gpu(error)) => error.into(),
            TraceError::Cancelled | TraceError::Score(ScoreError::Cancelled) => Self::aborted(),
            error => Self::input(error.to_string()),
        }
    }
}

impl From<HeatmapError> for Failure {
    fn from(error: HeatmapError) -> Self {
        match error {
            HeatmapError::Gpu(error) => error.into(),
            error => Self::input(error.to_string()),
        }
    }
}

impl From<TraceFileError> for Failure {
    fn from(error: TraceFileError) -> Self {
        Self::input(format!("the file {error}"))
    }
}

impl From<TextError> for Failure {
    fn from(error: TextError) -> Self {
        let code = codes::of_text(&error);
        Self::of("input", error.to_string(), code)
    }
}

/// The text of a value that JavaScript threw.
pub fn message_of(thrown: &JsValue) -> String {
    let message = Reflect::get(thrown, &"message".into()).ok().and_then(|message| message.as_string());
    message.unwrap_or_else(|| JsString::from(thrown.clone()).into())
}
