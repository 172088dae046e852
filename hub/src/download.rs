//! The download of one file: goes on where it stopped, checks the hash, and puts the file in place at once.
//!
//! A part without a published hash goes on only if the server still has the same version of the file: beside the part,
//! `PART.version` has the server's mark of it.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};

use crate::HubError;
use crate::hash::{FileHash, Hasher};
use crate::http::{Answer, Client, Failure, Method};
use crate::record::write_at_once;
use crate::watch::Watch;

/// Attempts in a row that bring no byte further.
const FRUITLESS: u32 = 5;

/// A file to fetch.
pub struct Download<'a> {
    pub url: String,
    /// Name in messages.
    pub name: &'a str,
    /// The part that has arrived.
    pub part: PathBuf,
    /// Place of the complete file.
    pub place: PathBuf,
    /// Published size, bytes.
    pub size: Option<u64>,
    /// Most bytes to take, if the size is not published.
    pub limit: u64,
    /// Published hash; the caller checks the file itself if `None`.
    pub hash: Option<FileHash>,
    /// The variable that moves the folder, for a full disk.
    pub variable: &'static str,
}

/// The part on disk, with its hash so far.
struct Part<'a> {
    download: &'a Download<'a>,
    file: File,
    length: u64,
    hasher: Option<Hasher>,
    /// The server's mark of the part's version, if no hash is published.
    version: Option<String>,
}

impl Download<'_> {
    /// Fetches the file. `refused` makes the error of a status that is not a success.
    pub fn run(
        &self,
        client: &Client,
        watch: &mut Watch,
        refused: impl Fn(Answer) -> HubError,
    ) -> Result<(), HubError> {
        let mut may_restart = true;
        loop {
            let mut part = Part::open(self, watch)?;
            let resumed = part.length > 0;
            if let Err(error) = part.fill(client, watch, &refused) {
                if matches!(error, HubError::WrongSize { .. }) {
                    self.discard(part.length, watch)?;
                }
                return Err(error);
            }
            let length = part.length;
            match part.check() {
                Ok(file) => return self.put_in_place(file),
                // an older part may be of another origin
                Err(_) if resumed && may_restart => {
                    may_restart = false;
                    watch.notice(&format!(
                        "{}: the part from before does not fit; fetching it anew",
                        self.name
                    ));
                    self.discard(length, watch)?;
                }
                Err(error) => {
                    self.discard(length, watch)?;
                    return Err(error);
                }
            }
        }
    }

    fn discard(&self, length: u64, watch: &mut Watch) -> Result<(), HubError> {
        watch.retreat(length);
        let _ = fs::remove_file(self.version()); // there may be none
        fs::remove_file(&self.part).map_err(|error| HubError::io("remove", &self.part, error))
    }

    /// Place of the mark of the part's version.
    fn version(&self) -> PathBuf {
        let mut name = self.part.file_name().unwrap_or_default().to_owned();
        name.push(".version");
        self.part.with_file_name(name)
    }

    fn put_in_place(&self, file: File) -> Result<(), HubError> {
        file.sync_all().map_err(|error| self.write_error(error))?;
        drop(file); // Windows renames no open file
        let _ = fs::remove_file(self.version()); // there may be none
        fs::rename(&self.part, &self.place).map_err(|error| HubError::io("create", &self.place, error))
    }

    /// The error of a failed write.
    fn write_error(&self, source: io::Error) -> HubError {
        use io::ErrorKind::{FileTooLarge, QuotaExceeded, StorageFull};
        if !matches!(source.kind(), FileTooLarge | QuotaExceeded | StorageFull) {
            return HubError::io("write", &self.part, source);
        }
        // a write that failed may have kept its beginning
        let kept = fs::metadata(&self.part).map_or(0, |part| part.len());
        HubError::DiskFull {
            file: self.name.to_owned(),
            folder: self.part.parent().unwrap_or(Path::new(".")).to_owned(),
            missing: self.size.unwrap_or(0).saturating_sub(kept),
            variable: self.variable,
        }
    }
}

