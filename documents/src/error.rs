//! Errors of documents.

use super::format::Format;

/// The reason why a document cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// The ending of the name tells no format.
    #[error("{name}: its ending is of no known format; known are {}", Format::endings())]
    UnknownFormat {
        /// Name of the file.
        name: String,
    },
    /// The file is neither text in UTF-8 nor in UTF-16 with a byte-order mark.
    #[error(
        "not UTF-8, or UTF-16 with a byte-order mark, at byte {byte}; convert it, for example with iconv"
    )]
    NotText {
        /// Place of the first wrong byte, from 1.
        byte: usize,
    },
    /// The file breaks the rules of its format.
    #[error("no valid {format}: {problem}")]
    Invalid {
        /// Name of the format.
        format: &'static str,
        /// The broken rule, with its place.
        problem: String,
    },
    /// The file is larger, or grows larger, than the limit.
    #[error("{what} has more than {limit} bytes, which is the limit")]
    TooLarge {
        /// The file, or its part.
        what: String,
        /// Limit in bytes.
        limit: u64,
    },
    /// A part of a package cannot be trusted.
    #[error("{part}: {problem}")]
    Refused {
        /// Name of the part.
        part: String,
        /// The reason.
        problem: &'static str,
    },
    /// A table has no such column.
    #[error("there is no column {column}; the first row has {columns}")]
    NoColumn {
        /// The asked column.
        column: String,
        /// Columns of the first row.
        columns: String,
    },
    /// The number of translations is not the number of units.
    #[error("{given} translations were given for {needed} texts")]
    Count {
        /// Number of translations.
        given: usize,
        /// Number of units.
        needed: usize,
    },
}

impl DocumentError {
    pub(crate) fn invalid(format: &'static str, problem: impl Into<String>) -> Self {
        Self::Invalid { format, problem: problem.into() }
    }
}
