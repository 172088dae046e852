//! Text in, text out: lines and sentences, their tokens, their search, and everything put back together.

mod cache;
mod in_turn;
mod languages;
mod streaming;

pub use in_turn::Ready;
pub use languages::resolve_languages;
pub use streaming::PartialTranslation;

use std::sync::atomic::AtomicU64;
use std::sync::{Mutex, PoisonError};

use cache::SentenceCache;

use crate::decode::{DecodeError, Hypothesis, SearchTree};
use crate::device::Device;
use crate::model::config::Positions;
use crate::model::generation_config::GenerationConfig;
use crate::model::{HeadName, Model, ModelError};
#[cfg(not(target_arch = "wasm32"))]
use crate::precision::PrecisionChoice;
use crate::text::{TextError, Tokenizer, split_lines};
use crate::transformer::{
    Cancel, Exploration, GenerateError, GenerateRequest, MuteError, Transformer, resolve,
};

/// How to translate. The default is what the model's `generation_config.json` asks for.
#[derive(Clone, Debug, Default)]
pub struct TranslateOptions {
    /// Search options that win over the model's own.
    pub generation: GenerationConfig,
    /// The language of the text, by the model's own code; see [`Tokenizer::direction`].
    pub source_language: Option<String>,
    /// The language to translate into, by the model's own code. A model that has several needs it, unless its
    /// `generation_config.json` or [`generation`](Self::generation) says with which token a translation begins.
    pub target_language: Option<String>,
    /// Stops the translation when asked to.
    pub cancel: Cancel,
}

impl TranslateOptions {
    /// The text is in this language.
    pub fn source_language(mut self, code: impl Into<String>) -> Self {
        self.source_language = Some(code.into());
        self
    }

    /// Translate into this language.
    pub fn target_language(mut self, code: impl Into<String>) -> Self {
        self.target_language = Some(code.into());
        self
    }

    /// Search with this many beams; 1 is greedy.
    pub fn beams(mut self, beams: usize) -> Self {
        self.generation.num_beams = Some(beams);
        self
    }

    /// Return this many translations, best first; at most the number of beams.
    pub fn n_best(mut self, count: usize) -> Self {
        self.generation.num_return_sequences = Some(count);
        self
    }

    /// Divide scores by length to this power.
    pub fn length_penalty(mut self, penalty: f32) -> Self {
        self.generation.length_penalty = Some(penalty);
        self
    }

    /// Make no sentence longer than this many tokens, start token included.
    pub fn max_length(mut self, tokens: usize) -> Self {
        self.generation.max_length = Some(tokens);
        self.generation.max_new_tokens = None;
        self
    }
}

/// The translation of one text.
#[derive(Clone, Debug, PartialEq)]
pub struct Translation {
    /// The best translation; line breaks, blank lines and the spaces between sentences are those of the source.
    pub text: String,
    /// Translations of the whole text, best first, as many as were asked for: the first is made of the best of every
    /// sentence, the second of their second best, and so on. [`text`](Self::text) is the first.
    pub hypotheses: Vec<TextHypothesis>,
    /// Its sentences, in order.
    pub sentences: Vec<Sentence>,
}

/// One translation of a whole text.
#[derive(Clone, Debug, PartialEq)]
pub struct TextHypothesis {
    /// The translation.
    pub text: String,
    /// The mean of its sentences' scores; 0 for a text without sentences.
    pub score: f32,
}

/// One translated sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Sentence {
    /// The source, without the white space around it.
    pub source: String,
    /// Token ids of the source, the end token included.
    pub source_ids: Vec<u32>,
    /// Translations, best first.
    pub hypotheses: Vec<SentenceHypothesis>,
}

/// One translation of a sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct SentenceHypothesis {
    /// The translation.
    pub text: String,
    /// Its tokens, scores and the log-probability of each.
    pub search: Hypothesis,
    /// Whether the search was ended by the maximal length, so that something may be missing.
    pub reached_max_length: bool,
}

