//! A new vocabulary for a model that has learned before.
//!
//! Layers keep their weights. A token that both vocabularies have keeps its embedding. Any other one begins at the mean of the old
//! tokens that its text is cut into: "fast vocabulary transfer", Gee et al. 2022.

use safetensors::tensor::{Dtype, TensorView};
use serde_json::{Map, Value, json};

use super::folder::json_file;
use super::initial_weights::embeddings;
use super::vocabulary::TrainedVocabulary;
use crate::json_problem::json_problem;
use crate::model::files::ModelFiles;
use crate::model::{Model, ModelError};
use crate::text::{MarianTokenizer, TextError, Vocabulary};

const CONFIG: &str = "config.json";
const GENERATION: &str = "generation_config.json";
const TOKENIZER: &str = "tokenizer_config.json";
/// Limit on a configuration, bytes.
const LIMIT: u64 = 1 << 20;
/// Tensors with a row for each token.
const TABLES: [&str; 4] = [
    "model.shared.weight",
    "model.encoder.embed_tokens.weight",
    "model.decoder.embed_tokens.weight",
    "lm_head.weight",
];
/// A column for each token.
const BIAS: &str = "final_logits_bias";

/// A model with a new vocabulary.
#[derive(Clone, Debug)]
pub struct NewVocabulary {
    /// The files of its folder, weights in f32.
    pub files: Vec<(String, Vec<u8>)>,
    /// Tokens that the old vocabulary has, too.
    pub kept: usize,
    /// Tokens that begin at the mean of old ones.
    pub means: usize,
    /// Tokens that begin at random values: bytes that the old vocabulary lacks, and text that it cannot cut.
    pub random: usize,
}

