//! `wordloom translate`

mod document;
mod journal;

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde::Serialize;
use wordloom::evaluate::{EvaluateError, bleu, chrf};
use wordloom::model::generation_config::GenerationConfig;
use wordloom::readable::counted;
use wordloom::text::Direction;
use wordloom::transformer::Cancel;
use wordloom::translate::{
    Pivot, Quality, Sentence, SentenceHypothesis, TextHypothesis, Update, resolve_languages,
};
use wordloom::{Device, Model, TextError, TranslateOptions, Translation, Translator};
use wordloom_documents::Match;
use wordloom_hub::Language;

use super::choice::{self, Choice, Chosen, Steps};
use super::evaluate::read_lines;
use super::glossary::GlossaryArguments;
use super::lines::{Line, Lines, Round, Start};
use super::memory::{Memory, MemoryArguments};
use super::output::{Output, check_named, is_standard};
use super::progress::{Done, Progress};
use super::resume::{Resumable, Settings};
use super::setup::{
    AttentionArguments, DeviceArguments, ModelArguments, SearchArguments, SwitchArguments, count, load,
    number, search_options,
};
use super::{CliError, interrupt, notice};

#[derive(clap::Args)]
#[command(after_help = "\
Options that are not given are the model's own; --max-length is the source's and
50 tokens. --memory FILE, --quality: docs/quality.md. With --to, two models may
translate through a third language. Without it, --source-lang and --target-lang
take codes that `inspect` lists. Documents keep their form: -i a.docx -o b.docx")]
pub struct Arguments {
    /// What to translate [default: standard input]
    text: Vec<String>,
    /// Read lines from FILE, or a document by its ending
    #[arg(short, long, value_name = "FILE", conflicts_with = "text")]
    input: Option<PathBuf>,
    /// Write to FILE [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Go on where a run that was stopped left --output
    #[arg(long, requires_all = ["input", "output"])]
    resume: bool,
    /// Format of FILE by an ending, or lines; in docs/documents.md
    #[arg(long, value_name = "ENDING", hide = true)]
    format: Option<String>,
    /// Columns of a table to translate; in docs/documents.md
    #[arg(long, value_name = "NAMES", value_delimiter = ',', hide = true)]
    columns: Vec<String>,
    #[command(flatten)]
    search: SearchArguments,
    /// Above 1 favours long translations, below short
    #[arg(long, value_name = "X", value_parser = number)]
    length_penalty: Option<f32>,
    /// Most tokens of a translated sentence
    #[arg(long, value_name = "N", value_parser = count)]
    max_length: Option<usize>,
    /// Write rank, score and text of the N best
    #[arg(short, long, value_name = "N", value_parser = count)]
    n_best: Option<usize>,
    #[command(flatten)]
    glossary: GlossaryArguments,
    #[command(flatten)]
    memory: MemoryArguments,
    /// Score all tokens, though the model has a shortlist; in docs/firefox.md, because help has to fit a screen
    #[arg(long, hide = true)]
    no_shortlist: bool,
    #[command(flatten)]
    attention: AttentionArguments,
    /// Compare with the lines of FILE: BLEU and chrF at the end; in docs/attention.md, because help has to fit a screen
    #[arg(long, value_name = "FILE", hide = true, conflicts_with = "resume")]
    reference: Option<PathBuf>,
    /// Write JSON Lines, with tokens and scores
    #[arg(long)]
    json: bool,
    /// Add to --json how far each sentence can be trusted
    #[arg(long, requires = "json", hide = true)]
    quality: bool,
    #[command(flatten)]
    switches: SwitchArguments,
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    device: DeviceArguments,
}

/// Checks that no file that is read is written over.
fn check_output(arguments: &Arguments) -> Result<(), CliError> {
    let read = [
        ("--input", arguments.input.as_deref()),
        ("--glossary", arguments.glossary.path()),
        ("--memory", arguments.memory.path()),
        ("--reference", arguments.reference.as_deref()),
    ];
    read.into_iter().try_for_each(|named| check_named(named, ("--output", arguments.output.as_deref())))
}

