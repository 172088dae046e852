//! Finished translations on disk, so that a text is translated once in a run, also after a crash.
//!
//! The store holds facts only: a text and its translation under the run's settings. If it is lost, nothing is wrong; work is
//! done again.

use std::hash::Hasher;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use rusqlite::{Connection, OptionalExtension, params};
use siphasher::sip128::{Hasher128, SipHasher13};

use super::error::CorpusError;
use super::job::Translated;

/// A text's hash. Of 10¹² texts, two have the same one with a probability of 10⁻¹⁵.
pub type Key = [u8; 16];

/// Hashes a text.
pub fn key(text: &str) -> Key {
    let mut hasher = SipHasher13::new();
    hasher.write(text.as_bytes());
    hasher.finish128().as_bytes()
}

pub struct Store {
    path: PathBuf,
    connection: Mutex<Connection>,
}

/// A translation of the store, and the part that asked for it first.
pub struct Stored {
    pub translated: Translated,
    pub part: i64,
}

/// Memory of SQLite's pages, in KiB.
const CACHE: i64 = 64 << 10;

impl Store {
    /// Opens the store, or begins one. A damaged one is begun again.
    pub fn open(path: &Path) -> Result<Self, CorpusError> {
        let connection = connect(path).or_else(|_| {
            remove(path);
            connect(path)
        });
        let path = path.to_owned();
        match connection {
            Ok(connection) => Ok(Self { path, connection: Mutex::new(connection) }),
            Err(error) => Err(refused(&path, &error)),
        }
    }

    /// The translation of a text, if it is there.
    pub fn get(&self, key: &Key) -> Result<Option<Stored>, CorpusError> {
        let connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let find = || {
            let mut find = connection.prepare_cached(
                "select translation, trust, source_tokens, tokens, cut, part from texts where key = ?1",
            )?;
            let stored = |row: &rusqlite::Row<'_>| {
                Ok(Stored {
                    translated: Translated {
                        text: row.get(0)?,
                        trust: row.get(1)?,
                        source_tokens: row.get(2)?,
                        tokens: row.get(3)?,
                        cut: row.get(4)?,
                    },
                    part: row.get(5)?,
                })
            };
            find.query_row([key], stored).optional()
        };
        find().map_err(|error| refused(&self.path, &error))
    }

    /// Keeps the translations of a window together.
    pub fn put(&self, part: i64, window: &[(Key, &Translated)]) -> Result<(), CorpusError> {
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        let mut keep = || {
            let transaction = connection.transaction()?;
            let mut add = transaction
                .prepare_cached("insert or ignore into texts values (?1, ?2, ?3, ?4, ?5, ?6, ?7)")?;
            for (key, found) in window {
                let Translated { text, trust, source_tokens, tokens, cut } = found;
                add.execute(params![key, text, trust, source_tokens, tokens, cut, part])?;
            }
            drop(add);
            transaction.commit()
        };
        keep().map_err(|error| refused(&self.path, &error))
    }

    /// Removes the store: the output has everything.
    pub fn remove(self) {
        drop(self.connection);
        remove(&self.path);
    }
}

fn connect(path: &Path) -> rusqlite::Result<Connection> {
    let connection = Connection::open(path)?;
    connection.pragma_update(None, "journal_mode", "wal")?;
    connection.pragma_update(None, "synchronous", "normal")?;
    connection.pragma_update(None, "cache_size", -CACHE)?;
    connection.execute_batch(
        "create table if not exists texts (key blob primary key, translation text not null, trust real, \
         source_tokens integer not null, tokens integer not null, cut integer not null, part integer not null) \
         without rowid, strict",
    )?;
    Ok(connection)
}

fn remove(path: &Path) {
    for ending in ["", "-wal", "-shm"] {
        let mut name = path.as_os_str().to_owned();
        name.push(ending);
        let _ = std::fs::remove_file(name); // a leftover only takes space
    }
}

fn refused(path: &Path, error: &rusqlite::Error) -> CorpusError {
    CorpusError::Store { file: path.display().to_string(), problem: error.to_string() }
}
