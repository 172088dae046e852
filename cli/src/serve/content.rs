//! The content of a path: its bytes, and the tag by which a browser detects changes.

use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, ErrorKind};
use std::ops::Range;
use std::path::Path;
use std::time::UNIX_EPOCH;

use hyper::body::Bytes;

use super::body::AnswerBody;

pub struct Content {
    source: Source,
    pub len: u64,
    /// A strong entity tag, with quotes: equal tags mean equal bytes.
    pub tag: String,
}

enum Source {
    Memory(Bytes),
    File(File),
}

/// Bytes that are part of the binary.
#[derive(Clone)]
pub struct Embedded {
    bytes: Bytes,
    tag: String,
}

impl Embedded {
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        // Not a cryptographic hash: it only distinguishes files of different builds.
        let mut hasher = DefaultHasher::new();
        hasher.write(&bytes);
        let tag = format!("\"{:016x}\"", hasher.finish());
        Self { bytes, tag }
    }
}

impl From<&Embedded> for Content {
    fn from(Embedded { bytes, tag }: &Embedded) -> Self {
        Self { len: bytes.len() as u64, tag: tag.clone(), source: Source::Memory(bytes.clone()) }
    }
}

impl Content {
    /// A regular file, or a link to one; `None` if there is none.
    pub fn file(path: &Path) -> io::Result<Option<Self>> {
        match Self::open(path) {
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => Ok(None),
            other => other,
        }
    }

    fn open(path: &Path) -> io::Result<Option<Self>> {
        // Before opening, because opening a named pipe would wait for a writer.
        if !fs::metadata(path)?.is_file() {
            return Ok(None);
        }
        let file = File::open(path)?;
        let found = file.metadata()?;
        let modified = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let (len, modified) = (found.len(), modified.unwrap_or_default().as_nanos());
        Ok(Some(Self { source: Source::File(file), len, tag: format!("\"{len:x}-{modified:x}\"") }))
    }

    /// The bytes of `range`, which is within the length.
    pub fn part(self, range: Range<u64>) -> io::Result<AnswerBody> {
        match self.source {
            Source::Memory(bytes) => {
                Ok(AnswerBody::bytes(bytes.slice(range.start as usize..range.end as usize)))
            }
            Source::File(file) => AnswerBody::file(file, range),
        }
    }
}
