//! A model on a device, and its tokenizer.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use super::cache::SentenceCache;
use super::error::TranslateError;
use super::languages::resolve_languages;
use super::options::TranslateOptions;
use super::translation::{Sentence, SentenceHypothesis};
use crate::device::Device;
#[cfg(not(target_arch = "wasm32"))]
use crate::model::generation_config::GenerationConfig;
use crate::model::{HeadName, Model, ModelError};
#[cfg(not(target_arch = "wasm32"))]
use crate::precision::PrecisionChoice;
use crate::text::{TextError, Tokenizer};
use crate::transformer::{GenerateRequest, Generation, MuteError, Transformer, resolve};

/// Translates text with a model on a device.
pub struct Translator {
    pub(super) transformer: Transformer,
    pub(super) tokenizer: Tokenizer,
    pub(super) cache: Mutex<SentenceCache>,
    /// Sentences that were not searched.
    pub(super) reused: AtomicU64,
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

    /// How many sentences so far were not searched, because an equal one had been.
    pub fn reused_sentences(&self) -> u64 {
        self.reused.load(Ordering::Relaxed)
    }

    /// A request for the translation of one sentence's token ids, to be [generated](Transformer::generate) for. The search
    /// goes on after `prefix`, target tokens behind the start token; its tree begins there.
    ///
    /// # Errors
    /// [`TranslateError`] for languages and options that do not fit the model.
    pub fn request(
        &self,
        input_ids: &[u32],
        prefix: &[u32],
        options: &TranslateOptions,
    ) -> Result<GenerateRequest, TranslateError> {
        let defaults = self.transformer.generation_config();
        let (_, generation) = resolve_languages(&self.tokenizer, options, defaults)?;
        let mut resolved = resolve(&generation, defaults, self.transformer.config(), input_ids)?;
        resolved.prompt.extend(prefix);
        Ok(GenerateRequest { input_ids: input_ids.to_vec(), options: resolved })
    }

    /// A sentence of what was generated for its request.
    ///
    /// # Errors
    /// [`TextError`] for tokens that stand for no text.
    pub fn sentence(
        &self,
        source: String,
        request: &GenerateRequest,
        generation: Generation,
    ) -> Result<Sentence, TextError> {
        let Generation { hypotheses, tree, attention } = generation;
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
        let source_ids = request.input_ids.clone();
        Ok(Sentence { source, source_ids, hypotheses, tree, attention, alignment: None })
    }

    /// The text of tokens that a search has made.
    pub(super) fn decode(&self, tokens: &[u32]) -> String {
        // a search makes no tokens that its vocabulary lacks
        self.tokenizer.decode(tokens, true).unwrap_or_default()
    }
}
