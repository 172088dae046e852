//! `wordloom generate`

use std::path::PathBuf;

use serde::Serialize;
use wordloom::decode::Hypothesis;
use wordloom::transformer::{Cancel, GenerateError, GenerateRequest};
use wordloom::model::generation_config::{GenerationConfig, JsonObject, UnknownKeys};
use wordloom::{Transformer, resolve};

use super::CliError;
use super::interrupt;
use super::lines::Lines;
use super::output::Output;
use super::progress::Progress;
use super::setup::{DeviceArguments, ModelArguments, transformer};

#[derive(clap::Args)]
pub struct Arguments {
    /// Read requests from FILE, an object {"input_ids": [...], ...} a line [default: standard input]
    #[arg(short, long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Write to FILE
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    device: DeviceArguments,
}

/// Requests worked on together.
const LINES_PER_ROUND: usize = 256;

pub fn run(arguments: Arguments) -> Result<(), CliError> {
    let cancel = interrupt::handler();
    let mut lines = Lines::open(arguments.input.as_deref())?;
    let transformer = transformer(&arguments.model, &arguments.device)?;
    let mut output = Output::open(arguments.output.as_deref())?;
    loop {
        let mut requests = Vec::new();
        let mut end = Ok(());
        let mut more = false;
        while let Some(line) = lines.next().transpose() {
            // what is wrong with a line is said after the lines before it have been answered
            let request = line.and_then(|(number, line)| match line.trim().is_empty() {
                true => Ok(None),
                false => read_request(&transformer, &lines.place(number), &line).map(Some),
            });
            match request {
                Ok(request) => requests.extend(request),
                Err(error) => {
                    end = Err(error);
                    break;
                }
            }
            if requests.len() == LINES_PER_ROUND {
                more = true;
                break;
            }
        }
        answer(&transformer, &requests, &cancel, &mut output)?;
        end?;
        if !more {
            return Ok(());
        }
    }
}

fn read_request(transformer: &Transformer, place: &str, line: &str) -> Result<GenerateRequest, CliError> {
    let mut json = JsonObject::parse(place, line.as_bytes())?;
    let input_ids: Vec<u32> = json.take("input_ids")?;
    let request = GenerationConfig::from_json(&json, UnknownKeys::Reject)?;
    let options = resolve(&request, transformer.generation_config(), transformer.config(), input_ids.len())
        .map_err(GenerateError::from);
    let request = options.and_then(|options| {
        let request = GenerateRequest { input_ids, options };
        transformer.check_request(&request)?;
        Ok(request)
    });
    request.map_err(|error| CliError::Input(format!("{place}: {error}")))
}

/// HF `GenerateBeamEncoderDecoderOutput`, without padding; one line of output.
#[derive(Serialize)]
struct Answer<'a> {
    sequences: Vec<&'a [u32]>,
    sequences_scores: Vec<f32>,
    step_logprobs: Vec<&'a [f32]>,
}

fn answer(
    transformer: &Transformer,
    requests: &[GenerateRequest],
    cancel: &Cancel,
    output: &mut Output,
) -> Result<(), CliError> {
    let progress = Progress::new("generating", "requests");
    let results = interrupt::working(|| {
        let mut report = |done| progress.set(done as u64, requests.len() as u64);
        pollster::block_on(transformer.generate(requests, cancel, &mut report))
    })?;
    drop(progress);
    for hypotheses in &results {
        fn each<'a, T>(hypotheses: &'a [Hypothesis], part: impl Fn(&'a Hypothesis) -> T) -> Vec<T> {
            hypotheses.iter().map(part).collect()
        }
        output.json(&Answer {
            sequences: each(hypotheses, |hypothesis| hypothesis.tokens.as_slice()),
            sequences_scores: each(hypotheses, |hypothesis| hypothesis.score),
            step_logprobs: each(hypotheses, |hypothesis| hypothesis.step_logprobs.as_slice()),
        })?;
    }
    output.flush()
}
