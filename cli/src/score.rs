//! `wordloom score`

use std::path::PathBuf;

use serde::Serialize;
use serde_json::json;
use wordloom::json_problem::json_line_problem;
use wordloom::model::config::Architecture;
use wordloom::model::generation_config::{GenerationConfig, JsonObject};
use wordloom::readable::{counted, grouped};
use wordloom::text::{Direction, Tokenizer};
use wordloom::transformer::{Cancel, Score, ScoreError, ScoreRequest};
use wordloom::translate::resolve_languages;
use wordloom::{ModelError, Transformer, TranslateOptions, resolve};

use super::lines::{Line, Lines};
use super::masks::global_tokens;
use super::output::{Output, check_named};
use super::progress::Progress;
use super::setup::{AttentionArguments, DeviceArguments, ModelArguments, count};
use super::{CliError, interrupt};

#[derive(clap::Args)]
#[command(after_help = "\
A request is {\"input_ids\": [...], \"labels\": [...]}; a decoder alone scores
input_ids but the first, or labels after them; LED has global_attention_mask.
Answers are log_probability, token_log_probabilities and perplexity. --source
and --target score pairs of lines, and totals last; --target alone a whole text,
in windows (a decoder).")]
pub struct Arguments {
    /// Read requests from FILE [default: standard input]
    #[arg(short, long, value_name = "FILE", conflicts_with = "target")]
    input: Option<PathBuf>,
    /// Text that was translated, a line each
    #[arg(long, value_name = "FILE", requires = "target")]
    source: Option<PathBuf>,
    /// Its translations, a line each; or the text to score
    #[arg(long, value_name = "FILE")]
    target: Option<PathBuf>,
    /// Language of the sources, where the model has several
    #[arg(long, value_name = "CODE", requires = "source")]
    source_lang: Option<String>,
    /// Language of the targets, where the model has several
    #[arg(long, value_name = "CODE", requires = "source")]
    target_lang: Option<String>,
    /// Tokens from window to window [default: half of all]
    #[arg(long, value_name = "N", value_parser = count, requires = "target", conflicts_with = "source")]
    stride: Option<usize>,
    /// Write to FILE [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    attention: AttentionArguments,
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    device: DeviceArguments,
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let Arguments { input, source, target, .. } = arguments;
    for (option, path) in [("--input", input), ("--source", source), ("--target", target)] {
        check_named((option, path.as_deref()), ("--output", arguments.output.as_deref()))?;
    }
    if arguments.stride == Some(0) {
        return Err(CliError::Usage("--stride is 0; windows have to advance".into()));
    }
    let cancel = interrupt::handler();
    let model = arguments.model.open()?;
    if model.config().architecture() == Architecture::EncoderOnly {
        let error = ScoreError::NoDecoder { model_type: model.config().family.model_type() };
        return Err(CliError::Input(format!("{}: {error}", model.label())));
    }
    let pairs = arguments.source.is_some();
    let tokenizer = arguments.target.as_ref().map(|_| model.tokenizer()).transpose()?;
    match (&arguments.target, model.config().architecture(), pairs) {
        (Some(_), Architecture::EncoderDecoder, false) => {
            return Err(CliError::Usage(format!(
                "{} translates: give --source, too, the text that --target is a translation of",
                model.label()
            )));
        }
        (Some(_), Architecture::DecoderOnly, true) => {
            return Err(CliError::Usage(format!(
                "{} has no encoder: leave --source out; --target is the text to score",
                model.label()
            )));
        }
        _ => {}
    }
    let open = |path: &Option<PathBuf>| Lines::open(path.as_deref());
    let (source, target) = (arguments.source.as_ref().map(|path| Lines::open(Some(path))), &arguments.target);
    let source = source.transpose()?;
    let first = open(if target.is_some() { target } else { &arguments.input })?;
    let mut transformer = arguments.device.transformer(&model)?;
    arguments.attention.apply(&mut transformer)?;
    let mut scorer = Scorer {
        transformer,
        output: Output::open(arguments.output.as_deref())?,
        progress: Progress::new("scoring", "targets", first.bytes()),
        cancel,
    };
    interrupt::working(|| match (tokenizer, source) {
        (None, _) => scorer.requests(&first),
        (Some(tokenizer), Some(source)) => scorer.pairs(arguments, &tokenizer, &source, &first),
        (Some(tokenizer), None) => scorer.text(arguments.stride, &tokenizer, &first),
    })
}

struct Scorer {
    transformer: Transformer,
    output: Output,
    progress: Progress,
    cancel: Cancel,
}

impl Scorer {
    fn requests(&mut self, lines: &Lines) -> Result<(), CliError> {
        loop {
            let mut round = lines.round();
            let mut requests = Vec::new();
            for line in round.lines.iter().filter(|line| !line.text.trim().is_empty()) {
                match request(&self.transformer, &lines.place(line.number), line) {
                    Ok(request) => requests.push(request),
                    Err(error) => {
                        round.end = Some(Err(error));
                        break;
                    }
                }
            }
            let scores = self.score(&requests, bytes(&round.lines))?;
            self.write(&scores)?;
            if let Some(end) = round.end {
                return end;
            }
        }
    }

    fn pairs(
        &mut self,
        arguments: &Arguments,
        tokenizer: &Tokenizer,
        sources: &Lines,
        targets: &Lines,
    ) -> Result<(), CliError> {
        let mut options = TranslateOptions::default();
        options.source_language.clone_from(&arguments.source_lang);
        options.target_language.clone_from(&arguments.target_lang);
        let (direction, search) =
            resolve_languages(tokenizer, &options, self.transformer.generation_config())
                .map_err(|error| CliError::Usage(error.to_string()))?;
        let [sources, targets] = [sources, targets].map(|from| all(from).map(|lines| Named { lines, from }));
        let (sources, targets) = (sources?, targets?);
        if sources.lines.len() != targets.lines.len() {
            return Err(CliError::Input(format!(
                "{} has {}, but {} has {}; each source needs its target",
                sources.from.name(),
                counted(sources.lines.len(), "line"),
                targets.from.name(),
                grouped(targets.lines.len())
            )));
        }
        let mut total = Total::default();
        for (source_lines, lines) in sources.lines.chunks(ROUND).zip(targets.lines.chunks(ROUND)) {
            let requests = source_lines
                .iter()
                .zip(lines)
                .map(|(source, target)| {
                    self.pair(tokenizer, (&direction, &search), &source.text, &target.text).map_err(|error| {
                        let lines = if is_of_source(&error) { sources.from } else { targets.from };
                        CliError::Input(format!("{}: {error}", lines.place(target.number)))
                    })
                })
                .collect::<Result<Vec<_>, _>>()?;
            let scores = self.score(&requests, bytes(lines))?;
            scores.iter().for_each(|score| total.add(score));
            self.write(&scores)?;
        }
        self.total(&total, "pairs")
    }

    fn pair(
        &self,
        tokenizer: &Tokenizer,
        (direction, search): (&Direction, &GenerationConfig),
        source: &str,
        target: &str,
    ) -> Result<ScoreRequest, CliError> {
        let input_ids = tokenizer.encode_source(text(source), direction)?;
        let target_ids = tokenizer.encode_target(text(target), direction)?;
        let defaults = self.transformer.generation_config();
        let options =
            resolve(search, defaults, self.transformer.config(), &input_ids).map_err(ScoreError::from)?;
        // the forced language token is not scored
        let language = direction.target.and(options.forced_bos);
        let context_ids = options.prompt.into_iter().chain(language).collect();
        let global_tokens = self.transformer.config().usual_globals();
        let request = ScoreRequest { input_ids, context_ids, target_ids, global_tokens };
        self.transformer.check_score_request(&request)?;
        Ok(request)
    }

    fn text(&mut self, stride: Option<usize>, tokenizer: &Tokenizer, lines: &Lines) -> Result<(), CliError> {
        let lines = all(lines)?;
        let text = lines.iter().map(|line| line.text.as_str()).collect::<Vec<_>>().join("\n");
        let ids = tokenizer.encode(&text)?;
        let positions = self.transformer.config().positions.count();
        let windows = self.transformer.score_windows(&ids, stride.unwrap_or((positions / 2).max(1)));
        let mut total = Total::default();
        let all_bytes = bytes(&lines);
        for requests in windows.chunks(ROUND) {
            let share = all_bytes * requests.len() as u64 / windows.len() as u64;
            self.score(requests, share)?.iter().for_each(|score| total.add(score));
        }
        self.total(&total, "windows")
    }

    fn score(&self, requests: &[ScoreRequest], bytes: u64) -> Result<Vec<Score>, CliError> {
        Ok(self.progress.round(bytes, |report| {
            let mut report = |done| report(done, requests.len());
            pollster::block_on(self.transformer.score(requests, &self.cancel, &mut report))
        })?)
    }

    fn write(&mut self, scores: &[Score]) -> Result<(), CliError> {
        let Self { progress, output, .. } = self;
        progress.suspend(|| {
            scores.iter().try_for_each(|score| output.json(&Answer::new(score)))?;
            output.flush()
        })
    }

    fn total(&mut self, total: &Total, unit: &str) -> Result<(), CliError> {
        if total.tokens == 0 {
            return Err(CliError::Input("there is nothing to score; a text needs two tokens".into()));
        }
        let perplexity = (-total.log_probability / total.tokens as f64).exp();
        let Self { progress, output, .. } = self;
        progress.suspend(|| {
            output.json(&json!({
                unit: total.count,
                "tokens": total.tokens,
                "log_probability": total.log_probability,
                "perplexity": perplexity,
            }))?;
            output.flush()
        })
    }
}

const ROUND: usize = 128;

struct Named<'a> {
    lines: Vec<Line>,
    from: &'a Lines,
}

