//! The files of a model: a folder on disk, named bytes in memory, or files of a host.

use crate::sorting;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;
#[cfg(not(target_arch = "wasm32"))]
use std::{
    fs::{self, File},
    io::{self, ErrorKind, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use super::error::ModelError;

/// The files of a model, by name.
///
/// Nothing is read ahead: [`ModelFiles::read`] reads small files whole, [`ModelFiles::open`] reads weights range by
/// range, so that no checkpoint is held twice. Files are not mapped into memory: a mapping needs `unsafe`, ends the
/// process if the file shrinks, and is not faster (numbers: `docs/architecture.md`).
#[derive(Clone, Debug)]
pub struct ModelFiles {
    label: String,
    source: Source,
}

#[derive(Clone, Debug)]
enum Source {
    #[cfg(not(target_arch = "wasm32"))]
    Directory(PathBuf),
    /// A `config.json` of any name.
    #[cfg(not(target_arch = "wasm32"))]
    Configuration(PathBuf),
    Memory(BTreeMap<String, SharedBytes>),
    Host(BTreeMap<String, Arc<dyn HostFile>>),
}

/// A file of a host that may be incomplete: a download, or a file that the user gave to a page.
pub trait HostFile: fmt::Debug + Send + Sync {
    /// Length of the complete file, bytes.
    fn len(&self) -> u64;

    /// Whether the length is 0.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Fills `buffer` with the bytes from `offset` on, which are within the length.
    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), HostFileError>;
}

/// The reason why a host could not read a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HostFileError {
    /// The bytes have not arrived yet: the caller gets [`ModelError::NotArrived`], and may wait and retry.
    NotArrived,
    /// A failure, in the host's words.
    Failed(String),
}

#[cfg(not(target_arch = "wasm32"))]
const CONFIGURATION: &str = "config.json";

/// Embedded or owned bytes, shared with open [`ByteSource`]s.
type SharedBytes = Arc<Cow<'static, [u8]>>;

