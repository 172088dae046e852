//! API keys and suggestions in SQLite: the tables of LibreTranslate, whose files open here unchanged.

use std::fs::OpenOptions;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use rusqlite::{Connection, OptionalExtension, params};

use super::super::CliError;

/// Limits of a key.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KeyLimits {
    /// Requests in a minute.
    pub requests: u64,
    /// Characters of a text, if not the server's.
    pub characters: Option<usize>,
}

pub struct Keys(Table);

pub struct Suggestions(Table);

struct Table {
    path: PathBuf,
    connection: Mutex<Connection>,
}

impl Table {
    fn open(path: &Path, create: &str) -> Result<Self, CliError> {
        let failed = |error| failed(path, &error);
        make_private(path)?;
        let connection = Connection::open(path).map_err(failed)?;
        connection.busy_timeout(std::time::Duration::from_secs(5)).map_err(failed)?;
        connection.execute_batch(create).map_err(failed)?;
        Ok(Self { path: path.to_owned(), connection: Mutex::new(connection) })
    }

    fn connection(&self) -> MutexGuard<'_, Connection> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self, error: &rusqlite::Error) -> CliError {
        failed(&self.path, error)
    }
}

/// Makes a file that does not exist, for its owner alone: keys stand in it as they are.
fn make_private(path: &Path) -> Result<(), CliError> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    match options.open(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            Err(CliError::Input(format!("{}: {error}", path.display())))
        }
        _ => Ok(()),
    }
}

fn failed(path: &Path, error: &rusqlite::Error) -> CliError {
    CliError::Input(format!("{}: {error}", path.display()))
}

impl Keys {
    /// Opens a file, or makes it.
    pub fn open(path: &Path) -> Result<Self, CliError> {
        let create = r#"CREATE TABLE IF NOT EXISTS api_keys (
            "api_key" TEXT NOT NULL, "req_limit" INTEGER NOT NULL, "char_limit" INTEGER DEFAULT NULL,
            PRIMARY KEY("api_key"));"#;
        Ok(Self(Table::open(path, create)?))
    }

    /// The limits of a key. `None` if it is unknown.
    pub fn find(&self, key: &str) -> Result<Option<KeyLimits>, CliError> {
        let connection = self.0.connection();
        let mut statement = connection
            .prepare_cached("SELECT req_limit, char_limit FROM api_keys WHERE api_key = ?1")
            .map_err(|error| self.0.failed(&error))?;
        let found = statement.query_row([key], |row| {
            let (requests, characters): (i64, Option<i64>) = (row.get(0)?, row.get(1)?);
            Ok(KeyLimits {
                requests: u64::try_from(requests).unwrap_or(0),
                characters: characters.and_then(|most| usize::try_from(most).ok()).filter(|&most| most > 0),
            })
        });
        found.optional().map_err(|error| self.0.failed(&error))
    }

    /// Adds a key, or changes its limits.
    pub fn add(&self, key: &str, limits: KeyLimits) -> Result<(), CliError> {
        let KeyLimits { requests, characters } = limits;
        let characters = characters.map(|most| most as i64);
        let added = self.0.connection().execute(
            "INSERT OR REPLACE INTO api_keys (api_key, req_limit, char_limit) VALUES (?1, ?2, ?3)",
            params![key, requests as i64, characters],
        );
        added.map(|_| ()).map_err(|error| self.0.failed(&error))
    }

    /// Removes a key. Returns whether it was there.
    pub fn remove(&self, key: &str) -> Result<bool, CliError> {
        let removed = self.0.connection().execute("DELETE FROM api_keys WHERE api_key = ?1", [key]);
        removed.map(|count| count > 0).map_err(|error| self.0.failed(&error))
    }

    /// All keys in order.
    pub fn list(&self) -> Result<Vec<(String, KeyLimits)>, CliError> {
        let keys: Vec<String> = {
            let connection = self.0.connection();
            let read = || {
                let mut statement = connection.prepare("SELECT api_key FROM api_keys ORDER BY api_key")?;
                statement.query_map([], |row| row.get(0))?.collect::<Result<_, _>>()
            };
            read().map_err(|error| self.0.failed(&error))?
        };
        let with_limits = keys.into_iter().map(|key| Ok(self.find(&key)?.map(|limits| (key, limits))));
        with_limits.filter_map(Result::transpose).collect()
    }
}