#[derive(Serialize)]
struct Answer<'a> {
    log_probability: f64,
    token_log_probabilities: &'a [f32],
    perplexity: f64,
}

impl<'a> Answer<'a> {
    fn new(score: &'a Score) -> Self {
        Self {
            log_probability: score.log_probability(),
            token_log_probabilities: &score.token_log_probabilities,
            perplexity: score.perplexity(),
        }
    }
}

#[derive(Default)]
struct Total {
    count: usize,
    tokens: usize,
    log_probability: f64,
}

impl Total {
    fn add(&mut self, score: &Score) {
        self.count += 1;
        self.tokens += score.token_log_probabilities.len();
        self.log_probability += score.log_probability();
    }
}

fn all(lines: &Lines) -> Result<Vec<Line>, CliError> {
    let mut all = Vec::new();
    loop {
        let round = lines.round();
        all.extend(round.lines);
        if let Some(end) = round.end {
            return end.map(|()| all);
        }
    }
}

fn bytes(lines: &[Line]) -> u64 {
    lines.iter().map(|line| line.bytes).sum()
}

/// Whether a pair is refused because of its source.
fn is_of_source(error: &CliError) -> bool {
    matches!(error, CliError::Score(ScoreError::TooLong { input: "input_ids", .. }))
}

/// A line without its carriage return.
fn text(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

fn request(transformer: &Transformer, place: &str, line: &Line) -> Result<ScoreRequest, CliError> {
    let mut json = JsonObject::parse_request(place, line.text.as_bytes()).map_err(|error| match error {
        ModelError::Json { source, .. } => {
            let problem = json_line_problem(&source);
            let what = if problem.starts_with("the key ") { "" } else { "not a JSON object: " };
            CliError::Input(format!("{place}: {what}{problem}"))
        }
        error => error.into(),
    })?;
    let input_ids: Vec<u32> = json.take("input_ids")?;
    let globals: Vec<u32> = json.take_if_set("global_attention_mask")?.unwrap_or_default();
    let global_tokens = global_tokens(&globals, (input_ids.len(), None))
        .map_err(|error| CliError::Input(format!("{place}: {error}")))?;
    let translates = transformer.config().architecture() == Architecture::EncoderDecoder;
    let targets = match labels(place, &mut json)? {
        None if translates => {
            let problem = "the key \"labels\" is missing: the ids to score";
            return Err(CliError::Input(format!("{place}: {problem}")));
        }
        targets => targets.unwrap_or_default(),
    };
    let decoder_start_token_id = json.take_if_set("decoder_start_token_id")?;
    if decoder_start_token_id.is_some() && !translates {
        let problem = "decoder_start_token_id is for models with an encoder; leave it out";
        return Err(CliError::Input(format!("{place}: {problem}")));
    }
    let options = GenerationConfig { decoder_start_token_id, ..GenerationConfig::default() };
    if let Some((key, _)) = json.entries().next() {
        return Err(CliError::Input(format!(
            "{place}: the key {key:?} is not known; use input_ids, labels (or target_ids), decoder_start_token_id, \
             global_attention_mask"
        )));
    }
    let request = transformer.score_request(input_ids, targets, &options).and_then(|request| {
        let request = ScoreRequest { global_tokens, ..request };
        transformer.check_score_request(&request)?;
        Ok(request)
    });
    request.map_err(|error| CliError::Input(format!("{place}: {error}")))
}

/// The ids to score, under one of their names, if there are any.
fn labels(place: &str, json: &mut JsonObject) -> Result<Option<Vec<u32>>, CliError> {
    let mut labels = None;
    for key in ["labels", "target_ids"] {
        let Some(ids) = json.take_if_set::<Vec<i64>>(key)? else { continue };
        if labels.is_some() {
            return Err(CliError::Input(format!("{place}: labels and target_ids are the same; give one")));
        }
        let ids = target_ids(place, key, &ids)?;
        if ids.is_empty() {
            return Err(CliError::Input(format!("{place}: {key} has no token to score; give at least one")));
        }
        labels = Some(ids);
    }
    Ok(labels)
}

/// Labels without Hugging Face's padding, -100.
fn target_ids(place: &str, key: &str, ids: &[i64]) -> Result<Vec<u32>, CliError> {
    const IGNORED: i64 = -100;
    let length = ids.iter().rposition(|&id| id != IGNORED).map_or(0, |last| last + 1);
    let ids = ids[..length].iter().map(|&id| {
        u32::try_from(id).map_err(|_| {
            CliError::Input(format!("{place}: {key} has {id}; use token ids, and -100 at the end only"))
        })
    });
    ids.collect()
}
