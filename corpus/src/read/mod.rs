//! Reads a file in parts, each of so many rows.

mod lines;
mod parquet;
mod table;

use std::fs::File;
use std::io::{self, BufReader, Cursor, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_schema::Schema;
use serde_json::value::{Map, Value};

use super::error::CorpusError;
use super::format::Format;
use super::rows::{BadRow, Rows, is_text};
use lines::{JsonLines, Lines};
use table::Table;

/// Rows of a chunk.
const CHUNK: usize = 4096;
/// Bytes after which a chunk of long rows is complete. Like the number of its rows, this does not depend on where reading began:
/// a resumed run cuts alike.
const CHUNK_BYTES: usize = 4 << 20;
/// Bytes after which a part of long rows is complete.
const PART_BYTES: usize = 64 << 20;
/// Bytes of the longest line. A longer one is no row.
const MAX_LINE: u64 = 64 << 20;
/// What some programs write before the first line of UTF-8. It is no text.
const MARK: [u8; 3] = [0xEF, 0xBB, 0xBF];

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
    rows: Chunks,
    /// A chunk that was read to see whether there is one.
    next: Option<Chunk>,
    total: Total,
    /// The columns; `None` for JSON Lines, which have none.
    schema: Option<Arc<Schema>>,
}

type Chunks = Box<dyn Iterator<Item = Result<Chunk, CorpusError>> + Send>;

/// Rows with those that could not be read, together at most [`CHUNK`].
pub struct Chunk {
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
            return parquet::open(name, file, wanted, skip);
        }
        let bytes = file.metadata().map_or(0, |found| found.len());
        let read = Arc::new(AtomicU64::new(0));
        let counted = Counted { file, read: Arc::clone(&read) };
        let plain: Box<dyn Read + Send> = match gzip {
            true => Box::new(flate2::read::MultiGzDecoder::new(BufReader::with_capacity(1 << 18, counted))),
            false => Box::new(counted),
        };
        let plain =
            without_mark(plain).map_err(|source| CorpusError::io(format!("cannot read {name}"), source))?;
        let lines =
            |plain| Lines { file: name.clone(), reader: BufReader::with_capacity(1 << 18, plain), row: 0 };
        let table = match format {
            Format::JsonLines => Err(JsonLines::new(lines(plain), wanted)),
            Format::Csv => Ok(Table::csv(&name, plain, wanted)?),
            _ => Ok(Table::plain(lines(plain), format, wanted)?),
        };
        let schema = table.as_ref().ok().map(Table::schema);
        let rows: Chunks = match table {
            Ok(table) => Box::new(table),
            Err(objects) => Box::new(objects),
        };
        let mut source = Self { name, rows, next: None, total: Total::Bytes { all: bytes, read }, schema };
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

    /// The columns; `None` for JSON Lines.
    pub fn schema(&self) -> Option<&Schema> {
        self.schema.as_deref()
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

/// Bytes of a file without the mark before them.
fn without_mark(mut reader: Box<dyn Read + Send>) -> io::Result<Box<dyn Read + Send>> {
    let mut start = Vec::new();
    (&mut reader).take(MARK.len() as u64).read_to_end(&mut start)?;
    Ok(if start == MARK { reader } else { Box::new(Cursor::new(start).chain(reader)) })
}

/// Rows of a chunk: a part of few rows has chunks as small, and a larger one a whole number of them, so it may have some rows more.
fn chunk_rows(wanted: &Wanted<'_>) -> usize {
    let chunks = wanted.rows.div_ceil(CHUNK);
    wanted.rows.div_ceil(chunks.max(1))
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
