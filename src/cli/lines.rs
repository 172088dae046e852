//! Lines of text from a file or standard input, some at a time.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::Path;

use super::CliError;

pub struct Lines {
    name: String,
    reader: Box<dyn BufRead>,
    number: usize,
    /// Bytes in the file, where that is known, for progress.
    pub bytes: Option<u64>,
    pub bytes_read: u64,
}

impl Lines {
    /// A file, or standard input where there is none.
    pub fn open(path: Option<&Path>) -> Result<Self, CliError> {
        let Some(path) = path else {
            let reader = Box::new(BufReader::new(io::stdin()));
            return Ok(Self { name: "standard input".into(), reader, number: 0, bytes: None, bytes_read: 0 });
        };
        let name = path.display().to_string();
        let open = || {
            let file = File::open(path)?;
            let metadata = file.metadata()?;
            if metadata.is_dir() {
                return Err(io::Error::new(io::ErrorKind::IsADirectory, "is a folder, not a text file"));
            }
            Ok((file, metadata.len()))
        };
        match open() {
            Ok((file, bytes)) => {
                let reader = Box::new(BufReader::new(file));
                Ok(Self { name, reader, number: 0, bytes: Some(bytes), bytes_read: 0 })
            }
            Err(source) => Err(CliError::Io { what: format!("cannot read {name}"), source }),
        }
    }

    /// The next line without its end, and its number; `None` at the end of the input.
    pub fn next(&mut self) -> Result<Option<(usize, String)>, CliError> {
        let mut line = Vec::new();
        let read = self
            .reader
            .read_until(b'\n', &mut line)
            .map_err(|source| CliError::Io { what: format!("cannot read {}", self.name), source })?;
        if read == 0 {
            return Ok(None);
        }
        self.number += 1;
        self.bytes_read += read as u64;
        if line.last() == Some(&b'\n') {
            line.pop();
        }
        match String::from_utf8(line) {
            Ok(line) => Ok(Some((self.number, line))),
            Err(error) => Err(CliError::Input(format!(
                "{}, line {}: not UTF-8 at byte {}; convert it, for example with iconv",
                self.name,
                self.number,
                error.utf8_error().valid_up_to() + 1
            ))),
        }
    }

    /// `name, line N`, for messages.
    pub fn place(&self, number: usize) -> String {
        format!("{}, line {number}", self.name)
    }
}
