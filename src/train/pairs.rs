//! Sentence pairs from files, and the pairs that training and dev data share.

use std::collections::{BTreeSet, HashSet};
use std::io::{self, BufRead, Read};

use unicode_segmentation::UnicodeSegmentation;

use crate::readable::{counted, grouped};

/// A sentence and its translation, without white space at either end.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct SentencePair {
    /// The sentence to translate.
    pub source: String,
    /// Its translation.
    pub target: String,
}

/// Options of the readers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PairsOptions {
    /// Limit on a line, bytes.
    pub line_bytes: usize,
    /// Limit on all lines of one file, bytes after decompression. A small compressed file can hold any amount of text.
    pub text_bytes: u64,
    /// Whether columns after the second are ignored. Else they are an error.
    pub ignore_columns: bool,
    /// Tags of the rows to take. A third column is then a row's tag; rows without one are taken, too. Without tags here, a
    /// third column is one of the further ones.
    pub tags: Vec<String>,
}

impl Default for PairsOptions {
    fn default() -> Self {
        Self { line_bytes: 64 << 10, text_bytes: 8 << 30, ignore_columns: false, tags: Vec::new() }
    }
}

/// The side of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Side {
    /// The sentence to translate.
    Source,
    /// The translation.
    Target,
}

impl std::fmt::Display for Side {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.write_str(match self {
            Self::Source => "source",
            Self::Target => "target",
        })
    }
}

/// The reason why pairs could not be read. Lines count from 1.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum PairsError {
    #[error("cannot read {file}: {source}")]
    Io { file: String, source: io::Error },
    #[error("{file}: there are no pairs; each line is a pair: SOURCE TAB TARGET")]
    NoPairs { file: String },
    #[error("{file}, line {line}: there is one column; a line is a pair: SOURCE TAB TARGET")]
    OneColumn { file: String, line: usize },
    #[error(
        "{file}, line {line}: there are {columns} columns; a line is a pair: SOURCE TAB TARGET; remove the others, \
         ignore them (--ignore-columns), or name the tags to take (--tags), if the third one is a tag"
    )]
    Columns { file: String, line: usize, columns: usize },
    #[error("{file}, line {line}: the {side} is empty; remove the pair")]
    EmptySide { file: String, line: usize, side: Side },
    #[error("{file}, line {line}: longer than the limit of {limit} bytes; split or remove it")]
    LongLine { file: String, line: usize, limit: usize },
    #[error("{file}: holds more than the limit of {limit} bytes of text; split it")]
    LongText { file: String, limit: u64 },
    #[error("{file}: is {form}; make it UTF-8, as it is or compressed with gzip")]
    Form { file: String, form: &'static str },
    #[error("{file}, line {line}: contains a NUL character; remove it")]
    Nul { file: String, line: usize },
    #[error(
        "{file}, line {line}: contains a tab; a file of one language has one sentence on a line, without tabs. Tables of pairs \
         are given one by one: --pairs A --pairs B"
    )]
    Tab { file: String, line: usize },
    #[error("{file}, line {line}: byte {byte} of the line is not UTF-8; convert the file to UTF-8")]
    NotUtf8 { file: String, line: usize, byte: usize },
    #[error(
        "{source_file} has {}, but {target_file} has {}; line N of one is the translation of \
         line N of the other",
        counted(*source_lines, "line"),
        grouped(target_lines)
    )]
    LineCounts { source_file: String, source_lines: usize, target_file: String, target_lines: usize },
}

/// Forms of files that are not read, and how each begins.
#[cfg(not(target_arch = "wasm32"))]
const FORMS: [(&[u8], &str); 5] = [
    (&[0xff, 0xfe], "UTF-16"),
    (&[0xfe, 0xff], "UTF-16"),
    (&[0x28, 0xb5, 0x2f, 0xfd], "compressed with zstd"),
    (b"BZh", "compressed with bzip2"),
    (&[0xfd, b'7', b'z', b'X', b'Z'], "compressed with xz"),
];

/// The pairs of a file, and its tags.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rows {
    /// The pairs that were taken.
    pub pairs: Vec<SentencePair>,
    /// The tags of all rows, if some were asked for.
    pub tags: BTreeSet<String>,
}

/// Reads pairs from lines `SOURCE TAB TARGET`. `file` is the name in messages.
///
/// White space at the ends of a side is removed, and so is a byte order mark.
///
/// # Errors
/// [`PairsError`], with the first line that is no pair.
pub fn read_tsv(
    file: &str,
    reader: impl BufRead,
    options: &PairsOptions,
) -> Result<Vec<SentencePair>, PairsError> {
    read_rows(file, reader, options).map(|rows| rows.pairs)
}

