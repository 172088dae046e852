//! The log of a training, `train.jsonl`: one event a line. The curves are drawn from it, also after a resume.

use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::error::SessionError;

const LOG: &str = "train.jsonl";

/// An event of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A process begins to train; `step` is the last one before.
    #[allow(missing_docs, reason = "the names say it")]
    Start { step: u64, command: String, device: String, parameters: u64, pairs: usize, dev_pairs: usize },
    /// Some steps were taken.
    Steps(StepsEvent),
    /// The model was tested.
    Test(TestEvent),
    /// A checkpoint was written.
    #[allow(missing_docs, reason = "the names say it")]
    Checkpoint { step: u64, folder: String },
    /// The process stops training.
    #[allow(missing_docs, reason = "the names say it")]
    End { step: u64, reason: String },
}

/// Some steps, together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepsEvent {
    /// The last step.
    pub step: u64,
    /// Passes over the data, with a fraction.
    pub epoch: f64,
    /// Time of training so far, seconds.
    pub seconds: f64,
    /// Mean loss of a target token without label smoothing, nats.
    pub loss: f64,
    /// The same with label smoothing.
    pub smoothed_loss: f64,
    /// Share of target tokens that had the best logit.
    pub accuracy: f64,
    /// Of the last step.
    pub learning_rate: f64,
    /// Norm of all gradients of the last step, before clipping.
    pub gradient_norm: f32,
    /// Target tokens a second.
    pub tokens_per_second: f64,
}

/// A test with the dev set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TestEvent {
    /// The step after which it was.
    pub step: u64,
    /// Mean loss of a target token, nats.
    pub loss: f64,
    /// Share of target tokens that had the best logit.
    pub accuracy: f64,
    /// BLEU of some pairs, with greedy search.
    pub bleu: Option<f64>,
    /// Whether no earlier test was better.
    pub best: bool,
}

/// Whether the log of a folder tells of a checkpoint.
pub fn had_checkpoint(out: &Path) -> bool {
    let log = fs::read_to_string(log_in(out)).unwrap_or_default();
    let is_checkpoint = |line| matches!(serde_json::from_str(line), Ok(Event::Checkpoint { .. }));
    log.lines().any(is_checkpoint)
}

/// The log on disk, and its curves in memory.
pub struct History {
    file: File,
    name: String,
    /// Bytes of whole lines in the file.
    written: u64,
    /// Lines that could not be written yet.
    waiting: Vec<u8>,
    /// All steps so far.
    pub steps: Vec<StepsEvent>,
    /// All tests so far.
    pub tests: Vec<TestEvent>,
}

impl History {
    /// Opens the log to go on after a step: later lines, which a killed process wrote after its last checkpoint, are cut off.
    pub(super) fn open(folder: &Path, step: u64) -> Result<Self, SessionError> {
        let path = log_in(folder);
        let (mut kept, mut events) = (0, Vec::new());
        if step > 0 && path.exists() {
            let text = fs::read_to_string(&path).map_err(|error| SessionError::cannot_read(&path, error))?;
            for line in text.split_inclusive('\n') {
                match serde_json::from_str::<Event>(line) {
                    Ok(event) if event.step() <= step && line.ends_with('\n') => events.push(event),
                    _ => break,
                }
                kept += line.len() as u64;
            }
        }
        let file = opened(&path, kept).map_err(|error| SessionError::cannot_write(&path, error))?;
        let name = path.display().to_string();
        let mut history =
            Self { file, name, written: kept, waiting: Vec::new(), steps: Vec::new(), tests: Vec::new() };
        events.iter().for_each(|event| history.keep(event));
        Ok(history)
    }

    /// Adds an event to the log and the curves. A line that cannot be written is written with a later one.
    pub(super) fn add(&mut self, event: &Event) -> Result<(), SessionError> {
        self.keep(event);
        self.waiting.append(&mut serde_json::to_vec(event).expect("an event of plain values"));
        self.waiting.push(b'\n');
        let written = self.file.write_all(&self.waiting);
        if let Err(source) = written {
            // no part of a line stays
            _ = self.file.set_len(self.written);
            _ = self.file.seek(SeekFrom::Start(self.written));
            return Err(SessionError::Io { what: format!("cannot write {}", self.name), source });
        }
        self.written += self.waiting.len() as u64;
        self.waiting.clear();
        Ok(())
    }

    fn keep(&mut self, event: &Event) {
        match event {
            Event::Steps(steps) => self.steps.push(*steps),
            Event::Test(test) => self.tests.push(*test),
            _ => {}
        }
    }
}

impl Event {
    fn step(&self) -> u64 {
        match self {
            Self::Steps(StepsEvent { step, .. }) | Self::Test(TestEvent { step, .. }) => *step,
            Self::Start { step, .. } | Self::Checkpoint { step, .. } | Self::End { step, .. } => *step,
        }
    }
}

/// Opens a log to go on after its first bytes. The file is locked against a second run, until it is closed.
fn opened(path: &Path, kept: u64) -> io::Result<File> {
    let mut file = File::options().write(true).create(true).truncate(false).open(path)?;
    // on other systems a lock also blocks readers; some file systems have no locks
    if let Some(Err(TryLockError::WouldBlock)) = cfg!(unix).then(|| file.try_lock()) {
        return Err(io::Error::new(ErrorKind::WouldBlock, "another run is writing it"));
    }
    file.set_len(kept)?;
    file.seek(SeekFrom::End(0))?;
    Ok(file)
}

/// The path of the log in a folder.
pub(super) fn log_in(folder: &Path) -> PathBuf {
    folder.join(LOG)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_could_not_be_written_come_with_a_later_one() {
        let folder = std::env::temp_dir().join(format!("wordloom-history-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        let mut history = History::open(&folder, 0).unwrap();
        let event = |step| Event::Steps(StepsEvent { step, ..StepsEvent::default() });
        history.add(&event(1)).unwrap();
        let path = log_in(&folder);
        let writable = std::mem::replace(&mut history.file, File::open(&path).unwrap());
        for step in [2, 3] {
            let error = history.add(&event(step)).unwrap_err();
            assert!(error.to_string().contains("train.jsonl"), "{error}");
        }
        history.file = writable;
        history.add(&event(4)).unwrap();
        let text = fs::read_to_string(&path).unwrap();
        let steps = text.lines().map(|line| serde_json::from_str::<Event>(line).unwrap().step());
        assert_eq!(steps.collect::<Vec<_>>(), [1, 2, 3, 4]);
        fs::remove_dir_all(&folder).unwrap();
    }
}
