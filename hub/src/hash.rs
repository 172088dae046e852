//! The hashes under which files are published.

use std::fmt::Write;
use std::fs::File;
use std::io::{self, Read};

use sha1::Sha1;
use sha2::{Digest, Sha256};

/// The hash of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum FileHash {
    /// SHA-256 of the content, in hexadecimal: large files of the hub, and Firefox models.
    Sha256(String),
    /// Git's hash, in hexadecimal: SHA-1 of `blob LENGTH`, a zero byte and the content. Small files of the hub.
    Git(String),
}

impl FileHash {
    /// Reads the hub's etag: 64 or 40 hexadecimal digits. `None` for any other.
    pub fn from_etag(etag: &str) -> Option<Self> {
        let hexadecimal = etag.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte));
        match etag.len() {
            64 if hexadecimal => Some(Self::Sha256(etag.to_owned())),
            40 if hexadecimal => Some(Self::Git(etag.to_owned())),
            _ => None,
        }
    }

    /// The hexadecimal digits, which name the file in the hub's cache.
    pub fn digits(&self) -> &str {
        match self {
            Self::Sha256(digits) | Self::Git(digits) => digits,
        }
    }

    /// Name of the kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Sha256(_) => "sha-256",
            Self::Git(_) => "git sha-1",
        }
    }

    /// A calculation of a hash of this kind, over a file of `length` bytes.
    pub fn hasher(&self, length: u64) -> Hasher {
        match self {
            Self::Sha256(_) => Hasher::Sha256(Sha256::new()),
            Self::Git(_) => Hasher::Git(Sha1::new_with_prefix(format!("blob {length}\0"))),
        }
    }
}

/// A hash under way.
pub enum Hasher {
    /// See [`FileHash::Sha256`].
    Sha256(Sha256),
    /// See [`FileHash::Git`].
    Git(Sha1),
}

impl Hasher {
    /// Adds bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        match self {
            Self::Sha256(hash) => hash.update(bytes),
            Self::Git(hash) => hash.update(bytes),
        }
    }

    /// The digits.
    pub fn finish(self) -> String {
        let digest = match self {
            Self::Sha256(hash) => hash.finalize().to_vec(),
            Self::Git(hash) => hash.finalize().to_vec(),
        };
        digest.iter().fold(String::new(), |mut digits, byte| {
            let _ = write!(digits, "{byte:02x}"); // a string takes everything
            digits
        })
    }

    /// Adds the rest of a file, and calls `read` with the bytes of each step until it answers `false`. Returns whether
    /// the file was read to its end.
    pub fn update_from(&mut self, file: &mut File, mut read: impl FnMut(u64) -> bool) -> io::Result<bool> {
        let mut buffer = vec![0; 1 << 18];
        loop {
            match file.read(&mut buffer) {
                Ok(0) => return Ok(true),
                Ok(length) => {
                    self.update(&buffer[..length]);
                    if !read(length as u64) {
                        return Ok(false);
                    }
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `git hash-object` and `sha256sum` of "hello\n".
    #[test]
    fn hashes_are_those_of_git_and_sha256sum() {
        for etag in [
            "ce013625030ba8dba906f756967f9e9ca394464a",
            "5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03",
        ] {
            let hash = FileHash::from_etag(etag).expect("a hash");
            let mut hasher = hash.hasher(6);
            hasher.update(b"hel");
            hasher.update(b"lo\n");
            assert_eq!(hasher.finish(), etag);
        }
        for other in
            ["", "abc", "CE013625030BA8DBA906F756967F9E9CA394464A", "../../../../../../../../../etc/pass"]
        {
            assert_eq!(FileHash::from_etag(other), None);
        }
    }
}
