//! Text in, text out.

use std::sync::mpsc::Sender;

use pyo3::prelude::*;
use wordloom::decode::ConstraintMode;
use wordloom::translate::{GlossaryError, GlossaryFile, Sentence, SentenceHypothesis};
use wordloom::{TranslateError, TranslateOptions, Translation, Translator};

use crate::engine::Engine;
use crate::errors::{OrRaise, wrong_value};
use crate::run::{Cancel, Done, Watch, run};
use crate::strings::texts;

/// Options of a translation.
#[derive(FromPyObject)]
pub struct Options {
    /// Search options, a JSON object with transformers' names.
    generation: String,
    source_lang: Option<String>,
    target_lang: Option<String>,
    task: Option<String>,
    alignments: bool,
    /// Its name for messages, and its lines.
    glossary: Option<(String, Vec<u8>)>,
    glossary_mode: String,
}

impl Options {
    pub fn of(self, engine: &Engine, watch: &Watch) -> PyResult<TranslateOptions> {
        let options = TranslateOptions {
            generation: engine.generation(&self.generation)?,
            source_language: self.source_lang,
            target_language: self.target_lang,
            task: self.task,
            alignments: self.alignments,
            cancel: watch.cancel.clone(),
            ..TranslateOptions::default()
        };
        let Some((name, lines)) = self.glossary else { return Ok(options) };
        let mode: ConstraintMode = self
            .glossary_mode
            .parse()
            .map_err(|wrong| wrong_value(format!("glossary_mode is {:?}; {wrong}", self.glossary_mode)))?;
        let refused = |error: GlossaryError| wrong_value(error.to_string());
        let file = GlossaryFile::parse(&name, &lines).map_err(refused)?;
        let glossary = engine.translator()?.glossary(&file, &options, mode).map_err(refused)?;
        Ok(options.glossary(glossary))
    }
}

/// Text, score, tokens, log-probabilities of the steps, and whether the maximal length ended the search.
type HypothesisParts = (String, f32, Vec<u32>, Vec<f32>, bool);
/// Source, its ids, hypotheses, and links between words.
type SentenceParts = (String, Vec<u32>, Vec<HypothesisParts>, Option<Vec<(usize, usize)>>);
/// Text, hypotheses and sentences.
type TranslationParts = (String, Vec<(String, f32)>, Vec<SentenceParts>);

/// An iterator of translations, which become Python's objects one by one.
#[pyclass]
pub struct Translations(std::vec::IntoIter<Translation>);

#[pymethods]
impl Translations {
    fn __iter__(translations: PyRef<'_, Self>) -> PyRef<'_, Self> {
        translations
    }

    fn __next__(&mut self) -> Option<TranslationParts> {
        self.0.next().map(parts)
    }
}

#[pymethods]
impl Engine {
    /// Translates a list of strings. Returns an iterator of each translation's parts.
    #[pyo3(signature = (source, options, cancel=None, progress=None))]
    fn translate(
        &self,
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        options: Options,
        cancel: Option<&Cancel>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Translations> {
        let watch = Watch::new(cancel, progress);
        Ok(Translations(self.translated(py, source, options, &watch)?.into_iter()))
    }

    /// As `translate`, but returns the best texts only.
    #[pyo3(signature = (source, options, cancel=None, progress=None))]
    fn translate_texts(
        &self,
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        options: Options,
        cancel: Option<&Cancel>,
        progress: Option<Py<PyAny>>,
    ) -> PyResult<Vec<String>> {
        let watch = Watch::new(cancel, progress);
        let translated = self.translated(py, source, options, &watch)?;
        Ok(translated.into_iter().map(|translation| translation.text).collect())
    }
}

impl Engine {
    fn translated(
        &self,
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        options: Options,
        watch: &Watch,
    ) -> PyResult<Vec<Translation>> {
        let translator = self.translator()?;
        let source = texts(source)?;
        let options = options.of(self, watch)?;
        run(py, watch, |done| translate_all(translator, &source, &options, done))?.or_raise()
    }
}

/// Translates texts, and tells how many sentences are done.
pub fn translate_all<S: AsRef<str>>(
    translator: &Translator,
    source: &[S],
    options: &TranslateOptions,
    done: &Sender<Done>,
) -> Result<Vec<Translation>, TranslateError> {
    let mut stream = translator.stream(source, options)?;
    let mut all = Vec::with_capacity(source.len());
    while let Some(update) = pollster::block_on(stream.next())? {
        all.extend(update.translations);
        let _ = done.send((update.sentences as u64, update.of_sentences as u64)); // none listens after an error
    }
    Ok(all)
}

fn parts(translation: Translation) -> TranslationParts {
    let Translation { text, hypotheses, sentences } = translation;
    let hypotheses = hypotheses.into_iter().map(|hypothesis| (hypothesis.text, hypothesis.score)).collect();
    (text, hypotheses, sentences.into_iter().map(sentence).collect())
}

fn sentence(sentence: Sentence) -> SentenceParts {
    let hypothesis = |SentenceHypothesis { text, search, reached_max_length, .. }| {
        (text, search.score, search.tokens, search.step_logprobs, reached_max_length)
    };
    let hypotheses = sentence.hypotheses.into_iter().map(hypothesis).collect();
    let links = sentence.alignment.map(|alignment| alignment.words.links);
    (sentence.source, sentence.source_ids, hypotheses, links)
}
