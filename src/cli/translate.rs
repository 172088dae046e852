//! `wordloom translate`

use std::io::IsTerminal;
use std::path::PathBuf;

use serde::Serialize;
use wordloom::decode::DecodeError;
use wordloom::model::generation_config::GenerationConfig;
use wordloom::text::Direction;
use wordloom::translate::{Sentence, SentenceHypothesis, TextHypothesis, resolve_languages};
use wordloom::{Model, TextError, TranslateOptions, Translation, Translator, resolve};

use super::lines::{Line, Lines, Round};
use super::output::{Output, check_different};
use super::progress::Progress;
use super::setup::{DeviceArguments, ModelArguments, count};
use super::{CliError, interrupt, notice};

#[derive(clap::Args)]
#[command(after_help = "\
Options that are not given are the model's own; where it sets no maximal length,
that is the source's and 50 tokens. Long lines are cut into sentences; blank
lines and line breaks are kept. `wordloom inspect` lists a model's languages; in
Marian's, >>fra<< at the beginning of a line chooses the target, too.

With --json a line is an object: source, text, hypotheses (text, score) and
sentences (source, source_ids, hypotheses: text, score, tokens, step_logprobs,
reached_max_length).")]
pub struct Arguments {
    /// What to translate [default: standard input]
    text: Vec<String>,
    /// Read lines from FILE
    #[arg(short, long, value_name = "FILE", conflicts_with = "text")]
    input: Option<PathBuf>,
    /// Write to FILE [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Source language [default: the model's or English]
    #[arg(long, value_name = "CODE")]
    source_lang: Option<String>,
    /// Target language, where the model has several
    #[arg(long, value_name = "CODE")]
    target_lang: Option<String>,
    /// Beams of the search, 1 to 16; 1 is greedy
    #[arg(short, long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    beams: Option<usize>,
    /// Above 1 favours long translations, below short
    #[arg(long, value_name = "X", allow_negative_numbers = true)]
    length_penalty: Option<f32>,
    /// Most tokens of a translated sentence
    #[arg(long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    max_length: Option<usize>,
    /// Write rank, score and text of the N best
    #[arg(short, long, value_name = "N", value_parser = count, allow_negative_numbers = true)]
    n_best: Option<usize>,
    /// Write JSON Lines, with tokens and scores
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    device: DeviceArguments,
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    check_different(arguments.input.as_deref(), arguments.output.as_deref())?;
    let cancel = interrupt::handler();
    let lines = match arguments.text.as_slice() {
        [] => Lines::open(arguments.input.as_deref())?,
        words => Lines::of_text(words.join(" ")),
    };
    let model = arguments.model.open()?;
    let generation = generation(arguments, &model)?;
    let options = TranslateOptions {
        generation,
        source_language: arguments.source_lang.clone(),
        target_language: arguments.target_lang.clone(),
        cancel,
    };
    let tokenizer = Translator::tokenizer_of(&model)?;
    resolve_languages(&tokenizer, &options, model.generation_config()).map_err(refused_language)?;
    let translator = Translator::from_parts(arguments.device.transformer(&model)?, tokenizer);
    if arguments.text.is_empty() && arguments.input.is_none() && std::io::stdin().is_terminal() {
        notice("type a line to translate it; Ctrl-D ends");
    }
    let mut command = Command {
        translator,
        options,
        progress: Progress::new("translating", "sentences", lines.bytes()),
        output: Output::open(arguments.output.as_deref())?,
        n_best: arguments.n_best,
        json: arguments.json,
    };
    loop {
        let mut round = lines.round();
        command.refuse_unknown_tags(&lines, &mut round);
        interrupt::working(|| command.translate(&round.lines))?;
        if let Some(end) = round.end {
            return end;
        }
    }
}

/// The options of the command line over the model's own, known to be possible.
fn generation(arguments: &Arguments, model: &Model) -> Result<GenerationConfig, CliError> {
    let generation = GenerationConfig {
        num_beams: arguments.beams,
        num_return_sequences: Some(arguments.n_best.unwrap_or(1)),
        length_penalty: arguments.length_penalty,
        max_length: arguments.max_length,
        ..GenerationConfig::default()
    };
    let config = model.config();
    let resolved = resolve(&generation, model.generation_config(), config, &[0])
        .and_then(|options| options.validate(config.target_vocabulary, config.positions.count()));
    match resolved {
        Ok(()) => Ok(generation),
        Err(error) => Err(refused(arguments, model, &error)),
    }
}

