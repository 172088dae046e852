//! The body of an answer.

use std::fs::File;
use std::future::Future as _;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::pin::Pin;
use std::task::{Context, Poll};

use hyper::body::{Body, Bytes, Frame, SizeHint};
use tokio::task::{JoinHandle, spawn_blocking};

/// Bytes of a file that are held in memory.
const CHUNK: u64 = 256 << 10;

pub enum AnswerBody {
    /// Bytes in memory; `None` after they were sent.
    Memory(Option<Bytes>),
    File(FilePart),
}

/// The remaining part of an open file.
pub struct FilePart {
    state: State,
    left: u64,
}

enum State {
    Idle(File),
    Reading(JoinHandle<io::Result<(File, Bytes)>>),
    Failed,
}

impl AnswerBody {
    pub fn empty() -> Self {
        Self::Memory(None)
    }

    pub fn bytes(bytes: impl Into<Bytes>) -> Self {
        let bytes = bytes.into();
        Self::Memory((!bytes.is_empty()).then_some(bytes))
    }

    pub fn file(mut file: File, range: Range<u64>) -> io::Result<Self> {
        file.seek(SeekFrom::Start(range.start))?;
        Ok(Self::File(FilePart { state: State::Idle(file), left: range.end - range.start }))
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        match &mut *self {
            Self::Memory(bytes) => Poll::Ready(bytes.take().map(|bytes| Ok(Frame::data(bytes)))),
            Self::File(part) => {
                part.poll_chunk(context).map(|chunk| chunk.map(|bytes| bytes.map(Frame::data)))
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.left() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left())
    }
}

impl AnswerBody {
    fn left(&self) -> u64 {
        match self {
            Self::Memory(bytes) => bytes.as_ref().map_or(0, |bytes| bytes.len() as u64),
            Self::File(part) => part.left,
        }
    }
}

impl FilePart {
    /// An error closes the connection, so that the browser detects a file that has shrunk.
    fn poll_chunk(&mut self, context: &mut Context<'_>) -> Poll<Option<io::Result<Bytes>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        // A disk may be slow, so files are read on the runtime's blocking threads.
        let mut reading = match std::mem::replace(&mut self.state, State::Failed) {
            State::Idle(file) => {
                let length = self.left.min(CHUNK) as usize;
                spawn_blocking(move || read(file, length))
            }
            State::Reading(reading) => reading,
            State::Failed => return Poll::Ready(None),
        };
        let Poll::Ready(finished) = Pin::new(&mut reading).poll(context) else {
            self.state = State::Reading(reading);
            return Poll::Pending;
        };
        let chunk = finished.map_err(io::Error::other).flatten().map(|(file, bytes)| {
            self.state = State::Idle(file);
            self.left -= bytes.len() as u64;
            bytes
        });
        Poll::Ready(Some(chunk))
    }
}

fn read(mut file: File, length: usize) -> io::Result<(File, Bytes)> {
    let mut bytes = vec![0; length];
    file.read_exact(&mut bytes)?;
    Ok((file, bytes.into()))
}