/// A model that gets no new vocabulary.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum NewVocabularyError {
    #[error(
        "{model}: only Marian models whose source and target share a vocabulary can get a new one; train without --vocabulary"
    )]
    Family { model: String },
    #[error("{file}: {problem}")]
    Config { file: String, problem: String },
    #[error(transparent)]
    Model(#[from] ModelError),
    #[error(transparent)]
    Text(#[from] TextError),
    #[error("the weights cannot be written as safetensors: {0}")]
    Safetensors(#[from] safetensors::SafeTensorError),
}

/// Where the values of a new token come from.
enum Origin {
    /// The same token.
    Kept(u32),
    /// Old tokens that its text is cut into; the mean of their values.
    Parts(Vec<u32>),
    Random,
}

/// Gives a Marian model (HF `MarianMTModel`) another vocabulary. `languages`: source and target for the tokenizer's configuration;
/// without them those of the old one stay. `seed` decides the random values.
///
/// # Errors
/// [`NewVocabularyError`]
pub fn new_vocabulary(
    files: &ModelFiles,
    vocabulary: &TrainedVocabulary,
    languages: [Option<&str>; 2],
    seed: u64,
) -> Result<NewVocabulary, NewVocabularyError> {
    let model = Model::from_files(files.clone())?;
    let family = || NewVocabularyError::Family { model: files.label().to_owned() };
    let config = object(files, CONFIG)?;
    let is_marian = config.get("model_type").and_then(Value::as_str) == Some("marian");
    let shared = config.get("share_encoder_decoder_embeddings").and_then(Value::as_bool).unwrap_or(true);
    if !is_marian || !shared {
        return Err(family());
    }
    let tokenizer = model.tokenizer()?;
    let old = tokenizer.marian().ok_or_else(family)?;
    if !std::ptr::eq(old.source_vocabulary(), old.target_vocabulary()) {
        return Err(family());
    }

    let tokens = Vocabulary::from_json("vocab.json", &vocabulary.vocab)?;
    let origins: Vec<Origin> = tokens.tokens().into_iter().map(|(_, token)| origin(token, old)).collect();
    let (mut kept, mut means, mut random) = (0, 0, 0);
    for origin in &origins {
        match origin {
            Origin::Kept(_) => kept += 1,
            Origin::Parts(_) => means += 1,
            Origin::Random => random += 1,
        }
    }
    let mut written = vec![
        ("source.spm".to_owned(), vocabulary.spm.clone()),
        ("target.spm".to_owned(), vocabulary.spm.clone()),
        ("vocab.json".to_owned(), vocabulary.vocab.clone()),
        (CONFIG.to_owned(), json_file(&with_ids(config, vocabulary.size, true).into())),
        (TOKENIZER.to_owned(), json_file(&tokenizer_config(files, languages)?.into())),
        ("model.safetensors".to_owned(), weights(&model, &origins, seed)?),
    ];
    if files.has(GENERATION) {
        let generation = with_ids(object(files, GENERATION)?, vocabulary.size, false);
        written.push((GENERATION.to_owned(), json_file(&generation.into())));
    }
    Ok(NewVocabulary { files: written, kept, means, random })
}

/// Where a new token's values come from.
fn origin(token: &str, old: &MarianTokenizer) -> Origin {
    if let Some(id) = old.source_vocabulary().id(token) {
        return Origin::Kept(id);
    }
    if is_byte(token) {
        return Origin::Random; // it is no text
    }
    match old.ids_of_piece(token) {
        ids if ids.is_empty() => Origin::Random,
        ids => Origin::Parts(ids),
    }
}

/// Whether a piece stands for a byte: `<0x0A>`.
fn is_byte(token: &str) -> bool {
    token.len() == 6 && token.starts_with("<0x") && token.ends_with('>')
}

/// The weights for new tokens, as a safetensors file in f32.
fn weights(model: &Model, origins: &[Origin], seed: u64) -> Result<Vec<u8>, NewVocabularyError> {
    let checkpoint = model.checkpoint();
    let mut tensors: Vec<(&str, Vec<usize>, Vec<u8>)> = Vec::new();
    for name in checkpoint.names() {
        let info = checkpoint.info(name).expect("a listed tensor");
        let mut values = vec![0.0; info.element_count()];
        checkpoint.read(name, &mut values)?;
        let (values, shape) = match name {
            BIAS => (rows(&values, 1, origins, &vec![0.0; origins.len()]), vec![1, origins.len()]),
            name if TABLES.contains(&name) => {
                let width = model.config().d_model;
                let random = embeddings(name, [origins.len(), width], seed);
                (rows(&values, width, origins, &random), vec![origins.len(), width])
            }
            _ => (values, info.shape.clone()),
        };
        tensors.push((name, shape, bytemuck::cast_slice(&values).to_vec()));
    }
    let views = tensors
        .iter()
        .map(|(name, shape, bytes)| Ok((*name, TensorView::new(Dtype::F32, shape.clone(), bytes)?)))
        .collect::<Result<Vec<_>, safetensors::SafeTensorError>>()?;
    let metadata = [("format".to_owned(), "pt".to_owned())].into_iter().collect();
    Ok(safetensors::serialize(views, Some(metadata))?)
}

/// A row for each new token.
fn rows(old: &[f32], width: usize, origins: &[Origin], random: &[f32]) -> Vec<f32> {
    let row = |id: u32| &old[id as usize * width..][..width];
    let mut values = random.to_vec();
    for (new, origin) in values.chunks_exact_mut(width).zip(origins) {
        let ids = match origin {
            Origin::Kept(id) => std::slice::from_ref(id),
            Origin::Parts(ids) => ids,
            Origin::Random => continue,
        };
        for (column, value) in new.iter_mut().enumerate() {
            let sum: f64 = ids.iter().map(|&id| f64::from(row(id)[column])).sum();
            *value = (sum / ids.len() as f64) as f32;
        }
    }
    values
}

/// A configuration with the ids of a vocabulary of this size: `</s>` is 0, `<pad>` the last.
fn with_ids(mut config: Map<String, Value>, size: usize, is_model: bool) -> Map<String, Value> {
    let pad = size - 1;
    let ids = [
        ("eos_token_id", 0),
        ("forced_eos_token_id", 0),
        ("pad_token_id", pad),
        ("decoder_start_token_id", pad),
    ];
    for (key, id) in ids {
        config.insert(key.to_owned(), id.into());
    }
    if config.contains_key("bad_words_ids") {
        config.insert("bad_words_ids".to_owned(), json!([[pad]]));
    }
    if is_model {
        config.insert("vocab_size".to_owned(), size.into());
        config.insert("decoder_vocab_size".to_owned(), size.into());
        config.remove("torch_dtype"); // the name of the key in older versions
        config.insert("dtype".to_owned(), "float32".into());
    }
    config
}

fn tokenizer_config(
    files: &ModelFiles,
    languages: [Option<&str>; 2],
) -> Result<Map<String, Value>, NewVocabularyError> {
    let mut config = if files.has(TOKENIZER) { object(files, TOKENIZER)? } else { Map::new() };
    config.remove("added_tokens_decoder"); // has the old ids
    for (key, language) in ["source_lang", "target_lang"].into_iter().zip(languages) {
        if let Some(language) = language {
            config.insert(key.to_owned(), language.into());
        }
    }
    Ok(config)
}

fn object(files: &ModelFiles, name: &str) -> Result<Map<String, Value>, NewVocabularyError> {
    let content = files.read(name, LIMIT)?;
    serde_json::from_slice(&content).map_err(|error| {
        let (file, problem) = (files.file_label(name), json_problem(&error));
        NewVocabularyError::Config { file, problem }
    })
}
