//! A training, as `wordloom train` does it.

use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use pyo3::prelude::*;
use pyo3::types::PyDict;
use serde_json::{Value, json};
use wordloom::DeviceChoice;
use wordloom::model::files::ModelFiles;
use wordloom::train::session::{Ending, Event, Facts, History, Observer, Options, Outcome, Preparation};
use wordloom::transformer::Cancel;

use crate::engine::{device_choice, files, open_device};
use crate::errors::{OrRaise, option_names};
use crate::options::Given;
use crate::pairs::sources;
use crate::run::run_telling;

/// Time between two looks for other work while Python hears an event.
const LOOK: Duration = Duration::from_millis(1);

/// An event as JSON, and the sender whose end tells that it was heard.
type News = (String, Sender<()>);

/// Trains. Returns the result as JSON.
///
/// * `options`: under the names of `wordloom.train`
/// * `tell`: gets each event as JSON: the lines of `train.jsonl`, with more; `{"event": "line", …}` for the user;
///   `{"event": "download", …}`
#[pyfunction]
pub fn train(
    py: Python<'_>,
    pairs: &Bound<'_, PyAny>,
    dev: Option<&Bound<'_, PyAny>>,
    options: &Bound<'_, PyDict>,
    device: &str,
    tell: Py<PyAny>,
) -> PyResult<String> {
    let choice = device_choice(device)?;
    // options first: the pairs may come from a generator, which runs once only
    let given = Given(options);
    given.options(Vec::new(), Vec::new())?;
    let dev = dev.map_or(Ok(Vec::new()), |dev| sources(dev, "dev"))?;
    let options = given.options(sources(pairs, "pairs")?, dev)?;
    let cancel = Cancel::default();
    let tell = |(news, heard): News| {
        let result = Python::attach(|py| tell.call1(py, (news,)).map(drop));
        drop(heard);
        result
    };
    run_telling(py, &cancel, tell, |sender| trained(options, &choice, &cancel, sender))?
}

fn trained(
    options: Options,
    choice: &DeviceChoice,
    cancel: &Cancel,
    sender: &Sender<News>,
) -> PyResult<String> {
    let mut speaker = Speaker { sender };
    let model = options.model.clone();
    let preparation = Preparation::new(options, &mut speaker).or_raise()?;
    let model = match model.filter(|_| preparation.needs_model()) {
        Some(model) => Some(opened(&model, cancel, &speaker)?),
        None => None,
    };
    let device = open_device(choice)?;
    let session = preparation.begin(model, device, cancel.clone(), &mut speaker).or_raise()?;
    let outcome = pollster::block_on(session.train(&mut speaker)).or_raise()?;
    Ok(result(&outcome).to_string())
}

fn opened(model: &Path, cancel: &Cancel, speaker: &Speaker<'_>) -> PyResult<ModelFiles> {
    files(Some(model), cancel, &|(done, total)| {
        speaker.send(&json!({ "event": "download", "done": done, "total": total }));
    })
}

fn result(outcome: &Outcome) -> Value {
    let stopped = match outcome.ending {
        Ending::Steps => "max_steps",
        Ending::Minutes => "max_minutes",
        Ending::Patience => "patience",
    };
    let scores = outcome.scores.map(|[bleu, chrf]| json!([bleu, chrf]));
    let dev_loss = outcome.best.map(|test| test.loss);
    let best_step = outcome.best.map(|test| test.step);
    json!({
        "steps": outcome.steps, "seconds": outcome.seconds, "dev_loss": dev_loss, "best_step": best_step,
        "scores": scores, "stopped": stopped,
    })
}

/// Tells Python of a training, which waits until it was heard: an exception stops it at that step.
struct Speaker<'a> {
    sender: &'a Sender<News>,
}

impl Speaker<'_> {
    fn send(&self, news: &Value) {
        let (heard, wait) = channel();
        if self.sender.send((news.to_string(), heard)).is_ok() {
            // meanwhile this thread of the pool is free for others: the listener may translate
            while wait.recv_timeout(LOOK) == Err(RecvTimeoutError::Timeout) {
                rayon::yield_now();
            }
        }
    }
}

impl Observer for Speaker<'_> {
    fn line(&mut self, line: &str) {
        self.send(&json!({ "event": "line", "line": option_names(line) }));
    }

    fn event(&mut self, event: &Event, _: &History, facts: &Facts) {
        let Ok(mut news) = serde_json::to_value(event) else { return };
        news["progress"] = facts.progress.into();
        news["seconds_left"] = facts.seconds_left.into();
        self.send(&news);
    }
}