/// Reads pairs as [`read_tsv`], and the tags that the file has. No row may have been taken.
///
/// # Errors
/// [`PairsError`]
pub fn read_rows(file: &str, reader: impl BufRead, options: &PairsOptions) -> Result<Rows, PairsError> {
    let mut lines = Lines::new(file, reader, options);
    let mut rows = Rows::default();
    while let Some((line, text)) = lines.next()? {
        let mut columns = text.split('\t');
        let (source, target) = (columns.next().unwrap_or_default(), columns.next());
        let tag = if options.tags.is_empty() { None } else { columns.next().map(str::trim) };
        let further = columns.count();
        let file = file.to_owned();
        let Some(target) = target else { return Err(PairsError::OneColumn { file, line }) };
        if further > 0 && !options.ignore_columns {
            let columns = 2 + usize::from(tag.is_some()) + further;
            return Err(PairsError::Columns { file, line, columns });
        }
        if let Some(tag) = tag {
            if !rows.tags.contains(tag) {
                rows.tags.insert(tag.to_owned());
            }
            if !options.tags.iter().any(|wanted| wanted == tag) {
                continue;
            }
        }
        let source = side((&file, line), Side::Source, source)?;
        rows.pairs.push(SentencePair { source, target: side((&file, line), Side::Target, target)? });
    }
    match rows.pairs.is_empty() && rows.tags.is_empty() {
        true => Err(PairsError::NoPairs { file: file.to_owned() }),
        false => Ok(rows),
    }
}

/// Reads pairs from two files, of which line N of one is the translation of line N of the other. Each file comes with its
/// name in messages.
///
/// # Errors
/// [`PairsError`], with the first line that is no sentence, or with both numbers of lines.
pub fn read_two(
    (source_file, source): (&str, impl BufRead),
    (target_file, target): (&str, impl BufRead),
    options: &PairsOptions,
) -> Result<Vec<SentencePair>, PairsError> {
    let mut sources = Lines::new(source_file, source, options);
    let mut targets = Lines::new(target_file, target, options);
    let mut pairs = Vec::new();
    loop {
        match (sources.next()?, targets.next()?) {
            (Some((line, source)), Some((_, target))) => pairs.push(SentencePair {
                source: sentence((source_file, line), Side::Source, source)?,
                target: sentence((target_file, line), Side::Target, target)?,
            }),
            (None, None) => break,
            _ => {
                return Err(PairsError::LineCounts {
                    source_file: source_file.to_owned(),
                    source_lines: sources.count()?,
                    target_file: target_file.to_owned(),
                    target_lines: targets.count()?,
                });
            }
        }
    }
    match pairs.is_empty() {
        true => Err(PairsError::NoPairs { file: source_file.to_owned() }),
        false => Ok(pairs),
    }
}

/// Opens a file and reads pairs from it as [`read_tsv`]. A file that begins as gzip does is decompressed.
///
/// # Errors
/// [`PairsError`]
#[cfg(not(target_arch = "wasm32"))]
pub fn load_tsv(path: &std::path::Path, options: &PairsOptions) -> Result<Vec<SentencePair>, PairsError> {
    read_tsv(&path.display().to_string(), open(path)?, options)
}

/// Opens a file and reads pairs and tags from it as [`read_rows`]. A file that begins as gzip does is decompressed.
///
/// # Errors
/// [`PairsError`]
#[cfg(not(target_arch = "wasm32"))]
pub fn load_rows(path: &std::path::Path, options: &PairsOptions) -> Result<Rows, PairsError> {
    read_rows(&path.display().to_string(), open(path)?, options)
}

/// Opens two files and reads pairs from them as [`read_two`]. A file that begins as gzip does is decompressed.
///
/// # Errors
/// [`PairsError`]
#[cfg(not(target_arch = "wasm32"))]
pub fn load_two(
    source: &std::path::Path,
    target: &std::path::Path,
    options: &PairsOptions,
) -> Result<Vec<SentencePair>, PairsError> {
    let (source_reader, target_reader) = (open(source)?, open(target)?);
    let names = [source, target].map(|path| path.display().to_string());
    read_two((&names[0], source_reader), (&names[1], target_reader), options)
}