impl ModelFiles {
    /// The files of a folder on disk; its path is the label. Returns [`ModelError::NotAFolder`] if `path` is not a
    /// folder.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn directory(path: impl AsRef<Path>) -> Result<Self, ModelError> {
        let path = path.as_ref();
        let label = path.display().to_string();
        match fs::metadata(path) {
            Ok(found) if found.is_dir() => Ok(Self { label, source: Source::Directory(path.to_owned()) }),
            Ok(_) => {
                let problem = "is a file; give the folder that holds config.json and the weights";
                Err(ModelError::NotAFolder { folder: label, problem })
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                Err(ModelError::NotAFolder { folder: label, problem: "there is no such folder" })
            }
            Err(source) => Err(ModelError::Io { file: label, source }),
        }
    }

    /// A configuration alone: one file of any name as `config.json`. Its path is the label.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn configuration(path: impl AsRef<Path>) -> Self {
        let path = path.as_ref();
        Self { label: path.display().to_string(), source: Source::Configuration(path.to_owned()) }
    }

    /// Files in memory: a built-in model (`include_bytes!`), or downloads of a page. `label` names the model in
    /// messages.
    pub fn memory<Name, Bytes>(
        label: impl Into<String>,
        files: impl IntoIterator<Item = (Name, Bytes)>,
    ) -> Self
    where
        Name: Into<String>,
        Bytes: Into<Cow<'static, [u8]>>,
    {
        let files = files.into_iter().map(|(name, bytes)| (name.into(), Arc::new(bytes.into())));
        Self { label: label.into(), source: Source::Memory(sorting::map_of(files)) }
    }

    /// Files of a host: downloads, or files that the user gave to a page. `label` names the model in messages.
    pub fn host(
        label: impl Into<String>,
        files: impl IntoIterator<Item = (String, Arc<dyn HostFile>)>,
    ) -> Self {
        Self { label: label.into(), source: Source::Host(sorting::map_of(files)) }
    }

    /// The files of the default model, which is part of the library.
    #[cfg(feature = "embedded-model")]
    pub fn embedded() -> Self {
        Self::memory("built-in:en-de", wordloom_model_en_de::FILES)
    }

    /// Name in messages: the folder's path, or the given label.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Name of a file in messages: `LABEL/NAME`.
    pub fn file_label(&self, name: &str) -> String {
        #[cfg(not(target_arch = "wasm32"))]
        if matches!(self.source, Source::Configuration(_)) {
            return self.label.clone();
        }
        format!("{}/{}", self.label.trim_end_matches('/'), name.escape_debug())
    }

    /// Names of the files, sorted; not of those in folders of the folder.
    pub fn names(&self) -> Result<Vec<String>, ModelError> {
        match &self.source {
            #[cfg(not(target_arch = "wasm32"))]
            Source::Directory(folder) => {
                let io_error = |source| ModelError::Io { file: self.label.clone(), source };
                let mut names = Vec::new();
                for entry in fs::read_dir(folder).map_err(io_error)? {
                    let entry = entry.map_err(io_error)?;
                    // links count, because download caches use them
                    if let (true, Ok(name)) = (entry.path().is_file(), entry.file_name().into_string()) {
                        names.push(name);
                    }
                }
                sorting::sort(&mut names);
                Ok(names)
            }
            #[cfg(not(target_arch = "wasm32"))]
            Source::Configuration(_) => Ok(vec![CONFIGURATION.to_owned()]),
            Source::Memory(files) => Ok(files.keys().cloned().collect()),
            Source::Host(files) => Ok(files.keys().cloned().collect()),
        }
    }

    /// Whether a file is there; `false` for a name that leads out of the folder.
    ///
    /// A link without a target and a file that the system does not show are there: they cannot be read, so
    /// [`ModelFiles::open`] returns an error. Only a name that does not exist is absent.
    pub fn has(&self, name: &str) -> bool {
        match &self.source {
            #[cfg(not(target_arch = "wasm32"))]
            Source::Directory(folder) => {
                let is_absent = |error: &io::Error| {
                    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
                };
                stays_inside(name)
                    && !fs::symlink_metadata(folder.join(name)).is_err_and(|error| is_absent(&error))
            }
            #[cfg(not(target_arch = "wasm32"))]
            Source::Configuration(_) => name == CONFIGURATION,
            Source::Memory(files) => files.contains_key(name),
            Source::Host(files) => files.contains_key(name),
        }
    }

    /// Reads a small file, after a check of its length. Returns [`ModelError::FileTooLarge`] if it is longer than
    /// `limit` bytes; other errors as [`ModelFiles::open`].
    pub fn read(&self, name: &str, limit: u64) -> Result<Cow<'_, [u8]>, ModelError> {
        let file = self.open(name)?;
        if file.len > limit {
            return Err(ModelError::FileTooLarge { file: file.label, bytes: file.len, limit });
        }
        if let Source::Memory(files) = &self.source {
            return Ok(Cow::Borrowed(&files[name]));
        }
        let mut content = vec![0; file.len as usize];
        file.read_at(0, &mut content)?;
        Ok(Cow::Owned(content))
    }

    /// Opens a file to read ranges of it.
    ///
    /// Errors: [`ModelError::MissingFile`], [`ModelError::DanglingLink`], [`ModelError::NotAFile`], [`ModelError::Io`]; [`ModelError::UnsafeName`] if
    /// `name`, which may come from an index file, leads out of the folder.
    pub fn open(&self, name: &str) -> Result<ByteSource, ModelError> {
        if !stays_inside(name) {
            return Err(ModelError::UnsafeName { folder: self.label.clone(), name: name.to_owned() });
        }
        let missing = || ModelError::MissingFile { folder: self.label.clone(), file: name.to_owned() };
        let label = self.file_label(name);
        match &self.source {
            #[cfg(not(target_arch = "wasm32"))]
            Source::Directory(folder) => {
                ByteSource::open(&folder.join(name), label).map_err(|error| match error {
                    ModelError::Io { file, source } if source.kind() == ErrorKind::NotFound => {
                        match fs::read_link(folder.join(name)) {
                            Ok(target) => {
                                ModelError::DanglingLink { file, target: target.display().to_string() }
                            }
                            Err(_) => missing(),
                        }
                    }
                    error => error,
                })
            }
            #[cfg(not(target_arch = "wasm32"))]
            Source::Configuration(path) if name == CONFIGURATION => ByteSource::open(path, label),
            #[cfg(not(target_arch = "wasm32"))]
            Source::Configuration(_) => Err(missing()),
            Source::Memory(files) => {
                let bytes = files.get(name).ok_or_else(missing)?;
                Ok(ByteSource { label, len: bytes.len() as u64, bytes: Bytes::Memory(Arc::clone(bytes)) })
            }
            Source::Host(files) => {
                let file = files.get(name).ok_or_else(missing)?;
                Ok(ByteSource {
                    label,
                    len: file.len(),
                    bytes: Bytes::Host(name.to_owned(), Arc::clone(file)),
                })
            }
        }
    }
}

/// Whether a relative name with forward slashes stays inside its folder on every system: no empty, `.` or `..` part, no
/// drive, no backslash.
pub(super) fn stays_inside(name: &str) -> bool {
    !name.contains(['\\', ':', '\0']) && !name.split('/').any(|part| matches!(part, "" | "." | ".."))
}

