//! A document in, the same document in another language out.

use std::fs::{self, File};
use std::io::{ErrorKind, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::time::Instant;

use tempfile::NamedTempFile;
use wordloom::{TranslateOptions, Translator};
use wordloom_documents::{Document, Format, Options, Reached, Translated, Unit, translate};

use super::super::choice::{self, Steps};
use super::super::digest::Digest;
use super::super::memory::Memory;
use super::super::output::{Output, cannot_read, cannot_write};
use super::super::progress::{Done, Progress};
use super::super::resume::Settings;
use super::super::{CliError, interrupt, notice};
use super::journal::{Journal, Work};
use super::plan::{Models, Plan};
use super::window::{FIRST_WINDOW, next_window};
use super::{Arguments, settings};

/// The format of the input; `None` if it is lines of text.
pub fn format(arguments: &Arguments) -> Result<Option<Format>, CliError> {
    let name = arguments.input.as_ref().map(|path| path.display().to_string());
    let format = match (&arguments.format, name) {
        (Some(ending), _) if ending == "lines" => None,
        (Some(ending), Some(_)) => {
            Some(Format::of_ending(ending.trim_start_matches('.')).ok_or_else(|| {
                CliError::Usage(format!("--format {ending}: it is lines, or one of {}", Format::endings()))
            })?)
        }
        (Some(_), None) => return Err(CliError::Usage("--format needs a file as --input".into())),
        // text is translated while it is read, however long it is
        (None, Some(name)) => Format::of_name(&name)
            .filter(|format| *format != Format::Text || arguments.input.as_deref().is_some_and(is_utf16)),
        (None, None) => None,
    };
    if !arguments.columns.is_empty() && !format.is_some_and(Format::is_table) {
        return Err(CliError::Usage(
            "--columns needs a table as --input, with the ending .csv or .tsv".into(),
        ));
    }
    let of_lines = [
        ("--json", arguments.json),
        ("--n-best", arguments.n_best.is_some()),
        ("--reference", arguments.reference.is_some()),
    ];
    if let (Some(_), Some((option, _))) = (format, of_lines.into_iter().find(|&(_, given)| given)) {
        return Err(CliError::Usage(format!(
            "{option} is for lines, not for documents; --format lines reads FILE as lines"
        )));
    }
    check_ending(arguments, format)?;
    Ok(format)
}

/// Checks that the ending of --output says no other format than that of what is written: a document keeps its own.
fn check_ending(arguments: &Arguments, format: Option<Format>) -> Result<(), CliError> {
    let (None, Some(output)) = (&arguments.format, &arguments.output) else { return Ok(()) };
    let name = |path: &Path| path.display().to_string();
    let ending = |path: &Path| path.extension().unwrap_or_default().display().to_string();
    let Some(other) = Format::of_name(&name(output)) else { return Ok(()) };
    let input = arguments.input.as_deref();
    let is_table_or_json = arguments.json || arguments.n_best.is_some();
    let fits = match (format, input.map(|path| Format::of_name(&name(path)))) {
        (Some(format), _) => format == other,
        // lines of a file that may be no text at all: that is said when it is read
        (None, Some(None)) => true,
        (None, Some(Some(_))) if !is_table_or_json => other == Format::Text,
        (None, _) => !other.is_binary(),
    };
    if fits {
        return Ok(());
    }
    let what = input.map_or("text".to_owned(), name);
    let own = input.map_or("txt".to_owned(), ending);
    let allowed = if format.is_some() { &*own } else { "lines" };
    Err(CliError::Usage(format!(
        "{what} stays .{own}, and does not become .{} in {}; end its name in .{own}, or say --format {allowed}",
        ending(output),
        name(output)
    )))
}

/// Whether a file begins with a byte-order mark of UTF-16. A pipe could not be read again.
fn is_utf16(path: &Path) -> bool {
    let mut mark = [0; 2];
    let mut read = || File::open(path).and_then(|mut file| file.read_exact(&mut mark));
    path.is_file() && read().is_ok() && matches!(mark, [0xff, 0xfe] | [0xfe, 0xff])
}

pub fn run(arguments: &Arguments, format: Format) -> Result<(), CliError> {
    let (Some(input), output) = (arguments.input.as_deref(), arguments.output.as_deref()) else {
        return Err(CliError::Usage("a document needs --input FILE: standard input is read as lines".into()));
    };
    if output.is_none() && format.is_binary() && std::io::stdout().is_terminal() {
        return Err(CliError::Usage(format!(
            "{} is not text; say where to write it with --output",
            input.display()
        )));
    }
    let cancel = interrupt::handler();
    let bytes = fs::read(input).map_err(|source| cannot_read(input, source))?;
    let mut digest = Digest::default();
    digest.update(&bytes);
    let failed = |source| CliError::Document { file: input.display().to_string(), source };
    let options = Options { columns: arguments.columns.clone(), ..Options::default() };
    let document = Document::read(bytes, format, &options).map_err(failed)?;
    // now, and not after hours of work
    if let Some(output) = output.filter(|path| !is_pipe(path)) {
        drop(beside(&linked(output))?);
    }
    let units = document.units();
    let mut sample = || Ok(beginning(units));
    let choice = choice::open(&arguments.model, &arguments.search, Steps::OneOrTwo, &mut sample)?;
    let plan = Plan::new(arguments, choice, &cancel)?;
    let device = arguments.device.open()?;
    let (mut journal, mut done) = (None, vec![None; units.len()]);
    if let Some(output) = output {
        let work = Work { input, output, digest: digest.summary(), texts: units.len() };
        let settings = settings_of(settings(arguments, &plan, &device)?, arguments);
        (journal, done) = begin(arguments, &work, settings)?;
    }
    if let Some(memory) = arguments.memory.open(&plan.languages)? {
        take_known(units, &memory, &mut done);
    }
    let models = plan.load(arguments, &device)?;
    let bytes: usize = units.iter().map(|unit| unit.text().len()).sum();
    let progress = Progress::new("translating", "sentences", Some(bytes as u64));
    let mut command = Command { units, models, progress, journal, done };
    interrupt::working(|| command.translate())?;
    let translations: Vec<Translated> = command.done.into_iter().map(Option::unwrap_or_default).collect();
    let written = document.write(&translations).map_err(failed)?;
    write(output, &written)?;
    command.journal.map_or(Ok(()), Journal::finish)
}

/// Takes the texts that a memory has. It does not say where tags inside of a text go, so these texts are left to the model.
fn take_known(units: &[Unit], Memory { pair, least }: &Memory, done: &mut [Option<Translated>]) {
    for (unit, done) in units.iter().zip(done) {
        if done.is_none() && !unit.needs_links() {
            let found = pair.find(unit.text(), *least);
            *done = found.map(|found| Translated { text: found.target.to_owned(), links: Vec::new() });
        }
    }
}

/// The first texts, to detect their language.
fn beginning(units: &[Unit]) -> String {
    const ENOUGH: usize = 1 << 16;
    let mut text = String::new();
    for unit in units {
        text += unit.text();
        text.push('\n');
        if text.len() > ENOUGH {
            break;
        }
    }
    text
}

fn settings_of(mut settings: Settings, arguments: &Arguments) -> Settings {
    let columns = arguments.columns.join(",");
    let given = [
        ("--format", arguments.format.clone()),
        ("--columns", Some(columns).filter(|list| !list.is_empty())),
    ];
    settings.extend(given.into_iter().filter_map(|(option, value)| Some((option.to_owned(), value?))));
    settings
}

/// The journal, if there can be one, and the translations that it has.
fn begin(
    arguments: &Arguments,
    work: &Work<'_>,
    settings: Settings,
) -> Result<(Option<Journal>, Vec<Option<Translated>>), CliError> {
    if arguments.resume {
        let (journal, done) = Journal::go_on(work, settings)?;
        return Ok((Some(journal), done));
    }
    let is_file = fs::metadata(work.output).map_or(true, |found| found.is_file());
    let journal = match is_file.then(|| Journal::begin(work, settings)) {
        Some(Ok(journal)) => Some(journal),
        Some(Err(CliError::Io { what, source })) if source.kind() == ErrorKind::WouldBlock => {
            return Err(CliError::Io { what, source });
        }
        Some(Err(error)) => {
            notice(&format!("warning: {error}; were this run stopped, it could not be resumed"));
            None
        }
        None => None,
    };
    Ok((journal, vec![None; work.texts]))
}

struct Command<'a> {
    units: &'a [Unit],
    models: Models,
    progress: Progress,
    journal: Option<Journal>,
    done: Vec<Option<Translated>>,
}

