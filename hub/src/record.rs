//! Wordloom's notes on a fetched repository: what the hub's cache has no place for.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::HubError;

/// The notes on one commit.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Record {
    /// Licence on the model's page.
    pub licence: Option<String>,
    /// Languages on the model's page.
    pub languages: Vec<String>,
    /// Published hash of each fetched file.
    pub files: BTreeMap<String, String>,
}

impl Record {
    /// Reads notes; `None` if there are none, or damaged ones.
    pub fn read(path: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(path).ok()?).ok()
    }

    /// Writes notes.
    pub fn write(&self, path: &Path) -> Result<(), HubError> {
        let text = serde_json::to_vec_pretty(self).expect("texts only");
        write_at_once(path, &text)
    }
}

/// Place of the notes on a commit.
pub fn place(own: &Path, folder: &str, commit: &str) -> PathBuf {
    own.join("hub").join(folder).join(format!("{commit}.json"))
}

/// A text of a publisher without control characters, which a terminal would obey.
pub fn plain(text: &str) -> String {
    text.chars().filter(|character| !character.is_control()).collect()
}

/// Writes a small file so that a reader sees all of it or nothing.
pub fn write_at_once(path: &Path, content: &[u8]) -> Result<(), HubError> {
    let failed = |error| HubError::io("write", path, error);
    // a folder that cannot be written is no hindrance if nothing is to be written
    if fs::read(path).is_ok_and(|old| old == content) {
        return Ok(());
    }
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(failed)?;
    }
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new = path.with_file_name(name);
    fs::write(&new, content).and_then(|()| fs::rename(&new, path)).map_err(failed)
}