pub fn run(mut arguments: Arguments) -> Result<(), CliError> {
    for path in [&mut arguments.input, &mut arguments.output] {
        path.take_if(|path| is_standard(path));
    }
    check_output(&arguments)?;
    match document::format(&arguments)? {
        Some(format) => document::run(&arguments, format),
        None => run_lines(&arguments),
    }
}

fn run_lines(arguments: &Arguments) -> Result<(), CliError> {
    let (input, output) = (arguments.input.as_deref(), arguments.output.as_deref());
    let cancel = interrupt::handler();
    let mut files = Resumable::new(input, output);
    let stopped_at = match (arguments.resume, &mut files) {
        (true, Some(files)) => files.go_on()?,
        (true, None) => return Err(CliError::Usage(NO_FILES.into())),
        (false, _) => None,
    };
    let start = stopped_at.map_or(Start::default(), |stopped_at| stopped_at.start);
    let lines = match arguments.text.as_slice() {
        [] => Lines::open_at(input, start)?,
        words => Lines::of_text(words.join(" "))?,
    };
    if arguments.text.is_empty() && arguments.input.is_none() && std::io::stdin().is_terminal() {
        notice("type a line to translate it; Ctrl-D ends");
    }
    let mut peeked = None;
    let mut sample = || match (arguments.text.as_slice(), input.map(choice::beginning).transpose()?.flatten())
    {
        ([], Some(beginning)) => Ok(beginning),
        ([], None) => Ok(joined(&peeked.insert(lines.window(FIRST_WINDOW, ENOUGH_BYTES)).lines)),
        (words, _) => Ok(words.join(" ")),
    };
    let choice = choice::open(&arguments.model, &arguments.search, Steps::OneOrTwo, &mut sample)?;
    let plan = Plan::new(arguments, choice, &cancel)?;
    let device = arguments.device.open()?;
    let settings = if files.is_some() { settings(arguments, &plan, &device)? } else { Settings::new() };
    if let (Some(files), Some(_)) = (&files, stopped_at) {
        files.check_settings(&settings)?;
    }
    let memory = arguments.memory.open(&plan.languages)?;
    let reference = arguments.reference.as_deref().map(|path| read_lines(Some(path))).transpose()?;
    let models = plan.load(arguments, &device)?;
    let mut command = Command {
        models,
        memory,
        progress: Progress::new("translating", "sentences", lines.bytes()),
        output: match (&files, output) {
            (Some(files), Some(path)) => Output::go_on(path, files.written().clone())?,
            _ => Output::open(output)?,
        },
        form: Form { n_best: arguments.n_best, json: arguments.json, quality: arguments.quality },
        totals: Totals::default(),
        texts: reference.is_some().then(Vec::new),
    };
    command.progress.start_at(start.bytes, start.lines);
    let mut window = stopped_at.map_or(FIRST_WINDOW, |stopped_at| stopped_at.window);
    files =
        files.and_then(|files| begin(files, settings, window, arguments.resume).transpose()).transpose()?;
    interrupt::working(|| {
        loop {
            let mut round = peeked.take().unwrap_or_else(|| lines.window(window, ENOUGH_BYTES));
            command.refuse_unknown_tags(&lines, &mut round);
            let began = Instant::now();
            command.translate(&round.lines)?;
            command.totals.time += began.elapsed();
            window = next_window(window, began.elapsed());
            if let Some(files) = &mut files {
                files.add(&round.lines);
                if files.is_due() || round.end.is_some() {
                    files.save(command.output.sync()?, window)?;
                }
            }
            if let Some(end) = round.end {
                return end;
            }
        }
    })?;
    files.into_iter().for_each(Resumable::finish);
    if let Some(choice) = &arguments.attention.attention {
        notice(&command.totals.text(&choice.to_string()));
    }
    if let (Some(path), Some(reference), Some(texts)) = (&arguments.reference, &reference, &command.texts) {
        notice(&compared(texts, path, reference)?);
    }
    Ok(())
}

