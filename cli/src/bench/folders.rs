//! `--lines`: a JSON line for each workload and model folder, to compare programs.

use std::fs;
use std::path::{Path, PathBuf};

use serde::Serialize;
use wordloom::Device;
use wordloom::model::files::ModelFiles;

use super::limits::warm_up;
use super::subject::{Subject, Translation};
use super::timing::Summary;
use super::{Arguments, Steps, Workload, loaded};
use crate::CliError;
use crate::output::Output;

#[derive(Serialize)]
struct Line<'a> {
    peer: &'a str,
    model: &'a str,
    task: &'static str,
    batch: usize,
    beam: usize,
    src: usize,
    tgt: usize,
    ms: f64,
    ms_min: f64,
    cpu_ms: Option<f64>,
    reps: usize,
    /// Tokens per second of all sources; `None` if nothing is translated.
    tok_s: Option<f64>,
    note: &'static str,
}

impl<'a> Line<'a> {
    /// A line for a translation, or for the encoder if no tokens are generated.
    fn new(peer: &'a str, model: &'a str, size: Translation, time: Summary) -> Self {
        let Translation { batch, beams: beam, source: src, tokens: tgt } = size;
        let Summary { ms, ms_min, cpu_ms, repeats: reps } = time;
        let (task, note) = match tgt {
            0 => ("encode", "the encoder alone; its states stay on the device"),
            _ => ("translate", "from ids to ids, the encoder included"),
        };
        let tok_s = (tgt > 0).then(|| ((batch * tgt) as f64 / ms * 1e4).round() / 10.0);
        Self { peer, model, task, batch, beam, src, tgt, ms, ms_min, cpu_ms, reps, tok_s, note }
    }
}

pub fn run(folder: &Path, arguments: &Arguments, output: &mut Output) -> Result<(), CliError> {
    let models = model_folders(folder)?;
    if models.is_empty() {
        let folder = folder.display();
        return Err(CliError::Input(format!("{folder} has no folder with config.json and weights in it")));
    }
    for path in models {
        let (subject, _) = loaded(arguments, ModelFiles::directory(&path)?)?;
        subject.check(&arguments.workload)?;
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        lines(&subject, &name, &arguments.workload, output)?;
    }
    Ok(())
}

fn model_folders(folder: &Path) -> Result<Vec<PathBuf>, CliError> {
    let unreadable = |source| CliError::Io { what: format!("cannot read {}", folder.display()), source };
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        let has = |file: &str| path.join(file).is_file();
        if has("config.json") && (has("model.safetensors") || has("pytorch_model.bin")) {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}

fn lines(subject: &Subject, name: &str, workload: &Workload, output: &mut Output) -> Result<(), CliError> {
    let peer = peer(&subject.device());
    warm_up(&subject.device())?;
    let Workload { encode, source, tokens, beams, batch, repeats } = workload;
    let mut steps = Steps::new(encode.len() + batch.len() * beams.len() * tokens.len());
    let mut write = |line: &Line<'_>| {
        steps.step();
        output.json(line)?;
        output.flush() // so that each line appears at once
    };
    if subject.encodes() {
        for &length in encode {
            let (time, _) = subject.time(*repeats, subject.encoder(length)?)?;
            let size = Translation { batch: 1, beams: 1, source: length, tokens: 0 };
            write(&Line::new(&peer, name, size, time))?;
        }
    }
    if subject.generates() {
        for &batch in batch {
            for &beams in beams {
                for &tokens in tokens {
                    let size = Translation { batch, beams, source: *source, tokens };
                    let (time, _) = subject.time(*repeats, subject.translation(size)?)?;
                    write(&Line::new(&peer, name, size, time))?;
                }
            }
        }
    }
    Ok(())
}

fn peer(device: &Device) -> String {
    let name = device.gpu().map_or("cpu", |gpu| gpu.adapter().name());
    let name = name.split('(').next().unwrap_or(name).to_lowercase();
    let words: Vec<&str> =
        name.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    format!("wordloom-{}", words.join("-"))
}
