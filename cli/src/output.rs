use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, ErrorKind, Seek, SeekFrom, Write};
use std::path::Path;

use same_file::is_same_file;

use super::digest::Digest;
use super::{CliError, closed_output};

pub struct Output {
    name: String,
    writer: BufWriter<Box<dyn Write>>,
    /// The same file, for syncing.
    file: Option<File>,
    digest: Digest,
}

impl Output {
    /// Opens a file, or standard output for `None` or `-`.
    pub fn open(path: Option<&Path>) -> Result<Self, CliError> {
        match path.filter(|path| !is_standard(path)) {
            Some(path) => Self::go_on(path, Digest::default()),
            None => {
                let output = Self {
                    name: "standard output".into(),
                    writer: BufWriter::new(Box::new(io::stdout())),
                    file: None,
                    digest: Digest::default(),
                };
                output.check(closed_output::check())?;
                Ok(output)
            }
        }
    }

    /// Opens a file to continue after a beginning with this digest; cuts off the rest.
    pub fn go_on(path: &Path, beginning: Digest) -> Result<Self, CliError> {
        let name = path.display().to_string();
        let open = || {
            let mut file = File::options().write(true).create(true).truncate(false).open(path)?;
            if file.metadata()?.is_file() {
                lock(&file)?;
                file.set_len(beginning.bytes())?;
                file.seek(SeekFrom::End(0))?;
            }
            Ok((file.try_clone()?, file))
        };
        match open() {
            Ok((file, writer)) => Ok(Self {
                name,
                writer: BufWriter::new(Box::new(writer)),
                file: Some(file),
                digest: beginning,
            }),
            Err(source) => Err(cannot_write(path, source)),
        }
    }

    pub fn line(&mut self, line: &str) -> Result<(), CliError> {
        self.digest.update(line.as_bytes());
        self.digest.update(b"\n");
        let result = self.writer.write_all(line.as_bytes()).and_then(|()| self.writer.write_all(b"\n"));
        self.check(result)
    }

    /// Writes bytes, and flushes.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<(), CliError> {
        self.digest.update(bytes);
        let result = self.writer.write_all(bytes);
        self.check(result)?;
        self.flush()
    }

    /// Writes JSON. Minus infinity (a banned token's log-probability) becomes `null`.
    pub fn json(&mut self, value: &impl serde::Serialize) -> Result<(), CliError> {
        let line = serde_json::to_string(value).map_err(|error| CliError::Input(error.to_string()))?;
        self.line(&line)
    }

    pub fn flush(&mut self) -> Result<(), CliError> {
        let result = self.writer.flush();
        self.check(result)
    }

    /// As [`Output::flush`], and syncs to disk. Returns the digest of the whole output.
    pub fn sync(&mut self) -> Result<&Digest, CliError> {
        self.flush()?;
        if let Some(file) = &self.file {
            self.check(file.sync_data())?;
        }
        Ok(&self.digest)
    }

    fn check(&self, result: io::Result<()>) -> Result<(), CliError> {
        result.map_err(|source| match source.kind() {
            ErrorKind::BrokenPipe => CliError::ClosedPipe,
            _ => CliError::Io { what: format!("cannot write {}", self.name), source },
        })
    }
}

/// Locks the file against a second run. The lock ends with the process.
pub fn lock(file: &File) -> io::Result<()> {
    // on other systems a lock also blocks readers; some file systems have no locks
    match cfg!(unix).then(|| file.try_lock()) {
        Some(Err(TryLockError::WouldBlock)) => {
            Err(io::Error::new(ErrorKind::WouldBlock, "another run is writing it"))
        }
        _ => Ok(()),
    }
}

/// Whether a path is `-`, which stands for standard input or output; `./-` is a file of this name.
pub fn is_standard(path: &Path) -> bool {
    path == Path::new("-")
}

pub fn cannot_read(path: &Path, source: io::Error) -> CliError {
    CliError::Io { what: format!("cannot read {}", path.display()), source }
}

pub fn cannot_write(path: &Path, source: io::Error) -> CliError {
    CliError::Io { what: format!("cannot write {}", path.display()), source }
}

pub fn check_different(input: Option<&Path>, output: Option<&Path>) -> Result<(), CliError> {
    check_named(("--input", input), ("--output", output))
}

/// Checks that a file that is written is not one that is read or written under another option. Links of both kinds are
/// followed. Terminals and pipes may be both.
pub fn check_named(
    (one, first): (&str, Option<&Path>),
    (other, second): (&str, Option<&Path>),
) -> Result<(), CliError> {
    let (Some(first), Some(second)) = (first, second) else {
        return Ok(());
    };
    if is_standard(first) || is_standard(second) {
        return Ok(());
    }
    // a pipe must not be opened to compare it: that waits for the program at its other end
    let is_file = |path: &Path| fs::metadata(path).is_ok_and(|found| found.is_file());
    let same = match is_file(first) && is_file(second) {
        true => is_same_file(first, second).unwrap_or(false),
        // files that do not exist yet
        false => first == second && !first.exists(),
    };
    if !same {
        return Ok(());
    }
    let names = if first == second {
        format!("{one} and {other} are the same file, {}", first.display())
    } else {
        format!("{one} and {other} are the same file, {} and {}", first.display(), second.display())
    };
    Err(CliError::Usage(names))
}
