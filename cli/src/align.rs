//! `wordloom align`

use std::path::PathBuf;

use wordloom::trace::alignment::{Alignment, words};
use wordloom::trace::{AttentionKind, Trace, TraceOptions};
use wordloom::translate::resolve_languages;
use wordloom::{TranslateOptions, Translation, Translator};

use super::choice::{Chosen, Steps};
use super::lines::{Line, Lines};
use super::output::{Output, check_named};
use super::progress::Progress;
use super::setup::{AttentionArguments, DeviceArguments, ModelArguments, SearchArguments, search_options};
use super::{CliError, choice, interrupt};

#[derive(clap::Args)]
#[command(after_help = "\
A line has a link for each pair of words, `0-0 1-2`: source word, target word,
counted from 0, cut at white space. They come from cross-attention.

Examples:
  wordloom align -i book.txt --translations buch.txt -o book.links
  wordloom align -i book.txt --target buch.txt -o book.links")]
pub struct Arguments {
    /// Read source lines from FILE [default: stdin]
    #[arg(short, long, value_name = "FILE")]
    input: Option<PathBuf>,
    /// Write to FILE [default: standard output]
    #[arg(short, long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Align these translations, a line each
    #[arg(long, value_name = "FILE", conflicts_with_all = ["translations", "beams"])]
    target: Option<PathBuf>,
    /// Write the translations that were made to FILE
    #[arg(long, value_name = "FILE")]
    translations: Option<PathBuf>,
    #[command(flatten)]
    attention: AttentionArguments,
    #[command(flatten)]
    search: SearchArguments,
    #[command(flatten)]
    model: ModelArguments,
    #[command(flatten)]
    device: DeviceArguments,
}

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
    let Arguments { input, output, target, translations, .. } = arguments;
    let [input_file, target_file, output_file, translations_file] =
        [("--input", input), ("--target", target), ("--output", output), ("--translations", translations)]
            .map(|(option, path)| (option, path.as_deref()));
    for (one, other) in [
        (input_file, output_file),
        (target_file, output_file),
        (input_file, translations_file),
        (output_file, translations_file),
    ] {
        check_named(one, other)?;
    }
    let cancel = interrupt::handler();
    let mut sample = || choice::sample(input.as_deref());
    let choice = choice::open(&arguments.model, &arguments.search, Steps::One, &mut sample)?.last;
    let options = choice.options(&arguments.search, cancel);
    let Chosen { model, tokenizer, .. } = choice;
    let (_, generation) = resolve_languages(&tokenizer, &options, model.generation_config())
        .map_err(|error| CliError::Usage(error.to_string()))?;
    let flags = [("num_beams", "--beams", arguments.search.beams.is_some())];
    if target.is_none() {
        search_options(&flags, &model, &generation)?;
    }
    let sources = Lines::open(input.as_deref())?;
    let targets = target.as_deref().map(|path| Lines::open(Some(path))).transpose()?;
    let mut transformer = match target {
        Some(_) => arguments.device.transformer(&model)?,
        None => arguments.device.generator(&model, &options.generation)?,
    };
    arguments.attention.apply(&mut transformer)?;
    let mut command = Command {
        translator: Translator::from_parts(transformer, tokenizer),
        options,
        output: Output::open(output.as_deref())?,
        translations: translations.as_deref().map(|path| Output::open(Some(path))).transpose()?,
    };
    let progress = Progress::new("aligning", "lines", sources.bytes());
    interrupt::working(|| {
        let mut waiting =
            targets.as_ref().map(|lines| Waiting { lines, round: Vec::new().into_iter(), ended: false });
        loop {
            let round = sources.round();
            let bytes = round.lines.iter().map(|line| line.bytes).sum();
            progress.round(bytes, |done| {
                // translated together, traced one by one
                let mut made = match waiting {
                    Some(_) => Vec::new(),
                    None => command.translate(&round.lines)?,
                }
                .into_iter();
                for (index, line) in round.lines.iter().enumerate() {
                    let target = match &mut waiting {
                        Some(waiting) => Target::Given(waiting.next(&sources, line)?),
                        None => made.next().map_or(Target::Nothing, Target::Made),
                    };
                    let alignment = command.align(&sources, line, target)?;
                    command.output.line(&alignment.pharaoh())?;
                    done(index + 1, round.lines.len());
                }
                Ok::<(), CliError>(())
            })?;
            progress.suspend(|| command.flush())?;
            match (round.end, &mut waiting) {
                (Some(Ok(())), Some(waiting)) => return waiting.end(),
                (Some(end), _) => return end,
                (None, _) => {}
            }
        }
    })
}

