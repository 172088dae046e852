//! `wordloom summarize`

use std::path::PathBuf;

use serde::Serialize;
use wordloom::decode::DecodeOptions;
use wordloom::model::config::Architecture;
use wordloom::model::generation_config::GenerationConfig;
use wordloom::text::Tokenizer;
use wordloom::transformer::{self, Cancel, GenerateOptions, GenerateRequest};
use wordloom::translate::{SentenceHypothesis, resolve_languages};
use wordloom::{Model, TextError, TranslateOptions, Translator};

use super::lines::{Line, Lines};
use super::output::{Output, check_different};
use super::progress::{Done, Progress};
use super::setup::{
    AttentionArguments, DeviceArguments, ModelArguments, count, load, number, search_options,
};
use super::{CliError, interrupt, notice};

#[derive(clap::Args)]
#[command(mut_arg("model", |model| model.help("Folder or OWNER/NAME of one that summarizes")))]
#[command(after_help = "\
A document is one text, line breaks included: it is not cut into sentences. The
model's task \"summarization\", if it has one, gives the words before it and the
options; others that are not given are the model's own. Where it sets no maximal
length, that is the document's and 50 tokens.

Example:
  wordloom summarize --model facebook/bart-large-cnn --input paper.txt")]
pub struct Arguments {
    /// Read the document from FILE [default: stdin]
    #[arg(short, long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Write to FILE [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Each line is a document; <n> is a line break
    #[arg(long)]
    lines: bool,
    /// Read the beginning of a document that is too long
    #[arg(long)]
    truncate: bool,
    /// Another task of the model
    #[arg(long, value_name = "NAME")]
    task: Option<String>,
    /// Words before the document, such as "summarize: "
    #[arg(long, value_name = "TEXT", default_value = "", hide_default_value = true)]
    prefix: String,
    /// Beams of the search, 1 to 16; 1 is greedy
    #[arg(short, long, value_name = "N", value_parser = count)]
    beams: Option<usize>,
    /// Above 1 favours long summaries, below short
    #[arg(long, value_name = "X", value_parser = number)]
    length_penalty: Option<f32>,
    /// Fewest tokens of a summary
    #[arg(long, value_name = "N", value_parser = count)]
    min_length: Option<usize>,
    /// Most tokens of a summary
    #[arg(long, value_name = "N", value_parser = count)]
    max_length: Option<usize>,
    /// Write JSON Lines, with tokens and scores
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    attention: AttentionArguments,
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    device: DeviceArguments,
}

/// A line break in a document on one line.
const BREAK: &str = "<n>";
/// Part of a document's work that is reading it, as a bar shows it.
const READING: f64 = 0.5;
/// Bytes of the longest document. A longer one is no text.
const MOST_BYTES: u64 = 64 << 20;

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    check_different(arguments.input.as_deref(), arguments.output.as_deref())?;
    if arguments.model.model.is_none() {
        let missing = "summarize needs --model: the built-in model translates; a folder or a name of a model \
                       that summarizes, such as facebook/bart-large-cnn";
        return Err(CliError::Usage(missing.into()));
    }
    let cancel = interrupt::handler();
    let lines = Lines::open(arguments.input.as_deref())?;
    let model = arguments.model.open()?;
    if model.config().architecture() != Architecture::EncoderDecoder {
        return Err(CliError::Input(format!(
            "{}: a {:?} model does not summarize: it is an encoder alone, or a decoder alone; take a model that \
             has both, such as facebook/bart-large-cnn",
            model.label(),
            model.config().family.model_type()
        )));
    }
    let tokenizer = Translator::tokenizer_of(&model)?;
    let given = arguments.task.as_deref();
    let own = tokenizer.summarization();
    let options = TranslateOptions {
        task: given.or(own).map(str::to_owned),
        generation: asked(arguments),
        ..TranslateOptions::default()
    };
    let (_, generation) = resolve_languages(&tokenizer, &options, model.generation_config())
        .map_err(|error| refused_language(&model, &error))?;
    check_options(arguments, &model, &generation)?;
    // where it is a token of the model (Pegasus), that stands for one
    let marks_breaks = arguments.lines && !has_a_break(&tokenizer);
    let mut transformer =
        load(&arguments.device.open()?, &model, arguments.device.weights, Some(&generation))?;
    arguments.attention.apply(&mut transformer)?;
    let command = Command {
        arguments,
        translator: Translator::from_parts(transformer, tokenizer),
        options,
        name: lines.name().to_owned(),
        progress: Progress::new("summarizing", "documents", lines.bytes()),
    };
    let mut output = Output::open(arguments.output.as_deref())?;
    interrupt::working(|| match arguments.lines {
        true => loop {
            let mut round = lines.round();
            if marks_breaks {
                round.lines.iter_mut().for_each(|line| line.text = line.text.replace(BREAK, "\n"));
            }
            command.summarize(&round.lines, &cancel, &mut output)?;
            if let Some(end) = round.end {
                return end;
            }
        },
        false => match whole(&lines)? {
            document if is_blank(&document) => {
                Err(CliError::Input(format!("{}: there is no text to summarize", lines.name())))
            }
            document => command.summarize(&[document], &cancel, &mut output),
        },
    })
}

