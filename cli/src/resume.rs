//! `OUT.resume`: the progress of a translation between files, for resuming.
//!
//! The record has the lengths of the input and the output that belong together, their hashes, and the settings. It is
//! written after the output and replaced atomically, so it is always true. Output beyond the record, at most a window,
//! is cut off and translated again.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use wordloom::json_problem::json_problem;

use super::digest::{Digest, Summary};
use super::lines::{Line, Start};
use super::{CliError, notice};

#[derive(Debug, thiserror::Error)]
pub enum ResumeError {
    #[error(
        "{output} is there, but no {record}: it is complete, or was not written by this command; leave out --resume to \
         translate anew"
    )]
    NoRecord { output: String, record: String },
    #[error("{record}: is no record of a translation ({problem}); leave out --resume to translate anew")]
    Record { record: String, problem: String },
    #[error(
        "{record}: {name} was {before}, and is {now}; give it as it was, or leave out --resume to translate anew"
    )]
    Setting { record: String, name: String, before: String, now: String },
    #[error(
        "{file}: its first {bytes} bytes are not those that {record} was written for; bring them back, or leave out \
         --resume to translate anew"
    )]
    File { file: String, bytes: u64, record: String },
}

/// Settings that determine the output, by option name. The device is not one, unless it rounds differently, so a run can
/// continue on another.
pub type Settings = BTreeMap<String, String>;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    format: u32,
    settings: Settings,
    /// Input that has been read, and its output.
    input: Summary,
    output: Summary,
    lines: usize,
    window: usize,
}

/// Version of [`Record`]; it changes if texts would be cut or joined differently.
const FORMAT: u32 = 1;
/// Shortest time between records; syncing is slow.
const PAUSE: Duration = Duration::from_secs(1);

pub struct Resumable {
    input: PathBuf,
    output: PathBuf,
    path: PathBuf,
    record: Record,
    read: Digest,
    /// Digest of the output at the start of this run.
    written: Digest,
    saved: Instant,
}

#[derive(Clone, Copy)]
pub struct StoppedAt {
    pub start: Start,
    pub window: usize,
}

impl Resumable {
    /// `None` if input or output cannot be resumed: a terminal, a pipe, a device.
    pub fn new(input: Option<&Path>, output: Option<&Path>) -> Option<Self> {
        let (input, output) = (input?.to_owned(), output?.to_owned());
        let is_file = |path: &Path| fs::metadata(path).map(|found| found.is_file());
        if !is_file(&input).unwrap_or(false) || !is_file(&output).unwrap_or(true) {
            return None;
        }
        let mut path = OsString::from(&output);
        path.push(".resume");
        let record = Record {
            format: FORMAT,
            settings: Settings::new(),
            input: Digest::default().summary(),
            output: Digest::default().summary(),
            lines: 0,
            window: 0,
        };
        let (path, read, written) = (path.into(), Digest::default(), Digest::default());
        Some(Self { input, output, path, record, read, written, saved: Instant::now() })
    }

    /// Returns the position of the recorded run; `None` without a record.
    pub fn go_on(&mut self) -> Result<Option<StoppedAt>, CliError> {
        let content = match fs::read(&self.path) {
            Ok(content) => content,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                return match fs::metadata(&self.output) {
                    Ok(found) if found.len() > 0 => Err(ResumeError::NoRecord {
                        output: self.output.display().to_string(),
                        record: self.name(),
                    }
                    .into()),
                    _ => Ok(None),
                };
            }
            Err(source) => {
                return Err(CliError::Io { what: format!("cannot read {}", self.name()), source });
            }
        };
        let problem = |problem: String| ResumeError::Record { record: self.name(), problem };
        let record: Record =
            serde_json::from_slice(&content).map_err(|error| problem(json_problem(&error)))?;
        if record.format != FORMAT {
            return Err(problem(format!("format {}, not {FORMAT}", record.format)).into());
        }
        self.record = record;
        self.read = self.check_beginning(&self.input, &self.record.input)?;
        if self.record.output.bytes > 0 {
            self.written = self.check_beginning(&self.output, &self.record.output)?;
        }
        let start = Start { bytes: self.record.input.bytes, lines: self.record.lines };
        Ok(Some(StoppedAt { start, window: self.record.window.clamp(1, 1 << 16) }))
    }

    fn check_beginning(&self, path: &Path, before: &Summary) -> Result<Digest, CliError> {
        let file = path.display().to_string();
        match Digest::of_beginning(path, before.bytes) {
            Ok(now) if now.summary() == *before => Ok(now),
            Err(source) if source.kind() != ErrorKind::NotFound => {
                Err(CliError::Io { what: format!("cannot read {file}"), source })
            }
            _ => Err(ResumeError::File { file, bytes: before.bytes, record: self.name() }.into()),
        }
    }

    pub fn check_settings(&self, settings: &Settings) -> Result<(), ResumeError> {
        check(&self.name(), &self.record.settings, settings)
    }

    pub fn written(&self) -> &Digest {
        &self.written
    }

    pub fn begin(&mut self, settings: Settings, window: usize) -> Result<(), CliError> {
        self.record.settings = settings;
        self.record.window = window;
        self.write()
    }

    pub fn add(&mut self, lines: &[Line]) {
        for line in lines {
            self.read.update(line.text.as_bytes());
            self.read.update(&b"\n"[..(line.bytes as usize - line.text.len()).min(1)]);
        }
        self.record.lines += lines.len();
    }

    pub fn is_due(&self) -> bool {
        self.saved.elapsed() >= PAUSE
    }

    /// Records that the translations of all added lines are on disk, with the digest `output`.
    pub fn save(&mut self, output: &Digest, window: usize) -> Result<(), CliError> {
        self.record.input = self.read.summary();
        self.record.output = output.summary();
        self.record.window = window;
        self.write()
    }

    pub fn finish(self) {
        if let Err(error) = fs::remove_file(&self.path) {
            notice(&format!("warning: cannot remove {}: {error}", self.name()));
        }
    }

    fn write(&mut self) -> Result<(), CliError> {
        let mut new = OsString::from(&self.path);
        new.push(".new");
        let replace = || {
            let mut file = File::create(&new)?;
            serde_json::to_writer(&mut file, &self.record)?;
            file.write_all(b"\n")?;
            file.sync_all()?;
            fs::rename(&new, &self.path)
        };
        replace().map_err(|source: io::Error| CliError::Io {
            what: format!("cannot write {}", self.name()),
            source,
        })?;
        self.saved = Instant::now();
        Ok(())
    }

    fn name(&self) -> String {
        self.path.display().to_string()
    }
}

/// Checks that the settings are those of a record.
pub fn check(record: &str, recorded: &Settings, settings: &Settings) -> Result<(), ResumeError> {
    let get = |settings: &Settings, name| settings.get(name).map_or("not given", String::as_str).to_owned();
    for name in recorded.keys().chain(settings.keys()) {
        let (before, now) = (get(recorded, name), get(settings, name));
        if before != now {
            return Err(ResumeError::Setting { record: record.to_owned(), name: name.clone(), before, now });
        }
    }
    Ok(())
}
