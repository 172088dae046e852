//! Checkpoints on disk: `OUT/checkpoints/step-N`, each a complete folder or not there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use super::super::checkpoint::RECORD;
use super::super::write::{WriteError, write_files};
use super::error::SessionError;

const FOLDER: &str = "checkpoints";
const NAME: &str = "step-";
/// Digits of a step in a folder's name, so that names are in the order of steps.
const DIGITS: usize = 8;

/// Checkpoints of a training, oldest first. Unfinished ones have other names.
pub(super) fn list(out: &Path) -> Result<Vec<PathBuf>, SessionError> {
    let folder = out.join(FOLDER);
    let failed = |source| SessionError::cannot_read(&folder, source);
    let entries = match fs::read_dir(&folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries.map_err(failed)?,
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with(NAME) && path.join(RECORD).is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

/// Writes a checkpoint under another name and renames it when all of it is on the disk. Returns
/// its folder.
///
/// After an error, the checkpoints from before are still there, and the unfinished one is not.
pub(super) fn write(out: &Path, step: u64, files: &[(String, Vec<u8>)]) -> Result<PathBuf, SessionError> {
    let parent = out.join(FOLDER);
    fs::create_dir_all(&parent).map_err(|error| SessionError::cannot_write(&parent, error))?;
    let folder = parent.join(format!("{NAME}{step:0DIGITS$}"));
    if folder.join(RECORD).is_file() {
        return Ok(folder); // the same step of the same run
    }
    let new = parent.join(format!(".{NAME}{step:0DIGITS$}.{}.new", std::process::id()));
    let place = || -> Result<(), SessionError> {
        write_files(&new, files.iter().map(|(name, content)| (name.as_str(), &content[..])))?;
        fs::rename(&new, &folder).map_err(|error| SessionError::cannot_write(&folder, error))
    };
    place().inspect_err(|_| _ = fs::remove_dir_all(&new))?;
    sync(&parent);
    Ok(folder)
}

/// Removes the oldest checkpoints, except for `keep`. Returns a warning for each that cannot be removed.
pub(super) fn remove_old(out: &Path, keep: usize) -> Result<Vec<String>, SessionError> {
    let found = list(out)?;
    let count = found.len().saturating_sub(keep.max(1));
    let removed = found[..count].iter().map(|folder| (folder, fs::remove_dir_all(folder)));
    Ok(removed
        .filter_map(|(folder, result)| {
            let error = result.err()?;
            Some(format!("warning: cannot remove {}: {error}", folder.display()))
        })
        .collect())
}

/// Removes what a killed process left unfinished.
pub(super) fn remove_unfinished(out: &Path) {
    let entries = fs::read_dir(out.join(FOLDER)).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        if name.starts_with(&format!(".{NAME}")) && name.ends_with(".new") {
            let _ = fs::remove_dir_all(&path); // it costs room, nothing else
        }
    }
}

/// Makes a rename last through a power cut, on systems that can open a folder.
fn sync(folder: &Path) {
    if let Ok(folder) = fs::File::open(folder) {
        let _ = folder.sync_all();
    }
}

/// Whether an error is one of writing, after which a later try may succeed.
pub(super) fn is_about_writing(error: &SessionError) -> bool {
    matches!(
        error,
        SessionError::Write(WriteError::Full { .. } | WriteError::Io { .. }) | SessionError::Io { .. }
    )
}