/// An impossible option in the command's words, where it was given to the command; else it is the model's.
fn refused(arguments: &Arguments, model: &Model, error: &DecodeError) -> CliError {
    let flags = [
        ("num_beams", "--beams", arguments.beams.is_some()),
        ("num_return_sequences", "--n-best", arguments.n_best.is_some()),
        ("length_penalty", "--length-penalty", arguments.length_penalty.is_some()),
        ("max_length", "--max-length", arguments.max_length.is_some()),
    ];
    let DecodeError::Option { option, value, allowed } = error else {
        return CliError::Input(format!("{}: {error}", model.label()));
    };
    match flags.iter().find(|(name, ..)| name == option) {
        Some((_, flag, true)) => {
            let allowed = allowed.replace("num_beams", "--beams");
            CliError::Usage(format!("{flag} is {value}; it must be {allowed}"))
        }
        Some((_, flag, false)) => {
            CliError::Input(format!("{}: {error}; {flag} sets another value", model.label()))
        }
        None => CliError::Input(format!("{}: {error}", model.label())),
    }
}

/// A language that cannot be, as the option that asks for it.
fn refused_language(error: TextError) -> CliError {
    CliError::Usage(error.to_string())
}

struct Command {
    translator: Translator,
    options: TranslateOptions,
    progress: Progress,
    output: Output,
    n_best: Option<usize>,
    json: bool,
}

impl Command {
    /// Ends the round before the first line with a language tag that the model does not have.
    fn refuse_unknown_tags(&self, lines: &Lines, round: &mut Round) {
        let tokenizer = self.translator.tokenizer();
        let failed = round.lines.iter().enumerate().find_map(|(index, line)| {
            let (tag, _) = tokenizer.split_tag(&line.text);
            Some((index, tokenizer.encode_source(tag?, &Direction::default()).err()?))
        });
        if let Some((index, error)) = failed {
            let place = lines.place(round.lines[index].number);
            round.end = Some(Err(CliError::Input(format!("{place}: {error}"))));
            round.lines.truncate(index);
        }
    }

    fn translate(&mut self, lines: &[Line]) -> Result<(), CliError> {
        // a carriage return is part of the line's end, not of the text
        let split = |line: &'_ Line| line.text.len() - usize::from(line.text.ends_with('\r'));
        let texts: Vec<&str> = lines.iter().map(|line| &line.text[..split(line)]).collect();
        let bytes = lines.iter().map(|line| line.bytes).sum();
        let translations = self.progress.round(bytes, |report| {
            pollster::block_on(self.translator.translate_all(&texts, &self.options, report))
        })?;
        let (progress, output) = (&self.progress, &mut self.output);
        progress.suspend(|| {
            for ((line, source), translation) in lines.iter().zip(texts).zip(&translations) {
                warn_if_cut(line, translation);
                if self.json {
                    output.json(&JsonLine::new(source, translation))?;
                } else if self.n_best.is_some() {
                    for (rank, TextHypothesis { text, score }) in (1..).zip(&translation.hypotheses) {
                        output.line(&format!("{rank}\t{score:.4}\t{text}"))?;
                    }
                } else {
                    output.line(&format!("{}{}", translation.text, &line.text[source.len()..]))?;
                }
            }
            output.flush()
        })
    }
}

fn warn_if_cut(line: &Line, translation: &Translation) {
    let mut hypotheses = translation.sentences.iter().flat_map(|sentence| &sentence.hypotheses);
    if hypotheses.any(|hypothesis| hypothesis.reached_max_length) {
        notice(&format!(
            "warning: line {}: a translation reached the maximal length and may be cut; see --max-length",
            line.number
        ));
    }
}

/// One line of `--json`.
#[derive(Serialize)]
struct JsonLine<'a> {
    source: &'a str,
    text: &'a str,
    hypotheses: Vec<JsonText<'a>>,
    sentences: Vec<JsonSentence<'a>>,
}

#[derive(Serialize)]
struct JsonText<'a> {
    text: &'a str,
    score: f32,
}

#[derive(Serialize)]
struct JsonSentence<'a> {
    source: &'a str,
    source_ids: &'a [u32],
    hypotheses: Vec<JsonHypothesis<'a>>,
}

#[derive(Serialize)]
struct JsonHypothesis<'a> {
    text: &'a str,
    score: f32,
    tokens: &'a [u32],
    step_logprobs: &'a [f32],
    reached_max_length: bool,
}

impl<'a> JsonLine<'a> {
    fn new(source: &'a str, translation: &'a Translation) -> Self {
        let text = |TextHypothesis { text, score }: &'a TextHypothesis| JsonText { text, score: *score };
        let hypothesis = |hypothesis: &'a SentenceHypothesis| JsonHypothesis {
            text: &hypothesis.text,
            score: hypothesis.search.score,
            tokens: &hypothesis.search.tokens,
            step_logprobs: &hypothesis.search.step_logprobs,
            reached_max_length: hypothesis.reached_max_length,
        };
        let sentence = |sentence: &'a Sentence| JsonSentence {
            source: &sentence.source,
            source_ids: &sentence.source_ids,
            hypotheses: sentence.hypotheses.iter().map(hypothesis).collect(),
        };
        Self {
            source,
            text: &translation.text,
            hypotheses: translation.hypotheses.iter().map(text).collect(),
            sentences: translation.sentences.iter().map(sentence).collect(),
        }
    }
}
