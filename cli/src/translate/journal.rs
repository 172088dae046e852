//! `OUT.resume`: the translations of a document's texts so far, a line each, for resuming.
//!
//! The first line has the settings and the digest of the input. The others only grow; a line that a crash cut off is left out.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use wordloom::json_problem::json_problem;
use wordloom_documents::Translated;

use super::super::CliError;
use super::super::digest::Summary;
use super::super::output::{cannot_write, lock};
use super::super::resume::{ResumeError, Settings, check};

/// Version of the lines; it changes if documents would be cut differently.
const FORMAT: u32 = 1;

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    document: u32,
    settings: Settings,
    input: Summary,
    texts: usize,
}

#[derive(Serialize, Deserialize)]
struct Line {
    index: usize,
    #[serde(flatten)]
    translated: Translated,
}

/// Translations by the index of their text.
pub type Done = Vec<Option<Translated>>;

pub struct Journal {
    path: PathBuf,
    file: File,
}

/// The document that is translated: its place, its content, the number of its texts.
pub struct Work<'a> {
    pub input: &'a Path,
    pub output: &'a Path,
    pub digest: Summary,
    pub texts: usize,
}

impl Journal {
    /// Begins a journal.
    pub fn begin(work: &Work<'_>, settings: Settings) -> Result<Self, CliError> {
        let path = path(work.output);
        let header = Header { document: FORMAT, settings, input: work.digest.clone(), texts: work.texts };
        let create = || {
            // another run's journal stays as it is
            let mut file = File::options().create(true).truncate(false).write(true).open(&path)?;
            lock(&file)?;
            file.set_len(0)?;
            write_line(&mut file, &header)?;
            file.sync_data()?;
            Ok(file)
        };
        let file = create().map_err(|source| cannot_write(&path, source))?;
        Ok(Self { path, file })
    }

    /// Opens the journal of a run that was stopped; begins one if there is nothing yet.
    pub fn go_on(work: &Work<'_>, settings: Settings) -> Result<(Self, Done), CliError> {
        let path = path(work.output);
        let record = path.display().to_string();
        let content = match fs::read(&path) {
            Ok(content) => content,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if fs::metadata(work.output).is_ok_and(|found| found.len() > 0) {
                    return Err(
                        ResumeError::NoRecord { output: work.output.display().to_string(), record }.into()
                    );
                }
                return Ok((Self::begin(work, settings)?, vec![None; work.texts]));
            }
            Err(source) => return Err(CliError::Io { what: format!("cannot read {record}"), source }),
        };
        let problem = |problem: String| ResumeError::Record { record: record.clone(), problem };
        let mut lines = content.split_inclusive(|byte| *byte == b'\n');
        let first = lines.next().unwrap_or_default();
        let header: Header = serde_json::from_slice(first).map_err(|error| problem(json_problem(&error)))?;
        if header.document != FORMAT {
            return Err(problem(format!("format {}, not {FORMAT}", header.document)).into());
        }
        check(&record, &header.settings, &settings)?;
        if header.input != work.digest || header.texts != work.texts {
            let (file, bytes) = (work.input.display().to_string(), header.input.bytes);
            return Err(ResumeError::File { file, bytes, record }.into());
        }
        let mut done = vec![None; work.texts];
        let mut whole = first.len();
        for line in lines {
            let Ok(Line { index, translated }) = serde_json::from_slice(line) else { break };
            let place = done.get_mut(index).filter(|_| line.ends_with(b"\n"));
            let Some(place) = place else { break };
            *place = Some(translated);
            whole += line.len();
        }
        let open = || {
            let mut file = File::options().write(true).open(&path)?;
            lock(&file)?;
            file.set_len(whole as u64)?;
            file.seek(SeekFrom::End(0))?;
            Ok(file)
        };
        let file = open().map_err(|source| cannot_write(&path, source))?;
        Ok((Self { path, file }, done))
    }

    /// Adds translations, which are then on disk.
    pub fn add<'a>(
        &mut self,
        translations: impl Iterator<Item = (usize, &'a Translated)>,
    ) -> Result<(), CliError> {
        let write = || {
            let mut lines = Vec::new();
            for (index, translated) in translations {
                write_line(&mut lines, &Line { index, translated: translated.clone() })?;
            }
            self.file.write_all(&lines)?;
            self.file.sync_data()
        };
        write().map_err(|source| cannot_write(&self.path, source))
    }

    /// Removes the journal: the document is written.
    pub fn finish(self) -> Result<(), CliError> {
        fs::remove_file(&self.path).map_err(|source| cannot_write(&self.path, source))
    }
}

fn path(output: &Path) -> PathBuf {
    let mut path = OsString::from(output);
    path.push(".resume");
    path.into()
}

fn write_line(mut to: impl Write, value: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    to.write_all(&line)
}