/// How near the translations are to those of a file.
fn compared(texts: &[String], path: &Path, reference: &[String]) -> Result<String, CliError> {
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let reference: [Vec<&str>; 1] = [reference.iter().map(String::as_str).collect()];
    if texts.len() != reference[0].len() {
        return Err(CliError::Input(format!(
            "{} has {} lines, but {} were translated; each needs a line",
            path.display(),
            reference[0].len(),
            texts.len()
        )));
    }
    let refused = |error: EvaluateError| CliError::Input(error.to_string());
    let (bleu, chrf) =
        (bleu(&texts, &reference).map_err(refused)?, chrf(&texts, &reference).map_err(refused)?);
    Ok(format!("compared with {}: BLEU {:.2}, chrF2 {:.2}", path.display(), bleu.score, chrf.score))
}

/// The translations of a run together, to compare kinds of attention.
#[derive(Default)]
struct Totals {
    sentences: usize,
    tokens: usize,
    /// Sum over the best hypothesis of each sentence.
    log_probability: f64,
    time: Duration,
}

impl Totals {
    fn add(&mut self, translation: &Translation) {
        for best in translation.sentences.iter().filter_map(|sentence| sentence.hypotheses.first()) {
            let steps = &best.search.step_logprobs;
            self.sentences += 1;
            self.tokens += steps.len();
            self.log_probability += steps.iter().map(|&step| f64::from(step)).sum::<f64>();
        }
    }

    fn text(&self, kinds: &str) -> String {
        let &Self { sentences, tokens, log_probability, time } = self;
        let mean = |count: usize| log_probability / count.max(1) as f64;
        format!(
            "attention: {kinds}: {} in {:.2} s, log-probability {:.3} a sentence, {:.4} a token",
            counted(sentences, "sentence"),
            time.as_secs_f64(),
            mean(sentences),
            mean(tokens)
        )
    }
}

/// Lines of the first window: few, for early results.
const FIRST_WINDOW: usize = 128;
/// Maximal number of lines of a window. More lines would hardly reduce padding.
const LARGEST_WINDOW: usize = 4096;
/// Bytes after which a window is complete; it bounds memory for long lines.
const ENOUGH_BYTES: u64 = 1 << 20;
/// Range of a window's time: a faster one makes the next larger. Lines appear at its end, and a killed run loses them.
const WINDOW_TIME: [Duration; 2] = [Duration::from_secs(5), Duration::from_secs(20)];
/// Bytes for repeated sentences, some ten thousands.
const CACHE_BYTES: usize = 64 << 20;

fn next_window(lines: usize, took: Duration) -> usize {
    match took {
        _ if took < WINDOW_TIME[0] => {
            let times = WINDOW_TIME[0].as_millis() / took.as_millis().max(1);
            (lines * times.clamp(2, 32) as usize).min(LARGEST_WINDOW)
        }
        _ if took > WINDOW_TIME[1] => (lines / 2).max(FIRST_WINDOW),
        _ => lines,
    }
}

/// Begins to keep records for resuming. If that is impossible, only a run with `--resume` fails.
fn begin(
    mut files: Resumable,
    settings: Settings,
    window: usize,
    needed: bool,
) -> Result<Option<Resumable>, CliError> {
    match files.begin(settings, window) {
        Ok(()) => Ok(Some(files)),
        Err(error) if needed => Err(error),
        Err(error) => {
            notice(&format!("warning: {error}; were this run stopped, it could not be resumed"));
            Ok(None)
        }
    }
}

const NO_FILES: &str = "--resume needs files as --input and --output, not pipes or devices";

fn joined(lines: &[Line]) -> String {
    lines.iter().map(|line| &*line.text).collect::<Vec<_>>().join("\n")
}