fn refused_language(model: &Model, error: &TextError) -> CliError {
    match error {
        // its way out is an option that this command does not have
        TextError::NoTargetLanguage { count, .. } => CliError::Input(format!(
            "{}: this model translates into {count} languages, and its files do not say which one a summary is in; \
             take a model that summarizes, such as facebook/bart-large-cnn",
            model.label()
        )),
        error => CliError::Usage(error.to_string()),
    }
}

fn asked(arguments: &Arguments) -> GenerationConfig {
    GenerationConfig {
        num_beams: arguments.beams,
        num_return_sequences: Some(1),
        length_penalty: arguments.length_penalty,
        min_length: arguments.min_length,
        max_length: arguments.max_length,
        ..GenerationConfig::default()
    }
}

/// Checks the options of the command line and of a task, over the model's own.
fn check_options(arguments: &Arguments, model: &Model, options: &GenerationConfig) -> Result<(), CliError> {
    let flags = [
        ("num_beams", "--beams", arguments.beams.is_some()),
        ("length_penalty", "--length-penalty", arguments.length_penalty.is_some()),
        ("min_length", "--min-length", arguments.min_length.is_some()),
        ("max_length", "--max-length", arguments.max_length.is_some()),
    ];
    let DecodeOptions { min_length, max_length, .. } = search_options(&flags, model, options)?;
    // without a limit of its own, the model's depends on the document
    let limits = |config: &GenerationConfig| config.max_length.is_some() || config.max_new_tokens.is_some();
    let is_limited = limits(options) || limits(model.generation_config());
    let reason = match (arguments.min_length, arguments.max_length) {
        (Some(_), Some(_)) => "--min-length must not be above --max-length".to_owned(),
        (None, Some(_)) => format!("{min_length} is the model's own; give --min-length, too"),
        (Some(_), None) if is_limited => {
            format!("{max_length} is the model's own; give --max-length, too")
        }
        _ => return Ok(()),
    };
    // Hugging Face's `generate` lets it pass with a warning
    match min_length > max_length {
        true => Err(CliError::Usage(format!(
            "no summary has at least {min_length} and at most {max_length} tokens: {reason}"
        ))),
        false => Ok(()),
    }
}

/// All lines as one document.
fn whole(lines: &Lines) -> Result<Line, CliError> {
    let (mut text, mut bytes) = (String::new(), 0);
    loop {
        let round = lines.round();
        for line in round.lines {
            // a carriage return belongs to the line's end
            text += line.text.strip_suffix('\r').unwrap_or(&line.text);
            text.push('\n');
            bytes += line.bytes;
        }
        if bytes > MOST_BYTES {
            let name = lines.name();
            return Err(CliError::Input(format!(
                "{name}: is longer than {MOST_BYTES} bytes; is this a text?"
            )));
        }
        if let Some(end) = round.end {
            return end.map(|()| Line { number: 1, text, bytes });
        }
    }
}

struct Command<'a> {
    arguments: &'a Arguments,
    translator: Translator,
    options: TranslateOptions,
    /// Name of the input.
    name: String,
    progress: Progress,
}