impl Suggestions {
    /// Opens a file, or makes it.
    pub fn open(path: &Path) -> Result<Self, CliError> {
        let create = r#"CREATE TABLE IF NOT EXISTS suggestions (
            "q" TEXT NOT NULL, "s" TEXT NOT NULL, "source" TEXT NOT NULL, "target" TEXT NOT NULL);"#;
        Ok(Self(Table::open(path, create)?))
    }

    /// Keeps a better translation `[text, translation, source, target]`.
    pub fn add(&self, suggestion: [&str; 4]) -> Result<(), CliError> {
        let added = self.0.connection().execute(
            "INSERT INTO suggestions (q, s, source, target) VALUES (?1, ?2, ?3, ?4)",
            params![suggestion[0], suggestion[1], suggestion[2], suggestion[3]],
        );
        added.map(|_| ()).map_err(|error| self.0.failed(&error))
    }
}

/// Glossaries of clients, in the file of the keys.
pub struct KeptGlossaries(Table);

/// A glossary as it is kept.
#[derive(Clone, Debug, PartialEq)]
pub struct KeptGlossary {
    pub id: String,
    pub name: String,
    /// Codes of the source's and of the target's language.
    pub languages: [String; 2],
    /// Its lines.
    pub text: String,
    /// Time at which it was made, as RFC 3339 has it.
    pub created: String,
}

impl KeptGlossaries {
    /// Opens a file, or makes it.
    pub fn open(path: &Path) -> Result<Self, CliError> {
        let create = r#"CREATE TABLE IF NOT EXISTS glossaries (
            "id" TEXT NOT NULL, "owner" TEXT NOT NULL, "name" TEXT NOT NULL, "source" TEXT NOT NULL,
            "target" TEXT NOT NULL, "entries" TEXT NOT NULL, "created" TEXT NOT NULL, PRIMARY KEY("id"));"#;
        Ok(Self(Table::open(path, create)?))
    }

    /// The ids of a client's glossaries, the oldest first.
    pub fn ids(&self, owner: &str) -> Result<Vec<String>, CliError> {
        let connection = self.0.connection();
        let read = || {
            let mut statement =
                connection.prepare_cached("SELECT id FROM glossaries WHERE owner = ?1 ORDER BY rowid")?;
            statement.query_map([owner], |row| row.get(0))?.collect::<Result<_, _>>()
        };
        read().map_err(|error| self.0.failed(&error))
    }

    /// A client's glossary.
    pub fn find(&self, owner: &str, id: &str) -> Result<Option<KeptGlossary>, CliError> {
        let connection = self.0.connection();
        let read = || {
            let mut statement = connection.prepare_cached(
                "SELECT name, source, target, entries, created FROM glossaries WHERE owner = ?1 AND id = ?2",
            )?;
            let found = statement.query_row([owner, id], |row| {
                Ok(KeptGlossary {
                    id: id.to_owned(),
                    name: row.get(0)?,
                    languages: [row.get(1)?, row.get(2)?],
                    text: row.get(3)?,
                    created: row.get(4)?,
                })
            });
            found.optional()
        };
        read().map_err(|error| self.0.failed(&error))
    }

    pub fn add(&self, owner: &str, glossary: &KeptGlossary) -> Result<(), CliError> {
        let KeptGlossary { id, name, languages: [source, target], text, created } = glossary;
        let added = self.0.connection().execute(
            "INSERT INTO glossaries (id, owner, name, source, target, entries, created)
             VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7)",
            params![id, owner, name, source, target, text, created],
        );
        added.map(|_| ()).map_err(|error| self.0.failed(&error))
    }

    /// Removes a client's glossary. Returns whether it was there.
    pub fn remove(&self, owner: &str, id: &str) -> Result<bool, CliError> {
        let removed =
            self.0.connection().execute("DELETE FROM glossaries WHERE owner = ?1 AND id = ?2", [owner, id]);
        removed.map(|count| count > 0).map_err(|error| self.0.failed(&error))
    }
}

/// A new key: 16 random bytes, as a UUID is written.
pub fn random_key() -> Result<String, CliError> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)
        .map_err(|error| CliError::Input(format!("the system gives no random bytes: {error}")))?;
    bytes[6] = bytes[6] & 0x0f | 0x40; // version 4
    bytes[8] = bytes[8] & 0x3f | 0x80;
    let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    Ok([&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-"))
}
