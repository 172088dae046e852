//! The log of a training, `train.jsonl`: one event a line. The curves are drawn from it, also after a resume.

use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::CliError;
use crate::digest::Digest;
use crate::output::Output;

pub const LOG: &str = "train.jsonl";

/// An event of a training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum Event {
    /// A process begins to train; `step` is the last one before.
    Start {
        step: u64,
        command: String,
        device: String,
        parameters: u64,
        pairs: usize,
        dev_pairs: usize,
    },
    Steps(StepsEvent),
    Test(TestEvent),
    Checkpoint {
        step: u64,
        folder: String,
    },
    End {
        step: u64,
        reason: String,
    },
}

/// Some steps, together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StepsEvent {
    pub step: u64,
    pub epoch: f64,
    /// Time of training so far.
    pub seconds: f64,
    /// Mean loss of a target token, nats; without and with label smoothing.
    pub loss: f64,
    pub smoothed_loss: f64,
    /// Share of target tokens that had the best logit.
    pub accuracy: f64,
    pub learning_rate: f64,
    /// Of the last step, before clipping.
    pub gradient_norm: f32,
    /// Target tokens a second.
    pub tokens_per_second: f64,
}

/// A test with the dev set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct TestEvent {
    pub step: u64,
    pub loss: f64,
    pub accuracy: f64,
    pub bleu: Option<f64>,
    pub best: bool,
}

/// The log on disk, and its curves in memory.
pub struct History {
    output: Output,
    pub steps: Vec<StepsEvent>,
    pub tests: Vec<TestEvent>,
}

impl History {
    /// Opens the log to go on after a step: later lines, which a killed process wrote after its last checkpoint, are cut off.
    pub fn open(folder: &Path, step: u64) -> Result<Self, CliError> {
        let path = folder.join(LOG);
        let (mut kept, mut events) = (0, Vec::new());
        if step > 0 {
            let cannot_read =
                |source| CliError::Io { what: format!("cannot read {}", path.display()), source };
            let text = match path.exists() {
                true => fs::read_to_string(&path).map_err(cannot_read)?,
                false => String::new(),
            };
            for line in text.split_inclusive('\n') {
                match serde_json::from_str::<Event>(line) {
                    Ok(event) if event.step() <= step && line.ends_with('\n') => events.push(event),
                    _ => break,
                }
                kept += line.len() as u64;
            }
        }
        let beginning = match kept {
            0 => Digest::default(),
            kept => Digest::of_beginning(&path, kept)
                .map_err(|source| CliError::Io { what: format!("cannot read {}", path.display()), source })?,
        };
        let mut history =
            Self { output: Output::go_on(&path, beginning)?, steps: Vec::new(), tests: Vec::new() };
        events.iter().for_each(|event| history.keep(event));
        Ok(history)
    }

    /// Adds an event to the log and the curves.
    pub fn add(&mut self, event: &Event) -> Result<(), CliError> {
        self.keep(event);
        self.output.json(event)?;
        self.output.flush()
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

/// The path of the log in a folder.
pub fn log_in(folder: &Path) -> PathBuf {
    folder.join(LOG)
}
