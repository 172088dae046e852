//! Tables of texts: CSV, TSV, and lines.

use std::io::{self, BufRead, Read};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};

use super::lines::Lines;
use super::{CHUNK_BYTES, Chunk, MAX_LINE, Wanted, check_columns, chunk_rows};
use crate::error::CorpusError;
use crate::format::Format;
use crate::rows::{BadRow, Rows};

/// The values of a row, or the reason why there are none.
type Record = Result<Vec<String>, BadRow>;
/// Gives the records of a file, one after the other.
type Records = Box<dyn FnMut() -> Result<Option<Record>, CorpusError> + Send>;

/// Rows of CSV, TSV and lines: every value is a text, so that none changes.
pub struct Table {
    file: String,
    schema: Arc<Schema>,
    records: Records,
    /// Number of the last row, the line of names not counted.
    row: u64,
    most: usize,
}

impl Table {
    pub fn csv(file: &str, reader: Box<dyn Read + Send>, wanted: &Wanted<'_>) -> Result<Self, CorpusError> {
        let (left, is_open) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicBool::new(false)));
        let limited =
            Limited { reader, left: Arc::clone(&left), place: Place::Start, is_open: Arc::clone(&is_open) };
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(limited);
        let name = file.to_owned();
        let records = move || {
            let mut record = csv::ByteRecord::new();
            left.store(MAX_LINE, Ordering::Relaxed);
            let refused =
                |error: csv::Error| CorpusError::io(format!("cannot read {name}"), io::Error::other(error));
            if !reader.read_byte_record(&mut record).map_err(refused)? {
                return Ok(None);
            }
            let bad = |reason: String, between: &str| {
                let values = record.iter().map(String::from_utf8_lossy).collect::<Vec<_>>();
                BadRow { file: name.clone(), row: 0, reason, content: values.join(between) }
            };
            if is_open.load(Ordering::Relaxed) {
                let line = record.position().map_or(0, csv::Position::line);
                let problem =
                    format!("a quote is not closed, so the row, from line {line}, has the rest of the file");
                return Ok(Some(Err(bad(problem, ","))));
            }
            let values = record.iter().map(|value| std::str::from_utf8(value).map(str::to_owned));
            Ok(Some(values.collect::<Result<Vec<_>, _>>().map_err(|_| bad("not UTF-8".into(), "\t"))))
        };
        Self::new(file, Box::new(records), wanted)
    }

    pub fn plain(
        mut lines: Lines<impl BufRead + Send + 'static>,
        format: Format,
        wanted: &Wanted<'_>,
    ) -> Result<Self, CorpusError> {
        let file = lines.file.clone();
        let split = move |line: String| match format {
            Format::Tsv => line.split('\t').map(str::to_owned).collect(),
            _ => vec![line],
        };
        let mut name = (format == Format::Lines).then(|| vec![Format::LINE.to_owned()]);
        let records = move || match name.take() {
            Some(name) => Ok(Some(Ok(name))),
            None => Ok(lines.next()?.map(|line| line.map(split))),
        };
        let header = wanted.header || format == Format::Lines;
        Self::new(&file, Box::new(records), &Wanted { header, ..*wanted })
    }

    fn new(file: &str, mut records: Records, wanted: &Wanted<'_>) -> Result<Self, CorpusError> {
        let first = records()?.unwrap_or_else(|| Ok(Vec::new())).map_err(|bad| CorpusError::Convert {
            file: file.to_owned(),
            problem: format!("its first line cannot be read: {}", bad.reason),
        })?;
        let (names, mut pending) = match wanted.header {
            true => (first, None),
            false => ((1..=first.len()).map(|number| number.to_string()).collect(), Some(first)),
        };
        let fields: Vec<Field> =
            names.into_iter().map(|name| Field::new(name, DataType::Utf8, true)).collect();
        let schema = Arc::new(Schema::new(fields));
        check_columns(file, &schema, wanted)?;
        let records = move || match pending.take() {
            Some(first) => Ok(Some(Ok(first))),
            None => records(),
        };
        let file = file.to_owned();
        Ok(Self { file, schema, records: Box::new(records), row: 0, most: chunk_rows(wanted) })
    }

    pub fn schema(&self) -> Arc<Schema> {
        Arc::clone(&self.schema)
    }

    /// The next row, or the reason why it is none.
    fn row(&mut self) -> Result<Option<Record>, CorpusError> {
        let Some(record) = (self.records)()? else { return Ok(None) };
        self.row += 1;
        let (row, fields) = (self.row, self.schema.fields().len());
        Ok(Some(match record {
            Ok(values) if values.len() == fields => Ok(values),
            Ok(values) => Err(BadRow {
                file: self.file.clone(),
                row,
                reason: format!("has {} values, not {fields}", values.len()),
                content: values.join("\t"),
            }),
            Err(bad) => Err(BadRow { row, ..bad }),
        }))
    }
}

impl Iterator for Table {
    type Item = Result<Chunk, CorpusError>;

    fn next(&mut self) -> Option<Self::Item> {
        let mut columns: Vec<Vec<String>> = vec![Vec::new(); self.schema.fields().len()];
        let (mut count, mut bad, mut bytes) = (0, Vec::new(), 0);
        while count + bad.len() < self.most && bytes < CHUNK_BYTES {
            match self.row() {
                Err(error) => return Some(Err(error)),
                Ok(None) => break,
                Ok(Some(Err(row))) => {
                    bytes += row.content.len();
                    bad.push(row);
                }
                Ok(Some(Ok(values))) => {
                    bytes += values.iter().map(String::len).sum::<usize>();
                    columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
                    count += 1;
                }
            }
        }
        if count + bad.len() == 0 {
            return None;
        }
        let arrays = columns.into_iter().map(|column| Arc::new(StringArray::from(column)) as ArrayRef);
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), arrays.collect());
        Some(Ok(Chunk { rows: Rows::Table(batch.expect("columns of one length")), bad, bytes }))
    }
}

/// Where a reader of CSV is.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    /// Before a value.
    Start,
    /// In a value without quotes, or after the quote that closes one.
    Plain,
    /// Between quotes.
    Quoted,
    /// After a quote between quotes: it closes the value, or is the first of two.
    Quote,
}

impl Place {
    /// The place after a byte, as the crate `csv` reads it.
    fn after(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Quoted, b'"') => Self::Quote,
            (Self::Quoted, _) | (Self::Start | Self::Quote, b'"') => Self::Quoted,
            (_, b',' | b'\n' | b'\r') => Self::Start,
            _ => Self::Plain,
        }
    }
}

/// A reader that refuses a row without end, as an unclosed quote makes it.
struct Limited {
    reader: Box<dyn Read + Send>,
    /// Bytes that the row may still take.
    left: Arc<AtomicU64>,
    place: Place,
    /// Whether the file ended between quotes, which the crate `csv` takes for an end of the row.
    is_open: Arc<AtomicBool>,
}

impl Read for Limited {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.reader.read(buffer)?;
        let before = self.left.load(Ordering::Relaxed);
        let Some(left) = before.checked_sub(bytes as u64) else {
            let problem = format!("a row is longer than {MAX_LINE} bytes; is a quote left open?");
            return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
        };
        self.left.store(left, Ordering::Relaxed);
        self.place = buffer[..bytes].iter().fold(self.place, |place, byte| place.after(*byte));
        self.is_open.store(bytes == 0 && self.place == Place::Quoted, Ordering::Relaxed);
        Ok(bytes)
    }
}
