//! The files of a Marian folder, which Wordloom and transformers open.

use serde_json::{Value, json};

use super::card::Card;
use super::new_model::{NewModel, NewModelError};
use super::vocabulary::{EOS, PAD, TrainedVocabulary, UNKNOWN};

/// The tokenizer's files of a folder.
#[derive(Clone, Copy, Debug)]
pub struct TokenizerFiles<'a> {
    /// `source.spm`
    pub source_spm: &'a [u8],
    /// `target.spm`
    pub target_spm: &'a [u8],
    /// `vocab.json`
    pub vocab: &'a [u8],
    /// Number of tokens in `vocab.json`.
    pub size: usize,
}

impl<'a> From<&'a TrainedVocabulary> for TokenizerFiles<'a> {
    fn from(vocabulary: &'a TrainedVocabulary) -> Self {
        let TrainedVocabulary { spm, vocab, size, .. } = vocabulary;
        Self { source_spm: spm, target_spm: spm, vocab, size: *size }
    }
}

/// The parts of a folder that do not fit.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum FolderError {
    #[error(transparent)]
    Model(#[from] NewModelError),
    #[error("the model has {model} tokens, its vocabulary {vocabulary}; both must be equal")]
    VocabularySize { model: usize, vocabulary: usize },
    #[error("the weights' type is {0:?}; it must be \"float32\" or \"float16\"")]
    Dtype(String),
}

/// The files of a Marian folder, each with its name: `config.json`, `generation_config.json`, `tokenizer_config.json`, `source.spm`,
/// `target.spm`, `vocab.json`, `MODEL_CARD.md`, and `model.safetensors` with the given weights.
///
/// [`write_files`](super::write::write_files) writes them, and [`ModelFiles::memory`](crate::model::files::ModelFiles::memory)
/// opens them without a disk. `dtype` is the type of the weights: `float32` or `float16`.
///
/// # Errors
/// [`FolderError`]
pub fn marian_folder(
    model: &NewModel,
    tokenizer: TokenizerFiles,
    (weights, dtype): (Vec<u8>, &str),
    card: &Card,
) -> Result<Vec<(&'static str, Vec<u8>)>, FolderError> {
    model.check()?;
    if model.vocabulary_size != tokenizer.size {
        let (model, vocabulary) = (model.vocabulary_size, tokenizer.size);
        return Err(FolderError::VocabularySize { model, vocabulary });
    }
    if !["float32", "float16"].contains(&dtype) {
        return Err(FolderError::Dtype(dtype.to_owned()));
    }
    Ok(vec![
        ("source.spm", tokenizer.source_spm.to_vec()),
        ("target.spm", tokenizer.target_spm.to_vec()),
        ("vocab.json", tokenizer.vocab.to_vec()),
        ("tokenizer_config.json", json_file(&tokenizer_config(model, card))),
        ("generation_config.json", json_file(&model.generation_config())),
        ("config.json", json_file(&model.config(dtype))),
        ("MODEL_CARD.md", card.to_markdown().into_bytes()),
        ("model.safetensors", weights),
    ])
}

fn tokenizer_config(model: &NewModel, card: &Card) -> Value {
    let mut config = json!({
        "tokenizer_class": "MarianTokenizer",
        "eos_token": EOS,
        "unk_token": UNKNOWN,
        "pad_token": PAD,
        "separate_vocabs": false,
        "model_max_length": model.max_positions,
        "clean_up_tokenization_spaces": false,
        "sp_model_kwargs": {},
    });
    let languages = [("source_lang", &card.source_language), ("target_lang", &card.target_language)];
    for (key, language) in languages.into_iter().filter(|(_, language)| !language.is_empty()) {
        config[key] = language.as_str().into();
    }
    config
}

/// A JSON file with indented lines.
pub(super) fn json_file(value: &Value) -> Vec<u8> {
    format!("{value:#}\n").into_bytes()
}
