//! A short timed run of a model.

use std::time::{Duration, Instant};

use serde_json::json;
use wordloom::model::config::{Architecture, ModelConfig};
use wordloom::model::generation_config::GenerationConfig;
use wordloom::transformer::{
    ForwardInput, ForwardSelection, GenerateError, GenerateOptions, GenerateRequest,
};
use wordloom::{Model, Transformer, resolve};

use crate::CliError;
use crate::setup::DeviceArguments;

/// Tokens of source and target, if the model has the positions.
const LENGTH: usize = 16;
const STEPS: usize = 8;

pub struct Trial {
    length: usize,
    load: Duration,
    /// Time of the second run; the first compiles kernels.
    forward: Duration,
    /// Number of steps and their time, if the model generates.
    generate: Option<(usize, Duration)>,
}

impl Trial {
    pub fn run(model: &Model, device: &DeviceArguments) -> Result<Self, CliError> {
        let start = Instant::now();
        let transformer = device.transformer(model)?;
        let load = start.elapsed();
        let config = model.config();
        let length = LENGTH.min(config.positions.count());
        let input = input(config, length);
        let selection = ForwardSelection { logits: true, ..ForwardSelection::default() };
        let forward = second_time(|| {
            pollster::block_on(transformer.forward_selected(&input, &selection))
                .map(drop)
                .map_err(CliError::from)
        })?;
        let generate = match config.architecture() {
            Architecture::EncoderOnly => None,
            _ => {
                let request = request(&transformer, input.input_ids)?;
                let steps = request.options.max_length - request.options.prompt.len();
                let run = || {
                    let requests = std::slice::from_ref(&request);
                    pollster::block_on(transformer.generate(requests, GenerateOptions::default()))
                        .map(drop)
                        .map_err(CliError::from)
                };
                Some((steps, second_time(run)?))
            }
        };
        Ok(Self { length, load, forward, generate })
    }

    pub fn text(&self) -> String {
        let Self { length, load, forward, generate } = self;
        let generate = match generate {
            Some((steps, time)) => format!(", {steps} tokens generated {}", milliseconds(*time)),
            None => String::new(),
        };
        format!(
            "loading {}, a forward pass of {length} tokens {}{generate}",
            milliseconds(*load),
            milliseconds(*forward)
        )
    }

    pub fn json(&self) -> serde_json::Value {
        json!({
            "load_seconds": self.load.as_secs_f64(),
            "forward_tokens": self.length,
            "forward_seconds": self.forward.as_secs_f64(),
            "generate_tokens": self.generate.map(|(steps, _)| steps),
            "generate_seconds": self.generate.map(|(_, time)| time.as_secs_f64()),
        })
    }
}

fn second_time(mut run: impl FnMut() -> Result<(), CliError>) -> Result<Duration, CliError> {
    run()?;
    let start = Instant::now();
    run()?;
    Ok(start.elapsed())
}

/// A text of ids spread over the vocabulary.
fn input(config: &ModelConfig, length: usize) -> ForwardInput {
    let ids = |vocabulary: usize| (0..length).map(|at| (at * 7919 % vocabulary) as u32).collect::<Vec<u32>>();
    let crosses = config.architecture() == Architecture::EncoderDecoder;
    ForwardInput {
        batch: 1,
        source_length: length,
        input_ids: ids(config.source_vocabulary),
        attention_mask: vec![1; length],
        target_length: if crosses { length } else { 0 },
        decoder_input_ids: if crosses { ids(config.target_vocabulary) } else { Vec::new() },
        ..ForwardInput::default()
    }
}

/// A request for up to [`STEPS`] tokens, as far as positions allow, without an earlier end.
fn request(transformer: &Transformer, mut input_ids: Vec<u32>) -> Result<GenerateRequest, GenerateError> {
    let config = transformer.config();
    let room = match config.architecture() {
        Architecture::DecoderOnly => {
            input_ids.truncate((input_ids.len() / 2).max(1));
            config.positions.count() + 1 - input_ids.len()
        }
        _ => config.positions.count(),
    };
    let steps = STEPS.min(room);
    let wanted = GenerationConfig {
        num_beams: Some(1),
        num_return_sequences: Some(1),
        max_new_tokens: Some(steps),
        min_new_tokens: Some(steps),
        ..GenerationConfig::default()
    };
    let options = resolve(&wanted, transformer.generation_config(), config, &input_ids)?;
    Ok(GenerateRequest::new(input_ids, options))
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
