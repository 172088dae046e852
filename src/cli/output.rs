//! Where results go: standard output or a file.

use std::fs::{self, File};
use std::io::{self, BufWriter, ErrorKind, Write};
use std::path::Path;

use super::CliError;

pub struct Output {
    name: String,
    writer: BufWriter<Box<dyn Write>>,
}

impl Output {
    /// A file, or standard output where there is none.
    pub fn open(path: Option<&Path>) -> Result<Self, CliError> {
        let (name, writer): (String, Box<dyn Write>) = match path {
            None => ("standard output".into(), Box::new(io::stdout())),
            Some(path) => {
                let name = path.display().to_string();
                match File::create(path) {
                    Ok(file) => (name, Box::new(file)),
                    Err(source) => return Err(cannot_write(path, source)),
                }
            }
        };
        Ok(Self { name, writer: BufWriter::new(writer) })
    }

    pub fn line(&mut self, line: &str) -> Result<(), CliError> {
        let result = self.writer.write_all(line.as_bytes()).and_then(|()| self.writer.write_all(b"\n"));
        self.check(result)
    }

    /// Numbers that JSON does not have (minus infinity for a forbidden token's log-probability) become `null`.
    pub fn json(&mut self, value: &impl serde::Serialize) -> Result<(), CliError> {
        let line = serde_json::to_string(value).map_err(|error| CliError::Input(error.to_string()))?;
        self.line(&line)
    }

    /// What has been written so far can be seen.
    pub fn flush(&mut self) -> Result<(), CliError> {
        let result = self.writer.flush();
        self.check(result)
    }

    fn check(&self, result: io::Result<()>) -> Result<(), CliError> {
        result.map_err(|source| match source.kind() {
            ErrorKind::BrokenPipe => CliError::ClosedPipe,
            _ => CliError::Io { what: format!("cannot write {}", self.name), source },
        })
    }
}

/// The error for a file that cannot be written.
pub fn cannot_write(path: &Path, source: io::Error) -> CliError {
    CliError::Io { what: format!("cannot write {}", path.display()), source }
}

/// Refuses to overwrite the input before it has been read.
pub fn check_different(input: Option<&Path>, output: Option<&Path>) -> Result<(), CliError> {
    let (Some(input), Some(output)) = (input, output) else {
        return Ok(());
    };
    match (fs::canonicalize(input), fs::canonicalize(output)) {
        (Ok(from), Ok(to)) if from == to && to.is_file() => {
            Err(CliError::Usage(format!("--input and --output are the same file, {}", input.display())))
        }
        _ => Ok(()),
    }
}
