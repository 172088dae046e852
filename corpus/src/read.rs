//! Reads a file in parts, each of so many rows.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::{ArrayRef, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema};
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};
use serde_json::value::{Map, RawValue, Value};

use super::error::CorpusError;
use super::format::Format;
use super::rows::{BadRow, JsonRow, Rows, is_text};

/// Rows of a chunk.
const CHUNK: usize = 4096;
/// Bytes after which a part of long rows is complete. The rule does not depend on where reading began, so a resumed run cuts alike.
const PART_BYTES: usize = 64 << 20;
/// Bytes of the longest line. A longer one is no row.
const MAX_LINE: u64 = 64 << 20;

/// What is read of a file.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    /// The column to translate.
    pub column: &'a str,
    /// Names of the columns that are added.
    pub added: &'a [String],
    /// Whether the first line of CSV and TSV has names; else columns are called 1, 2, 3 and so on.
    pub header: bool,
    /// Most rows of a part.
    pub rows: usize,
}

/// Rows that follow one another in a file.
pub struct Piece {
    pub chunks: Vec<Rows>,
    pub bad: Vec<BadRow>,
    /// Number of rows, bad ones included.
    pub rows: u64,
    /// Share of the file up to its end.
    pub fraction: f64,
    /// Whether the file ends with it.
    pub is_last: bool,
}

/// An open file.
pub struct Source {
    name: String,
    rows: Box<dyn Iterator<Item = Result<Chunk, CorpusError>> + Send>,
    /// A chunk that was read to see whether there is one.
    next: Option<Chunk>,
    total: Total,
}

/// Rows with those that could not be read, together at most [`CHUNK`].
struct Chunk {
    rows: Rows,
    bad: Vec<BadRow>,
    bytes: usize,
}

impl Chunk {
    fn len(&self) -> usize {
        self.rows.len() + self.bad.len()
    }
}

/// The length of a file, in rows or in bytes.
enum Total {
    Rows { all: u64, read: u64 },
    Bytes { all: u64, read: Arc<AtomicU64> },
}

impl Source {
    /// Opens a file after its first `skip` rows.
    pub fn open(path: &Path, wanted: &Wanted<'_>, skip: u64) -> Result<Self, CorpusError> {
        let (format, gzip) = Format::of(path)?;
        let name = path.display().to_string();
        let file =
            File::open(path).map_err(|source| CorpusError::io(format!("cannot read {name}"), source))?;
        if format == Format::Parquet {
            return parquet(name, file, wanted, skip);
        }
        let bytes = file.metadata().map_or(0, |found| found.len());
        let read = Arc::new(AtomicU64::new(0));
        let counted = Counted { file, read: Arc::clone(&read) };
        let plain: Box<dyn Read + Send> = match gzip {
            true => Box::new(flate2::read::MultiGzDecoder::new(BufReader::with_capacity(1 << 18, counted))),
            false => Box::new(counted),
        };
        let lines =
            |plain| Lines { file: name.clone(), reader: BufReader::with_capacity(1 << 18, plain), row: 0 };
        let rows: Box<dyn Iterator<Item = Result<Chunk, CorpusError>> + Send> = match format {
            Format::JsonLines => Box::new(JsonLines::new(lines(plain), wanted)),
            Format::Csv => Box::new(Table::csv(&name, plain, wanted)?),
            _ => Box::new(Table::plain(lines(plain), format, wanted)?),
        };
        let mut source = Self { name, rows, next: None, total: Total::Bytes { all: bytes, read } };
        source.skip(skip)?;
        Ok(source)
    }

    /// Passes over rows. Parts end where chunks do, so no chunk is cut.
    fn skip(&mut self, rows: u64) -> Result<(), CorpusError> {
        let mut left = rows;
        while left > 0 {
            let changed = || CorpusError::Convert {
                file: self.name.clone(),
                problem: "has other rows than before; begin again in another folder".into(),
            };
            let chunk = self.rows.next().transpose()?.ok_or_else(changed)?;
            left = left.checked_sub(chunk.len() as u64).ok_or_else(changed)?;
        }
        Ok(())
    }