#[cfg(not(target_arch = "wasm32"))]
fn open(path: &std::path::Path) -> Result<Box<dyn BufRead>, PairsError> {
    let failed = |source| PairsError::Io { file: path.display().to_string(), source };
    let mut file = io::BufReader::with_capacity(1 << 16, std::fs::File::open(path).map_err(failed)?);
    // by content: downloads often have another name
    let begin = file.fill_buf().map_err(failed)?;
    let is_gzip = begin.starts_with(&[0x1f, 0x8b]);
    if let Some((_, form)) = FORMS.into_iter().find(|(bytes, _)| begin.starts_with(bytes)) {
        return Err(PairsError::Form { file: path.display().to_string(), form });
    }
    Ok(match is_gzip {
        true => Box::new(io::BufReader::new(flate2::bufread::MultiGzDecoder::new(file))),
        false => Box::new(file),
    })
}

/// Training pairs without those that a dev set has.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WithoutOverlap {
    /// The remaining pairs, in their order.
    pub pairs: Vec<SentencePair>,
    /// Number of removed pairs.
    pub removed: usize,
}

/// Removes the training pairs whose source the dev set has, too: the same words, in lower case and without punctuation. A model
/// that has seen the answers would score too well.
pub fn without_overlap(train: Vec<SentencePair>, dev: &[SentencePair]) -> WithoutOverlap {
    let held: HashSet<String> = dev.iter().map(|pair| words(&pair.source)).collect();
    let before = train.len();
    let mut pairs = train;
    pairs.retain(|pair| !held.contains(&words(&pair.source)));
    WithoutOverlap { removed: before - pairs.len(), pairs }
}

/// The words of a text in lower case; the text itself if it has none.
fn words(text: &str) -> String {
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.unicode_words().collect();
    if words.is_empty() { lower } else { words.join(" ") }
}

/// One side of a pair, without white space at its ends.
fn side((file, line): (&str, usize), side: Side, text: &str) -> Result<String, PairsError> {
    match text.trim() {
        "" => Err(PairsError::EmptySide { file: file.to_owned(), line, side }),
        text => Ok(text.to_owned()),
    }
}

/// A line of a file of one language.
fn sentence((file, line): (&str, usize), which: Side, text: &str) -> Result<String, PairsError> {
    if text.trim().contains('\t') {
        return Err(PairsError::Tab { file: file.to_owned(), line });
    }
    side((file, line), which, text)
}

/// The lines of a file, within limits.
struct Lines<'a, R> {
    file: &'a str,
    reader: R,
    options: &'a PairsOptions,
    /// Number of the last line.
    line: usize,
    /// Bytes read so far.
    read: u64,
    buffer: Vec<u8>,
}

impl<'a, R: BufRead> Lines<'a, R> {
    fn new(file: &'a str, reader: R, options: &'a PairsOptions) -> Self {
        Self { file, reader, options, line: 0, read: 0, buffer: Vec::new() }
    }

    /// The next line with its number and without its end, after all checks of a line.
    fn next(&mut self) -> Result<Option<(usize, &str)>, PairsError> {
        if !self.fill()? {
            return Ok(None);
        }
        let (file, line) = (|| self.file.to_owned(), self.line);
        if self.buffer.contains(&0) {
            return Err(PairsError::Nul { file: file(), line });
        }
        let text = std::str::from_utf8(&self.buffer).map_err(|error| PairsError::NotUtf8 {
            file: file(),
            line,
            byte: error.valid_up_to() + 1,
        })?;
        let text = if line == 1 { text.strip_prefix('\u{feff}').unwrap_or(text) } else { text };
        Ok(Some((line, text)))
    }

    /// Number of lines, after reading the rest of them.
    fn count(mut self) -> Result<usize, PairsError> {
        while self.fill()? {}
        Ok(self.line)
    }

    /// Reads a line into the buffer, without its end. Returns whether there was one.
    fn fill(&mut self) -> Result<bool, PairsError> {
        self.buffer.clear();
        let limit = self.options.line_bytes;
        // two more bytes, for the line's end
        let mut rest = self.reader.by_ref().take(limit as u64 + 2);
        let read = rest.read_until(b'\n', &mut self.buffer);
        let read = read.map_err(|source| PairsError::Io { file: self.file.to_owned(), source })?;
        if read == 0 {
            return Ok(false);
        }
        self.line += 1;
        self.read += read as u64;
        if self.read > self.options.text_bytes {
            let (file, limit) = (self.file.to_owned(), self.options.text_bytes);
            return Err(PairsError::LongText { file, limit });
        }
        if self.buffer.ends_with(b"\n") {
            self.buffer.pop();
        }
        if self.buffer.ends_with(b"\r") {
            self.buffer.pop();
        }
        match self.buffer.len() > limit {
            true => Err(PairsError::LongLine { file: self.file.to_owned(), line: self.line, limit }),
            false => Ok(true),
        }
    }
}
