//! Length and hash of bytes, to detect a changed file.

use std::fs::File;
use std::hash::Hasher;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::Path;

use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hasher128, SipHasher13};

#[derive(Clone, Default)]
pub struct Digest {
    bytes: u64,
    hasher: SipHasher13,
}

/// Result of a [`Digest`]. The hash is the same on every machine and in every version.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Summary {
    pub bytes: u64,
    pub hash: String,
}

/// Extensions of files of weights.
const WEIGHTS: [&str; 4] = ["safetensors", "bin", "pt", "pth"];
/// Bytes of a sample of a checkpoint.
const SAMPLE: usize = 4096;
const SAMPLES: u64 = 64;

impl Digest {
    pub fn update(&mut self, bytes: &[u8]) {
        self.bytes += bytes.len() as u64;
        self.hasher.write(bytes);
    }

    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    pub fn summary(&self) -> Summary {
        Summary { bytes: self.bytes, hash: format!("{:032x}", self.hasher.finish128().as_u128()) }
    }

    /// The digest of a file's first bytes, or of all if it has fewer.
    pub fn of_beginning(path: &Path, bytes: u64) -> io::Result<Self> {
        let mut digest = Self::default();
        let mut file = File::open(path)?.take(bytes);
        let mut buffer = vec![0; 1 << 16];
        loop {
            match file.read(&mut buffer)? {
                0 => return Ok(digest),
                read => digest.update(&buffer[..read]),
            }
        }
    }

    /// The digest of a model's folder: small files, and samples of the weights. Training changes every weight.
    pub fn of_model(folder: &Path) -> io::Result<Self> {
        let mut files = Vec::new();
        for entry in folder.read_dir()? {
            let path = entry?.path();
            let kind = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
            let is_read = WEIGHTS.contains(&kind) || ["json", "model", "spm", "txt"].contains(&kind);
            if is_read && path.is_file() {
                files.push(path);
            }
        }
        files.sort();
        let mut digest = Self::default();
        for path in files {
            digest.update(path.file_name().unwrap_or_default().as_encoded_bytes());
            let mut file = File::open(&path)?;
            let length = file.metadata()?.len();
            digest.update(&length.to_le_bytes());
            if path.extension().is_some_and(|kind| WEIGHTS.iter().any(|weights| kind == *weights)) {
                let mut buffer = Vec::with_capacity(SAMPLE);
                for place in 0..SAMPLES {
                    // the first sample is the header, the last one the end
                    let start = length.saturating_sub(SAMPLE as u64) as u128 * u128::from(place);
                    file.seek(SeekFrom::Start((start / u128::from(SAMPLES - 1)) as u64))?;
                    buffer.clear();
                    file.by_ref().take(SAMPLE as u64).read_to_end(&mut buffer)?;
                    digest.update(&buffer);
                }
            } else {
                digest.update(Self::of_beginning(&path, u64::MAX)?.summary().hash.as_bytes());
            }
        }
        Ok(digest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_to_what_the_whole_does() {
        let text: Vec<u8> = (0..=255).cycle().take(1000).collect();
        let mut whole = Digest::default();
        whole.update(&text);
        for size in [1, 3, 8, 64, 999] {
            let mut parts = Digest::default();
            text.chunks(size).for_each(|part| parts.update(part));
            assert_eq!(parts.summary(), whole.summary());
        }
        whole.update(b"\0");
        assert_ne!(whole.summary().hash, Digest::default().summary().hash);
    }

    #[test]
    fn the_hash_never_changes() {
        let mut digest = Digest::default();
        digest.update(b"wordloom");
        assert_eq!(digest.summary(), Summary { bytes: 8, hash: "e154974d572b265e4ca221fbfc464383".into() });
    }
}