fn settings(arguments: &Arguments, plan: &Plan, device: &Device) -> Result<Settings, CliError> {
    let models = plan.models().map(Chosen::setting).collect::<Result<Vec<_>, CliError>>()?;
    let roundings: Vec<String> =
        plan.models().filter_map(|chosen| arguments.device.rounding(device, &chosen.model)).collect();
    let rounding = (!roundings.is_empty()).then(|| roundings.join(", then "));
    let [from, to] = plan.languages.each_ref().map(|language| language.as_ref().map(ToString::to_string));
    let number = |number: Option<usize>| number.map(|number| number.to_string());
    let given = [
        ("--model", Some(models.join(", then "))),
        ("--from", from),
        ("--to", to),
        ("--source-lang", arguments.search.source_lang.clone()),
        ("--target-lang", arguments.search.target_lang.clone()),
        ("--task", arguments.search.task.clone()),
        ("--beams", number(arguments.search.beams)),
        ("--length-penalty", arguments.length_penalty.map(|penalty| penalty.to_string())),
        ("--max-length", number(arguments.max_length)),
        ("--n-best", number(arguments.n_best)),
        ("--glossary", arguments.glossary.setting()?),
        ("--memory", arguments.memory.setting()?),
        ("--no-shortlist", arguments.no_shortlist.then(|| "given".to_owned())),
        ("--attention", arguments.attention.attention.as_ref().map(ToString::to_string)),
        ("--switch", arguments.switches.switch.as_ref().map(ToString::to_string)),
        ("--json", arguments.json.then(|| "given".to_owned())),
        ("--quality", arguments.quality.then(|| "given".to_owned())),
        ("--weights", rounding),
    ];
    Ok(given.into_iter().filter_map(|(option, value)| Some((option.to_owned(), value?))).collect())
}

/// A model with the options of its translation, which were checked.
struct Planned {
    chosen: Chosen,
    options: TranslateOptions,
    /// Those of the search, with the task's.
    generation: GenerationConfig,
}

impl Planned {
    fn new(arguments: &Arguments, chosen: Chosen, options: TranslateOptions) -> Result<Self, CliError> {
        let defaults = chosen.model.generation_config();
        let (_, generation) =
            resolve_languages(&chosen.tokenizer, &options, defaults).map_err(refused_language)?;
        check_options(arguments, &chosen.model, &generation)?;
        Ok(Self { chosen, options, generation })
    }

    fn load(
        self,
        arguments: &Arguments,
        device: &Device,
    ) -> Result<(Translator, TranslateOptions), CliError> {
        let Self { chosen: Chosen { model, tokenizer, .. }, options, generation } = self;
        let mut transformer = load(device, &model, arguments.device.weights, Some(&generation))?;
        arguments.attention.apply(&mut transformer)?;
        arguments.switches.apply(&mut transformer, &model)?;
        let translator = Translator::from_parts(transformer, tokenizer).with_cache(CACHE_BYTES);
        Ok((translator, options))
    }
}

/// The models of a translation: one, or two through a third language.
struct Plan {
    /// Writes the language between.
    first: Option<Planned>,
    last: Planned,
    languages: [Option<Language>; 2],
}

impl Plan {
    fn new(arguments: &Arguments, choice: Choice, cancel: &Cancel) -> Result<Self, CliError> {
        let Choice { last, first, languages } = choice;
        let search = &arguments.search;
        let of_pair = [("--glossary", arguments.glossary.is_given()), ("--quality", arguments.quality)];
        if let Some((option, _)) = of_pair.into_iter().find(|&(_, given)| first.is_some() && given) {
            return Err(CliError::Usage(format!(
                "{option} needs a model of the pair itself; these languages go through a third one"
            )));
        }
        let first = first.map(|first| {
            let options = TranslateOptions { task: None, ..first.options(search, cancel.clone()) };
            Planned::new(arguments, first, options)
        });
        let mut options =
            TranslateOptions { generation: asked(arguments), ..last.options(search, cancel.clone()) };
        options.glossary = arguments.glossary.bind(&last, &options)?;
        options.alignments = arguments.quality;
        Ok(Self { first: first.transpose()?, last: Planned::new(arguments, last, options)?, languages })
    }

    fn models(&self) -> impl Iterator<Item = &Chosen> {
        self.first.iter().chain([&self.last]).map(|planned| &planned.chosen)
    }

