//! The log of measurements: its settings, then a line for each finished measurement. A study goes on from it.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::CliError;
use crate::digest::Digest;
use crate::output::{Output, cannot_read};
use crate::study::runs::Settings;

#[derive(Serialize, Deserialize)]
struct Head {
    settings: Settings,
}

#[derive(Serialize, Deserialize)]
struct Line {
    measurement: String,
    value: Value,
}

/// The log on disk, locked for this process.
pub struct Log {
    output: Output,
    finished: BTreeMap<String, Value>,
}

impl Log {
    /// Opens or begins a log. A last line that a killed process left unfinished is cut off. Refuses measurements of other settings,
    /// with the difference; a log without measurements begins anew.
    pub fn open(path: &Path, settings: &Settings) -> Result<Self, CliError> {
        let text = match fs::read_to_string(path) {
            Err(error) if error.kind() == ErrorKind::NotFound => String::new(),
            text => text.map_err(|error| cannot_read(path, error))?,
        };
        let mut whole = text.rfind('\n').map_or("", |end| &text[..=end]);
        let refused = |problem: String| {
            let way_out = "choose another --output, or remove the file to begin anew";
            CliError::Input(format!("{}: {problem}; {way_out}", path.display()))
        };
        let mut finished = BTreeMap::new();
        let mut lines = whole.lines();
        if let Some(head) = lines.next() {
            let Head { settings: old } = serde_json::from_str(head)
                .map_err(|error| refused(format!("line 1 is no head of a study: {error}")))?;
            let none = "not given".to_owned();
            for name in old.keys().chain(settings.keys()) {
                let [before, now] = [&old, settings].map(|all| all.get(name).unwrap_or(&none));
                match lines.clone().next() {
                    _ if before == now => {}
                    Some(_) => return Err(refused(format!("{name} was {before}, and is {now}"))),
                    None => whole = "",
                }
            }
            for (number, line) in (2..).zip(lines) {
                let Line { measurement, value } = serde_json::from_str(line)
                    .map_err(|error| refused(format!("line {number} is no measurement: {error}")))?;
                finished.insert(measurement, value);
            }
        }
        let beginning = match whole.len() as u64 {
            0 => Digest::default(),
            bytes => Digest::of_beginning(path, bytes).map_err(|error| cannot_read(path, error))?,
        };
        let mut output = Output::go_on(path, beginning)?;
        if whole.is_empty() {
            output.json(&Head { settings: settings.clone() })?;
            output.sync()?;
        }
        Ok(Self { output, finished })
    }

    /// A finished measurement. `None` also if it has another form, from another version of the study.
    pub fn find<T: DeserializeOwned>(&self, measurement: &str) -> Option<T> {
        self.finished.get(measurement).and_then(|value| serde_json::from_value(value.clone()).ok())
    }

    /// Adds a measurement. It is on the disk when this returns.
    pub fn add(&mut self, measurement: &str, value: &impl Serialize) -> Result<(), CliError> {
        let value = serde_json::to_value(value).map_err(|error| CliError::Input(error.to_string()))?;
        self.output.json(&Line { measurement: measurement.to_owned(), value: value.clone() })?;
        self.output.sync()?;
        self.finished.insert(measurement.to_owned(), value);
        Ok(())
    }
}