impl Command<'_> {
    /// Translates all texts: those without tags together, then those with tags, which keep their attention.
    fn translate(&mut self) -> Result<(), CliError> {
        let (mut bytes, mut texts) = (0, 0);
        for (unit, _) in self.units.iter().zip(&self.done).filter(|(_, done)| done.is_some()) {
            bytes += unit.text().len() as u64;
            texts += 1;
        }
        self.progress.start_at(bytes, texts);
        for tagged in [false, true] {
            let wanted =
                |index: &usize| self.done[*index].is_none() && self.units[*index].needs_links() == tagged;
            let indexes: Vec<usize> = (0..self.units.len()).filter(wanted).collect();
            let mut left = &indexes[..];
            let mut window = FIRST_WINDOW;
            while !left.is_empty() {
                let (now, rest) = left.split_at(window.min(left.len()));
                let began = Instant::now();
                self.translate_some(now, tagged)?;
                window = next_window(window, began.elapsed());
                left = rest;
            }
        }
        Ok(())
    }

    fn translate_some(&mut self, indexes: &[usize], tagged: bool) -> Result<(), CliError> {
        let units = self.units;
        let texts: Vec<&str> = indexes.iter().map(|&index| units[index].text()).collect();
        let bytes = texts.iter().map(|text| text.len() as u64).sum();
        let Models { first, last, options } = &self.models;
        let models: Vec<(&Translator, &TranslateOptions)> =
            first.iter().map(|(first, options)| (first, options)).chain([(last, options)]).collect();
        let mut found: Vec<Translated> = Vec::new();
        self.progress.round_of_lines(texts.len(), bytes, |report| {
            let mut watch = |Reached { sentences, fraction }| {
                report(Done { units: sentences, fraction, lines: 0 });
            };
            found = pollster::block_on(translate(&models, &texts, tagged, &mut watch))?;
            Ok::<(), CliError>(())
        })?;
        if let Some(journal) = &mut self.journal {
            journal.add(indexes.iter().copied().zip(&found))?;
        }
        for (&index, translated) in indexes.iter().zip(found) {
            self.done[index] = Some(translated);
        }
        Ok(())
    }
}