    /// The next part; `None` at the end. An empty file has one empty part.
    pub fn piece(&mut self, most: usize) -> Result<Piece, CorpusError> {
        let mut piece = Piece { chunks: Vec::new(), bad: Vec::new(), rows: 0, fraction: 1.0, is_last: false };
        let mut bytes = 0;
        let mut chunk = match self.next.take() {
            Some(chunk) => Some(chunk),
            None => self.rows.next().transpose()?,
        };
        while let Some(read) = chunk {
            bytes += read.bytes;
            piece.rows += read.len() as u64;
            piece.bad.extend(read.bad);
            piece.chunks.push(read.rows);
            chunk = self.rows.next().transpose()?;
            if piece.rows >= most as u64 || bytes >= PART_BYTES {
                break;
            }
        }
        piece.is_last = chunk.is_none();
        self.next = chunk;
        self.total.add(piece.rows);
        piece.fraction = if piece.is_last { 1.0 } else { self.fraction() };
        Ok(piece)
    }

    /// Share of the file that was read.
    pub fn fraction(&self) -> f64 {
        self.total.fraction()
    }
}

impl Total {
    fn add(&mut self, rows: u64) {
        if let Self::Rows { read, .. } = self {
            *read += rows;
        }
    }

    fn fraction(&self) -> f64 {
        let (all, read) = match self {
            Self::Rows { all, read } => (*all, *read),
            Self::Bytes { all, read } => (*all, read.load(Ordering::Relaxed)),
        };
        (read as f64 / all.max(1) as f64).min(1.0)
    }
}

/// A file that counts the bytes that were read.
struct Counted {
    file: File,
    read: Arc<AtomicU64>,
}

impl Read for Counted {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let bytes = self.file.read(buffer)?;
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
        Ok(bytes)
    }
}

/// Rows of a chunk: a part of few rows has chunks as small, and a larger one a whole number of them, so it may have some rows more.
fn chunk_rows(wanted: &Wanted<'_>) -> usize {
    let chunks = wanted.rows.div_ceil(CHUNK);
    wanted.rows.div_ceil(chunks.max(1))
}

fn parquet(name: String, file: File, wanted: &Wanted<'_>, skip: u64) -> Result<Source, CorpusError> {
    let refused = |problem: String| CorpusError::Parquet { file: name.clone(), problem };
    let builder =
        ParquetRecordBatchReaderBuilder::try_new(file).map_err(|error| refused(error.to_string()))?;
    check_columns(&name, builder.schema(), wanted)?;
    let all = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or_default();
    let offset = usize::try_from(skip).unwrap_or(usize::MAX);
    let reader = builder.with_batch_size(chunk_rows(wanted)).with_offset(offset).build();
    let reader = reader.map_err(|error| refused(error.to_string()))?;
    let rows = Batches { file: name.clone(), reader };
    Ok(Source {
        name: name.clone(),
        rows: Box::new(rows),
        next: None,
        total: Total::Rows { all, read: skip },
    })
}

fn check_columns(file: &str, schema: &Schema, wanted: &Wanted<'_>) -> Result<(), CorpusError> {
    let (file, column) = (file.to_owned(), wanted.column.to_owned());
    let Some((_, field)) = schema.column_with_name(wanted.column) else {
        let names = schema.fields().iter().map(|field| field.name().clone()).collect();
        return Err(CorpusError::NoColumn { file, column, names });
    };
    if !is_text(field.data_type()) {
        return Err(CorpusError::NotText { file, column, kind: field.data_type().to_string() });
    }
    match wanted.added.iter().find(|name| schema.column_with_name(name).is_some()) {
        Some(taken) => Err(CorpusError::ColumnExists { file, column: taken.clone() }),
        None => Ok(()),
    }
}

/// Record batches of a Parquet file.
struct Batches {
    file: String,
    reader: ParquetRecordBatchReader,
}

impl Iterator for Batches {
    type Item = Result<Chunk, CorpusError>;

    fn next(&mut self) -> Option<Self::Item> {
        let batch = self.reader.next()?;
        Some(match batch {
            Ok(batch) => {
                let bytes = batch.get_array_memory_size();
                Ok(Chunk { rows: Rows::Table(batch), bad: Vec::new(), bytes })
            }
            Err(error) => Err(CorpusError::Parquet { file: self.file.clone(), problem: error.to_string() }),
        })
    }
}

/// Lines of a text file.
struct Lines<R> {
    file: String,
    reader: R,
    /// Number of the last line.
    row: u64,
}

