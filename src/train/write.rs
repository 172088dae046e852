//! Files that are written completely or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// The reason why files were not written. Files of the same names from before are still there.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// No room.
    #[error("{file}: the disk is full; the old file, if any, is kept; make room, or take another folder")]
    Full {
        /// Path of the file.
        file: String,
    },
    /// Another failure.
    #[error("cannot write {file}: {source}; the old file, if any, is kept")]
    Io {
        /// Path of the file.
        file: String,
        /// The system's reason.
        source: io::Error,
    },
}

impl WriteError {
    fn new(path: &Path, source: io::Error) -> Self {
        let file = path.display().to_string();
        match source.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => Self::Full { file },
            _ => Self::Io { file, source },
        }
    }
}

/// A new file beside the old one, until [`NewFile::replace`]. Dropped before, it leaves nothing behind.
struct NewFile {
    path: PathBuf,
    new: PathBuf,
    is_in_place: bool,
}

impl NewFile {
    /// Writes the content to the disk.
    fn write(
        path: PathBuf,
        content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
    ) -> Result<Self, WriteError> {
        let mut name = OsString::from(".");
        name.push(path.file_name().unwrap_or_default());
        name.push(format!(".{}.new", std::process::id()));
        let this = Self { new: path.with_file_name(name), path, is_in_place: false };
        let written = File::create(&this.new).and_then(|mut file| {
            content(&mut file)?;
            file.sync_all()
        });
        match written {
            Ok(()) => Ok(this),
            Err(source) => Err(WriteError::new(&this.path, source)),
        }
    }

    /// Takes the place of the old file.
    fn replace(mut self) -> Result<(), WriteError> {
        fs::rename(&self.new, &self.path).map_err(|source| WriteError::new(&self.path, source))?;
        self.is_in_place = true;
        Ok(())
    }
}

impl Drop for NewFile {
    fn drop(&mut self) {
        if !self.is_in_place {
            let _ = fs::remove_file(&self.new); // there may be none
        }
    }
}

/// Writes a file. Until all of it is on the disk, the old file stays; after an error, too.
///
/// # Errors
/// [`WriteError`]
pub fn write_file(path: &Path, content: &[u8]) -> Result<(), WriteError> {
    write_file_with(path, |file| file.write_all(content))
}

/// As [`write_file`], with a function that writes the content.
///
/// # Errors
/// [`WriteError`]
pub fn write_file_with(
    path: &Path,
    content: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<(), WriteError> {
    NewFile::write(path.to_owned(), content)?.replace()?;
    sync_folder(path.parent());
    Ok(())
}

/// Writes files of a folder, which is made if it is not there. All of them are on the disk before the first one takes the place of
/// an old file, so a full disk changes nothing.
///
/// # Errors
/// [`WriteError`]
pub fn write_files<'a>(
    folder: &Path,
    files: impl IntoIterator<Item = (&'a str, &'a [u8])>,
) -> Result<(), WriteError> {
    fs::create_dir_all(folder).map_err(|source| WriteError::new(folder, source))?;
    let new: Vec<NewFile> = files
        .into_iter()
        .map(|(name, content)| NewFile::write(folder.join(name), |file| file.write_all(content)))
        .collect::<Result<_, _>>()?;
    new.into_iter().try_for_each(NewFile::replace)?;
    sync_folder(Some(folder));
    Ok(())
}

/// Makes renames last through a power cut, on systems that can open a folder. The files are whole either way.
fn sync_folder(folder: Option<&Path>) {
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if let Ok(folder) = File::open(folder) {
        let _ = folder.sync_all();
    }
}
