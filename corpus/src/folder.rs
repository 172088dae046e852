//! The output folder: parts under their final names, and beside them, in `_corpus`, the records of the run.
//!
//! A part is committed by its marker, which is written last. What has no marker is written again.

use std::collections::BTreeMap;
use std::fs::{self, File, TryLockError};
use std::hash::Hasher;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use siphasher::sip128::{Hasher128, SipHasher13};

use super::error::CorpusError;
use super::report::Report;

/// Version of the records; it changes if files would be cut otherwise.
const FORMAT: u32 = 2;
/// How the names of settings begin that have the time of a file. They come after all other names.
pub const TIME: &str = "time of ";
/// What the run was begun with; a resumed run needs the same.
pub type Settings = BTreeMap<String, String>;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Run {
    format: u32,
    settings: Settings,
}

/// The record of a committed part.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Marker {
    /// Index of the input file.
    pub file: usize,
    /// Rows of the file before the part.
    pub first_row: u64,
    pub rows: u64,
    /// Whether the file ends with the part.
    pub is_last: bool,
    pub report: Report,
}

pub struct Folder {
    path: PathBuf,
    records: PathBuf,
    /// Held while the run works. The lock ends with the process.
    _lock: File,
}

impl Folder {
    /// Begins a run, or goes on with one.
    pub fn open(path: &Path, settings: &Settings, resume: bool) -> Result<Self, CorpusError> {
        let name = || path.display().to_string();
        let failed = |source| CorpusError::io(format!("cannot write {}", name()), source);
        let records = path.join("_corpus");
        fs::create_dir_all(path).map_err(failed)?;
        let record = records.join("run.json");
        let begun = read::<Run>(&record, path)?;
        if begun.is_none()
            && fs::read_dir(path)
                .map_err(failed)?
                .any(|entry| entry.is_ok_and(|entry| entry.path() != records))
        {
            return Err(CorpusError::OtherFolder { folder: name() });
        }
        fs::create_dir_all(&records).map_err(failed)?;
        let lock = File::create(records.join("lock")).map_err(failed)?;
        if let Err(TryLockError::WouldBlock) = lock.try_lock() {
            return Err(CorpusError::Locked { folder: name() });
        }
        let folder = Self { path: path.to_owned(), records, _lock: lock };
        match begun {
            None => folder.replace(&record, &Run { format: FORMAT, settings: settings.clone() })?,
            Some(_) if !resume => return Err(CorpusError::RunExists { folder: name() }),
            Some(run) => folder.check(&run, settings)?,
        }
        Ok(folder)
    }

    fn check(&self, run: &Run, settings: &Settings) -> Result<(), CorpusError> {
        if run.format != FORMAT {
            return Err(CorpusError::Setting {
                folder: self.path.display().to_string(),
                name: "the format of records".into(),
                before: run.format.to_string(),
                now: FORMAT.to_string(),
            });
        }
        let get = |settings: &Settings, name| match settings.get(name).map(String::as_str) {
            None | Some("false") => "not given".to_owned(),
            Some("true") => "given".to_owned(),
            Some(value) => value.to_owned(),
        };
        for name in run.settings.keys().chain(settings.keys()) {
            let (before, now) = (get(&run.settings, name), get(settings, name));
            if before != now {
                let folder = self.path.display().to_string();
                if let Some(file) = name.strip_prefix(TIME) {
                    return Err(CorpusError::Changed { file: file.to_owned(), folder, before, now });
                }
                return Err(CorpusError::Setting { folder, name: name.clone(), before, now });
            }
        }
        Ok(())
    }

    /// Where the finished translations are kept.
    pub fn store(&self) -> PathBuf {
        self.records.join("texts.sqlite")
    }

    /// Where a part is written before it is committed. Each part has a place of its own.
    pub fn draft(&self, part: u64) -> PathBuf {
        self.records.join(format!("part-{part:05}.new"))
    }

    /// The file with the bad rows of a part.
    pub fn bad_rows(&self, part: u64) -> PathBuf {
        self.records.join(format!("bad-{part:05}.jsonl"))
    }

    /// The marker of a part, if it is committed.
    pub fn marker(&self, part: u64) -> Result<Option<Marker>, CorpusError> {
        read(&self.marker_path(part), &self.path)
    }

