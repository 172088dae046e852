//! The content of a path, and its entity tag.

use std::borrow::Cow;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hasher};
use std::io::{self, ErrorKind, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::time::UNIX_EPOCH;

use axum::body::{Body, Bytes};
use tokio::io::AsyncReadExt;
use tokio_util::io::ReaderStream;

/// Bytes of a file held in memory.
const CHUNK: usize = 256 << 10;

pub struct Content {
    source: Source,
    pub len: u64,
    /// Strong entity tag, with quotes: equal tags mean equal bytes.
    pub tag: String,
}

enum Source {
    Memory(Bytes),
    File(File),
}

#[derive(Clone)]
pub struct Embedded {
    bytes: Bytes,
    tag: String,
}

impl Embedded {
    pub fn new(bytes: Cow<'static, [u8]>) -> Self {
        let bytes = match bytes {
            Cow::Borrowed(bytes) => Bytes::from_static(bytes),
            Cow::Owned(bytes) => bytes.into(),
        };
        // Not cryptographic: it distinguishes files of different builds.
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
        // Checked first, because opening a named pipe would wait for a writer.
        if !fs::metadata(path)?.is_file() {
            return Ok(None);
        }
        let file = File::open(path)?;
        let found = file.metadata()?;
        let modified = found.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
        let (len, modified) = (found.len(), modified.unwrap_or_default().as_nanos());
        Ok(Some(Self { source: Source::File(file), len, tag: format!("\"{len:x}-{modified:x}\"") }))
    }

    /// Bytes of `range`, within the length. If the file shrinks meanwhile, the connection closes, which the browser
    /// detects.
    pub fn part(self, range: Range<u64>) -> io::Result<Body> {
        match self.source {
            Source::Memory(bytes) => Ok(bytes.slice(range.start as usize..range.end as usize).into()),
            Source::File(mut file) => {
                file.seek(SeekFrom::Start(range.start))?;
                let part = tokio::fs::File::from_std(file).take(range.end - range.start);
                Ok(Body::from_stream(ReaderStream::with_capacity(part, CHUNK)))
            }
        }
    }
}
