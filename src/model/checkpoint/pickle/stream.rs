//! The bytes of one pickle, read from the file when they are needed.

use std::ops::Range;

use super::invalid;
use crate::model::error::ModelError;
use crate::model::files::ByteSource;

/// Maximum length of a pickle, bytes. A state dict needs about 150 for each tensor.
const PICKLE_LIMIT: usize = 16 << 20;
/// Bytes of the first read.
const FIRST_READ: usize = 1 << 14;

/// Bytes of a pickle, by position in it. Texts stay where they are, so no text is copied however often it is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    start: u32,
    len: u32,
}

impl Span {
    pub fn range(self) -> Range<usize> {
        self.start as usize..self.start as usize + self.len as usize
    }
}

pub struct Stream<'a> {
    file: &'a ByteSource,
    /// Place of the pickle in the file; its end, or the file's.
    place: Range<u64>,
    bytes: Vec<u8>,
    /// Next byte, by position in the pickle.
    at: usize,
}

impl<'a> Stream<'a> {
    pub fn new(file: &'a ByteSource, place: Range<u64>) -> Self {
        Self { file, place, bytes: Vec::new(), at: 0 }
    }

    pub fn invalid(&self, problem: impl AsRef<str>) -> ModelError {
        let at = self.place.start + self.at as u64;
        invalid(self.file, format!("{} (near byte {at})", problem.as_ref()))
    }

    pub fn file(&self) -> &'a ByteSource {
        self.file
    }

    /// Position in the file of the next byte.
    pub fn position(&self) -> u64 {
        self.place.start + self.at as u64
    }

    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }

    pub fn bytes(&self, span: Span) -> &[u8] {
        &self.bytes[span.range()]
    }

    pub fn byte(&mut self) -> Result<u8, ModelError> {
        let [byte] = self.array()?;
        Ok(byte)
    }

    pub fn array<const N: usize>(&mut self) -> Result<[u8; N], ModelError> {
        let span = self.span(N as u64)?;
        Ok(std::array::from_fn(|index| self.bytes[span.start as usize + index]))
    }

    /// The next `len` bytes.
    pub fn span(&mut self, len: u64) -> Result<Span, ModelError> {
        self.fill(len)?;
        let span = Span { start: self.at as u32, len: len as u32 };
        self.at += len as usize;
        Ok(span)
    }

    /// The bytes up to the next line feed, without it.
    pub fn line(&mut self) -> Result<Span, ModelError> {
        /// Longest name that is read, bytes.
        const LONGEST: usize = 1 << 10;
        for len in 0..LONGEST {
            self.fill(len as u64 + 1)?;
            if self.bytes[self.at + len] == b'\n' {
                let span = Span { start: self.at as u32, len: len as u32 };
                self.at += len + 1;
                return Ok(span);
            }
        }
        Err(self.invalid("a name in its pickle is too long"))
    }

    /// Reads at least `len` more bytes, if they are not there yet.
    fn fill(&mut self, len: u64) -> Result<(), ModelError> {
        let needed = (self.at as u64).saturating_add(len);
        if needed <= self.bytes.len() as u64 {
            return Ok(());
        }
        let all = self.place.end - self.place.start;
        if needed > all {
            return Err(self.invalid("its pickle ends in the middle of a value; the file may be incomplete"));
        }
        if needed > PICKLE_LIMIT as u64 {
            let problem =
                format!("its pickle is longer than {PICKLE_LIMIT} bytes, more than a state dict needs");
            return Err(self.invalid(problem));
        }
        // ahead, because a read costs more than bytes; never beyond what is needed for a value that has to arrive
        let ahead = (self.bytes.len() * 2).max(FIRST_READ).max(needed as usize).min(PICKLE_LIMIT);
        let had = self.bytes.len();
        for end in [all.min(ahead as u64), needed] {
            self.bytes.resize(end as usize, 0);
            match self.file.read_at(self.place.start + had as u64, &mut self.bytes[had..]) {
                Err(ModelError::NotArrived { .. }) if end > needed => {}
                Err(error) => {
                    self.bytes.truncate(had);
                    return Err(error);
                }
                Ok(()) => return Ok(()),
            }
        }
        Ok(())
    }
}