impl<'a> Part<'a> {
    /// Opens the part, and hashes what is there.
    fn open(download: &'a Download<'a>, watch: &Watch) -> Result<Self, HubError> {
        let path = &download.part;
        if let Some(folder) = path.parent() {
            fs::create_dir_all(folder).map_err(|error| HubError::io("create", folder, error))?;
        }
        let file = OpenOptions::new().create(true).truncate(false).read(true).write(true).open(path);
        let file = file.map_err(|error| HubError::io("open", path, error))?;
        let known = |error| HubError::io("read", path, error);
        let mut length = file.metadata().map_err(known)?.len();
        let version = match download.hash {
            None => fs::read_to_string(download.version()).ok(),
            Some(_) => None,
        };
        let is_known = download.hash.is_some() || version.is_some();
        if length > download.size.unwrap_or(download.limit) || !is_known {
            file.set_len(0).map_err(known)?;
            length = 0;
        }
        let mut part = Self { download, file, length, hasher: None, version };
        part.hasher = part.new_hasher();
        if let (Some(hasher), 1..) = (&mut part.hasher, length) {
            let whole = hasher.update_from(&mut part.file, |_| !watch.is_cancelled()).map_err(known)?;
            if !whole {
                return Err(HubError::Cancelled);
            }
        }
        part.file.seek(io::SeekFrom::Start(length)).map_err(known)?;
        Ok(part)
    }

    fn new_hasher(&self) -> Option<Hasher> {
        // git's hash begins with the length
        let Download { hash, size, .. } = self.download;
        hash.as_ref().map(|hash| hash.hasher(size.unwrap_or(0)))
    }

    /// Fetches the missing bytes, with as many requests as it takes.
    fn fill(
        &mut self,
        client: &Client,
        watch: &mut Watch,
        refused: &impl Fn(Answer) -> HubError,
    ) -> Result<(), HubError> {
        let Download { size, name, .. } = *self.download;
        let (mut fruitless, mut furthest) = (0, self.length);
        while size.is_none_or(|size| self.length < size) || (size == Some(0) && fruitless == 0) {
            let reason = match self.attempt(client, watch, refused) {
                Ok(true) => return Ok(()),
                Ok(false) => "the server hung up".to_owned(),
                Err(Failure::Cut(reason)) => reason,
                Err(Failure::Unreachable(error)) if self.length == 0 => return Err(error),
                Err(Failure::Unreachable(error)) => error.to_string(),
                Err(Failure::Other(error)) => return Err(error),
            };
            // a download that begins anew brings bytes, but none further
            fruitless = if self.length > furthest { 0 } else { fruitless + 1 };
            furthest = furthest.max(self.length);
            let total = || size.map_or_else(|| "?".into(), |size| size.to_string());
            if fruitless >= FRUITLESS {
                return Err(HubError::Cut {
                    file: name.to_owned(),
                    received: self.length,
                    total: total(),
                    reason,
                });
            }
            let line = format!("{name}: cut at {} of {} bytes ({reason}); going on", self.length, total());
            watch.notice(&line);
            watch.sleep(client.pause(fruitless))?;
        }
        Ok(())
    }

    /// One request. Returns whether the file is complete.
    fn attempt(
        &mut self,
        client: &Client,
        watch: &mut Watch,
        refused: &impl Fn(Answer) -> HubError,
    ) -> Result<bool, Failure> {
        let Download { url, size, .. } = self.download;
        let answer = client.request(Method::Get, url, self.length, watch)?;
        let real = real_size(&answer);
        match answer.status {
            200 => {
                self.restart(watch)?;
                self.note_version(version(&answer))?;
            }
            206 if self.download.hash.is_none() && version(&answer) != self.version => {
                self.restart(watch)?;
                return Err(Failure::Cut("the server has another version of the file".into()));
            }
            206 if starts_at(&answer, self.length) => {}
            416 if real == Some(self.length) && size.is_some() => {
                return Err(self.wrong_size(self.length).into());
            }
            206 | 416 if self.length > 0 => {
                self.restart(watch)?;
                return Ok(false);
            }
            _ => return Err(refused(answer).into()),
        }
        let promised = answer.header("content-length").and_then(|text| text.parse::<u64>().ok());
        let end = size.or(promised.map(|rest| self.length + rest));
        loop {
            match answer.next(watch) {
                Ok(Some(bytes)) => self.write(&bytes, watch)?,
                Ok(None) if real == Some(self.length) && size.is_some_and(|size| size > self.length) => {
                    return Err(self.wrong_size(self.length).into());
                }
                Ok(None) => return Ok(end.is_none_or(|end| self.length >= end)),
                Err(failure) => {
                    self.file.flush().map_err(|error| self.download.write_error(error))?;
                    return Err(failure);
                }
            }
        }
    }

