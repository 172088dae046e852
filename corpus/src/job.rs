//! What is asked of a run, and what it gives.

use std::path::PathBuf;

use serde::Serialize;

use super::convert;
use super::error::CorpusError;
use super::files::{files, passed_over};
use super::folder::{Settings, TIME, fingerprint, name_of, time};
use super::format::Format;
use super::part::Names;
use super::read::{Source, Wanted, check_fields};
use super::report::Report;

/// What is translated, and where the result goes.
#[derive(Clone, Debug)]
pub struct Job {
    /// Files, and folders of files.
    pub inputs: Vec<PathBuf>,
    /// A folder for the parts: a new one, or that of the run that is resumed.
    pub output: PathBuf,
    /// The column to translate.
    pub column: String,
    /// Name of the column with the translations.
    pub into: String,
    /// Whether a column `INTO_trust` says how far each translation can be trusted.
    pub trust: bool,
    /// Format of the parts; by default that of their file.
    pub format: Option<Format>,
    /// Whether CSV and TSV begin with a line of names. Else columns are called 1, 2, 3 and so on.
    pub header: bool,
    /// Rows of a part.
    pub rows: usize,
    /// Whether to go on with the run in the folder `output`.
    pub resume: bool,
    /// What else changes translations, such as the model; a resumed run needs the same.
    pub settings: Settings,
}

impl Job {
    /// Some texts of the first file, to detect their language.
    ///
    /// # Errors
    /// As [`run`].
    pub fn sample(&self) -> Result<String, CorpusError> {
        let inputs = files(&self.inputs)?;
        let Some(first) = inputs.first() else { return Ok(String::new()) };
        let wanted = Wanted { column: &self.column, added: &[], header: self.header, rows: 1000 };
        let piece = Source::open(first, &wanted, 0)?.piece(1000)?;
        let texts = piece.chunks.iter().flat_map(|rows| rows.texts(&self.column)).flatten();
        Ok(texts.collect::<Vec<_>>().join("\n"))
    }

    /// Looks for what would be refused: files, columns, formats. So it is known before a model is loaded.
    ///
    /// # Errors
    /// As [`run`].
    pub fn check(&self) -> Result<(), CorpusError> {
        if self.into.is_empty() {
            return Err(CorpusError::NoName);
        }
        let added = self.names().all();
        let wanted = self.wanted(&added);
        for input in files(&self.inputs)? {
            let (format, _) = Format::of(&input)?;
            if format == Format::JsonLines && self.format.is_some_and(|to| to != Format::JsonLines) {
                let problem =
                    "JSON Lines stay JSON Lines, because their fields have no types; leave --format out"
                        .into();
                return Err(CorpusError::Convert { file: input.display().to_string(), problem });
            }
            match format {
                Format::JsonLines => check_fields(&input, &wanted)?,
                _ => {
                    let source = Source::open(&input, &wanted, 0)?;
                    if let Some(schema) = source.schema() {
                        let to = self.format_of(format);
                        convert::check(&input.display().to_string(), schema, &added, to)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// What is passed over in the folders of [`Self::inputs`], in a sentence for each kind and folder.
    ///
    /// # Errors
    /// A folder cannot be read.
    pub fn passed_over(&self) -> Result<Vec<String>, CorpusError> {
        passed_over(&self.inputs)
    }

    /// The format of the parts of a file.
    pub(crate) fn format_of(&self, input: Format) -> Format {
        self.format.unwrap_or(input).of_output()
    }

    pub(crate) fn wanted<'a>(&'a self, added: &'a [String]) -> Wanted<'a> {
        Wanted { column: &self.column, added, header: self.header, rows: self.rows }
    }

    pub(crate) fn names(&self) -> Names {
        Names { translation: self.into.clone(), trust: self.trust.then(|| format!("{}_trust", self.into)) }
    }

    /// What a resumed run needs to be the same.
    pub(crate) fn all_settings(&self, inputs: &[PathBuf]) -> Result<Settings, CorpusError> {
        let mut settings = self.settings.clone();
        let mut add = |name: &str, value: String| settings.insert(name.to_owned(), value);
        add("--column", self.column.clone());
        add("--into", self.into.clone());
        add("--quality", self.trust.to_string());
        add("--format", self.format.map_or("as the input's", Format::ending).to_owned());
        add("--no-header", (!self.header).to_string());
        add("--rows", self.rows.to_string());
        add("the number of files", inputs.len().to_string());
        for (number, input) in (1..).zip(inputs) {
            add(&format!("file {number}"), fingerprint(input)?);
            add(&format!("{TIME}file {number}, {}", name_of(input)), time(input)?);
        }
        Ok(settings)
    }
}

/// Translates texts: a model on a device.
pub trait Translate: Send {
    /// Translates texts, in their order. `done` gets the share that is finished, 0 to 1.
    ///
    /// # Errors
    /// [`CorpusError::Cancelled`] if it was asked to stop.
    fn translate(
        &mut self,
        texts: &[&str],
        done: &mut (dyn FnMut(f64) + Send),
    ) -> Result<Vec<Translated>, CorpusError>;
}

/// The translation of a text.
#[derive(Clone, Debug, PartialEq)]
pub struct Translated {
    /// The translation.
    pub text: String,
    /// How far it can be trusted, 0 to 1.
    pub trust: Option<f32>,
    /// Tokens of the text.
    pub source_tokens: u32,
    /// Tokens of the translation.
    pub tokens: u32,
    /// Whether the maximal length ended it.
    pub cut: bool,
}

/// How far a run is.
#[derive(Clone, Copy, Debug)]
pub struct Progress {
    /// Share of the corpus, 0 to 1, measured in bytes of its files.
    pub fraction: f64,
    /// Rows of committed parts.
    pub rows: u64,
}

/// The result of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// All parts, also those of earlier runs.
    #[serde(flatten)]
    pub report: Report,
    /// Number of parts.
    pub parts: u64,
    /// Rows that this run translated.
    pub run_rows: u64,
    /// Tokens of translations that this run made.
    pub run_tokens: u64,
    /// Seconds that this run took.
    pub run_seconds: f64,
    /// Files with the rows that could not be read.
    pub bad_row_files: Vec<PathBuf>,
}
