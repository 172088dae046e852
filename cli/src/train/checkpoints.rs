//! Checkpoints on disk: `OUT/checkpoints/step-N`, each a complete folder or not there.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use wordloom::train::checkpoint::RECORD;
use wordloom::train::write::{WriteError, write_files};

use crate::output::cannot_write;
use crate::{CliError, notice};

const FOLDER: &str = "checkpoints";
const NAME: &str = "step-";
/// Digits of a step in a folder's name, so that names are in the order of steps.
const DIGITS: usize = 8;

/// Checkpoints of a training, oldest first. Unfinished ones have other names.
pub fn list(out: &Path) -> Result<Vec<PathBuf>, CliError> {
    let folder = out.join(FOLDER);
    let failed = |source| CliError::Io { what: format!("cannot read {}", folder.display()), source };
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

/// Writes a checkpoint under another name and renames it when all of it is on the disk. Then removes the oldest ones, except for
/// `keep`. Returns its folder.
///
/// After an error, the checkpoints from before are still there, and the unfinished one is not.
pub fn write(out: &Path, step: u64, files: &[(String, Vec<u8>)], keep: usize) -> Result<PathBuf, CliError> {
    let parent = out.join(FOLDER);
    fs::create_dir_all(&parent).map_err(|error| cannot_write(&parent, error))?;
    let folder = parent.join(format!("{NAME}{step:0DIGITS$}"));
    if folder.join(RECORD).is_file() {
        return Ok(folder); // the same step of the same run
    }
    let new = parent.join(format!(".{NAME}{step:0DIGITS$}.{}.new", std::process::id()));
    let place = || -> Result<(), CliError> {
        write_files(&new, files.iter().map(|(name, content)| (name.as_str(), &content[..])))?;
        fs::rename(&new, &folder).map_err(|error| cannot_write(&folder, error))
    };
    place().inspect_err(|_| _ = fs::remove_dir_all(&new))?;
    sync(&parent);
    remove_old(out, keep)?;
    Ok(folder)
}

fn remove_old(out: &Path, keep: usize) -> Result<(), CliError> {
    let found = list(out)?;
    let count = found.len().saturating_sub(keep.max(1));
    for folder in &found[..count] {
        if let Err(error) = fs::remove_dir_all(folder) {
            notice(&format!("warning: cannot remove {}: {error}", folder.display()));
        }
    }
    Ok(())
}

/// Removes what a killed process left unfinished.
pub fn remove_unfinished(out: &Path) {
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
pub fn is_about_writing(error: &CliError) -> bool {
    matches!(error, CliError::Write(WriteError::Full { .. } | WriteError::Io { .. }) | CliError::Io { .. })
}
