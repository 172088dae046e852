//! Where results go: standard output or a file.

use std::fs::File;
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
                    Err(source) => return Err(CliError::Io { what: format!("cannot write {name}"), source }),
                }
            }
        };
        Ok(Self { name, writer: BufWriter::new(writer) })
    }

    pub fn line(&mut self, line: &str) -> Result<(), CliError> {
        let result = self.writer.write_all(line.as_bytes()).and_then(|()| self.writer.write_all(b"\n"));
        self.check(result)
    }

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
