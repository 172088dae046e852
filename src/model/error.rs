//! What can go wrong with a model: its folder, its configuration, its tensors.

use std::io;

use safetensors::Dtype;
use thiserror::Error;

/// Everything that can be wrong with a model's files. Each message is one line that names the file, key or tensor
/// and, where there is one, the way out.
///
/// `file` is the folder's label and the file's name, such as `models/en-de/config.json`. Texts that come out of a
/// file are quoted and escaped, so that a hostile file cannot break the line.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The folder of a model does not exist, or is something else.
    #[error("{folder}: {problem}")]
    NotAFolder {
        /// The path as given.
        folder: String,
        /// What is there instead.
        problem: &'static str,
    },
    /// A file that the model needs is not in its folder.
    #[error("{folder}: there is no {file:?}: is this the folder of a Hugging Face model?")]
    MissingFile {
        /// The folder's label.
        folder: String,
        /// The file's name inside the folder.
        file: String,
    },
    /// The folder holds weights, but in a format that only Python can read.
    #[error(
        "{folder}: the weights are a Python pickle ({found}), which can run code and is not read; write \
         model.safetensors with transformers: AutoModelForSeq2SeqLM.from_pretrained(DIR).save_pretrained(DIR)"
    )]
    PickledWeights {
        /// The folder's label.
        folder: String,
        /// The pickle's name.
        found: &'static str,
    },
    /// A name inside the model's files that leads out of its folder.
    #[error("{folder}: the file name {name:?} leads out of the folder")]
    UnsafeName {
        /// The folder's label.
        folder: String,
        /// The name.
        name: String,
    },
    /// The operating system could not open or read a file.
    #[error("{file}: {source}")]
    Io {
        /// The file.
        file: String,
        /// The system's answer.
        source: io::Error,
    },
    /// Something that is not a regular file stands where a file should be.
    #[error("{file}: is not a regular file")]
    NotAFile {
        /// The file.
        file: String,
    },
    /// A file that should be small is not, and was not read.
    #[error("{file}: is {bytes} bytes long; at most {limit} are expected")]
    FileTooLarge {
        /// The file.
        file: String,
        /// Its length.
        bytes: u64,
        /// The longest such file that is read.
        limit: u64,
    },
    /// A file became shorter while the model was being read.
    #[error(
        "{file}: ends before byte {end}, though it was longer when it was opened; is it still being written?"
    )]
    FileShrank {
        /// The file.
        file: String,
        /// The end of the range that was asked for.
        end: u64,
    },
    /// Bytes of a [`HostFile`](super::files::HostFile) are still on their way. Who opened the files may wait for them
    /// and try again; nobody else sees this.
    #[error("{file}: its first {end} bytes have not all arrived yet")]
    NotArrived {
        /// The file's name inside the folder.
        file: String,
        /// The end of the range that was asked for.
        end: u64,
    },
    /// A host could not read one of its files.
    #[error("{file}: {reason}")]
    Host {
        /// The file.
        file: String,
        /// The host's words.
        reason: String,
    },
    /// A file is not well-formed JSON, or not an object at the top.
    #[error("{file}: {source}")]
    Json {
        /// The file.
        file: String,
        /// What is wrong, with line and column.
        source: serde_json::Error,
    },
    /// A configuration lacks a key that has no default.
    #[error("{file}: the key \"{key}\" is missing")]
    MissingKey {
        /// The file.
        file: String,
        /// The key.
        key: &'static str,
    },
    /// A configuration's value is of the wrong kind or out of range.
    #[error("{file}: \"{key}\" is {value}; expected {expected}")]
    InvalidValue {
        /// The file.
        file: String,
        /// The key.
        key: &'static str,
        /// The value as JSON, shortened if long.
        value: String,
        /// What it should be.
        expected: String,
    },
    /// A configuration's value is legitimate, but asks for something that Wordloom cannot do.
    #[error("{file}: \"{key}\": {value} is not supported; supported: {supported}")]
    Unsupported {
        /// The file.
        file: String,
        /// The key.
        key: String,
        /// The value as JSON, shortened if long.
        value: String,
        /// The values that would work.
        supported: String,
    },
    /// A generation request has a key that nobody knows: most likely a spelling mistake.
    #[error("{file}: the key {key:?} is unknown")]
    UnknownKey {
        /// The request.
        file: String,
        /// The key.
        key: String,
    },
    /// A configuration describes a model that cannot be addressed on this machine.
    #[error("{file}: describes a model of {parameters} parameters, too many for this machine")]
    TooManyParameters {
        /// The file.
        file: String,
        /// The number of parameters.
        parameters: u64,
    },
    /// A checkpoint breaks a rule of the safetensors format, or its shards disagree with their index.
    #[error("{file}: is not a valid checkpoint: {problem}")]
    InvalidCheckpoint {
        /// The file.
        file: String,
        /// The rule, with the tensor that breaks it.
        problem: String,
    },
    /// A tensor that the configuration calls for is not in the checkpoint.
    #[error("{checkpoint}: there is no tensor \"{tensor}\"{}", did_you_mean(.nearest))]
    MissingTensor {
        /// The file, or the index of the shards.
        checkpoint: String,
        /// The tensor's name.
        tensor: String,
        /// The most similar name in the checkpoint, if one is similar.
        nearest: Option<String>,
    },
    /// A tensor's shape is not the one that the configuration calls for.
    #[error("{file}: the tensor \"{tensor}\" is {found:?}, but the configuration calls for {expected:?}")]
    TensorShape {
        /// The file.
        file: String,
        /// The tensor's name.
        tensor: String,
        /// The shape in the file.
        found: Vec<usize>,
        /// The shape that the configuration gives.
        expected: Vec<usize>,
    },
    /// A tensor that the model has no place for: the configuration is that of another model.
    #[error("{file}: the tensor {tensor:?} has no place in a \"{model_type}\" model of this configuration")]
    UnexpectedTensor {
        /// The file, or the index of the shards.
        file: String,
        /// The tensor's name.
        tensor: String,
        /// The family that the configuration names.
        model_type: &'static str,
    },
    /// The folder has none of the files that a tokenizer of its kind is made of.
    #[error("{folder}: there is no tokenizer ({looked_for}), so that the model takes token ids only")]
    NoTokenizer {
        /// The folder's label.
        folder: String,
        /// The files that were looked for.
        looked_for: String,
    },
    /// A model that writes no translations: an encoder alone, or a decoder alone.
    #[error(
        "{folder}: a {model_type:?} model does not translate: it is an encoder alone, or a decoder alone"
    )]
    CannotTranslate {
        /// The folder's label.
        folder: String,
        /// Its family.
        model_type: &'static str,
    },
    /// The folder's tokenizer cannot be read.
    #[error("{folder}: {source}")]
    Tokenizer {
        /// The folder's label.
        folder: String,
        /// What is wrong with it.
        source: crate::text::TextError,
    },
    /// The folder's tokenizer writes token ids that the model does not have.
    #[error(
        "{folder}: the tokenizer's {side} vocabulary has {token:?} with id {id}, but the model's has {vocabulary} \
         tokens; the tokenizer is that of another model"
    )]
    ForeignTokenizer {
        /// The folder's label.
        folder: String,
        /// `source` or `target`.
        side: &'static str,
        /// The token with the largest id.
        token: String,
        /// That id.
        id: u32,
        /// Tokens that the model's configuration allows for.
        vocabulary: usize,
    },
    /// The device has no room for the weights, or failed.
    #[error(transparent)]
    Gpu(#[from] crate::gpu::GpuError),
    /// A weight that the precision asked for cannot hold.
    #[error(transparent)]
    UnstorableWeight(#[from] crate::graph::UnstorableWeight),
    /// A tensor's elements are of a type that weights cannot be read from.
    #[error(
        "{file}: the tensor \"{tensor}\" is stored as {found}; weights can be F32, F16, BF16 or F64, or 8 bits in a file that `wordloom quantize` wrote"
    )]
    TensorDtype {
        /// The file.
        file: String,
        /// The tensor's name.
        tensor: String,
        /// The element type in the file.
        found: Dtype,
    },
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!("; the nearest is {name:?}")).unwrap_or_default()
}
