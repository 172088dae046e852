//! The hub's cache on disk, in the layout of huggingface_hub:
//!
//! ```text
//! models--OWNER--NAME/blobs/HASH              the files, named by their published hashes
//! models--OWNER--NAME/blobs/HASH.incomplete   what has arrived of one
//! models--OWNER--NAME/refs/main               a commit
//! models--OWNER--NAME/snapshots/COMMIT/FILE   a link to ../../blobs/HASH
//! .locks/models--OWNER--NAME/HASH.lock        held during a download
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::HubError;
use crate::choose::{INDICES, WHOLE, shards};
use crate::record::write_at_once;

/// The branch that a name without a revision means.
pub const MAIN: &str = "main";

/// One repository in the cache.
#[derive(Clone, Debug)]
pub struct Repository {
    /// The cache.
    root: PathBuf,
    /// `OWNER/NAME`, or an older `NAME` without an owner.
    pub name: String,
    /// `models--OWNER--NAME`.
    pub folder: String,
}

impl Repository {
    pub fn new(cache: &Path, name: &str) -> Self {
        Self {
            root: cache.to_owned(),
            name: name.to_owned(),
            folder: format!("models--{}", name.replace('/', "--")),
        }
    }

    /// All repositories of models in the cache, by name.
    pub fn all(cache: &Path) -> Result<Vec<Self>, HubError> {
        let mut all: Vec<Self> = entries(cache)?
            .iter()
            .filter_map(|folder| Some(folder.strip_prefix("models--")?.replacen("--", "/", 1)))
            .map(|name| Self::new(cache, &name))
            .collect();
        all.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(all)
    }

    /// Whether the cache has anything of it.
    pub fn exists(&self) -> bool {
        self.path().is_dir()
    }

    fn path(&self) -> PathBuf {
        self.root.join(&self.folder)
    }

    pub fn blob(&self, digits: &str) -> PathBuf {
        self.path().join("blobs").join(digits)
    }

    pub fn part(&self, digits: &str) -> PathBuf {
        self.path().join("blobs").join(format!("{digits}.incomplete"))
    }

    pub fn lock(&self, digits: &str) -> PathBuf {
        self.locks().join(format!("{digits}.lock"))
    }

    fn locks(&self) -> PathBuf {
        self.root.join(".locks").join(&self.folder)
    }

    pub fn snapshot(&self, commit: &str) -> PathBuf {
        self.path().join("snapshots").join(commit)
    }

    /// The commits with a folder.
    pub fn commits(&self) -> Result<Vec<String>, HubError> {
        Ok(entries(&self.path().join("snapshots"))?.into_iter().filter(|name| is_commit(name)).collect())
    }

    /// The commit of a branch or tag, if it was fetched; a commit is its own.
    pub fn commit(&self, revision: &str) -> Option<String> {
        if is_commit(revision) {
            return Some(revision.to_owned());
        }
        let text = fs::read_to_string(self.path().join("refs").join(revision)).ok()?;
        let commit = text.trim();
        is_commit(commit).then(|| commit.to_owned())
    }

    /// Branches and tags with their commits.
    pub fn references(&self) -> Result<BTreeMap<String, String>, HubError> {
        let mut found = BTreeMap::new();
        let mut open = vec![String::new()];
        while let Some(below) = open.pop() {
            for name in entries(&self.path().join("refs").join(&below))? {
                let reference = if below.is_empty() { name } else { format!("{below}/{name}") };
                match self.path().join("refs").join(&reference).is_dir() {
                    true => open.push(reference),
                    false => {
                        if let Some(commit) = self.commit(&reference).filter(|_| !is_commit(&reference)) {
                            found.insert(reference, commit);
                        }
                    }
                }
            }
        }
        Ok(found)
    }

    /// Remembers the commit of a branch or tag.
    pub fn set_reference(&self, reference: &str, commit: &str) -> Result<(), HubError> {
        write_at_once(&self.path().join("refs").join(reference), commit.as_bytes())
    }