    fn load(self, arguments: &Arguments, device: &Device) -> Result<Models, CliError> {
        let first = self.first.map(|first| first.load(arguments, device)).transpose()?;
        let (last, options) = self.last.load(arguments, device)?;
        Ok(Models { first, last, options })
    }
}

/// The models on their device.
struct Models {
    /// Writes the language between.
    first: Option<(Translator, TranslateOptions)>,
    last: Translator,
    options: TranslateOptions,
}

/// Options of the command line.
fn asked(arguments: &Arguments) -> GenerationConfig {
    GenerationConfig {
        num_beams: arguments.search.beams,
        num_return_sequences: Some(arguments.n_best.unwrap_or(1)),
        length_penalty: arguments.length_penalty,
        max_length: arguments.max_length,
        shortlist: arguments.no_shortlist.then_some(false),
        ..GenerationConfig::default()
    }
}

/// Checks the options of the command line and of a task, over the model's own.
fn check_options(arguments: &Arguments, model: &Model, options: &GenerationConfig) -> Result<(), CliError> {
    let flags = [
        ("num_beams", "--beams", arguments.search.beams.is_some()),
        ("num_return_sequences", "--n-best", arguments.n_best.is_some()),
        ("length_penalty", "--length-penalty", arguments.length_penalty.is_some()),
        ("max_length", "--max-length", arguments.max_length.is_some()),
    ];
    search_options(&flags, model, options).map(|_| ())
}

fn refused_language(error: TextError) -> CliError {
    CliError::Usage(error.to_string())
}

struct Command {
    models: Models,
    memory: Option<Memory>,
    progress: Progress,
    output: Output,
    form: Form,
    totals: Totals,
    /// The translations so far, if they are compared.
    texts: Option<Vec<String>>,
}

/// The form of the output.
#[derive(Clone, Copy)]
struct Form {
    n_best: Option<usize>,
    json: bool,
    /// Whether JSON says how far each sentence can be trusted.
    quality: bool,
}

impl Command {
    /// Ends the round before the first line with an unknown language tag.
    fn refuse_unknown_tags(&self, lines: &Lines, round: &mut Round) {
        let Models { first, last, .. } = &self.models;
        let tokenizer = first.as_ref().map_or(last, |(first, _)| first).tokenizer();
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
        // a carriage return belongs to the line's end
        let split = |line: &'_ Line| line.text.len() - usize::from(line.text.ends_with('\r'));
        let all: Vec<&str> = lines.iter().map(|line| &line.text[..split(line)]).collect();
        let bytes = lines.iter().map(|line| line.bytes).sum();
        let Self {
            models: Models { first, last, options },
            memory,
            progress,
            output,
            form,
            totals,
            texts: kept,
        } = self;
        let find = |text: &&str| memory.as_ref().and_then(|Memory { pair, least }| pair.find(text, *least));
        let known: Vec<Option<Match<'_>>> = all.iter().map(find).collect();
        let unknown = all.iter().zip(&known).filter(|(_, known)| known.is_none());
        let texts: Vec<&str> = unknown.map(|(text, _)| *text).collect();
        let mut writer =
            Writer { output, lines, sources: &all, known: &known, form: *form, next: 0, kept: kept.as_mut() };
        progress.round_of_lines(lines.len(), bytes, |report| {
            // with two models, each is half of the work
            let half = if first.is_some() { 0.5 } else { 1.0 };
            let mut between = Vec::new();
            if let Some((first, options)) = first {
                let mut watch = |update: &Update| {
                    report(Done { units: 0, fraction: half * f64::from(update.fraction), lines: 0 });
                };
                let pivot = Pivot::new(first, last);
                between = pollster::block_on(pivot.between(&texts, options, &mut watch))?;
            }
            let read = match first {
                Some(_) => between.iter().map(|translation| &*translation.text).collect(),
                None => texts.clone(),
            };
            let mut stream = last.stream(&read, options)?;
            let mut done = 0;
            while let Some(update) = pollster::block_on(stream.next())? {
                if !update.translations.is_empty() {
                    progress.suspend(|| {
                        for translation in &update.translations {
                            totals.add(translation);
                            writer.write(translation, between.get(done))?;
                            done += 1;
                        }
                        writer.output.flush()
                    })?;
                }
                let fraction = 1.0 - half * (1.0 - f64::from(update.fraction));
                report(Done { units: update.sentences, fraction, lines: writer.next });
            }
            progress.suspend(|| {
                writer.write_known()?;
                writer.output.flush()
            })
        })
    }
}

