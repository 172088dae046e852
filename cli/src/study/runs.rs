//! The log of a study, `runs.jsonl`: its settings, then a line for every finished run. A study goes on from it.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::miniature::{Miniature, Outcome};
use crate::CliError;
use crate::digest::Digest;
use crate::output::Output;

pub const LOG: &str = "runs.jsonl";

/// What the result of every run depends on, by the names of options.
pub type Settings = BTreeMap<String, String>;

/// A finished run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    pub row: String,
    pub seed: u64,
    pub miniature: Miniature,
    pub device: String,
    #[serde(flatten)]
    pub outcome: Outcome,
}

#[derive(Serialize, Deserialize)]
struct Head {
    study: String,
    settings: Settings,
}

/// The log on disk, locked for this process, and its runs.
pub struct Runs {
    output: Output,
    pub finished: Vec<RunRecord>,
}

impl Runs {
    /// Opens or begins the log of a study. A last line that a killed process left unfinished is cut off.
    ///
    /// `miniatures`: the rows by name, which those of the log must equal. Refuses runs of other settings, with the difference; a log
    /// without runs begins anew.
    pub fn open(
        path: &Path,
        (study, settings): (&str, &Settings),
        miniatures: &BTreeMap<String, Miniature>,
    ) -> Result<Self, CliError> {
        let cannot_read = |source| CliError::Io { what: format!("cannot read {}", path.display()), source };
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            text => text.map_err(cannot_read)?,
        };
        let mut whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let mut lines = whole.lines();
        let refused = |problem: String| {
            let way_out = "choose another folder with --out, or remove the file to begin anew";
            CliError::Input(format!("{}: {problem}; {way_out}", path.display()))
        };
        let mut finished = Vec::new();
        if let Some(head) = lines.next() {
            let head: Head = serde_json::from_str(head)
                .map_err(|error| refused(format!("line 1 is no head of a study: {error}")))?;
            match check(&head, study, settings) {
                Err(_) if lines.clone().next().is_none() => whole = "",
                checked => checked.map_err(refused)?,
            }
            for (number, line) in (2..).zip(lines) {
                let record: RunRecord = serde_json::from_str(line)
                    .map_err(|error| refused(format!("line {number} is no run: {error}")))?;
                if let Some(now) = miniatures.get(&record.row).filter(|now| **now != record.miniature) {
                    let (row, old) = (&record.row, &record.miniature);
                    return Err(refused(format!("line {number}: the row {row} was {old:?}, and is {now:?}")));
                }
                finished.push(record);
            }
        }
        let beginning = match whole.len() as u64 {
            0 => Digest::default(),
            bytes => Digest::of_beginning(path, bytes).map_err(cannot_read)?,
        };
        let mut output = Output::go_on(path, beginning)?;
        if whole.is_empty() {
            output.json(&Head { study: study.to_owned(), settings: settings.clone() })?;
            output.sync()?;
        }
        Ok(Self { output, finished })
    }

    /// Adds a run. It is on the disk when this returns.
    pub fn add(&mut self, record: RunRecord) -> Result<(), CliError> {
        self.output.json(&record)?;
        self.output.sync()?;
        self.finished.push(record);
        Ok(())
    }

    pub fn find(&self, row: &str, seed: u64) -> Option<&RunRecord> {
        self.finished.iter().find(|record| record.row == row && record.seed == seed)
    }
}

/// Compares the settings of a log with those of the command. Returns the first difference.
fn check(head: &Head, study: &str, settings: &Settings) -> Result<(), String> {
    if head.study != study {
        return Err(format!("it is of the study {:?}, not {study:?}", head.study));
    }
    let none = "not given".to_owned();
    let names: std::collections::BTreeSet<&String> = head.settings.keys().chain(settings.keys()).collect();
    for name in names {
        let [old, new] = [&head.settings, settings].map(|all| all.get(name).unwrap_or(&none));
        if old != new {
            return Err(format!("{name} was {old}, and is {new}"));
        }
    }
    Ok(())
}
