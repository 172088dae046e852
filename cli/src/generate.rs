//! `wordloom generate`

use std::collections::HashSet;
use std::path::PathBuf;

use serde::Serialize;
use wordloom::decode::{DecodeError, Hypothesis};
use wordloom::json_problem::json_line_problem;
use wordloom::model::config::Architecture;
use wordloom::model::generation_config::{GenerationConfig, JsonObject, TokenIds, UnknownKeys};
use wordloom::transformer::{self, GenerateError, GenerateOptions, GenerateRequest, refuse_idle};
use wordloom::{Model, ModelError, Transformer, resolve};

use super::lines::{Line, Lines, Round};
use super::masks::{MaskError, Unpadded, global_tokens};
use super::output::{Output, check_different};
use super::progress::Progress;
use super::setup::{AttentionArguments, DeviceArguments, ModelArguments, SwitchArguments};
use super::{CliError, interrupt};

#[derive(clap::Args)]
#[command(after_help = "\
A request is an object with input_ids, attention_mask if they are padded,
global_attention_mask for LED and,
where the model's own defaults should not hold, options under the names of
Hugging Face's generate:
  num_beams, num_return_sequences, length_penalty, early_stopping (true, false
  or \"never\"), max_length, max_new_tokens, min_length, min_new_tokens,
  no_repeat_ngram_size, repetition_penalty, bad_words_ids, renormalize_logits,
  forced_bos_token_id, forced_eos_token_id, decoder_start_token_id, ...;
  null switches off what the model's own files set;
  do_sample with temperature, top_k, top_p and seed, a number of your choice

An answer has sequences, sequences_scores and step_logprobs, best first (samples
as they are drawn), with start token or prompt and end token, without padding;
null is -infinity.

Example:
  echo '{\"input_ids\": [4673, 951, 258, 0], \"num_beams\": 1}' | wordloom generate")]
pub struct Arguments {
    /// Read requests from FILE [default: standard input]
    #[arg(short, long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Write to FILE [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    attention: AttentionArguments,
    #[command(flatten)]
    switches: SwitchArguments,
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    device: DeviceArguments,
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    check_different(arguments.input.as_deref(), arguments.output.as_deref())?;
    let cancel = interrupt::handler();
    let lines = Lines::open(arguments.input.as_deref())?;
    let model = arguments.model.open()?;
    check_generates(&model)?;
    let mut transformer = arguments.device.generator(&model, &GenerationConfig::default())?;
    arguments.attention.apply(&mut transformer)?;
    arguments.switches.apply(&mut transformer, &model)?;
    let mut output = Output::open(arguments.output.as_deref())?;
    let progress = Progress::new("generating", "requests", lines.bytes());
    interrupt::working(|| {
        loop {
            let mut round = lines.round();
            let requests = requests((&model, &transformer), &lines, &mut round);
            let bytes = round.lines.iter().map(|line| line.bytes).sum();
            let answers = progress.round(bytes, |report| {
                let mut done = 0;
                let mut watch = |progress: transformer::Progress<'_>| {
                    if let transformer::Progress::Finished { requests: finished, .. } = progress {
                        done += finished.len();
                        report(done, requests.len());
                    }
                };
                let options = GenerateOptions::default().cancel(&cancel).watch_results(&mut watch);
                pollster::block_on(transformer.generate(&requests, options))
            })?;
            progress.suspend(|| {
                answers.iter().try_for_each(|answer| output.json(&Answer::new(&answer.hypotheses)))?;
                output.flush()
            })?;
            if let Some(end) = round.end {
                return end;
            }
        }
    })
}

/// Requests before the first invalid one, which ends the round; blank lines are skipped.
fn requests(model: (&Model, &Transformer), lines: &Lines, round: &mut Round) -> Vec<GenerateRequest> {
    let mut requests = Vec::new();
    for line in round.lines.iter().filter(|line| !line.text.trim().is_empty()) {
        match request(model, &lines.place(line.number), line) {
            Ok(request) => requests.push(request),
            Err(error) => {
                round.end = Some(Err(error));
                break;
            }
        }
    }
    requests
}

