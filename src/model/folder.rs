//! A model in its folder, without a device.

#[cfg(not(target_arch = "wasm32"))]
use std::path::Path;
use std::sync::Arc;

use super::ModelError;
use super::blueprint::Blueprint;
use super::checkpoint::Checkpoint;
use super::config::{Family, ModelConfig};
use super::files::ModelFiles;
use super::generation_config::GenerationConfig;
use super::names::Names;
use super::shortlist::{Shortlist, ShortlistVocabularies};
use super::student_files::{self, StudentFiles};
use super::tokenizer::{read_tokenizer, read_tokenizer_with};
use crate::precision::WeightPrecision;
use crate::text::{FastTokenizer, Tokenizer};

/// Maximum length of a shortlist, bytes: real ones are below 10 MB.
const SHORTLIST_LIMIT: u64 = 256 << 20;
/// Ids beyond a model's vocabulary that its tokenizer may have for special tokens.
const MOST_SPECIAL_BEYOND: usize = 1 << 10;
/// A character that no vocabulary has: its ids are those that any text may have, an end and an unknown token.
const UNKNOWN_CHARACTER: &str = "\u{10ffff}";

/// A model from an unconverted Hugging Face folder: `config.json`, `generation_config.json`, `model.safetensors` or
/// `pytorch_model.bin` (or shards with an index) and, for text, a tokenizer's files.
///
/// Or the folder of a Firefox student: `model.*.bin`, `vocab.*.spm`, `lex.*.bin`, each perhaps with `.gz`.
///
/// The configuration and the tensor table are read and checked immediately; the weights stay in the file until a
/// [`Transformer`](crate::Transformer) loads them on a device. Clones share the open files.
#[derive(Clone)]
pub struct Model {
    files: ModelFiles,
    config: ModelConfig,
    generation: GenerationConfig,
    checkpoint: Arc<Checkpoint>,
    blueprint: Blueprint,
}