impl<R: BufRead> Lines<R> {
    /// The next line without its end; bytes that are not UTF-8 are a bad row.
    fn next(&mut self) -> Result<Option<Result<String, BadRow>>, CorpusError> {
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
        while line.last().is_some_and(|end| [b'\n', b'\r'].contains(end)) {
            line.pop();
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
struct JsonLines<R> {
    lines: Lines<R>,
    column: String,
    added: Vec<String>,
    most: usize,
}

impl<R: BufRead> JsonLines<R> {
    fn new(lines: Lines<R>, wanted: &Wanted<'_>) -> Self {
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
        while rows.len() + bad.len() < self.most {
            match self.lines.next() {
                Err(error) => return Some(Err(error)),
                Ok(None) => break,
                Ok(Some(Ok(line))) if line.trim().is_empty() => {}
                Ok(Some(line)) => match line.and_then(|line| self.row(line)) {
                    Ok(row) => {
                        bytes += row.object.len() + row.text.as_ref().map_or(0, String::len);
                        rows.push(row);
                    }
                    Err(row) => bad.push(row),
                },
            }
        }
        let is_end = rows.is_empty() && bad.is_empty();
        (!is_end).then_some(Ok(Chunk { rows: Rows::Json(rows), bad, bytes }))
    }
}

/// The values of a row, or the reason why there are none.
type Record = Result<Vec<String>, BadRow>;
/// Gives the records of a file, one after the other.
type Records = Box<dyn FnMut() -> Result<Option<Record>, CorpusError> + Send>;

/// Rows of CSV, TSV and lines: every value is a text, so that none changes.
struct Table {
    file: String,
    schema: Arc<Schema>,
    records: Records,
    /// Number of the last row, the line of names not counted.
    row: u64,
    most: usize,
}

impl Table {
    fn csv(file: &str, reader: Box<dyn Read + Send>, wanted: &Wanted<'_>) -> Result<Self, CorpusError> {
        let left = Arc::new(AtomicU64::new(0));
        let limited = Limited { reader, left: Arc::clone(&left) };
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
            let values = record.iter().map(|value| std::str::from_utf8(value).map(str::to_owned));
            Ok(Some(values.collect::<Result<Vec<_>, _>>().map_err(|_| BadRow {
                file: name.clone(),
                row: 0,
                reason: "not UTF-8".into(),
                content: String::from_utf8_lossy(record.as_slice()).into_owned(),
            })))
        };
        Self::new(file, Box::new(records), wanted)
    }

    fn plain(
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
            problem: format!("its first line is {}", bad.reason),
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
        while count + bad.len() < self.most {
            match self.row() {
                Err(error) => return Some(Err(error)),
                Ok(None) => break,
                Ok(Some(Err(row))) => bad.push(row),
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

/// A reader that refuses a row without end, as an unclosed quote makes it.
struct Limited {
    reader: Box<dyn Read + Send>,
    /// Bytes that the row may still take.
    left: Arc<AtomicU64>,
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
        Ok(bytes)
    }
}

/// Looks at the first rows of JSON Lines. A field that none of them has is a wrong name, not a file of bad rows.
pub fn check_fields(path: &Path, wanted: &Wanted<'_>) -> Result<(), CorpusError> {
    let piece = Source::open(path, &Wanted { rows: 100, ..*wanted }, 0)?.piece(100)?;
    let Some(first) = piece.bad.first().filter(|_| piece.chunks.iter().all(|rows| rows.len() == 0)) else {
        return Ok(());
    };
    let fields: Map<String, Value> = serde_json::from_str(&first.content).unwrap_or_default();
    let file = path.display().to_string();
    let lacks = |row: &BadRow| {
        serde_json::from_str::<Map<String, Value>>(&row.content)
            .is_ok_and(|fields| !fields.contains_key(wanted.column))
    };
    if piece.bad.iter().all(lacks) {
        let names = fields.keys().cloned().collect();
        return Err(CorpusError::NoColumn { file, column: wanted.column.to_owned(), names });
    }
    match wanted.added.iter().find(|name| fields.contains_key(*name)) {
        Some(taken) => Err(CorpusError::ColumnExists { file, column: taken.clone() }),
        None => Ok(()),
    }
}

/// The files of a corpus, those of folders in the order of their names.
pub fn files(inputs: &[PathBuf]) -> Result<Vec<PathBuf>, CorpusError> {
    let mut files = Vec::new();
    for input in inputs {
        let unreadable = |source| CorpusError::io(format!("cannot read {}", input.display()), source);
        if !std::fs::metadata(input).map_err(unreadable)?.is_dir() {
            Format::of(input)?;
            files.push(input.clone());
            continue;
        }
        let mut found = Vec::new();
        for entry in input.read_dir().map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // what engines put beside their data: _SUCCESS, .part.crc
            let is_hidden = name.starts_with(['_', '.']);
            if !is_hidden && path.is_file() && Format::of(&path).is_ok() {
                found.push(path);
            }
        }
        if found.is_empty() {
            return Err(CorpusError::NoFiles { folder: input.display().to_string() });
        }
        found.sort();
        files.extend(found);
    }
    Ok(files)
}
