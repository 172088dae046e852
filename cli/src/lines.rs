//! Lines of text from a file, standard input or the command line.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, ErrorKind, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use wordloom_documents::Format;

use super::output::is_standard;
use super::{CliError, interrupt};

/// Lines of a round: enough for batches, few enough for early results.
const ROUND: usize = 128;
/// Time after a round's first line in which others join it.
const TOGETHER: Duration = Duration::from_millis(30);
/// Bytes of the longest line. A longer one is no text.
const MAX_LINE: u64 = 64 << 20;

/// Reads lines in a separate thread, so that a round has all available lines, one or many.
pub struct Lines {
    name: String,
    bytes: Option<u64>,
    /// Whether all lines are available at once; typed lines are not.
    at_hand: bool,
    incoming: Receiver<Result<Line, CliError>>,
}

pub struct Line {
    /// Number of the line, from 1.
    pub number: usize,
    /// Text without its line feed; a carriage return is kept.
    pub text: String,
    pub bytes: u64,
}

#[derive(Clone, Copy, Default)]
pub struct Start {
    pub bytes: u64,
    pub lines: usize,
}

pub struct Round {
    pub lines: Vec<Line>,
    /// End of the input, or an error after these lines; `None` if there may be more.
    pub end: Option<Result<(), CliError>>,
}

impl Lines {
    pub fn open(path: Option<&Path>) -> Result<Self, CliError> {
        Self::open_at(path, Start::default())
    }

    /// Opens a file at a position, or standard input for `None` or `-`.
    pub fn open_at(path: Option<&Path>, start: Start) -> Result<Self, CliError> {
        let Some(path) = path.filter(|path| !is_standard(path)) else {
            return Self::read("standard input".into(), None, start, BufReader::new(io::stdin()));
        };
        let name = path.display().to_string();
        let open = || {
            let mut file = File::open(path)?;
            let metadata = file.metadata()?;
            if metadata.is_dir() {
                return Err(io::Error::new(ErrorKind::IsADirectory, "is a folder, not a text file"));
            }
            if start.bytes > 0 {
                file.seek(SeekFrom::Start(start.bytes))?;
            }
            Ok((file, metadata.is_file().then_some(metadata.len())))
        };
        match open() {
            Ok((file, bytes)) => Self::read(name, bytes, start, BufReader::new(file)),
            Err(source) => Err(CliError::Io { what: format!("cannot read {name}"), source }),
        }
    }

    /// Lines of a text. The empty text is one empty line.
    pub fn of_text(mut text: String) -> Result<Self, CliError> {
        if !text.ends_with('\n') {
            text.push('\n');
        }
        Self::read("the text".into(), Some(text.len() as u64), Start::default(), Cursor::new(text))
    }

    fn read(
        name: String,
        bytes: Option<u64>,
        start: Start,
        reader: impl BufRead + Send + 'static,
    ) -> Result<Self, CliError> {
        let (outgoing, incoming) = sync_channel(ROUND);
        let lines = Self { name: name.clone(), bytes, at_hand: bytes.is_some(), incoming };
        let work = move || send_lines(&name, start.lines + 1, reader, &outgoing);
        match thread::Builder::new().name("lines".into()).spawn(work) {
            Ok(_) => Ok(lines),
            Err(source) => {
                let what = format!("cannot start a thread to read {}", lines.name);
                Err(CliError::Io { what, source })
            }
        }
    }

    /// Name of the input in messages.
    pub fn name(&self) -> &str {
        &self.name
    }

    pub fn bytes(&self) -> Option<u64> {
        self.bytes
    }

    /// Waits for a line. Returns it with the lines that are available.
    pub fn round(&self) -> Round {
        self.window(ROUND, u64::MAX)
    }

    /// As [`Lines::round`], for at most `most` lines, and no further line after `enough` bytes.
    pub fn window(&self, most: usize, enough: u64) -> Round {
        let mut lines = Vec::new();
        let mut bytes = 0;
        let mut next = match self.at_hand {
            true => self.incoming.recv().ok(),
            false => {
                interrupt::waiting(|| self.incoming.recv().ok()).unwrap_or_else(|error| Some(Err(error)))
            }
        };
        let deadline = Instant::now() + TOGETHER;
        let end = loop {
            match next {
                None => break Some(Ok(())),
                Some(Err(error)) => break Some(Err(error)),
                Some(Ok(line)) => {
                    bytes += line.bytes;
                    lines.push(line);
                }
            }
            if lines.len() >= most || bytes >= enough {
                break None;
            }
            if self.at_hand {
                next = self.incoming.recv().ok();
                continue;
            }
            next = match self.incoming.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) => Some(line),
                Err(RecvTimeoutError::Disconnected) => None,
                Err(RecvTimeoutError::Timeout) => break None,
            };
        };
        Round { lines, end }
    }

    pub fn place(&self, number: usize) -> String {
        place(&self.name, number)
    }
}

fn place(name: &str, number: usize) -> String {
    format!("{name}, line {number}")
}

/// Sends lines until the end of the input, an error, or the end of the receiver.
fn send_lines(
    name: &str,
    first: usize,
    mut reader: impl BufRead,
    outgoing: &SyncSender<Result<Line, CliError>>,
) {
    for number in first.. {
        let line = read_line(name, number, &mut reader).transpose();
        let Some(line) = line else { return };
        let failed = line.is_err();
        if outgoing.send(line).is_err() || failed {
            return;
        }
    }
}

const ZIP: &str = "a zip file";

/// What a file is that begins in this way, if it is no text, or text with commands of its own.
fn no_lines(start: &[u8]) -> Option<&'static str> {
    let kinds: [(&[u8], &str); 4] = [
        (b"PK\x03\x04", ZIP),
        (b"%PDF-", "a PDF file"),
        (b"{\\rtf", "an RTF file"),
        (&[0xd0, 0xcf, 0x11, 0xe0], "a file of an older Office (.doc, .ppt, .xls), or one with a password"),
    ];
    kinds.into_iter().find(|(mark, _)| start.starts_with(mark)).map(|(_, kind)| kind)
}

fn read_line(name: &str, number: usize, reader: &mut impl BufRead) -> Result<Option<Line>, CliError> {
    let mut line = Vec::new();
    let bytes = reader
        .take(MAX_LINE)
        .read_until(b'\n', &mut line)
        .map_err(|source| CliError::Io { what: format!("cannot read {name}"), source })?;
    let at = || place(name, number);
    match line.last() {
        None => return Ok(None),
        Some(b'\n') => _ = line.pop(),
        Some(_) if bytes as u64 == MAX_LINE => {
            return Err(CliError::Input(format!(
                "{}: is longer than {MAX_LINE} bytes; is this a text?",
                at()
            )));
        }
        Some(_) => {}
    }
    if let Some(kind) = no_lines(&line).filter(|_| number == 1) {
        let known = Format::endings_of(Format::is_binary);
        let problem = match kind {
            ZIP => format!("documents that are zip files, by their ending or --format, are {known}"),
            _ => format!("save it in a format that is translated, such as {known}"),
        };
        return Err(CliError::Input(format!("{name}: {kind}, which has no lines; {problem}")));
    }
    let text = String::from_utf8(line).map_err(|error| {
        let byte = error.utf8_error().valid_up_to() + 1;
        CliError::Input(format!("{}: not UTF-8 at byte {byte}; convert it, for example with iconv", at()))
    })?;
    // a byte-order mark is no text
    let text = match text.strip_prefix('\u{feff}').filter(|_| number == 1) {
        Some(text) => text.to_owned(),
        None => text,
    };
    Ok(Some(Line { number, text, bytes: bytes as u64 }))
}