enum Target {
    Made(Translation),
    Given(Line),
    Nothing,
}

struct Command {
    translator: Translator,
    options: TranslateOptions,
    output: Output,
    translations: Option<Output>,
}

impl Command {
    fn translate(&self, lines: &[Line]) -> Result<Vec<Translation>, CliError> {
        let texts: Vec<&str> = lines.iter().map(|line| without_return(&line.text)).collect();
        Ok(pollster::block_on(self.translator.translate(&texts, &self.options))?)
    }

    fn align(&mut self, lines: &Lines, line: &Line, target: Target) -> Result<Alignment, CliError> {
        let source = without_return(&line.text);
        let kept =
            TraceOptions { kinds: vec![AttentionKind::Cross], scores: false, ..TraceOptions::default() };
        let trace = pollster::block_on(async {
            match target {
                Target::Made(translation) => {
                    Trace::of(&self.translator, source, &translation, &self.options, &kept).await
                }
                Target::Given(target) if !source.trim().is_empty() && !target.text.trim().is_empty() => {
                    let target = without_return(&target.text);
                    Trace::of_pair(&self.translator, source, target, &self.options, &kept).await
                }
                Target::Given(_) | Target::Nothing => Ok(Trace::default()),
            }
        });
        let trace = trace.map_err(|error| match CliError::from(error) {
            error @ (CliError::Interrupted | CliError::Gpu(_)) => error,
            error => CliError::Input(format!("{}: {error}", lines.place(line.number))),
        })?;
        let (mut whole, mut target_words) = (Alignment::default(), 0);
        let mut translation = Vec::new();
        for sentence in &trace.sentences {
            if !sentence.left_out.is_empty() {
                let place = lines.place(line.number);
                let message =
                    format!("{place}: its attention takes more memory than there is for a line; split it");
                return Err(CliError::Input(message));
            }
            // in scripts without spaces, several sentences can be one word
            let before = source.get(..sentence.offset).unwrap_or_default();
            let within = usize::from(before.ends_with(|c: char| !c.is_whitespace()));
            whole.append(&sentence.alignment(), words(before).len() - within, target_words);
            target_words += words(&sentence.target).len();
            translation.push(&*sentence.target);
        }
        if let Some(translations) = &mut self.translations {
            translations.line(&translation.join(" "))?;
        }
        Ok(whole)
    }

    fn flush(&mut self) -> Result<(), CliError> {
        self.translations.iter_mut().try_for_each(Output::flush)?;
        self.output.flush()
    }
}

/// Target lines without a source line yet.
struct Waiting<'a> {
    lines: &'a Lines,
    round: std::vec::IntoIter<Line>,
    ended: bool,
}

impl Waiting<'_> {
    fn next(&mut self, sources: &Lines, source: &Line) -> Result<Line, CliError> {
        loop {
            if let Some(line) = self.round.next() {
                return Ok(line);
            }
            if self.ended {
                return Err(CliError::Input(format!(
                    "{} has no target: --target ends before",
                    sources.place(source.number)
                )));
            }
            self.read()?;
        }
    }

    fn end(&mut self) -> Result<(), CliError> {
        loop {
            if let Some(line) = self.round.next() {
                return Err(CliError::Input(format!(
                    "{} has no source: --input ends before",
                    self.lines.place(line.number)
                )));
            }
            if self.ended {
                return Ok(());
            }
            self.read()?;
        }
    }

    fn read(&mut self) -> Result<(), CliError> {
        let round = self.lines.round();
        self.round = round.lines.into_iter();
        self.ended = round.end.transpose()?.is_some();
        Ok(())
    }
}

fn without_return(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}