    /// Puts a file of a commit in place: a link to its blob; where the system has no links, the file itself.
    pub fn link(&self, commit: &str, file: &str, digits: &str) -> Result<(), HubError> {
        let place = self.snapshot(commit).join(file);
        let failed = |error| HubError::io("create", &place, error);
        if let Some(folder) = place.parent() {
            fs::create_dir_all(folder).map_err(failed)?;
        }
        let up = "../".repeat(2 + file.matches('/').count());
        let target = PathBuf::from(format!("{up}blobs/{digits}"));
        if fs::read_link(&place).is_ok_and(|old| old == target) {
            return Ok(());
        }
        let new = place.with_extension(format!("{}.new", std::process::id()));
        match symlink(&target, &new) {
            Ok(()) => fs::rename(&new, &place).map_err(failed),
            // Windows without the right to make links
            Err(_) if cfg!(windows) => {
                fs::copy(self.blob(digits), &new).and_then(|_| fs::rename(&new, &place)).map_err(failed)
            }
            Err(error) => Err(failed(error)),
        }
    }

    /// The files of a commit, with forward slashes.
    pub fn files(&self, commit: &str) -> Result<Vec<String>, HubError> {
        let folder = self.snapshot(commit);
        let mut files = Vec::new();
        let mut open = vec![String::new()];
        while let Some(below) = open.pop() {
            for name in entries(&folder.join(&below))? {
                let file = if below.is_empty() { name } else { format!("{below}/{name}") };
                match folder.join(&file).is_dir() {
                    true => open.push(file),
                    false => files.push(file),
                }
            }
        }
        files.sort();
        Ok(files)
    }

    /// The hash that names a file's blob; `None` if the file is not a link.
    pub fn linked(&self, commit: &str, file: &str) -> Option<String> {
        let target = fs::read_link(self.snapshot(commit).join(file)).ok()?;
        Some(target.file_name()?.to_str()?.to_owned())
    }

    /// Whether a commit has its configuration and all its weights.
    pub fn has_weights(&self, commit: &str) -> bool {
        let folder = self.snapshot(commit);
        let has = |file: &str| folder.join(file).exists();
        let all_shards = |index: &str| {
            let content = fs::read(folder.join(index)).ok()?;
            Some(shards(&self.name, index, &content).ok()?.iter().all(|shard| has(shard)))
        };
        let variant =
            || self.files(commit).is_ok_and(|files| files.iter().any(|file| file.ends_with(".safetensors")));
        let whole = WHOLE.iter().any(|file| has(file));
        let index = INDICES.into_iter().find(|index| has(index));
        has("config.json") && (whole || index.map_or_else(variant, |index| all_shards(index) == Some(true)))
    }

    /// Bytes of a commit on disk.
    pub fn bytes(&self, commit: &str) -> Result<u64, HubError> {
        let size =
            |file: &String| fs::metadata(self.snapshot(commit).join(file)).map_or(0, |file| file.len());
        Ok(self.files(commit)?.iter().map(size).sum())
    }

    /// Bytes of downloads that have stopped, or are under way.
    pub fn partial_bytes(&self) -> Result<u64, HubError> {
        let blobs = self.path().join("blobs");
        // programs in Python have parts of their own, HASH.RANDOM.incomplete
        let is_own =
            |name: &String| name.strip_suffix(".incomplete").is_some_and(|digits| !digits.contains('.'));
        let parts = entries(&blobs)?.into_iter().filter(is_own);
        Ok(parts.map(|name| fs::metadata(blobs.join(name)).map_or(0, |file| file.len())).sum())
    }