    /// Remembers the version of which the part's first byte is.
    fn note_version(&mut self, version: Option<String>) -> Result<(), HubError> {
        if self.download.hash.is_none() {
            let place = self.download.version();
            match &version {
                Some(version) => write_at_once(&place, version.as_bytes())?,
                None => _ = fs::remove_file(place), // there may be none
            }
            self.version = version;
        }
        Ok(())
    }

    /// Begins anew, because the server sends the whole file.
    fn restart(&mut self, watch: &mut Watch) -> Result<(), HubError> {
        if self.length > 0 {
            let path = &self.download.part;
            let cleared = self.file.set_len(0).and_then(|()| self.file.rewind());
            cleared.map_err(|error| HubError::io("write", path, error))?;
            watch.retreat(self.length);
            self.length = 0;
            self.hasher = self.new_hasher();
        }
        Ok(())
    }

    fn write(&mut self, bytes: &[u8], watch: &mut Watch) -> Result<(), HubError> {
        let length = self.length + bytes.len() as u64;
        let Download { size, limit, .. } = *self.download;
        if length > size.unwrap_or(limit) {
            return Err(self.wrong_size(length));
        }
        self.file.write_all(bytes).map_err(|error| self.download.write_error(error))?;
        if let Some(hasher) = &mut self.hasher {
            hasher.update(bytes);
        }
        self.length = length;
        watch.advance(bytes.len() as u64);
        Ok(())
    }

    /// Compares size and hash with the published ones.
    fn check(self) -> Result<File, HubError> {
        let Download { name, size, hash, .. } = self.download;
        if size.is_some_and(|size| size != self.length) {
            return Err(self.wrong_size(self.length));
        }
        let advice = advice();
        if let (Some(hash), Some(hasher)) = (hash, self.hasher) {
            let found = hasher.finish();
            if found != hash.digits() {
                let (kind, promised) = (hash.kind(), hash.digits().to_owned());
                return Err(HubError::WrongHash { file: (*name).to_owned(), kind, found, promised, advice });
            }
        }
        Ok(self.file)
    }

    /// The error of a file with another number of bytes than was published.
    fn wrong_size(&self, found: u64) -> HubError {
        let Download { name, size, limit, .. } = *self.download;
        let promised = size.unwrap_or(limit);
        HubError::WrongSize { file: name.to_owned(), found, promised, advice: advice() }
    }
}

fn advice() -> String {
    "nothing of it was kept; try again, and if it stays so, tell the publisher".into()
}

/// Bytes of the whole file on the server, if it tells them.
fn real_size(answer: &Answer) -> Option<u64> {
    let text = match answer.status {
        200 => answer.header("content-length")?,
        _ => answer.header("content-range")?.rsplit('/').next()?,
    };
    text.trim().parse().ok()
}

/// A server's mark of one version of a file.
fn version(answer: &Answer) -> Option<String> {
    answer.header("etag").or_else(|| answer.header("last-modified")).map(str::to_owned)
}

/// Whether a partial answer begins at this byte.
fn starts_at(answer: &Answer, byte: u64) -> bool {
    let range = answer.header("content-range").and_then(|text| text.trim().strip_prefix("bytes "));
    range.and_then(|range| range.split('-').next()?.trim().parse().ok()) == Some(byte)
}