    fn marker_path(&self, part: u64) -> PathBuf {
        self.records.join(format!("part-{part:05}.json"))
    }

    /// Gives a draft its final name, if there is one, and writes the marker.
    pub fn commit(&self, part: u64, ending: Option<&str>, marker: &Marker) -> Result<(), CorpusError> {
        if let Some(ending) = ending {
            let to = self.path.join(format!("part-{part:05}.{ending}"));
            let failed = |source| CorpusError::io(format!("cannot write {}", to.display()), source);
            fs::rename(self.draft(part), &to).map_err(failed)?;
            sync(&self.path).map_err(failed)?;
        }
        self.replace(&self.marker_path(part), marker)
    }

    /// Says that the run is complete, as Hadoop's jobs do, and writes its report.
    pub fn finish(&self, report: &impl Serialize) -> Result<(), CorpusError> {
        self.replace(&self.records.join("report.json"), report)?;
        let done = self.path.join("_SUCCESS");
        File::create(&done)
            .map(drop)
            .map_err(|source| CorpusError::io(format!("cannot write {}", done.display()), source))
    }

    /// Writes a record under its name at once.
    fn replace(&self, path: &Path, value: &impl Serialize) -> Result<(), CorpusError> {
        let mut new = path.as_os_str().to_owned();
        new.push(".new");
        let write = || {
            let mut file = File::create(&new)?;
            serde_json::to_writer(&mut file, value)?;
            file.write_all(b"\n")?;
            file.sync_all()?;
            fs::rename(&new, path)?;
            sync(&self.records)
        };
        write().map_err(|source| CorpusError::io(format!("cannot write {}", path.display()), source))
    }
}

/// Syncs the names of a folder, on systems that can.
fn sync(folder: &Path) -> io::Result<()> {
    if cfg!(unix) { File::open(folder)?.sync_all() } else { Ok(()) }
}

fn read<T: DeserializeOwned>(path: &Path, folder: &Path) -> Result<Option<T>, CorpusError> {
    match fs::read(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(source) => Err(CorpusError::io(format!("cannot read {}", path.display()), source)),
        Ok(bytes) => {
            serde_json::from_slice(&bytes).map(Some).map_err(|error| damaged(path, folder, error.to_string()))
        }
    }
}

fn damaged(file: &Path, folder: &Path, problem: String) -> CorpusError {
    CorpusError::Record { file: file.display().to_string(), problem, folder: folder.display().to_string() }
}

/// The name of a file with its length and a hash of samples, to notice another file under its name. The folder is left out: there are
/// many ways to write it, and the content tells files apart.
pub fn fingerprint(path: &Path) -> Result<String, CorpusError> {
    const SAMPLES: u64 = 64;
    const SAMPLE: u64 = 4096;
    let read = || {
        let mut file = File::open(path)?;
        let bytes = file.metadata()?.len();
        let mut hasher = SipHasher13::new();
        let mut sample = Vec::new();
        for place in 0..SAMPLES {
            let start =
                u128::from(bytes.saturating_sub(SAMPLE)) * u128::from(place) / u128::from(SAMPLES - 1);
            file.seek(SeekFrom::Start(start as u64))?;
            sample.clear();
            (&mut file).take(SAMPLE).read_to_end(&mut sample)?;
            hasher.write(&sample);
        }
        let hash = hasher.finish128().as_u128();
        Ok(format!("{}, {bytes} bytes, samples {hash:032x}", name_of(path)))
    };
    read().map_err(|source| CorpusError::io(format!("cannot read {}", path.display()), source))
}

/// The name of a file without its folder.
pub fn name_of(path: &Path) -> String {
    path.file_name().unwrap_or_default().to_string_lossy().into_owned()
}

/// When a file was last written, in seconds since 1970 as `touch -d` takes them. It shows a change between the samples.
pub fn time(path: &Path) -> Result<String, CorpusError> {
    let time = fs::metadata(path)
        .and_then(|found| found.modified())
        .map_err(|source| CorpusError::io(format!("cannot read the time of {}", path.display()), source))?;
    let text =
        |sign: &str, since: Duration| format!("@{sign}{}.{:09}", since.as_secs(), since.subsec_nanos());
    Ok(match time.duration_since(UNIX_EPOCH) {
        Ok(since) => text("", since),
        Err(before) => text("-", before.duration()),
    })
}
