//! Lines of text, and objects of JSON Lines.

use std::collections::HashMap;
use std::io::{BufRead, Read};

use serde_json::value::RawValue;

use super::{CHUNK_BYTES, Chunk, MAX_LINE, Wanted, chunk_rows};
use crate::error::CorpusError;
use crate::rows::{BadRow, JsonRow, Rows};

/// Lines of a text file.
pub struct Lines<R> {
    pub file: String,
    pub reader: R,
    /// Number of the last line.
    pub row: u64,
}

impl<R: BufRead> Lines<R> {
    /// The next line without its end; bytes that are not UTF-8 are a bad row.
    pub fn next(&mut self) -> Result<Option<Result<String, BadRow>>, CorpusError> {
        let mut line = Vec::new();
        let read = (&mut self.reader).take(MAX_LINE).read_until(b'\n', &mut line);
        let bytes = read.map_err(|source| CorpusError::io(format!("cannot read {}", self.file), source))?;
        if bytes == 0 {
            return Ok(None);
        }
        self.row += 1;
        if line.last() != Some(&b'\n') && bytes as u64 == MAX_LINE {
            let problem = format!("row {} is longer than {MAX_LINE} bytes; is this a corpus?", self.row);
            return Err(CorpusError::Convert { file: self.file.clone(), problem });
        }
        for end in [b'\n', b'\r'] {
            line.pop_if(|last| *last == end);
        }
        Ok(Some(String::from_utf8(line).map_err(|error| {
            let reason = format!("not UTF-8 at byte {}", error.utf8_error().valid_up_to() + 1);
            self.bad(reason, String::from_utf8_lossy(error.as_bytes()).into_owned())
        })))
    }

    fn bad(&self, reason: String, content: String) -> BadRow {
        BadRow { file: self.file.clone(), row: self.row, reason, content }
    }
}

/// Rows of JSON Lines.
pub struct JsonLines<R> {
    lines: Lines<R>,
    column: String,
    added: Vec<String>,
    most: usize,
}

impl<R: BufRead> JsonLines<R> {
    pub fn new(lines: Lines<R>, wanted: &Wanted<'_>) -> Self {
        let (column, added) = (wanted.column.to_owned(), wanted.added.to_vec());
        Self { lines, column, added, most: chunk_rows(wanted) }
    }

    fn row(&self, line: String) -> Result<JsonRow, BadRow> {
        let object = line.trim();
        let bad = |reason: String| self.lines.bad(reason, line.clone());
        let fields: HashMap<String, Box<RawValue>> =
            serde_json::from_str(object).map_err(|error| bad(format!("no JSON object: {error}")))?;
        if let Some(taken) = self.added.iter().find(|name| fields.contains_key(*name)) {
            return Err(bad(format!(
                "has a field {taken:?} already; give the new one another name with --into"
            )));
        }
        let value = fields.get(&self.column).ok_or_else(|| bad(format!("has no field {:?}", self.column)))?;
        let text = serde_json::from_str(value.get())
            .map_err(|_| bad(format!("field {:?} is no text", self.column)))?;
        Ok(JsonRow { object: object.to_owned(), text })
    }
}

impl<R: BufRead> Iterator for JsonLines<R> {
    type Item = Result<Chunk, CorpusError>;

    fn next(&mut self) -> Option<Self::Item> {
        let (mut rows, mut bad, mut bytes) = (Vec::new(), Vec::new(), 0);
        while rows.len() + bad.len() < self.most && bytes < CHUNK_BYTES {
            match self.lines.next() {
                Err(error) => return Some(Err(error)),
                Ok(None) => break,
                Ok(Some(Ok(line))) if line.trim().is_empty() => {}
                Ok(Some(line)) => match line.and_then(|line| self.row(line)) {
                    Ok(row) => {
                        bytes += row.object.len() + row.text.as_ref().map_or(0, String::len);
                        rows.push(row);
                    }
                    Err(row) => {
                        bytes += row.content.len();
                        bad.push(row);
                    }
                },
            }
        }
        let is_end = rows.is_empty() && bad.is_empty();
        (!is_end).then_some(Ok(Chunk { rows: Rows::Json(rows), bad, bytes }))
    }
}
