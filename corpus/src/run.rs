//! A run over a corpus: one thread reads parts, translators work on them side by side.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use super::aside::{Way, set_aside};
use super::error::CorpusError;
use super::files::files;
use super::folder::{Folder, Marker};
use super::format::Format;
use super::job::{Job, Progress, Summary, Translate};
use super::part::{self, Names};
use super::read::{Piece, Source};
use super::report::Report;
use super::rows::BadRow;
use super::store::Store;
use super::write::write;

/// A part to translate.
struct Work {
    index: u64,
    file: usize,
    first_row: u64,
    piece: Piece,
    /// Its share of the corpus.
    share: f64,
}

/// Does a job. Each translator works on a part of its own.
///
/// # Errors
/// A file or the folder cannot be used, or a translator fails. Committed parts stay, and `resume` goes on.
pub fn run(
    job: &Job,
    translators: Vec<Box<dyn Translate + '_>>,
    watch: &(dyn Fn(Progress) + Sync),
) -> Result<Summary, CorpusError> {
    job.check()?;
    let inputs = files(&job.inputs)?;
    let folder = Folder::open(&job.output, &job.all_settings(&inputs)?, job.resume)?;
    let store = Store::open(&folder.store())?;
    let names = job.names();
    let run = Run { job, names, inputs, folder, store, state: Mutex::new(State::default()), watch };
    let begun = Instant::now();
    let (outgoing, incoming) = sync_channel(0); // a part that waits takes memory
    let incoming = Arc::new(Mutex::new(incoming));
    let results: Vec<Result<(), CorpusError>> = thread::scope(|scope| {
        let workers: Vec<_> = translators
            .into_iter()
            .map(|translator| {
                let (run, incoming) = (&run, Arc::clone(&incoming));
                scope.spawn(move || run.work(translator, &incoming))
            })
            .collect();
        drop(incoming); // so that the reader notices when no worker is left
        let read = run.read(&outgoing);
        drop(outgoing);
        let worked = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        worked.chain([read]).collect()
    });
    let mut failures: Vec<CorpusError> = results.into_iter().filter_map(Result::err).collect();
    failures.sort_by_key(|error| matches!(error, CorpusError::Cancelled)); // the reason first
    match failures.into_iter().next() {
        Some(error) => Err(error),
        None => run.finish(begun.elapsed().as_secs_f64()),
    }
}

/// What the threads of a run share.
struct Run<'a> {
    job: &'a Job,
    names: Names,
    inputs: Vec<PathBuf>,
    folder: Folder,
    store: Store,
    state: Mutex<State>,
    watch: &'a (dyn Fn(Progress) + Sync),
}

#[derive(Default)]
struct State {
    report: Report,
    /// Share of the corpus that is committed.
    fraction: f64,
    /// Shares of the parts that are being worked on, by their index.
    begun: std::collections::BTreeMap<u64, f64>,
    parts: u64,
    run_rows: u64,
    run_tokens: u64,
    bad_row_files: Vec<PathBuf>,
    /// A worker failed: the others finish their part.
    failed: bool,
}

