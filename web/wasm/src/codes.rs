//! Stable names of the errors that a page's user meets, with their values: for texts in another language. Messages are prose, and
//! may change.

use wordloom::explain::ExplainError;
use wordloom::transformer::{ForwardError, GenerateError};
use wordloom::{GpuError, ModelError, TextError};

/// The name of an error, and the values in its message.
#[derive(Clone, Debug)]
pub struct Code {
    pub name: &'static str,
    pub values: Vec<(&'static str, String)>,
}

fn code<const N: usize>(name: &'static str, values: [(&'static str, &dyn ToString); N]) -> Option<Code> {
    let values = values.into_iter().map(|(name, value)| (name, value.to_string())).collect();
    Some(Code { name, values })
}

pub fn of_gpu(error: &GpuError) -> Option<Code> {
    match error {
        GpuError::NoAdapter { .. } => code("no-gpu", []),
        GpuError::Open { adapter, .. } => code("gpu-closed", [("adapter", adapter)]),
        GpuError::TooLarge { adapter, .. } | GpuError::Limit { adapter, .. } => {
            code("too-large-for-gpu", [("adapter", adapter)])
        }
        GpuError::OutOfMemory { adapter, .. } | GpuError::NoRoom { adapter, .. } => {
            code("gpu-memory", [("adapter", adapter)])
        }
        GpuError::HostMemory { bytes } => code("no-memory", [("bytes", bytes)]),
        GpuError::LostAgain { adapter, .. } | GpuError::NotReplaced { adapter, .. } => {
            code("gpu-lost", [("adapter", adapter)])
        }
        GpuError::WrongAnswer { adapter, .. } | GpuError::WrongKernel { adapter, .. } => {
            code("gpu-wrong", [("adapter", adapter)])
        }
        _ => None,
    }
}

pub fn of_model(error: &ModelError) -> Option<Code> {
    match error {
        ModelError::MissingFile { folder, file } => {
            code("missing-file", [("folder", folder), ("file", file)])
        }
        ModelError::NoWeights { folder, .. } => code("no-weights", [("folder", folder)]),
        ModelError::NoTokenizer { folder, .. } => code("no-tokenizer", [("name", folder)]),
        ModelError::CannotTranslate { folder, .. } => code("no-translator", [("name", folder)]),
        ModelError::Unsupported { file, key, .. } => {
            code("unsupported-model", [("file", file), ("key", key)])
        }
        ModelError::Json { file, .. } | ModelError::InvalidCheckpoint { file, .. } => {
            code("damaged-file", [("file", file)])
        }
        ModelError::Tokenizer { source, .. } => of_text(source),
        ModelError::MissingTensor { tensor, .. } => code("missing-tensor", [("tensor", tensor)]),
        _ => None,
    }
}

pub fn of_generate(error: &GenerateError) -> Option<Code> {
    match error {
        GenerateError::TooLong { length, limit } => code("too-long", [("length", length), ("limit", limit)]),
        GenerateError::Empty => code("empty", []),
        _ => None,
    }
}

pub fn of_forward(error: &ForwardError) -> Option<Code> {
    match error {
        ForwardError::TooLong { length, limit, .. } => {
            code("too-long", [("length", length), ("limit", limit)])
        }
        _ => None,
    }
}

pub fn of_explain(error: &ExplainError) -> Option<Code> {
    match error {
        ExplainError::NoTaps { head } => code("no-taps", [("head", head)]),
        _ => None,
    }
}

pub fn of_text(error: &TextError) -> Option<Code> {
    match error {
        TextError::Damaged { file, .. } | TextError::Malformed { file, .. } => {
            code("damaged-file", [("file", file)])
        }
        TextError::UnknownLanguage { code: wanted, .. } => code("unknown-language", [("language", wanted)]),
        _ => None,
    }
}