/// Writes the lines of a round in their order: those of the memory, and those of the model as they come.
struct Writer<'a> {
    output: &'a mut Output,
    lines: &'a [Line],
    sources: &'a [&'a str],
    known: &'a [Option<Match<'a>>],
    form: Form,
    next: usize,
    /// The translations so far.
    kept: Option<&'a mut Vec<String>>,
}

impl Writer<'_> {
    /// Writes the next lines, as far as the memory has them.
    fn write_known(&mut self) -> Result<(), CliError> {
        while let Some(Some(known)) = self.known.get(self.next) {
            let hypothesis = TextHypothesis { text: known.target.to_owned(), score: known.score.ln() };
            let translation = Translation {
                text: known.target.to_owned(),
                hypotheses: vec![hypothesis],
                sentences: Vec::new(),
            };
            self.write_line(&translation, None)?;
        }
        Ok(())
    }

    /// Writes the lines before a translation, and the translation.
    fn write(&mut self, translation: &Translation, between: Option<&Translation>) -> Result<(), CliError> {
        self.write_known()?;
        self.write_line(translation, between)
    }

    fn write_line(
        &mut self,
        translation: &Translation,
        between: Option<&Translation>,
    ) -> Result<(), CliError> {
        let (source, memory) = (self.sources[self.next], self.known[self.next]);
        let line = &self.lines[self.next];
        self.next += 1;
        if let Some(kept) = &mut self.kept {
            kept.push(translation.text.clone());
        }
        write(self.output, line, &Written { source, between, translation, memory }, self.form)
    }
}

/// A line and its translation.
struct Written<'a> {
    source: &'a str,
    /// The text in the language between, if there is one.
    between: Option<&'a Translation>,
    translation: &'a Translation,
    /// The text of the memory that it was taken from.
    memory: Option<Match<'a>>,
}

fn write(output: &mut Output, line: &Line, written: &Written<'_>, form: Form) -> Result<(), CliError> {
    let Written { source, between, translation, .. } = *written;
    between.into_iter().chain([translation]).for_each(|translation| warn_if_cut(line, translation));
    if form.json {
        return output.json(&JsonLine::new(written, form.quality));
    }
    if form.n_best.is_none() {
        return output.line(&format!("{}{}", translation.text, &line.text[source.len()..]));
    }
    for (rank, TextHypothesis { text, score }) in (1..).zip(&translation.hypotheses) {
        output.line(&format!("{rank}\t{score:.4}\t{text}"))?;
    }
    Ok(())
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

#[derive(Serialize)]
struct JsonLine<'a> {
    source: &'a str,
    /// Text between two models.
    #[serde(skip_serializing_if = "Option::is_none")]
    intermediate: Option<&'a str>,
    text: &'a str,
    hypotheses: Vec<JsonText<'a>>,
    sentences: Vec<JsonSentence<'a>>,
    /// Only of a translation from a memory.
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<JsonMemory<'a>>,
}

#[derive(Serialize)]
struct JsonMemory<'a> {
    /// Similarity, 1 for an equal text.
    score: f32,
    source: &'a str,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    quality: Option<Quality>,
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
    fn new(&Written { source, between, translation, memory }: &Written<'a>, quality: bool) -> Self {
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
            quality: quality.then(|| Quality::of(sentence)).flatten(),
        };
        Self {
            source,
            intermediate: between.map(|between| &*between.text),
            text: &translation.text,
            hypotheses: translation.hypotheses.iter().map(text).collect(),
            sentences: translation.sentences.iter().map(sentence).collect(),
            memory: memory.map(|Match { source, score, .. }| JsonMemory { score, source }),
        }
    }
}