impl Run<'_> {
    /// Reads the parts that are not committed yet.
    fn read(&self, outgoing: &SyncSender<Work>) -> Result<(), CorpusError> {
        let added = self.names.all();
        let wanted = self.job.wanted(&added);
        let bytes: Vec<f64> =
            self.inputs.iter().map(|path| path.metadata().map_or(0.0, |found| found.len() as f64)).collect();
        let all = bytes.iter().sum::<f64>().max(1.0);
        let (mut index, mut file, mut row) = self.committed()?;
        self.change(|state| state.fraction = bytes[..file].iter().sum::<f64>() / all);
        while file < self.inputs.len() {
            let mut source = Source::open(&self.inputs[file], &wanted, row)?;
            let mut before = source.fraction();
            self.change(|state| state.fraction += before * bytes[file] / all);
            loop {
                let piece = source.piece(self.job.rows)?;
                let (rows, is_last) = (piece.rows, piece.is_last);
                let share = (piece.fraction - before).max(0.0) * bytes[file] / all;
                before = piece.fraction;
                let work = Work { index, file, first_row: row, piece, share };
                match self.folder.marker(index)? {
                    Some(marker) => self.skip(&work, &marker)?,
                    None if outgoing.send(work).is_err() => return Ok(()), // a worker has the reason
                    None => {}
                }
                index += 1;
                row += rows;
                if is_last {
                    break;
                }
            }
            (file, row) = (file + 1, 0);
        }
        Ok(())
    }

    /// The first part without a marker, with its file and row. Counts the parts before.
    fn committed(&self) -> Result<(u64, usize, u64), CorpusError> {
        let (mut index, mut file, mut row) = (0, 0, 0);
        while let Some(marker) = self.folder.marker(index)? {
            self.count(index, &marker);
            (file, row) = if marker.is_last {
                (marker.file + 1, 0)
            } else {
                (marker.file, marker.first_row + marker.rows)
            };
            index += 1;
        }
        Ok((index, file, row))
    }

    /// Passes over a part that another translator committed before the run was stopped.
    fn skip(&self, work: &Work, marker: &Marker) -> Result<(), CorpusError> {
        let now = (work.file, work.first_row, work.piece.rows, work.piece.is_last);
        if now != (marker.file, marker.first_row, marker.rows, marker.is_last) {
            let file = self.inputs[work.file].display().to_string();
            let problem = "has other rows than before; begin again in another folder".into();
            return Err(CorpusError::Convert { file, problem });
        }
        self.count(work.index, marker);
        self.change(|state| state.fraction += work.share);
        Ok(())
    }

    fn count(&self, index: u64, marker: &Marker) {
        self.change(|state| {
            state.parts += 1;
            state.report.add(&marker.report);
            if marker.report.bad_rows > 0 {
                state.bad_row_files.push(self.folder.bad_rows(index));
            }
        });
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        let progress = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            change(&mut state);
            let fraction = (state.fraction + state.begun.values().sum::<f64>()).min(1.0);
            Progress { fraction, rows: state.report.rows }
        };
        (self.watch)(progress);
    }

    /// Translates parts until there are no more.
    fn work(
        &self,
        mut translator: Box<dyn Translate + '_>,
        incoming: &Mutex<Receiver<Work>>,
    ) -> Result<(), CorpusError> {
        loop {
            let next = incoming.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(work) = next else { return Ok(()) };
            if self.state.lock().unwrap_or_else(PoisonError::into_inner).failed {
                return Ok(());
            }
            if let Err(error) = self.translate(work, &mut *translator) {
                self.change(|state| state.failed = true);
                return Err(error);
            }
        }
    }

    fn translate(&self, work: Work, translator: &mut dyn Translate) -> Result<(), CorpusError> {
        let Work { index, file, first_row, piece, share } = work;
        let Piece { chunks, mut bad, rows, is_last, .. } = piece;
        let begun = Instant::now();
        let input = &self.inputs[file];
        let (kind, name) = (Format::of(input)?.0, input.display().to_string());
        let format = self.job.format_of(kind);
        let mut done = |part: f64| self.change(|state| _ = state.begun.insert(index, share * part));
        let column = (&*self.job.column, &self.names);
        // before, so that nothing is translated for them; and after, because a translation can have a line break too
        let way = Way { file: &name, first_row, format, is_complete: false };
        let chunks = set_aside(way, chunks, &mut bad)?;
        let untranslated = bad.len() as u64;
        let (chunks, mut report) =
            part::translate(index.cast_signed(), chunks, column, &self.store, translator, &mut done)?;
        let chunks = set_aside(Way { is_complete: true, ..way }, chunks, &mut bad)?;
        report.rows += untranslated;
        report.bad_rows = bad.len() as u64;
        let has_rows = !chunks.is_empty();
        if has_rows {
            // a table that had no names gets none
            let header = self.job.header || !matches!(kind, Format::Csv | Format::Tsv);
            write(&self.folder.draft(index), format, chunks, header, &name)?;
        }
        if !bad.is_empty() {
            self.write_bad(index, &bad)?;
        }
        report.seconds = begun.elapsed().as_secs_f64();
        let marker = Marker { file, first_row, rows, is_last, report };
        self.folder.commit(index, has_rows.then(|| format.ending()), &marker)?;
        self.count(index, &marker);
        self.change(|state| {
            state.begun.remove(&index);
            state.fraction += share;
            state.run_rows += marker.report.rows;
            state.run_tokens += marker.report.tokens;
        });
        Ok(())
    }

    fn write_bad(&self, index: u64, bad: &[BadRow]) -> Result<(), CorpusError> {
        let path = self.folder.bad_rows(index);
        let write = || {
            let mut file = BufWriter::new(File::create(&path)?);
            for row in bad {
                serde_json::to_writer(&mut file, row)?;
                file.write_all(b"\n")?;
            }
            file.into_inner().map_err(std::io::IntoInnerError::into_error)?.sync_all()
        };
        write().map_err(|source| CorpusError::io(format!("cannot write {}", path.display()), source))
    }

    fn finish(self, seconds: f64) -> Result<Summary, CorpusError> {
        let state = self.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let State { report, parts, run_rows, run_tokens, mut bad_row_files, .. } = state;
        bad_row_files.sort();
        let summary = Summary { report, parts, run_rows, run_tokens, run_seconds: seconds, bad_row_files };
        self.folder.finish(&summary)?;
        self.store.remove();
        Ok(summary)
    }
}
