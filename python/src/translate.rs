//! Text in, text out.

use std::sync::mpsc::Sender;

use pyo3::prelude::*;
use wordloom::decode::ConstraintMode;
use wordloom::resolve;
use wordloom::text::TextError;
use wordloom::transformer::GenerateRequest;
use wordloom::translate::{
    Excess, GlossaryError, GlossaryFile, Sentence, SentenceHypothesis, resolve_languages,
};
use wordloom::{TranslateError, TranslateOptions, Translation, Translator};

use crate::engine::Engine;
use crate::errors::{OrRaise, wrong_value};
use crate::run::{Cancel, Done, Watch, run};
use crate::strings::texts_from;

/// Options of a translation.
#[derive(FromPyObject)]
pub struct Options {
    /// Search options, a JSON object with transformers' names.
    generation: String,
    source_lang: Option<String>,
    target_lang: Option<String>,
    task: Option<String>,
    alignments: bool,
    /// Whether each text is a document: `"whole"`, or `"truncate"` to leave out the end of one that is too long.
    document: Option<String>,
    /// Its name for messages, and its lines.
    glossary: Option<(String, Vec<u8>)>,
    glossary_mode: String,
}

impl Options {
    pub fn of(mut self, engine: &Engine, watch: &Watch) -> PyResult<TranslateOptions> {
        let terms = self.terms()?;
        let mut options = self.without_terms(engine)?;
        options.cancel = watch.cancel.clone();
        let Some((file, mode)) = terms else { return Ok(options) };
        let glossary = engine.translator()?.glossary(&file, &options, mode).map_err(refused)?;
        Ok(options.glossary(glossary))
    }

    fn without_terms(self, engine: &Engine) -> PyResult<TranslateOptions> {
        let options = TranslateOptions {
            generation: engine.generation(&self.generation)?,
            source_language: self.source_lang,
            target_language: self.target_lang,
            task: self.task,
            alignments: self.alignments,
            ..TranslateOptions::default()
        };
        let excess = match self.document.as_deref() {
            None => return Ok(options),
            Some("truncate") => Excess::LeaveOut,
            Some(_) => Excess::Refuse,
        };
        Ok(engine.translator()?.summary_options(options, excess))
    }

    /// Takes the glossary and its mode.
    fn terms(&mut self) -> PyResult<Option<(GlossaryFile, ConstraintMode)>> {
        let mode = &self.glossary_mode;
        let mode =
            mode.parse().map_err(|wrong| wrong_value(format!("glossary_mode is {mode:?}; {wrong}")))?;
        let file = self.glossary.take().map(|(name, lines)| GlossaryFile::parse(&name, &lines));
        Ok(file.transpose().map_err(refused)?.map(|file| (file, mode)))
    }
}

fn refused(error: GlossaryError) -> PyErr {
    wrong_value(error.to_string())
}

/// Text, score, tokens, log-probabilities of the steps, and whether the maximal length ended the search.
type HypothesisParts = (String, f32, Vec<u32>, Vec<f32>, bool);
/// Source, its ids, hypotheses, links between words, and the number of tokens that were left out.
type SentenceParts = (String, Vec<u32>, Vec<HypothesisParts>, Option<Vec<(usize, usize)>>, usize);
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
    /// Refuses options that no call could use. The target's language may still be missing: a call can name it.
    ///
    /// * `translates`: whether the call translates; then a model that does not is refused, too
    #[pyo3(signature = (options, translates=false))]
    fn check(&self, mut options: Options, translates: bool) -> PyResult<()> {
        if translates {
            self.translator()?;
        }
        self.check_decoder()?;
        options.terms()?;
        let options = options.without_terms(self)?;
        let transformer = self.transformer();
        let defaults = transformer.generation_config();
        let generation = match self.translator() {
            Ok(translator) => match resolve_languages(translator.tokenizer(), &options, defaults) {
                Err(TextError::NoTargetLanguage { .. }) => options.generation,
                resolved => resolved.or_raise()?.1,
            },
            Err(_) => options.generation,
        };
        let input_ids = vec![0];
        let options = resolve(&generation, defaults, transformer.config(), &input_ids).or_raise()?;
        let global_tokens = transformer.config().usual_globals();
        transformer.check_request(&GenerateRequest { input_ids, options, global_tokens }).or_raise()
    }

    /// Refuses a direction that the model does not have. Returns its languages, without a side that the model does not let a caller
    /// choose.
    fn direction(
        &self,
        mut source: Option<String>,
        mut target: Option<String>,
    ) -> PyResult<(Option<String>, Option<String>)> {
        let tokenizer = self.translator()?.tokenizer();
        loop {
            match tokenizer.direction(source.as_deref(), target.as_deref()) {
                Err(TextError::NoLanguages { side: "source" }) if source.is_some() => source = None,
                Err(TextError::NoLanguages { .. }) if target.is_some() => target = None,
                found => return found.or_raise().map(|_| (source, target)),
            }
        }
    }

    /// Translates a list of strings. Returns an iterator of each translation's parts.
    ///
    /// * `first`: number of the first string, for messages
    #[pyo3(signature = (source, options, cancel=None, progress=None, first=0))]
    #[expect(clippy::too_many_arguments, reason = "they are Python's")]
    fn translate(
        &self,
        py: Python<'_>,
        source: &Bound<'_, PyAny>,
        options: Options,
        cancel: Option<&Cancel>,
        progress: Option<Py<PyAny>>,
        first: usize,
    ) -> PyResult<Translations> {
        let watch = Watch::new(cancel, progress);
        Ok(Translations(self.translated(py, (source, first), options, &watch)?.into_iter()))
    }
}

impl Engine {
    fn translated(
        &self,
        py: Python<'_>,
        (source, first): (&Bound<'_, PyAny>, usize),
        options: Options,
        watch: &Watch,
    ) -> PyResult<Vec<Translation>> {
        let translator = self.translator()?;
        let source = texts_from(source, first)?;
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
    (sentence.source, sentence.source_ids, hypotheses, links, sentence.left_out_tokens)
}