/// An open file of a model.
#[derive(Debug)]
pub struct ByteSource {
    label: String,
    len: u64,
    bytes: Bytes,
}

#[derive(Debug)]
enum Bytes {
    /// The lock joins seek and read; it is not held across reads.
    #[cfg(not(target_arch = "wasm32"))]
    File(Mutex<File>),
    Memory(SharedBytes),
    /// A host's file, with its name.
    Host(String, Arc<dyn HostFile>),
}

impl ByteSource {
    #[cfg(not(target_arch = "wasm32"))]
    fn open(path: &Path, label: String) -> Result<Self, ModelError> {
        let io_error = |source| ModelError::Io { file: label.clone(), source };
        // checked first, because opening a named pipe would wait for a writer
        if !fs::metadata(path).map_err(io_error)?.is_file() {
            return Err(ModelError::NotAFile { file: label });
        }
        let file = File::open(path).map_err(io_error)?;
        let len = file.metadata().map_err(io_error)?.len();
        Ok(Self { label, len, bytes: Bytes::File(Mutex::new(file)) })
    }

    /// Bytes in memory; `label` names them in messages.
    pub(super) fn memory(label: impl Into<String>, bytes: Vec<u8>) -> Self {
        let len = bytes.len() as u64;
        Self { label: label.into(), len, bytes: Bytes::Memory(Arc::new(bytes.into())) }
    }

    /// The complete content.
    pub(super) fn into_bytes(self) -> Result<Vec<u8>, ModelError> {
        if let Bytes::Memory(bytes) = self.bytes {
            return Ok(Arc::unwrap_or_clone(bytes).into_owned());
        }
        let mut content = vec![0; self.len as usize];
        self.read_at(0, &mut content)?;
        Ok(content)
    }

    /// Name of the file in messages.
    pub fn label(&self) -> &str {
        &self.label
    }

    /// Length at opening, bytes.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether the file was empty at opening.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Fills `buffer` with the bytes from `offset` on.
    ///
    /// Errors: [`ModelError::FileShrank`] if the file ends too early; [`ModelError::Io`] of the system;
    /// [`ModelError::NotArrived`] and [`ModelError::Host`] of a host.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), ModelError> {
        let end = offset.saturating_add(buffer.len() as u64);
        let shrank = || ModelError::FileShrank { file: self.label.clone(), end };
        match &self.bytes {
            #[cfg(not(target_arch = "wasm32"))]
            Bytes::File(file) => {
                let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
                let read = file.seek(SeekFrom::Start(offset)).and_then(|_| file.read_exact(buffer));
                read.map_err(|source| match source.kind() {
                    ErrorKind::UnexpectedEof => shrank(),
                    _ => ModelError::Io { file: self.label.clone(), source },
                })
            }
            Bytes::Memory(bytes) => {
                let rest =
                    usize::try_from(offset).ok().and_then(|offset| bytes.get(offset..)).unwrap_or_default();
                let range = rest.get(..buffer.len()).ok_or_else(shrank)?;
                buffer.copy_from_slice(range);
                Ok(())
            }
            Bytes::Host(_, file) if end > file.len() => Err(shrank()),
            Bytes::Host(name, file) => file.read_at(offset, buffer).map_err(|error| match error {
                HostFileError::NotArrived => ModelError::NotArrived { file: name.clone(), end },
                HostFileError::Failed(reason) => ModelError::Host { file: self.label.clone(), reason },
            }),
        }
    }
}

/// Whether a folder has a file of a model, in any form: configuration or weights. A command that writes a model there would lose it, or
/// leave it beside the new one.
pub fn has_a_model(folder: &std::path::Path) -> bool {
    let of_a_model = |name: &str| {
        let ends = [".safetensors", ".safetensors.index.json", ".npz"];
        name == "config.json"
            || name.starts_with("pytorch_model")
            || ends.iter().any(|end| name.ends_with(end))
    };
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.into_iter().any(|entry| of_a_model(&entry.file_name().to_string_lossy()))
}

/// Whether a file goes with a model's weights wherever they go: configurations, tokenizers, model cards. Not the record of a training,
/// which belongs to its moments, and not hidden files, which are unfinished.
pub fn is_companion(name: &str) -> bool {
    let ends = [".json", ".spm", ".model", ".txt", ".md"];
    let is_other = name.starts_with('.') || name.ends_with(".index.json") || name == "training.json";
    !is_other && ends.iter().any(|end| name.ends_with(end))
}
