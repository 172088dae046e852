//! Runs with a translator that is no model.
#![allow(dead_code, reason = "no test takes all of it")]

use std::collections::HashMap;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};

use arrow_array::{ArrayRef, RecordBatch};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use wordloom_corpus::{CorpusError, Job, Summary, Translate, Translated, run};

/// Writes texts in capitals, and counts how often it saw each. It fails at its call of the number `fails_at`.
pub struct Capitals {
    pub seen: Arc<Mutex<HashMap<String, usize>>>,
    pub calls: Arc<AtomicUsize>,
    pub fails_at: usize,
}

impl Translate for Capitals {
    fn translate(
        &mut self,
        texts: &[&str],
        done: &mut (dyn FnMut(f64) + Send),
    ) -> Result<Vec<Translated>, CorpusError> {
        if self.calls.fetch_add(1, Ordering::SeqCst) == self.fails_at {
            return Err(CorpusError::Translate("the plug was pulled".into()));
        }
        done(0.5);
        let mut seen = self.seen.lock().expect("no panic before");
        let translate = |text: &&str| {
            *seen.entry((*text).to_owned()).or_default() += 1;
            let tokens = u32::try_from(text.split(' ').count()).expect("a short text");
            Translated {
                text: text.to_uppercase(),
                trust: Some(0.75),
                source_tokens: tokens,
                tokens,
                cut: false,
            }
        };
        Ok(texts.iter().map(translate).collect())
    }
}

/// A folder of a test, with a corpus and a place for the output.
pub struct Case {
    pub folder: PathBuf,
    pub job: Job,
    pub seen: Arc<Mutex<HashMap<String, usize>>>,
}

impl Case {
    pub fn new(name: &str) -> Self {
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("corpus").join(name);
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("in")).expect("a temporary folder");
        let job = Job {
            inputs: vec![folder.join("in")],
            output: folder.join("out"),
            column: "text".into(),
            into: "capitals".into(),
            trust: false,
            format: None,
            header: true,
            rows: 3,
            resume: false,
            settings: [("--model".to_owned(), "capitals".to_owned())].into(),
        };
        Self { folder, job, seen: Arc::default() }
    }

    pub fn write(self, name: &str, content: impl AsRef<[u8]>) -> Self {
        fs::write(self.folder.join("in").join(name), content).expect("a file of the corpus");
        self
    }

    pub fn run_with(&self, workers: usize, fails_at: usize) -> Result<Summary, CorpusError> {
        let calls = Arc::new(AtomicUsize::new(0));
        let worker = |_| {
            let (seen, calls) = (Arc::clone(&self.seen), Arc::clone(&calls));
            Box::new(Capitals { seen, calls, fails_at }) as Box<dyn Translate>
        };
        run(&self.job, (0..workers).map(worker).collect(), &|_| {})
    }

    pub fn run(&self) -> Summary {
        self.run_with(1, usize::MAX).expect("a run")
    }

    /// The content of a part.
    pub fn part(&self, name: &str) -> String {
        fs::read_to_string(self.folder.join("out").join(name)).expect("a part")
    }

    /// Names of the parts.
    pub fn parts(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.join("out")).expect("the output");
        let names = entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
        let mut parts: Vec<String> = names.filter(|name| name.starts_with("part-")).collect();
        parts.sort();
        parts
    }

    pub fn all(&self) -> String {
        self.parts().iter().map(|part| self.part(part)).collect()
    }

    pub fn bad(&self) -> Vec<serde_json::Value> {
        let records = fs::read_dir(self.folder.join("out/_corpus")).expect("the records");
        let mut files: Vec<PathBuf> = records.map(|entry| entry.expect("an entry").path()).collect();
        files.retain(|path| path.extension().is_some_and(|ending| ending == "jsonl"));
        files.sort();
        let content: String = files.iter().map(|path| fs::read_to_string(path).expect("bad rows")).collect();
        content.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect()
    }
}

/// The rows of a part.
pub fn read(path: &Path) -> RecordBatch {
    let builder =
        ParquetRecordBatchReaderBuilder::try_new(File::open(path).expect("a part")).expect("Parquet");
    let batches: Vec<RecordBatch> =
        builder.build().expect("a reader").map(|batch| batch.expect("rows")).collect();
    assert_eq!(batches.len(), 1);
    batches.into_iter().next().expect("one batch")
}

/// A Parquet file with these columns.
pub fn write_parquet<'a>(path: &Path, columns: impl IntoIterator<Item = (&'a str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter_with_nullable(
        columns.into_iter().map(|(name, values)| (name, values, true)),
    )
    .expect("a batch");
    let mut writer =
        ArrowWriter::try_new(File::create(path).expect("a file"), batch.schema(), None).expect("a writer");
    writer.write(&batch).expect("rows");
    writer.close().expect("a footer");
}
