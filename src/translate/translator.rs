//! A model on a device, and its tokenizer.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use super::cache::SentenceCache;
use super::error::TranslateError;
use super::glossary::{Glossary, GlossaryError, GlossaryFile};
use super::languages::resolve_languages;
use super::lost_bytes;
use super::options::TranslateOptions;
use super::translation::{Sentence, SentenceHypothesis};
use crate::decode::{ConstraintMode, Constraints};
use crate::device::Device;
use crate::model::config::Architecture;
#[cfg(not(target_arch = "wasm32"))]
use crate::model::generation_config::GenerationConfig;
use crate::model::{
    HeadName, Model, ModelError, SelfAttentionChoice, SelfAttentionError, SwitchError, Switches,
};
#[cfg(not(target_arch = "wasm32"))]
use crate::precision::PrecisionChoice;
use crate::text::{TextError, Tokenizer};
use crate::transformer::{GenerateRequest, Generation, MuteError, Transformer, resolve};

/// Translates text with a model on a device.
pub struct Translator {
    pub(super) transformer: Transformer,
    pub(super) tokenizer: Tokenizer,
    pub(super) cache: Mutex<SentenceCache>,
    pub(super) reused: AtomicU64,
}

impl Translator {
    /// Loads a model on a device.
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
    /// [`ModelError`] if the model has no tokenizer, cannot be read, or does not fit on the device.
    pub fn new(device: &Device, model: &Model) -> Result<Self, ModelError> {
        Self::with_progress(device, model, &mut |_| {})
    }

    /// As [`Translator::new`]; `progress` gets the fraction of weights that is on the device, 0 to 1.
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
        if model.config().architecture() != Architecture::EncoderDecoder {
            return Err(ModelError::CannotTranslate { folder: model.label().to_owned(), model_type });
        }
        model.tokenizer()
    }

    /// Makes a translator of a loaded model and its tokenizer.
    pub fn from_parts(transformer: Transformer, tokenizer: Tokenizer) -> Self {
        Self { transformer, tokenizer, cache: Mutex::new(SentenceCache::new(0)), reused: AtomicU64::new(0) }
    }

    /// Keeps results of recent sentences in about `bytes` bytes, one kilobyte for a typical sentence: an equal sentence
    /// with equal options is not searched again. By default nothing is kept between calls.
    pub fn with_cache(self, bytes: usize) -> Self {
        Self { cache: Mutex::new(SentenceCache::new(bytes)), ..self }
    }

    /// The loaded model.
    pub fn transformer(&self) -> &Transformer {
        &self.transformer
    }

    /// The tokenizer of the model.
    pub fn tokenizer(&self) -> &Tokenizer {
        &self.tokenizer
    }

    /// Mutes heads; see [`Transformer::mute`]. The cache is cleared.
    pub fn mute(&mut self, model: &Model, heads: &[HeadName]) -> Result<(), MuteError> {
        self.cache.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        self.transformer.mute(model, heads)
    }

    /// Gives encoder layers another kind of self-attention; see [`Transformer::set_attention`]. The cache is cleared.
    pub fn set_attention(&mut self, choice: &SelfAttentionChoice) -> Result<(), SelfAttentionError> {
        self.cache.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        self.transformer.set_attention(choice)
    }

    /// Sets switches; see [`Transformer::set_switches`]. The cache is cleared.
    pub fn set_switches(&mut self, model: &Model, switches: &Switches) -> Result<(), SwitchError> {
        self.cache.get_mut().unwrap_or_else(PoisonError::into_inner).clear();
        self.transformer.set_switches(model, switches)
    }

    /// Binds a glossary to this model; see [`Glossary::for_options`].
    pub fn glossary(
        &self,
        file: &GlossaryFile,
        options: &TranslateOptions,
        mode: ConstraintMode,
    ) -> Result<Arc<Glossary>, GlossaryError> {
        let (config, defaults) = (self.transformer.config(), self.transformer.generation_config());
        Glossary::for_options(file, &self.tokenizer, config, defaults, options, mode).map(Arc::new)
    }

    /// Number of sentences that were not searched, because an equal one had been.
    pub fn reused_sentences(&self) -> u64 {
        self.reused.load(Ordering::Relaxed)
    }

    /// Makes a request for the translation of one sentence's token ids, for [`Transformer::generate`]. The search
    /// continues after `prefix`, target tokens after the start token; its tree begins there.
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
        let global_tokens = self.transformer.config().usual_globals();
        Ok(GenerateRequest { input_ids: input_ids.to_vec(), options: resolved, global_tokens })
    }

    /// Makes a sentence of the generation for its request.
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
                    text: lost_bytes::decode(&self.tokenizer, &request.input_ids, &search.tokens)?,
                    reached_max_length: search.tokens.len() >= request.options.max_length,
                    prescribed: prescribed(&search.tokens, request.options.constraints.as_deref()),
                    search,
                })
            })
            .collect::<Result<Vec<_>, TextError>>()?;
        let source_ids = request.input_ids.clone();
        Ok(Sentence { source, source_ids, hypotheses, tree, attention, ..Sentence::default() })
    }

    pub(super) fn decode(&self, source_ids: &[u32], tokens: &[u32]) -> String {
        // a search makes only tokens of its vocabulary
        lost_bytes::decode(&self.tokenizer, source_ids, tokens).unwrap_or_default()
    }
}

/// The places of terms, each at its first occurrence.
fn prescribed(tokens: &[u32], constraints: Option<&Constraints>) -> Vec<Range<usize>> {
    let mut places: Vec<Range<usize>> = Vec::new();
    for term in constraints.iter().flat_map(|constraints| &constraints.terms) {
        let place = |form: &Vec<u32>| {
            let starts = tokens.windows(form.len().max(1)).enumerate().filter(|(_, window)| window == form);
            let mut ranges = starts.map(|(start, _)| start..start + form.len());
            ranges
                .find(|range| places.iter().all(|other| range.end <= other.start || other.end <= range.start))
        };
        if let Some(found) = term.forms.iter().filter_map(place).max_by_key(|range| range.len()) {
            places.push(found);
        }
    }
    places
}
