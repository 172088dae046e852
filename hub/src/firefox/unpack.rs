//! Unpacking of downloads, with a check of size and hash.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use flate2::read::MultiGzDecoder;

use super::registry::RemoteFile;
use crate::HubError;
use crate::hash::FileHash;

/// Maximum length of an unpacked file whose size is not published, bytes.
pub(super) const UNPACKED: u64 = 1 << 30;

/// Unpacks a file that may be packed, with a check of size and hash. Returns the SHA-256.
pub(super) fn unpack(packed: &Path, place: &Path, file: &RemoteFile) -> Result<String, HubError> {
    let failed = |error| HubError::io("read", packed, error);
    let mut start = [0; 2];
    let mut source = File::open(packed).map_err(failed)?;
    let is_packed = source.read_exact(&mut start).is_ok() && start == [0x1f, 0x8b];
    let source = File::open(packed).map_err(failed)?;
    let reader: Box<dyn Read> =
        if is_packed { Box::new(MultiGzDecoder::new(source)) } else { Box::new(source) };
    // one byte more tells that there is more; a small file can unpack to any size
    let limit = file.uncompressed_size.unwrap_or(UNPACKED);
    let mut reader = reader.take(limit + 1);
    let mut out = File::create(place).map_err(|error| HubError::io("create", place, error))?;
    let mut hasher = FileHash::Sha256(String::new()).hasher(0);
    let (mut length, mut buffer) = (0, vec![0; 1 << 16]);
    let advice = "try again, and if it stays so, tell the publisher";
    loop {
        let count = match reader.read(&mut buffer) {
            Ok(0) => break,
            Ok(count) => count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => {
                let problem = format!("it cannot be unpacked ({error}); {advice}");
                return Err(HubError::BadFile {
                    name: "the download".into(),
                    file: file.name().to_owned(),
                    problem,
                });
            }
        };
        length += count as u64;
        hasher.update(&buffer[..count]);
        out.write_all(&buffer[..count]).map_err(|error| match error.kind() {
            io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
                HubError::DiskFull {
                    file: file.name().to_owned(),
                    folder: place.parent().unwrap_or(Path::new(".")).to_owned(),
                    missing: limit.saturating_sub(length),
                    variable: "WORDLOOM_MODELS",
                }
            }
            _ => HubError::io("write", place, error),
        })?;
    }
    out.sync_all().map_err(|error| HubError::io("write", place, error))?;
    if length > limit || file.uncompressed_size.is_some_and(|size| size != length) {
        let (promised, advice) = (limit, advice.into());
        return Err(HubError::WrongSize { file: file.name().to_owned(), found: length, promised, advice });
    }
    let found = hasher.finish();
    match &file.uncompressed_hash {
        Some(promised) if *promised != found => Err(HubError::WrongHash {
            file: file.name().to_owned(),
            kind: "sha-256",
            found,
            promised: promised.clone(),
            advice: advice.into(),
        }),
        _ => Ok(found),
    }
}
