//! Files whose size has a limit.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::CliError;
use super::output::cannot_read;

/// Reads a file, but no more than a byte beyond the limit: the reader of its format refuses what is longer.
pub fn read(path: &Path, limit: usize) -> Result<Vec<u8>, CliError> {
    let mut bytes = Vec::new();
    let read = File::open(path).and_then(|file| file.take(limit as u64 + 1).read_to_end(&mut bytes));
    read.map_err(|source| cannot_read(path, source))?;
    Ok(bytes)
}
