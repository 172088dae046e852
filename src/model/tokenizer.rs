//! The choice of a folder's tokenizer.

use std::borrow::Cow;

use serde_json::{Map, Value, json};

use super::ModelError;
use super::files::ModelFiles;
use super::json::JsonObject;
use super::student_files::{self, StudentFiles};
use crate::text::{
    FastTokenizer, FirefoxTokenizer, MarianFiles, MarianTokenizer, Task, TextError, Tokenizer,
    TokenizerClass, TokenizerFiles,
};
#[cfg(feature = "tokenizers")]
use crate::text::{FastVocabulary, HuggingFaceTokenizer};

/// Maximum length of a tokenizer file, bytes: the largest vocabularies are below 40 MB.
pub(super) const FILE_LIMIT: u64 = 64 << 20;

pub(super) const CONFIG: &str = "tokenizer_config.json";
const JSON: &str = "tokenizer.json";
const MARIAN: [&str; 3] = ["source.spm", "target.spm", "vocab.json"];

/// Reads the tokenizer of a folder, with or without a model.
///
/// Hugging Face's class decides the files: `tokenizer_class` in `tokenizer_config.json`, else in `config.json`, else
/// the class of `model_type`. If the class reads `tokenizer.json`, the file exists and the feature `tokenizers` is on,
/// this file is used, as in transformers; else the SentencePiece model, or the vocabulary of an older folder: `vocab.json` and
/// `merges.txt`, or `vocab.txt`.
///
/// A folder with a Marian binary and no `config.json` is a Firefox student's, and has `vocab.*.spm`.
///
/// Errors: a [`ModelError`] with the missing or damaged file; [`ModelError::NoTokenizer`] if the class has none of its
/// files; [`TextError::NeedsFeature`]: only Hugging Face's library reads its files, in a build without it.
pub fn read_tokenizer(files: &ModelFiles) -> Result<Tokenizer, ModelError> {
    read_tokenizer_with(files, &mut || fast_tokenizer(files))
}

/// As [`read_tokenizer`], with another way to [`FastTokenizer`]s: a page has Hugging Face's library in a module of its own.
///
/// Errors: as [`read_tokenizer`], and those of `fast`.
pub fn read_tokenizer_with(
    files: &ModelFiles,
    fast: &mut dyn FnMut() -> Result<Box<dyn FastTokenizer>, ModelError>,
) -> Result<Tokenizer, ModelError> {
    if let Some(tokenizer) = firefox(files)? {
        return Ok(tokenizer);
    }
    let (class, model) = class_in(files)?;
    let read = |name| files.read(name, FILE_LIMIT);
    let config = tokenizer_config(files)?;
    if class == TokenizerClass::Marian && MARIAN.iter().any(|file| files.has(file)) {
        return marian(files, config.as_deref());
    }
    let build = |parts| {
        let tasks = model.as_ref().map(tasks).unwrap_or_default();
        Tokenizer::new(class, parts, config.as_deref(), tasks).map_err(|source| refused(files, source))
    };
    if class == TokenizerClass::ByT5 {
        return build(TokenizerFiles::Bytes);
    }
    let has_spm = class.sentencepiece_file().is_some_and(|file| files.has(file));
    match (class.sentencepiece_file(), fast_vocabulary(files, class)) {
        (_, Some(vocabulary)) if cfg!(feature = "tokenizers") || !has_spm => {
            build(TokenizerFiles::Fast { file: vocabulary[0], tokenizer: fast()? })
        }
        (Some(file), _) if has_spm => {
            let vocab = (class == TokenizerClass::M2M100).then(|| read("vocab.json")).transpose()?;
            build(TokenizerFiles::SentencePiece { file, model: &read(file)?, vocab: vocab.as_deref() })
        }
        (spm, _) => {
            let marian = || MARIAN.map(|file| format!("{file:?}")).join(", ");
            let looked_for = match (class, spm, class.older_files()) {
                (TokenizerClass::Marian, ..) => marian(),
                (TokenizerClass::M2M100, Some(file), _) => format!("{file:?} and \"vocab.json\""),
                (_, Some(file), _) => format!("{JSON:?} or {file:?}"),
                (_, None, Some([vocab, merges])) => format!("{JSON:?}, or {vocab:?} and {merges:?}"),
                (_, None, Some(older)) => format!("{JSON:?} or {:?}", older[0]),
                (_, None, None) => format!("{JSON:?}, or {}", marian()),
            };
            Err(ModelError::NoTokenizer { folder: files.label().to_owned(), looked_for })
        }
    }
}