impl Model {
    /// Opens a folder on disk. A [`ModelError`] names the missing or wrong file, key or tensor.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn load(path: impl AsRef<Path>) -> Result<Self, ModelError> {
        Self::from_files(ModelFiles::directory(path)?)
    }

    /// The default model, English to German, which is part of the library (feature `embedded-model`).
    ///
    /// ```
    /// let model = wordloom::Model::embedded()?;
    /// assert_eq!(model.config().d_model, 256);
    /// # Ok::<_, wordloom::ModelError>(())
    /// ```
    #[cfg(feature = "embedded-model")]
    pub fn embedded() -> Result<Self, ModelError> {
        Self::from_files(ModelFiles::embedded())
    }

    /// Opens a folder from any source; errors as [`Model::load`].
    pub fn from_files(files: ModelFiles) -> Result<Self, ModelError> {
        let files = student_files::unpacked(files)?;
        let config = ModelConfig::from_files(&files).map_err(|error| match &error {
            ModelError::MissingFile { .. } => Checkpoint::explain(&files).unwrap_or(error),
            _ => error,
        })?;
        let generation = GenerationConfig::from_files(&files)?;
        let checkpoint = Checkpoint::open(&files)?;
        Self::new(files, config, generation, checkpoint)
    }

    /// A model with random weights: `files` need only `config.json`. The same seed gives the same values everywhere.
    ///
    /// ```
    /// use wordloom::{Model, model::files::ModelFiles};
    ///
    /// let config = br#"{"model_type": "bart", "d_model": 64, "encoder_attention_heads": 4,
    ///     "decoder_attention_heads": 4, "encoder_layers": 2, "decoder_layers": 2, "vocab_size": 100}"#;
    /// let model = Model::random(ModelFiles::memory("tiny", [("config.json", &config[..])]), 42)?;
    /// assert_eq!(model.config().encoder.d_k, 16);
    /// # Ok::<_, wordloom::ModelError>(())
    /// ```
    ///
    /// Errors as [`ModelConfig::from_files`] and [`GenerationConfig::from_files`].
    pub fn random(files: ModelFiles, seed: u64) -> Result<Self, ModelError> {
        let config = ModelConfig::from_files(&files)?;
        let generation = GenerationConfig::from_files(&files)?;
        let tables = Names::of(&config).tables();
        let checkpoint = Checkpoint::random(files.label().to_owned(), seed, tables);
        Self::new(files, config, generation, checkpoint)
    }

    fn new(
        files: ModelFiles,
        mut config: ModelConfig,
        generation: GenerationConfig,
        mut checkpoint: Checkpoint,
    ) -> Result<Self, ModelError> {
        let blueprint = Blueprint::new(&config, &mut checkpoint)?;
        // a file may have its own output projection against its configuration (T5's never do)
        config.output.tied &= blueprint.output.weight == blueprint.target_embedding;
        let generation = generation.within(config.target_vocabulary);
        Ok(Self { files, config, generation, checkpoint: Arc::new(checkpoint), blueprint })
    }

    /// Name in messages: the path, or `built-in:en-de`.
    pub fn label(&self) -> &str {
        self.files.label()
    }

    /// Shape and switches of the model.
    pub fn config(&self) -> &ModelConfig {
        &self.config
    }

    /// Name of the file with the model's own defaults of generation, in messages.
    pub fn generation_file(&self) -> String {
        GenerationConfig::file(&self.files)
    }

    /// The model's own defaults of generation.
    pub fn generation_config(&self) -> &GenerationConfig {
        &self.generation
    }

    /// Tensors of the model.
    pub fn checkpoint(&self) -> &Checkpoint {
        &self.checkpoint
    }

    /// The least precision that keeps every matrix of the file exact.
    pub fn stored_precision(&self) -> WeightPrecision {
        self.blueprint.stored_precision(&self.checkpoint)
    }

    /// Whether the model is made to be multiplied in 8 bits, inputs included: Firefox's students, which are trained so.
    pub fn is_trained_in_8_bits(&self) -> bool {
        self.config.family == Family::Firefox && self.stored_precision() == WeightPrecision::Q8
    }

    /// Blocks of the model.
    pub fn blueprint(&self) -> &Blueprint {
        &self.blueprint
    }

    /// Names of the learned projections of an encoder layer, whether it has some or not: of keys, and of values.
    #[cfg(feature = "training")]
    pub(crate) fn length_projections(&self, layer: usize) -> [String; 2] {
        Names::of(&self.config).length_projections(layer)
    }

    /// Reads the lexical shortlist of a Firefox student; `None` if the folder has none, and for other families.
    ///
    /// Errors: [`ModelError::InvalidShortlist`], and those of the file.
    pub fn shortlist(&self) -> Result<Option<Shortlist>, ModelError> {
        if self.config.family != Family::Firefox {
            return Ok(None);
        }
        let Some(student) = StudentFiles::find(&self.files)? else { return Ok(None) };
        let Some(name) = student.shortlist else { return Ok(None) };
        let vocabularies = ShortlistVocabularies {
            source: self.config.source_vocabulary,
            target: self.config.target_vocabulary,
            shared: student.vocabularies.is_some_and(|[source, target]| source == target),
        };
        let bytes = student_files::read(&self.files, &name, SHORTLIST_LIMIT)?;
        Shortlist::from_bytes(&self.files.file_label(&name), &bytes, vocabularies).map(Some)
    }

    /// Reads the tokenizer. Fails if the folder has none, or if it does not fit the model.
    pub fn tokenizer(&self) -> Result<Tokenizer, ModelError> {
        self.fitting(read_tokenizer(&self.files)?)
    }

    /// As [`Model::tokenizer`], with another way to [`FastTokenizer`]s.
    pub fn tokenizer_with(
        &self,
        fast: &mut dyn FnMut() -> Result<Box<dyn FastTokenizer>, ModelError>,
    ) -> Result<Tokenizer, ModelError> {
        self.fitting(read_tokenizer_with(&self.files, fast)?)
    }

    /// A tokenizer, if it fits the model. Special tokens beyond the model's vocabulary are no fault, as in transformers: there are no
    /// weights for the `<mask>` of `facebook/bart-large-cnn`, which no text needs. If a text has one, its search is refused.
    fn fitting(&self, tokenizer: Tokenizer) -> Result<Tokenizer, ModelError> {
        let usual = tokenizer.encode(UNKNOWN_CHARACTER).unwrap_or_default();
        let sizes = [("source", self.config.source_vocabulary), ("target", self.config.target_vocabulary)];
        for ((side, vocabulary), (last, token)) in sizes.into_iter().zip(tokenizer.last_tokens()) {
            let foreign = |id: u32, token: &str| {
                let (folder, token) = (self.label().to_owned(), token.to_owned());
                Err(ModelError::ForeignTokenizer { folder, side, token, id, vocabulary })
            };
            if last as usize >= vocabulary.saturating_add(MOST_SPECIAL_BEYOND) {
                return foreign(last, token);
            }
            let is_needed = |id: u32| !tokenizer.is_special(id) || usual.contains(&id);
            let beyond = (0..=last).skip(vocabulary).filter(|&id| is_needed(id));
            let mut ordinary = beyond.filter_map(|id| {
                let token =
                    if side == "source" { tokenizer.source_token(id) } else { tokenizer.target_token(id) };
                Some((id, token?))
            });
            if let Some((id, token)) = ordinary.next() {
                return foreign(id, &token);
            }
        }
        Ok(tokenizer)
    }
}