    /// Whether another process holds a lock of the repository.
    pub fn is_locked(&self) -> Result<bool, HubError> {
        for name in entries(&self.locks())? {
            if crate::lock::try_take(&self.locks().join(name))?.is_none() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Whether `name` is a branch or tag of a commit that has others, too.
    pub fn is_named_otherwise(&self, commit: &str, name: &str) -> Result<bool, HubError> {
        let references = self.references()?;
        let is_other = |(other, of): (&String, &String)| other != name && of == commit;
        Ok(references.contains_key(name) && references.iter().any(is_other))
    }

    /// Removes a branch or tag alone.
    pub fn remove_reference(&self, name: &str) -> Result<(), HubError> {
        remove_file(&self.path().join("refs").join(name))
    }

    /// Removes a commit, its branches and tags, and the blobs of no other commit. Returns the freed bytes.
    pub fn remove(&self, commit: &str) -> Result<u64, HubError> {
        let others: Vec<String> = self.commits()?.into_iter().filter(|other| other != commit).collect();
        for (reference, _) in self.references()?.into_iter().filter(|(_, of)| of == commit) {
            self.remove_reference(&reference)?;
        }
        if others.is_empty() {
            let freed = blob_bytes(&self.path().join("blobs"))? + self.copied_bytes(commit)?;
            remove_folder(&self.path())?;
            remove_folder(&self.locks())?;
            return Ok(freed);
        }
        let mut kept = BTreeSet::new();
        for other in &others {
            kept.extend(self.files(other)?.iter().filter_map(|file| self.linked(other, file)));
        }
        let mut freed = self.copied_bytes(commit)?;
        let mut gone: Vec<String> =
            self.files(commit)?.iter().filter_map(|file| self.linked(commit, file)).collect();
        gone.sort();
        gone.dedup();
        remove_folder(&self.snapshot(commit))?;
        for digits in gone.iter().filter(|digits| !kept.contains(*digits)) {
            let blob = self.blob(digits);
            freed += own_bytes(&blob);
            remove_file(&blob)?;
        }
        Ok(freed)
    }

    /// Bytes of files that are no links.
    fn copied_bytes(&self, commit: &str) -> Result<u64, HubError> {
        let size = |file: &String| match self.linked(commit, file) {
            None => fs::metadata(self.snapshot(commit).join(file)).map_or(0, |file| file.len()),
            Some(_) => 0,
        };
        Ok(self.files(commit)?.iter().map(size).sum())
    }
}

/// Whether a text is a full commit hash.
pub fn is_commit(text: &str) -> bool {
    text.len() == 40 && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

/// The names in a folder; none if it does not exist.
pub fn entries(folder: &Path) -> Result<Vec<String>, HubError> {
    let failed = |error| HubError::io("read", folder, error);
    let mut names = Vec::new();
    match fs::read_dir(folder) {
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {}
        Err(error) => return Err(failed(error)),
        Ok(entries) => {
            for entry in entries {
                // a name that is no Unicode is none of the hub's
                names.extend(entry.map_err(failed)?.file_name().into_string());
            }
        }
    }
    names.sort();
    Ok(names)
}

pub fn remove_folder(path: &Path) -> Result<(), HubError> {
    match fs::remove_dir_all(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(HubError::io("remove", path, error)),
        _ => Ok(()),
    }
}

fn remove_file(path: &Path) -> Result<(), HubError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => Err(HubError::io("remove", path, error)),
        _ => Ok(()),
    }
}

fn blob_bytes(folder: &Path) -> Result<u64, HubError> {
    Ok(entries(folder)?.iter().map(|name| own_bytes(&folder.join(name))).sum())
}

/// Bytes that go with a file. A blob may be a link to a store that several caches share.
fn own_bytes(path: &Path) -> u64 {
    fs::symlink_metadata(path).map_or(0, |file| if file.is_file() { file.len() } else { 0 })
}

#[cfg(unix)]
fn symlink(target: &Path, place: &Path) -> io::Result<()> {
    std::os::unix::fs::symlink(target, place)
}

#[cfg(windows)]
fn symlink(target: &Path, place: &Path) -> io::Result<()> {
    let target = PathBuf::from(target.to_string_lossy().replace('/', "\\"));
    std::os::windows::fs::symlink_file(target, place)
}