/// The files of a vocabulary that Hugging Face's library reads.
fn fast_vocabulary(files: &ModelFiles, class: TokenizerClass) -> Option<&'static [&'static str]> {
    if class.reads_json() && files.has(JSON) {
        return Some(&[JSON]);
    }
    class.older_files().filter(|older| older.iter().all(|file| files.has(file)))
}

/// Reads the tokenizer that Hugging Face's library runs.
#[cfg(feature = "tokenizers")]
fn fast_tokenizer(files: &ModelFiles) -> Result<Box<dyn FastTokenizer>, ModelError> {
    Ok(Box::new(read_fast_tokenizer(files)?))
}

#[cfg(not(feature = "tokenizers"))]
fn fast_tokenizer(files: &ModelFiles) -> Result<Box<dyn FastTokenizer>, ModelError> {
    Err(refused(files, TextError::NeedsFeature))
}

/// Reads `tokenizer.json`, or the vocabulary of an older folder, with Hugging Face's library.
///
/// Errors: a [`ModelError`] with the missing or damaged file.
#[cfg(feature = "tokenizers")]
pub fn read_fast_tokenizer(files: &ModelFiles) -> Result<HuggingFaceTokenizer, ModelError> {
    let (class, _) = class_in(files)?;
    let vocabulary = fast_vocabulary(files, class).unwrap_or(&[JSON]);
    let [first, second] = [vocabulary.first(), vocabulary.get(1)]
        .map(|name| name.map(|name| files.read(name, FILE_LIMIT)).transpose());
    let (first, second) = (first?.unwrap_or_default(), second?);
    let vocabulary = match (vocabulary[0], &second) {
        (JSON, _) => FastVocabulary::Json(&first),
        (_, Some(merges)) => FastVocabulary::BytePairs { vocab: &first, merges },
        (_, None) => FastVocabulary::WordPieces(&first),
    };
    let config = tokenizer_config(files)?;
    let tokenizer = HuggingFaceTokenizer::new(class, vocabulary, config.as_deref());
    tokenizer.map_err(|source| refused(files, source))
}

/// `tokenizer_config.json`. Where it does not list the added tokens, transformers also reads `special_tokens_map.json`, which wins, and
/// `added_tokens.json`.
fn tokenizer_config(files: &ModelFiles) -> Result<Option<Cow<'_, [u8]>>, ModelError> {
    const LISTED: &str = "added_tokens_decoder";
    const EXTRA: [&str; 2] = ["extra_special_tokens", "additional_special_tokens"];
    let object = |name| files.has(name).then(|| JsonObject::read(files, name)).transpose();
    let (older, added) = ("special_tokens_map.json", "added_tokens.json");
    let config = object(CONFIG)?;
    if config.as_ref().is_some_and(|config| config.contains(LISTED))
        || !(files.has(older) || files.has(added))
    {
        return files.has(CONFIG).then(|| files.read(CONFIG, FILE_LIMIT)).transpose();
    }
    let entries = |object: Option<JsonObject>| object.map(JsonObject::into_values).unwrap_or_default();
    let mut config = entries(config);
    let is_empty = |value: &Value| match value {
        Value::Array(items) => items.is_empty(),
        Value::Object(items) => items.is_empty(),
        value => value.is_null(),
    };
    let has_extra = EXTRA.iter().filter_map(|key| config.get(*key)).any(|value| !is_empty(value));
    // under its older name, the list comes too late to make tokens of `added_tokens.json` special
    let mut late = None;
    for (key, value) in entries(object(older)?) {
        match key.as_str() {
            "additional_special_tokens" if !has_extra => late = Some(value),
            "extra_special_tokens" if !has_extra => _ = config.insert(key, value),
            _ if key.ends_with("_token") => _ = config.insert(key, value),
            _ => {}
        }
    }
    let name = |token: &Value| token.get("content").unwrap_or(token).as_str().map(str::to_owned);
    let special: Vec<String> = config
        .iter()
        .flat_map(|(key, value)| match value {
            Value::Array(tokens) if EXTRA.contains(&key.as_str()) => tokens.iter().filter_map(name).collect(),
            token if key.ends_with("_token") => name(token).into_iter().collect(),
            _ => Vec::new(),
        })
        .collect();
    // not collected: that would sort
    let mut listed = Map::new();
    for (token, id) in entries(object(added)?) {
        let is_special = special.contains(&token);
        let entry = json!({ "content": token, "special": is_special, "normalized": !is_special });
        listed.insert(id.to_string(), entry);
    }
    if !listed.is_empty() {
        config.insert(LISTED.to_owned(), listed.into());
    }
    if let Some(tokens) = late {
        config.insert("additional_special_tokens".to_owned(), tokens);
    }
    Ok(Some(Value::Object(config).to_string().into_bytes().into()))
}

fn refused(files: &ModelFiles, source: TextError) -> ModelError {
    ModelError::Tokenizer { folder: files.label().to_owned(), source }
}

