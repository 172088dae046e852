//! Formats of corpus files, by their endings.

use std::path::Path;

use super::error::CorpusError;

/// A format of rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Apache Parquet.
    Parquet,
    /// An object a line.
    JsonLines,
    /// RFC 4180, with a line of names.
    Csv,
    /// Values between tabs, with a line of names and without quotes.
    Tsv,
    /// A text a line: one column, `text`.
    Lines,
}

impl Format {
    /// Name of the only column of [`Format::Lines`].
    pub const LINE: &str = "text";

    const ENDINGS: [(&str, Self); 6] = [
        ("parquet", Self::Parquet),
        ("jsonl", Self::JsonLines),
        ("ndjson", Self::JsonLines),
        ("csv", Self::Csv),
        ("tsv", Self::Tsv),
        ("txt", Self::Lines),
    ];

    /// The format of a file name, which may end in `.gz` after the ending; and whether it does.
    ///
    /// # Errors
    /// The ending is of no known format.
    pub fn of(path: &Path) -> Result<(Self, bool), CorpusError> {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_lowercase();
        let (plain, gzip) = name.strip_suffix(".gz").map_or((&*name, false), |plain| (plain, true));
        let known = plain.rsplit_once('.').and_then(|(_, ending)| Self::named(ending));
        match known {
            Some(Self::Parquet) if gzip => {
                Err(CorpusError::CompressedParquet { file: path.display().to_string() })
            }
            Some(format) => Ok((format, gzip)),
            None => Err(CorpusError::UnknownFormat { file: path.display().to_string() }),
        }
    }

    /// The format with this ending.
    #[must_use]
    pub fn named(ending: &str) -> Option<Self> {
        Self::ENDINGS.iter().find(|(known, _)| *known == ending).map(|(_, format)| *format)
    }

    /// Its ending.
    #[must_use]
    pub fn ending(self) -> &'static str {
        Self::ENDINGS.iter().find(|(_, format)| *format == self).map_or("", |(ending, _)| ending)
    }

    /// The format that a file's rows are written in, if no other is asked for. Lines have no place for a second column.
    #[must_use]
    pub fn of_output(self) -> Self {
        if self == Self::Lines { Self::JsonLines } else { self }
    }

    /// All endings, for messages.
    #[must_use]
    pub fn endings() -> String {
        Self::ENDINGS.map(|(ending, _)| ending).join(", ")
    }
}