impl Command<'_> {
    fn summarize(&self, documents: &[Line], cancel: &Cancel, output: &mut Output) -> Result<(), CliError> {
        // documents before one that is refused are done
        let (mut requests, mut left_out, mut end) = (Vec::new(), Vec::new(), Ok(()));
        let mut read = 0;
        for document in documents {
            if !is_blank(document) {
                match self.request(document) {
                    Ok((request, excess)) => {
                        requests.push(request);
                        left_out.push(excess);
                    }
                    Err(error) => {
                        end = Err(error);
                        break;
                    }
                }
            }
            read += 1;
        }
        let bytes = documents.iter().map(|document| document.bytes).sum();
        let most_lengths: Vec<usize> = requests.iter().map(|request| request.options.max_length).collect();
        let found = self.progress.round_of_lines(0, bytes, |report| {
            let all = requests.len().max(1) as f64;
            let mut done = 0;
            let mut watch = |progress: transformer::Progress<'_>| {
                let running = match progress {
                    transformer::Progress::Finished { requests: finished, .. } => {
                        done += finished.len();
                        0.0
                    }
                    transformer::Progress::Encoding { requests, fraction } => {
                        requests.len() as f64 * READING * f64::from(fraction)
                    }
                    transformer::Progress::Step { requests, search } => {
                        let parts = requests.iter().zip(search.sentences()).map(|(&request, search)| {
                            let most = most_lengths[request].max(1) as f64;
                            READING + (1.0 - READING) * (search.best_tokens().len() as f64 / most).min(1.0)
                        });
                        parts.sum()
                    }
                };
                report(Done { units: done, fraction: ((done as f64 + running) / all).min(1.0), lines: 0 });
            };
            let options = GenerateOptions::default().cancel(cancel).watch(&mut watch);
            pollster::block_on(self.translator.transformer().generate(&requests, options))
        })?;
        let mut found = requests.iter().zip(found).zip(left_out);
        for document in &documents[..read] {
            if is_blank(document) {
                self.progress.suspend(|| match self.arguments.json {
                    true => output.json(&Summary::default()),
                    false => output.line(""),
                })?;
                continue;
            }
            let Some(((request, found), left_out)) = found.next() else { break };
            let sentence = self.translator.sentence(String::new(), request, found)?;
            let Some(best) = sentence.hypotheses.first() else { continue };
            if best.reached_max_length {
                let place = self.place(document);
                notice(&format!(
                    "warning: {place}: the summary reached the maximal length and may be cut; see --max-length"
                ));
            }
            self.progress.suspend(|| match self.arguments.json {
                true => output.json(&Summary::new(&sentence.source_ids, left_out, best)),
                false if self.arguments.lines => output.line(&best.text.replace('\n', BREAK)),
                false => output.line(&best.text),
            })?;
        }
        output.flush()?;
        end
    }

    /// The request of a document, and the number of tokens that it leaves out.
    fn request(&self, document: &Line) -> Result<(GenerateRequest, usize), CliError> {
        let place = || self.place(document);
        let text = format!("{}{}", self.arguments.prefix, document.text.trim());
        let mut read = self.translator.document(&text, &self.options)?;
        let (length, limit, excess) = (read.input_ids.len(), read.limit, read.excess());
        match self.arguments.truncate {
            _ if excess == 0 => {}
            false => {
                return Err(CliError::Input(format!(
                    "{}: the document has {length} tokens, but the model takes {limit} at most; --truncate leaves \
                     out the last {excess}",
                    place()
                )));
            }
            true => {
                read.truncate();
                notice(&format!(
                    "warning: {}: the document has {length} tokens; the last {excess} are left out, because the \
                     model takes {limit} at most",
                    place()
                ));
            }
        }
        let request = self.translator.request(&read.input_ids, &[], &self.options)?;
        Ok((request, excess))
    }

    fn place(&self, document: &Line) -> String {
        match self.arguments.lines {
            true => format!("{}, line {}", self.name, document.number),
            false => self.name.clone(),
        }
    }
}

/// Whether a model has a token for line breaks.
fn has_a_break(tokenizer: &Tokenizer) -> bool {
    let is_break = |&id: &u32| tokenizer.source_token(id).as_deref() == Some(BREAK);
    tokenizer.encode(BREAK).is_ok_and(|ids| ids.iter().any(is_break))
}

/// Whether there is nothing to summarize: a model would invent a text.
fn is_blank(document: &Line) -> bool {
    document.text.trim().is_empty()
}

#[derive(Serialize, Default)]
struct Summary<'a> {
    text: &'a str,
    score: f32,
    /// Token ids of the document, as the model read them.
    source_ids: &'a [u32],
    /// Tokens of the document that the model did not read.
    left_out: usize,
    tokens: &'a [u32],
    step_logprobs: &'a [f32],
    reached_max_length: bool,
}

impl<'a> Summary<'a> {
    fn new(source_ids: &'a [u32], left_out: usize, best: &'a SentenceHypothesis) -> Self {
        Self {
            text: &best.text,
            score: best.search.score,
            source_ids,
            left_out,
            tokens: &best.search.tokens,
            step_logprobs: &best.search.step_logprobs,
            reached_max_length: best.reached_max_length,
        }
    }
}