/// The tokenizer class, and `config.json`.
fn class_in(files: &ModelFiles) -> Result<(TokenizerClass, Option<JsonObject>), ModelError> {
    let object = |name| files.has(name).then(|| JsonObject::read(files, name)).transpose();
    let (model, tokenizer) = (object("config.json")?, object(CONFIG)?);
    Ok((class(files, model.as_ref(), tokenizer.as_ref())?, model))
}

/// The tokenizer of a Firefox student; `None` if the folder is another model's.
fn firefox(files: &ModelFiles) -> Result<Option<Tokenizer>, ModelError> {
    let others = ["config.json", CONFIG, JSON];
    let student = match others.iter().any(|file| files.has(file)) {
        true => None,
        false => StudentFiles::find(files)?,
    };
    let Some(StudentFiles { vocabularies, .. }) = student else { return Ok(None) };
    let Some([source, target]) = vocabularies else {
        let looked_for = "\"vocab.*.spm\", or \"srcvocab.*.spm\" and \"trgvocab.*.spm\"".to_owned();
        return Err(ModelError::NoTokenizer { folder: files.label().to_owned(), looked_for });
    };
    let bytes = student_files::read(files, &source, FILE_LIMIT)?;
    let tokenizer = if source == target {
        FirefoxTokenizer::new((&source, &bytes), None)
    } else {
        let target_bytes = student_files::read(files, &target, FILE_LIMIT)?;
        FirefoxTokenizer::new((&source, &bytes), Some((&target, &target_bytes)))
    };
    tokenizer.map(|tokenizer| Some(tokenizer.into())).map_err(|source| refused(files, source))
}

fn marian(files: &ModelFiles, config: Option<&[u8]>) -> Result<Tokenizer, ModelError> {
    let read = |name| files.read(name, FILE_LIMIT);
    let target_vocab = files.has("target_vocab.json").then(|| read("target_vocab.json")).transpose()?;
    let [source_spm, target_spm, vocab] = MARIAN.map(read);
    let tokenizer = MarianTokenizer::new(MarianFiles {
        source_spm: &source_spm?,
        target_spm: &target_spm?,
        vocab: &vocab?,
        target_vocab: target_vocab.as_deref(),
        config,
    });
    tokenizer.map(Tokenizer::from).map_err(|source| refused(files, source))
}

/// The tokenizer class by name, or by the files present.
pub(super) fn class(
    files: &ModelFiles,
    model: Option<&JsonObject>,
    tokenizer: Option<&JsonObject>,
) -> Result<TokenizerClass, ModelError> {
    let name = |object: Option<&JsonObject>| {
        object.map(|object| object.get::<String>("tokenizer_class")).transpose().map(Option::flatten)
    };
    let name = match name(tokenizer)? {
        None => name(model)?,
        name => name,
    };
    if let Some(class) = name.as_deref().and_then(TokenizerClass::from_name) {
        return Ok(class);
    }
    let model_type: Option<String> = model.map(|model| model.get("model_type")).transpose()?.flatten();
    let class = model_type.as_deref().map_or(TokenizerClass::Other, TokenizerClass::of_model_type);
    // under a generic name, transformers takes everything from this file, nothing from the family's class
    let is_generic = name.is_some() && files.has(JSON);
    if is_generic && !matches!(class, TokenizerClass::T5 | TokenizerClass::Pegasus) {
        return Ok(TokenizerClass::Other);
    }
    // models without a Hugging Face class, and tokenizers without a model, can have Marian's files
    let unnamed = class.sentencepiece_file().is_none() && files.has(MARIAN[0]) && !files.has(JSON);
    Ok(if unnamed { TokenizerClass::Marian } else { class })
}

/// The tasks of `task_specific_params`, with their prefixes. Where one that does not translate has none, the `prefix` of the configuration
/// counts, as in the pipelines of transformers 4: BART's models for summaries have a space there.
pub(super) fn tasks(model: &JsonObject) -> Vec<Task> {
    let Some((_, Value::Object(all))) = model.entries().find(|(key, _)| *key == "task_specific_params")
    else {
        return Vec::new();
    };
    let general = model.entries().find(|(key, _)| *key == "prefix").and_then(|(_, prefix)| prefix.as_str());
    let task = |(name, task): (&String, &Value)| {
        let mut task = Task { name: name.clone(), prefix: String::new(), options: task.as_object()?.clone() };
        let own = task.options.remove("prefix");
        let general = general.filter(|_| task.languages().is_none());
        task.prefix = own.as_ref().and_then(Value::as_str).or(general).unwrap_or_default().to_owned();
        Some(task)
    };
    all.iter().filter_map(task).collect()
}
