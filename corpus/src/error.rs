//! Errors of a run over a corpus.

use super::files::first;
use super::format::Format;

/// The reason why a corpus cannot be translated.
#[derive(Debug, thiserror::Error)]
pub enum CorpusError {
    /// The ending of the name tells no format.
    #[error(
        "{file}: its ending is of no known format; known are {}, all but parquet also with .gz",
        Format::endings()
    )]
    UnknownFormat {
        /// The file.
        file: String,
    },
    /// Parquet compresses its own pages.
    #[error("{file}: a Parquet file cannot be read through gzip; decompress it first")]
    CompressedParquet {
        /// The file.
        file: String,
    },
    /// There is nothing to translate.
    #[error("{folder} has no file of a known format; known are {}{}", Format::endings(), unread(folders))]
    NoFiles {
        /// The folder.
        folder: String,
        /// Its subfolders, which are not read.
        folders: Vec<String>,
    },
    /// A file or folder cannot be read or written.
    #[error("{what}: {source}")]
    Io {
        /// What was tried.
        what: String,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A Parquet file is damaged, or uses what this reader lacks.
    #[error("{file}: no readable Parquet: {problem}")]
    Parquet {
        /// The file.
        file: String,
        /// The reader's reason.
        problem: String,
    },
    /// The file has no such column.
    #[error("{file} has no column {column:?}; it has {}", list(names))]
    NoColumn {
        /// The file.
        file: String,
        /// The column that was asked for.
        column: String,
        /// The columns that there are.
        names: Vec<String>,
    },
    /// The column holds something else than text.
    #[error("{file}: column {column:?} has values of type {kind}, not text")]
    NotText {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// Its Arrow type.
        kind: String,
    },
    /// The new column's name is taken.
    #[error("{file} has a column {column:?} already; give the new one another name with --into")]
    ColumnExists {
        /// The file.
        file: String,
        /// The column.
        column: String,
    },
    /// The new column has no name.
    #[error("--into is empty; give the column of the translations a name")]
    NoName,
    /// The format of the output has no place for a column.
    #[error("{file}: column {column:?} of type {kind} cannot be written as {}; {}", format.ending(), way_out(others))]
    Column {
        /// The file.
        file: String,
        /// The column.
        column: String,
        /// Its Arrow type.
        kind: String,
        /// The format.
        format: Format,
        /// The formats that hold all columns of the file.
        others: Vec<Format>,
    },
    /// Rows of one format cannot be written in the other.
    #[error("{file}: {problem}")]
    Convert {
        /// The file.
        file: String,
        /// The reason, and the way out.
        problem: String,
    },
    /// The output folder holds something else.
    #[error("{folder} is not empty, and no run of corpus wrote it; choose another folder")]
    OtherFolder {
        /// The folder.
        folder: String,
    },
    /// The output folder holds a run already.
    #[error("{folder} holds a run already; --resume goes on with it, or choose another folder")]
    RunExists {
        /// The folder.
        folder: String,
    },
    /// Another process writes the folder.
    #[error("another run is writing {folder}")]
    Locked {
        /// The folder.
        folder: String,
    },
    /// A resumed run differs from the one that was begun.
    #[error(
        "{name} was {before} when {folder} was begun, and is {now} now; take the same, or another folder"
    )]
    Setting {
        /// The folder.
        folder: String,
        /// The option or input.
        name: String,
        /// Its value in the record.
        before: String,
        /// Its value now.
        now: String,
    },
    /// A file was written after the run began, though its size and its samples are the same.
    #[error(
        "{file} has changed since {folder} was begun: its time was {before}, and is {now}; begin again in another folder, \
         or, if only the time is another because it was copied, give it back with touch -d {before}"
    )]
    Changed {
        /// The number and the name of the file.
        file: String,
        /// The folder.
        folder: String,
        /// Its time in the record, in seconds since 1970.
        before: String,
        /// Its time now.
        now: String,
    },
    /// A record of the run is damaged.
    #[error("{file} is damaged: {problem}; remove {folder} and begin again")]
    Record {
        /// The record.
        file: String,
        /// What is wrong.
        problem: String,
        /// The output folder.
        folder: String,
    },
    /// The store of finished translations failed.
    #[error("{file}: {problem}")]
    Store {
        /// The store.
        file: String,
        /// SQLite's reason.
        problem: String,
    },
    /// The run was asked to stop. What is committed stays.
    #[error("interrupted; --resume goes on")]
    Cancelled,
    /// A translator failed.
    #[error("{0}")]
    Translate(Box<dyn std::error::Error + Send + Sync>),
}

impl CorpusError {
    pub(crate) fn io(what: impl Into<String>, source: std::io::Error) -> Self {
        Self::Io { what: what.into(), source }
    }
}

/// What to do about a column that a format cannot hold.
fn way_out(others: &[Format]) -> String {
    match others {
        [] => "no other format holds it either, so leave the column out of the file".into(),
        others => {
            let names: Vec<&str> = others.iter().map(|format| format.ending()).collect();
            format!("write {} with --format", names.join(" or "))
        }
    }
}

/// What to do about subfolders.
fn unread(folders: &[String]) -> String {
    match folders {
        [] => String::new(),
        folders => {
            format!("; its subfolders are not read, so name them as inputs of their own: {}", first(folders))
        }
    }
}

/// The first names of many.
fn list(names: &[String]) -> String {
    const SHOWN: usize = 12;
    let some = names.iter().take(SHOWN).map(|name| format!("{name:?}")).collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => "none".into(),
        count if count > SHOWN => format!("{some} and {} more", count - SHOWN),
        _ => some,
    }
}
