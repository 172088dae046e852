//! Locks between processes.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::path::Path;
use std::thread;
use std::time::Duration;

use crate::HubError;
use crate::watch::Watch;

/// A lock, held until it is dropped. The kernel frees it if the process dies.
pub struct Lock {
    _file: File,
}

/// Takes the lock of `path`; waits for another process, and says so once.
///
/// huggingface_hub locks the same files in the same way (`flock`), so that programs in Python wait, too.
pub fn take(path: &Path, what: &str, watch: &mut Watch) -> Result<Lock, HubError> {
    let file = open(path)?;
    let mut told = false;
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(Lock { _file: file }),
            Err(TryLockError::Error(error)) => return Err(HubError::io("lock", path, error)),
            Err(TryLockError::WouldBlock) => {}
        }
        if !told {
            watch.notice(&format!("another program is fetching {what}; waiting for it"));
            told = true;
        }
        watch.check()?;
        thread::sleep(Duration::from_millis(100));
    }
}

/// Takes the lock of `path`; `None` if another process holds it.
pub fn try_take(path: &Path) -> Result<Option<Lock>, HubError> {
    let file = open(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(Lock { _file: file })),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(HubError::io("lock", path, error)),
    }
}

fn open(path: &Path) -> Result<File, HubError> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder).map_err(|error| HubError::io("create", folder, error))?;
    }
    let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path);
    file.map_err(|error| HubError::io("open", path, error))
}