/// Why a text could not be translated.
#[derive(Debug, thiserror::Error)]
pub enum TranslateError {
    /// The search failed, or was cancelled.
    #[error(transparent)]
    Generate(#[from] GenerateError),
    /// The text could not be turned into tokens, or tokens into text.
    #[error(transparent)]
    Text(#[from] TextError),
}

impl From<DecodeError> for TranslateError {
    fn from(error: DecodeError) -> Self {
        Self::Generate(error.into())
    }
}

/// What a sentence may have where relative positions set no limit: as long as the texts that T5 was trained on.
const TOKENS_WITHOUT_LIMIT: usize = 512;

/// Translates text with a model on a device.
pub struct Translator {
    transformer: Transformer,
    tokenizer: Tokenizer,
    cache: Mutex<SentenceCache>,
    /// Sentences that were not searched.
    reused: AtomicU64,
}

/// A text taken apart: white space and line breaks as they are, and places of sentences.
enum Piece<'a> {
    Between(&'a str),
    Sentence,
}

/// Sentences of all texts, on their way to the search.
#[derive(Default)]
struct Batch {
    sources: Vec<String>,
    requests: Vec<GenerateRequest>,
}

impl Translator {
    /// Brings a model to a device.
    ///
    /// ```no_run
    /// use wordloom::{Device, DeviceChoice, Model, TranslateOptions, Translator};
    ///
    /// # pollster::block_on(async {
    /// let device = Device::open(&DeviceChoice::Auto).await?;
    /// let translator = Translator::new(&device, &Model::embedded()?)?;
    /// let translation = translator.translate("Where is the train station?", &TranslateOptions::default()).await?;
    /// assert_eq!(translation.text, "Wo ist der Bahnhof?");
    /// # Ok::<_, Box<dyn std::error::Error>>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    /// [`ModelError`] when the model has no tokenizer, cannot be read, or does not fit on the device.
    pub fn new(device: &Device, model: &Model) -> Result<Self, ModelError> {
        Self::with_progress(device, model, &mut |_| {})
    }

    /// As [`Translator::new`]; `progress` is told the fraction of the weights that is on the device.
    ///
    /// # Errors
    /// As [`Translator::new`].
    pub fn with_progress(
        device: &Device,
        model: &Model,
        progress: &mut dyn FnMut(f32),
    ) -> Result<Self, ModelError> {
        let tokenizer = Self::tokenizer_of(model)?;
        #[cfg(not(target_arch = "wasm32"))]
        let transformer = Transformer::load_to_generate(
            device,
            model,
            PrecisionChoice::Auto,
            &GenerationConfig::default(),
            progress,
        )?;
        #[cfg(target_arch = "wasm32")] // which has no threads; a page takes `Loading`
        let transformer = Transformer::load(device, model, progress)?;
        Ok(Self::from_parts(transformer, tokenizer))
    }

    /// The tokenizer of a model that translates.
    ///
    /// # Errors
    /// [`ModelError::CannotTranslate`] for an encoder or a decoder alone; otherwise as [`Model::tokenizer`].
    pub fn tokenizer_of(model: &Model) -> Result<Tokenizer, ModelError> {
        let model_type = model.config().family.model_type();
        if ["bert", "gpt2"].contains(&model_type) {
            return Err(ModelError::CannotTranslate { folder: model.label().to_owned(), model_type });
        }
        model.tokenizer()
    }

    /// A translator of parts that are there already.
    pub fn from_parts(transformer: Transformer, tokenizer: Tokenizer) -> Self {
        Self { transformer, tokenizer, cache: Mutex::new(SentenceCache::new(0)), reused: AtomicU64::new(0) }
    }

    /// Remembers the results of the last sentences, in about so many bytes: one that comes again with the same options
    /// and languages is not searched again. A sentence and its translation take about a kilobyte. By default nothing is
    /// remembered from call to call.
    pub fn with_cache(self, bytes: usize) -> Self {
        Self { cache: Mutex::new(SentenceCache::new(bytes)), ..self }
    }

    /// The model on its device.
    pub fn transformer(&self) -> &Transformer {
        &self.transformer
    }

    /// Its tokenizer.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// Has some heads contribute nothing; see [`Transformer::mute`]. What was remembered of other translations is forgotten.
    ///
    /// # Errors
    /// [`MuteError`]
    pub fn mute(&mut self, model: &Model, heads: &[HeadName]) -> Result<(), MuteError> {
        self.cache.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        self.transformer.mute(model, heads)
    }

    /// Translates one text of any length, sentence by sentence.
    ///
    /// # Errors
    /// [`TranslateError`]
    pub async fn translate(
        &self,
        text: &str,
        options: &TranslateOptions,
    ) -> Result<Translation, TranslateError> {
        let mut translations = self.translate_all(&[text], options, &mut |_, _| {}).await?;
        Ok(translations.remove(0))
    }

    /// Translates a text as [`translate`](Self::translate) does, one sentence after the other, and keeps all that their searches
    /// looked at: a tree for each sentence.
    ///
    /// # Errors
    /// [`TranslateError`]
    pub async fn explore(
        &self,
        text: &str,
        options: &TranslateOptions,
    ) -> Result<(Translation, Vec<SearchTree>), TranslateError> {
        let mut batch = Batch::default();
        let layout = self.take_apart(text, options, &mut batch)?;
        let (mut results, mut trees) = (Vec::new(), Vec::new());
        for request in &batch.requests {
            let Exploration { hypotheses, tree } = self.transformer.explore(request, &options.cancel).await?;
            results.push(hypotheses);
            trees.push(tree);
        }
        Ok((self.assemble(&layout, batch, results)?, trees))
    }

    /// From hypotheses back to a text.
    fn assemble(
        &self,
        layout: &[Piece<'_>],
        batch: Batch,
        results: Vec<Vec<Hypothesis>>,
    ) -> Result<Translation, TranslateError> {
        let Batch { sources, requests } = batch;
        let sentences = sources
            .into_iter()
            .zip(&requests)
            .zip(results)
            .map(|((source, request), hypotheses)| self.sentence(source, request, hypotheses))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(put_together(layout, sentences))
    }

    fn sentence(
        &self,
        source: String,
        request: &GenerateRequest,
        hypotheses: Vec<Hypothesis>,
    ) -> Result<Sentence, TextError> {
        let hypotheses = hypotheses
            .into_iter()
            .map(|search| {
                Ok(SentenceHypothesis {
                    text: self.tokenizer.decode(&search.tokens, true)?,
                    reached_max_length: search.tokens.len() >= request.options.max_length,
                    search,
                })
            })
            .collect::<Result<Vec<_>, TextError>>()?;
        Ok(Sentence { source, source_ids: request.input_ids.clone(), hypotheses })
    }

    /// Cuts a text into sentences that the model can take, and makes a request of each.
    fn take_apart<'a>(
        &self,
        text: &'a str,
        options: &TranslateOptions,
        batch: &mut Batch,
    ) -> Result<Vec<Piece<'a>>, TranslateError> {
        let mut pieces = Vec::new();
        let defaults = self.transformer.generation_config();
        let (direction, generation) = resolve_languages(&self.tokenizer, options, defaults)?;
        // A language tag at the beginning holds for every sentence of the text.
        let (tag, text) = self.tokenizer.split_tag(text);
        let encode = |text: &str| match tag {
            Some(tag) => self.tokenizer.encode_source(&format!("{tag} {text}"), &direction),
            None => self.tokenizer.encode_source(text, &direction),
        };
        for line in split_lines(text) {
            pieces.push(Piece::Between(line.indent));
            let last = line.sentences.len().saturating_sub(1);
            for (index, sentence) in line.sentences.into_iter().enumerate() {
                // what cannot be encoded is an error of its part, below
                let count = |text: &str| encode(text).map_or(0, |ids| ids.len());
                let parts = sentence.split_to_fit(self.max_source_length(), count);
                let last_part = parts.len() - 1;
                for (part_index, part) in parts.into_iter().enumerate() {
                    let input_ids = encode(part.text)?;
                    let transformer = &self.transformer;
                    let resolved = resolve(&generation, defaults, transformer.config(), &input_ids)?;
                    pieces.push(Piece::Sentence);
                    batch.sources.push(part.text.to_owned());
                    batch.requests.push(GenerateRequest { input_ids, options: resolved });
                    // scripts without spaces have none between sentences; the translation's may need one
                    let more = index < last || part_index < last_part;
                    pieces.push(Piece::Between(if part.space.is_empty() && more { " " } else { part.space }));
                }
            }
            pieces.push(Piece::Between(line.end));
        }
        Ok(pieces)
    }

    /// Source tokens of one sentence at most: what the model has positions for, and so much less than its longest
    /// output that a translation a third longer than its source is not cut.
    fn max_source_length(&self) -> usize {
        let positions = match self.transformer.config().positions {
            Positions::Relative(_) => TOKENS_WITHOUT_LIMIT,
            positions => positions.count(),
        };
        let longest_output =
            self.transformer.generation_config().max_length.unwrap_or(positions).min(positions);
        (longest_output - longest_output.div_ceil(4)).max(2)
    }
}

/// Puts a text's translations between what stood between its sentences.
fn put_together(layout: &[Piece<'_>], sentences: Vec<Sentence>) -> Translation {
    let ranks = sentences.iter().map(|sentence| sentence.hypotheses.len()).max().unwrap_or(1);
    let hypotheses: Vec<TextHypothesis> = (0..ranks)
        .map(|rank| {
            // a sentence with fewer translations keeps its last
            let mut chosen = sentences
                .iter()
                .filter_map(|sentence| sentence.hypotheses.get(rank).or(sentence.hypotheses.last()));
            let score = chosen.clone().map(|hypothesis| hypothesis.search.score).sum::<f32>()
                / sentences.len().max(1) as f32;
            let text = layout
                .iter()
                .map(|piece| match piece {
                    Piece::Between(space) => space,
                    Piece::Sentence => chosen.next().map_or("", |hypothesis| &hypothesis.text),
                })
                .collect();
            TextHypothesis { text, score }
        })
        .collect();
    Translation { text: hypotheses[0].text.clone(), hypotheses, sentences }
}
