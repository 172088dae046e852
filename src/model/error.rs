//! Errors of a model's folder, configuration and tensors.

use std::io;

use safetensors::Dtype;
use thiserror::Error;

use crate::json_problem::json_problem;

/// An error in a model's files. Each message is one line that names the file, key or tensor and, if possible, the
/// remedy.
///
/// `file` is the folder's label and the file's name, such as `models/en-de/config.json`. Texts from a file are quoted
/// and escaped, so that a hostile file cannot break the line.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ModelError {
    /// The model's folder does not exist or is not a folder.
    #[error("{folder}: {problem}")]
    NotAFolder {
        /// Path as given.
        folder: String,
        /// Kind of the thing found instead.
        problem: &'static str,
    },
    /// The folder lacks a required file.
    #[error("{folder}: there is no {file:?}: is this the folder of a Hugging Face model?")]
    MissingFile {
        /// Label of the folder.
        folder: String,
        /// File name in the folder.
        file: String,
    },
    /// The folder has no weights that Wordloom reads.
    #[error("{folder}: there is no \"model.safetensors\" or \"pytorch_model.bin\"; {found}")]
    NoWeights {
        /// Label of the folder.
        folder: String,
        /// The files that are there instead, and the way out.
        found: String,
    },
    /// A part of the weights is missing.
    #[error(
        "{index}: the file {shard:?}, which it lists, is not there ({missing} of {shards} are missing): get it from \
         where the others come from"
    )]
    MissingShard {
        /// Label of the index of the shards.
        index: String,
        /// Name of the first missing file.
        shard: String,
        /// Number of missing files.
        missing: usize,
        /// Number of files in the index.
        shards: usize,
    },
    /// A file of PyTorch uses a function or class of Python that weights do not need. Nothing of the file was run.
    #[error(
        "{file}: it needs {global:?} of Python, which a file of weights does not need and Wordloom does not run; if you \
         trust the file, load it with torch.load and save its state dict alone, better as model.safetensors"
    )]
    UnknownGlobal {
        /// Label of the file.
        file: String,
        /// Full name, shortened if long.
        global: String,
    },
    /// A name in the model's files leads out of its folder.
    #[error("{folder}: the file name {name:?} leads out of the folder")]
    UnsafeName {
        /// Label of the folder.
        folder: String,
        /// Invalid name.
        name: String,
    },
    /// The system could not open or read a file.
    #[error("{file}: {source}")]
    Io {
        /// Label of the file.
        file: String,
        /// Error of the system.
        source: io::Error,
    },
    /// A file is a link whose target does not exist.
    #[error(
        "{file}: is a link to {target:?}, which does not exist; bring the target back, or remove the link"
    )]
    DanglingLink {
        /// Label of the file.
        file: String,
        /// Target of the link.
        target: String,
    },
    /// A file's path is not a regular file.
    #[error("{file}: is not a regular file")]
    NotAFile {
        /// Label of the file.
        file: String,
    },
    /// A file is too long to be what it should be; it was not read.
    #[error("{file}: is {bytes} bytes long; at most {limit} are expected")]
    FileTooLarge {
        /// Label of the file.
        file: String,
        /// Length, bytes.
        bytes: u64,
        /// Maximum length, bytes.
        limit: u64,
    },
    /// A file became shorter during the read.
    #[error(
        "{file}: ends before byte {end}, though it was longer when it was opened; is it still being written?"
    )]
    FileShrank {
        /// Label of the file.
        file: String,
        /// End of the requested range.
        end: u64,
    },
    /// Bytes of a [`HostFile`](super::files::HostFile) have not arrived yet. The caller that opened the files may wait
    /// and try again.
    #[error("{file}: its first {end} bytes have not all arrived yet")]
    NotArrived {
        /// File name in the folder.
        file: String,
        /// End of the requested range.
        end: u64,
    },
    /// A host could not read its file.
    #[error("{file}: {reason}")]
    Host {
        /// Label of the file.
        file: String,
        /// Message of the host.
        reason: String,
    },
    /// A file is not well-formed JSON, or not an object.
    #[error("{file}: {}", json_problem(.source))]
    Json {
        /// Label of the file.
        file: String,
        /// Problem, with line and column.
        source: serde_json::Error,
    },
    /// A configuration lacks a required key.
    #[error("{file}: the key \"{key}\" is missing")]
    MissingKey {
        /// Label of the file.
        file: String,
        /// Missing key.
        key: &'static str,
    },
    /// A configuration's value has the wrong type or is out of range.
    #[error("{file}: \"{key}\" is {value}; expected {expected}")]
    InvalidValue {
        /// Label of the file.
        file: String,
        /// Key of the value.
        key: &'static str,
        /// Value as JSON, shortened if long.
        value: String,
        /// Valid values.
        expected: String,
    },
    /// A configuration's value is valid, but not supported.
    #[error("{file}: \"{key}\": {value} is not supported; supported: {supported}")]
    Unsupported {
        /// Label of the file.
        file: String,
        /// Key of the value.
        key: String,
        /// Value as JSON, shortened if long.
        value: String,
        /// Supported values.
        supported: String,
    },
    /// A generation request has an unknown key, probably a spelling mistake.
    #[error("{file}: the key {key:?} is unknown")]
    UnknownKey {
        /// Name of the request.
        file: String,
        /// Unknown key.
        key: String,
    },
    /// A configuration's model cannot be addressed on this machine.
    #[error("{file}: describes a model of {parameters} parameters, too many for this machine")]
    TooManyParameters {
        /// Label of the file.
        file: String,
        /// Number of parameters.
        parameters: u64,
    },
    /// A checkpoint breaks a rule of its format, or its shards contradict their index.
    #[error("{file}: is not a valid checkpoint: {problem}")]
    InvalidCheckpoint {
        /// Label of the file.
        file: String,
        /// Broken rule, with the tensor.
        problem: String,
    },
    /// Several files of a folder could be the same part of a student.
    #[error("{folder}: has both {one:?} and {other:?}; keep one model in a folder")]
    AmbiguousFiles {
        /// Label of the folder.
        folder: String,
        /// Name of a file.
        one: String,
        /// Name of another.
        other: String,
    },
    /// A compressed file cannot be decompressed.
    #[error("{file}: {problem}")]
    Compressed {
        /// Label of the file.
        file: String,
        /// Reason.
        problem: String,
    },
    /// Marian's weights are in a format for training.
    #[error(
        "{file}: weights in Marian's .npz are not read; write a .bin with `marian-conv --from FILE.npz --to FILE.bin`"
    )]
    UnreadableWeights {
        /// Label of the file.
        file: String,
    },
    /// The options in a Marian binary cannot be read.
    #[error("{file}: the options in \"special:model.yml\", line {line}: {problem}")]
    InvalidOptions {
        /// Label of the file.
        file: String,
        /// Line, from 1.
        line: usize,
        /// Problem.
        problem: String,
    },
    /// A lexical shortlist breaks a rule of its format, or belongs to another vocabulary.
    #[error("{file}: is not a valid shortlist: {problem}")]
    InvalidShortlist {
        /// Label of the file.
        file: String,
        /// Broken rule.
        problem: String,
    },
    /// The checkpoint lacks a tensor of the configuration.
    #[error("{checkpoint}: there is no tensor \"{tensor}\"{}", did_you_mean(.nearest))]
    MissingTensor {
        /// File, or index of the shards.
        checkpoint: String,
        /// Name of the tensor.
        tensor: String,
        /// Most similar name in the checkpoint, if any.
        nearest: Option<String>,
    },
    /// A tensor's shape differs from the configuration's.
    #[error("{file}: the tensor \"{tensor}\" is {found:?}, but the configuration calls for {expected:?}")]
    TensorShape {
        /// Label of the file.
        file: String,
        /// Name of the tensor.
        tensor: String,
        /// Shape in the file.
        found: Vec<usize>,
        /// Shape by the configuration.
        expected: Vec<usize>,
    },
    /// The checkpoint has a tensor that the model does not use: it belongs to another model.
    #[error("{file}: the tensor {tensor:?} has no place in a \"{model_type}\" model of this configuration")]
    UnexpectedTensor {
        /// File, or index of the shards.
        file: String,
        /// Name of the tensor.
        tensor: String,
        /// Family in the configuration.
        model_type: &'static str,
    },
    /// The folder has no tokenizer files.
    #[error("{folder}: there is no tokenizer ({looked_for}), so that the model takes token ids only")]
    NoTokenizer {
        /// Label of the folder.
        folder: String,
        /// Expected files.
        looked_for: String,
    },
    /// The model does not translate: it is an encoder alone, or a decoder alone.
    #[error(
        "{folder}: a {model_type:?} model does not translate: it is an encoder alone, or a decoder alone"
    )]
    CannotTranslate {
        /// Label of the folder.
        folder: String,
        /// Family of the model.
        model_type: &'static str,
    },
    /// The folder's tokenizer cannot be read.
    #[error("{folder}: {source}")]
    Tokenizer {
        /// Label of the folder.
        folder: String,
        /// Error of the tokenizer.
        source: crate::text::TextError,
    },
    /// The tokenizer writes token ids beyond the model's vocabulary.
    #[error(
        "{folder}: the tokenizer's {side} vocabulary has {token:?} with id {id}, but the model's has {vocabulary} \
         tokens; the tokenizer is that of another model"
    )]
    ForeignTokenizer {
        /// Label of the folder.
        folder: String,
        /// `source` or `target`.
        side: &'static str,
        /// Token with the largest id.
        token: String,
        /// Id of the token.
        id: u32,
        /// Tokens in the model's configuration.
        vocabulary: usize,
    },
    /// Eight-bit inputs were asked of a GPU.
    #[error(
        "{device}: only the CPU multiplies inputs of 8 bits (w8a8): choose the CPU, or keep the weights as q8, f16 or f32"
    )]
    EightBitInputs {
        /// The device.
        device: String,
    },
    /// The device is out of memory, or failed.
    #[error(transparent)]
    Gpu(#[from] crate::gpu::GpuError),
    /// The requested precision cannot hold a weight.
    #[error(transparent)]
    UnstorableWeight(#[from] crate::graph::UnstorableWeight),
    /// A tensor has an element type that weights cannot have.
    #[error(
        "{file}: the tensor \"{tensor}\" is stored as {found}; weights can be F32, F16, BF16 or F64, or 8 bits in a file that `wordloom quantize` wrote"
    )]
    TensorDtype {
        /// Label of the file.
        file: String,
        /// Name of the tensor.
        tensor: String,
        /// Element type in the file.
        found: Dtype,
    },
}

fn did_you_mean(nearest: &Option<String>) -> String {
    nearest.as_ref().map(|name| format!("; the nearest is {name:?}")).unwrap_or_default()
}
