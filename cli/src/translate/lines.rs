//! Lines of text in, their translations out, in windows.

use std::io::IsTerminal;
use std::time::Instant;

use wordloom::text::Direction;
use wordloom::translate::{Pivot, Update};
use wordloom_documents::Match;

use super::super::choice::{self, Steps};
use super::super::evaluate::read_lines;
use super::super::lines::{Line, Lines, Round, Start};
use super::super::memory::Memory;
use super::super::output::Output;
use super::super::progress::{Done, Progress};
use super::super::resume::{Resumable, Settings};
use super::super::{CliError, interrupt, notice};
use super::comparison::{Totals, compared};
use super::plan::{Models, Plan};
use super::window::{ENOUGH_BYTES, FIRST_WINDOW, next_window};
use super::writer::{Form, Writer};
use super::{Arguments, settings};

pub fn run(arguments: &Arguments) -> Result<(), CliError> {
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