/// Whether a path is a pipe, a terminal or the like.
fn is_pipe(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|found| !found.is_file() && !found.is_dir())
}

/// The file that a link leads to; any other path as it is.
fn linked(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// A new file in the folder of a path, with a name of its own. It is removed if it is not put in the path's place.
fn beside(path: &Path) -> Result<NamedTempFile, CliError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let mut builder = tempfile::Builder::new();
    // those of any new file
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
    let made = match path.is_dir() {
        true => Err(ErrorKind::IsADirectory.into()),
        false => builder.prefix(".wordloom-").tempfile_in(folder.unwrap_or(Path::new("."))),
    };
    made.map_err(|source| cannot_write(path, source))
}

/// Writes the document: to a file at once, so that a run that is stopped leaves none by half. The file that a link leads to gets it, and a
/// file that was there keeps its permissions.
fn write(output: Option<&Path>, document: &[u8]) -> Result<(), CliError> {
    let Some(path) = output else { return Output::open(None)?.bytes(document) };
    if is_pipe(path) {
        return fs::write(path, document).map_err(|source| cannot_write(path, source));
    }
    let place = linked(path);
    let mut file = beside(&place)?;
    let kept =
        fs::metadata(&place).map_or(Ok(()), |found| file.as_file().set_permissions(found.permissions()));
    let written = kept.and_then(|()| file.write_all(document)).and_then(|()| file.as_file().sync_all());
    let placed = written.and_then(|()| file.persist(&place).map_err(|error| error.error));
    placed.map(drop).map_err(|source| cannot_write(path, source))
}