fn request(
    (model, transformer): (&Model, &Transformer),
    place: &str,
    line: &Line,
) -> Result<GenerateRequest, CliError> {
    let mut json = JsonObject::parse_request(place, line.text.as_bytes()).map_err(|error| match error {
        ModelError::Json { source, .. } => {
            let problem = json_line_problem(&source);
            let what = if problem.starts_with("the key ") { "" } else { "not a JSON object: " };
            CliError::Input(format!("{place}: {what}{problem}"))
        }
        error => error.into(),
    })?;
    let input_ids: Vec<u32> = json.take("input_ids")?;
    let mask: Option<Vec<u32>> = json.take_if_set("attention_mask")?;
    let globals: Option<Vec<u32>> = json.take_if_set("global_attention_mask")?;
    let wanted = GenerationConfig::from_json(&json, UnknownKeys::Reject).map_err(|error| match error {
        ModelError::UnknownKey { .. } => {
            CliError::Input(format!("{error}; `wordloom generate --help` lists the options"))
        }
        error => error.into(),
    })?;
    let asked: HashSet<String> = json.entries().map(|(key, _)| key.to_owned()).collect();
    let refused = |error: MaskError| CliError::Input(format!("{place}: {error}"));
    let globals = globals.unwrap_or_default();
    let global_tokens = global_tokens(&globals, (input_ids.len(), mask.as_deref())).map_err(refused)?;
    let unpadded = Unpadded::new(input_ids, mask.as_deref(), transformer.config().architecture());
    let unpadded = unpadded.map_err(refused)?;
    // as in Hugging Face's `generate`, `null` stands for the class's default, not for the file's value
    let mut defaults = transformer.generation_config().clone().without(&json.nulls());
    if json.nulls().contains(&"eos_token_id") {
        defaults.eos_token_id = Some(TokenIds::Several(Vec::new()));
    }
    let new_tokens =
        wanted.max_new_tokens.or(defaults.max_new_tokens.filter(|_| wanted.max_length.is_none()));
    let max_length = wanted.max_length.or(defaults.max_length).filter(|_| new_tokens.is_none());
    let (input_ids, config) = (unpadded.input_ids.clone(), transformer.config());
    let heeded = refuse_idle(&wanted, &defaults, config, &input_ids);
    let (wanted, defaults) = (unpadded.lengths_of(&wanted), unpadded.lengths_of(&defaults));
    let options =
        heeded.and_then(|()| resolve(&wanted, &defaults, config, &input_ids)).map_err(GenerateError::from);
    let request = options.and_then(|options| {
        let request = GenerateRequest { input_ids, options, global_tokens };
        transformer.check_request(&request)?;
        Ok(request)
    });
    let request = request.map_err(|error| match error {
        GenerateError::Decode(error) => unpadded.with_padding(error, max_length).into(),
        error => error,
    });
    request.map_err(|error| match error {
        // a value of the model's file is not the request's fault
        GenerateError::Decode(ref of) if is_default(of, &asked, transformer) => {
            CliError::Input(format!("{}: {error}", model.generation_file()))
        }
        error => CliError::Input(format!("{place}: {error}")),
    })
}

/// Whether an error is about an option that the request has not, and also occurs without the request's options.
fn is_default(error: &DecodeError, asked: &HashSet<String>, transformer: &Transformer) -> bool {
    let option = |error: &DecodeError| match error {
        DecodeError::Option { option, .. } | DecodeError::Token { option, .. } => Some(*option),
        _ => None,
    };
    let Some(name) = option(error).filter(|name| !asked.contains(*name)) else { return false };
    let config = transformer.config();
    let alone = resolve(&GenerationConfig::default(), transformer.generation_config(), config, &[0])
        .and_then(|options| options.validate(config.target_vocabulary, config.positions.count()));
    alone.is_err_and(|error| option(&error) == Some(name))
}

/// Refuses an encoder alone, before its weights are loaded.
fn check_generates(model: &Model) -> Result<(), CliError> {
    if model.config().architecture() != Architecture::EncoderOnly {
        return Ok(());
    }
    let error = GenerateError::NoDecoder { model_type: model.config().family.model_type() };
    Err(CliError::Input(format!("{}: {error}", model.label())))
}

/// Output line: HF `GenerateBeamEncoderDecoderOutput` without padding.
#[derive(Serialize)]
struct Answer<'a> {
    sequences: Vec<&'a [u32]>,
    sequences_scores: Vec<f32>,
    step_logprobs: Vec<&'a [f32]>,
}

impl<'a> Answer<'a> {
    fn new(hypotheses: &'a [Hypothesis]) -> Self {
        Self {
            sequences: hypotheses.iter().map(|hypothesis| hypothesis.tokens.as_slice()).collect(),
            sequences_scores: hypotheses.iter().map(|hypothesis| hypothesis.score).collect(),
            step_logprobs: hypotheses.iter().map(|hypothesis| hypothesis.step_logprobs.as_slice()).collect(),
        }
    }
}
