//! `firefox.json` beside a model: its entry of the registry, and the SHA-256 of each file.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::registry::{Entry, RemoteFile};
use crate::HubError;
use crate::hash::FileHash;
use crate::record::write_at_once;

pub(super) const FILE: &str = "firefox.json";

#[derive(Serialize, Deserialize)]
pub(super) struct Notes {
    /// The registry's entry.
    pub entry: Entry,
    /// SHA-256 of each file, as published, or as it came if none is published.
    pub sha256: BTreeMap<String, String>,
}

impl Notes {
    /// `None` if there are none, or damaged ones.
    pub fn read(folder: &Path) -> Option<Self> {
        serde_json::from_slice(&fs::read(folder.join(FILE)).ok()?).ok()
    }

    pub fn write(self, folder: &Path) -> Result<(), HubError> {
        let text = serde_json::to_vec_pretty(&self).expect("texts and numbers only");
        write_at_once(&folder.join(FILE), &text)
    }

    /// The first file that the folder lacks.
    pub fn gap(&self, folder: &Path) -> Option<String> {
        self.sha256.keys().find(|file| !folder.join(file).exists()).cloned()
    }
}

/// Whether a folder has this version of an entry, and every file of it as noted.
pub(super) fn is_whole(folder: &Path, entry: &Entry) -> bool {
    Notes::read(folder).is_some_and(|Notes { entry: noted, sha256 }| {
        noted.version() == entry.version()
            && sha256
                .iter()
                .all(|(file, noted)| sha256_of(&folder.join(file)).is_ok_and(|found| found == *noted))
    })
}

/// Copies a file from an older folder, if it has the same one undamaged. Returns its SHA-256.
pub(super) fn copied(older: &Path, file: &RemoteFile, place: &Path) -> Option<String> {
    let Notes { entry, sha256 } = Notes::read(older)?;
    let (name, noted) = sha256.get_key_value(file.name())?;
    let is_same = entry.files.values().any(|known| known.path == file.path)
        && (file.uncompressed_hash.is_none() || file.has_hash(noted))
        && sha256_of(&older.join(name)).ok()? == *noted;
    (is_same && fs::copy(older.join(name), place).is_ok()).then(|| noted.clone())
}

/// SHA-256 of a file on disk.
pub(super) fn sha256_of(path: &Path) -> io::Result<String> {
    let mut file = File::open(path)?;
    let mut hasher = FileHash::Sha256(String::new()).hasher(0);
    hasher.update_from(&mut file, |_| true)?;
    Ok(hasher.finish())
}
