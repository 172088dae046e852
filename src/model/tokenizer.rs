//! The choice of a folder's tokenizer.

use serde_json::Value;

use super::ModelError;
use super::files::ModelFiles;
use super::json::JsonObject;
use super::student_files::{self, StudentFiles};
use crate::text::{
    FirefoxTokenizer, MarianFiles, MarianTokenizer, Task, TextError, Tokenizer, TokenizerClass,
    TokenizerFiles,
};

/// Maximum length of a tokenizer file, bytes: the largest vocabularies are below 40 MB.
pub(super) const FILE_LIMIT: u64 = 64 << 20;

pub(super) const CONFIG: &str = "tokenizer_config.json";
const JSON: &str = "tokenizer.json";
const MARIAN: [&str; 3] = ["source.spm", "target.spm", "vocab.json"];

/// Reads the tokenizer of a folder, with or without a model.
///
/// Hugging Face's class decides the files: `tokenizer_class` in `tokenizer_config.json`, else in `config.json`, else
/// the class of `model_type`. If the class reads `tokenizer.json`, the file exists and the feature `tokenizers` is on,
/// this file is used, as in transformers; else the SentencePiece model.
///
/// A folder with a Marian binary and no `config.json` is a Firefox student's, and has `vocab.*.spm`.
///
/// Errors: a [`ModelError`] with the missing or damaged file; [`ModelError::NoTokenizer`] if the class has none of its
/// files.
pub fn read_tokenizer(files: &ModelFiles) -> Result<Tokenizer, ModelError> {
    if let Some(tokenizer) = firefox(files)? {
        return Ok(tokenizer);
    }
    let object = |name| files.has(name).then(|| JsonObject::read(files, name)).transpose();
    let (model, tokenizer) = (object("config.json")?, object(CONFIG)?);
    let class = class(files, model.as_ref(), tokenizer.as_ref())?;
    let refused = |source| ModelError::Tokenizer { folder: files.label().to_owned(), source };

    let read = |name| files.read(name, FILE_LIMIT);
    let optional = |name| files.has(name).then(|| read(name)).transpose();
    let config = optional(CONFIG)?;
    let spm = class.sentencepiece_file();
    let has_spm = spm.is_some_and(|file| files.has(file));
    let has_json = class.reads_json() && files.has(JSON);
    if class == TokenizerClass::Marian && MARIAN.iter().any(|file| files.has(file)) {
        return marian(files, config.as_deref());
    }
    let build = |parts| {
        let tasks = model.as_ref().map(tasks).unwrap_or_default();
        Tokenizer::new(class, parts, config.as_deref(), tasks).map_err(refused)
    };
    match spm {
        _ if has_json && (cfg!(feature = "tokenizers") || !has_spm) => match cfg!(feature = "tokenizers") {
            true => build(TokenizerFiles::Json(&read(JSON)?)),
            false => Err(refused(TextError::NeedsFeature)), // not worth reading it
        },
        Some(file) if has_spm => {
            let vocab = (class == TokenizerClass::M2M100).then(|| read("vocab.json")).transpose()?;
            build(TokenizerFiles::SentencePiece { file, model: &read(file)?, vocab: vocab.as_deref() })
        }
        _ => {
            let looked_for = match (class, spm) {
                (TokenizerClass::Marian, _) => MARIAN.map(|file| format!("{file:?}")).join(", "),
                (TokenizerClass::M2M100, Some(file)) => format!("{file:?} and \"vocab.json\""),
                (_, Some(file)) => format!("{JSON:?} or {file:?}"),
                (_, None) => format!("{JSON:?}, or {}", MARIAN.map(|file| format!("{file:?}")).join(", ")),
            };
            Err(ModelError::NoTokenizer { folder: files.label().to_owned(), looked_for })
        }
    }
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
    let refused = |source| ModelError::Tokenizer { folder: files.label().to_owned(), source };
    tokenizer.map(|tokenizer| Some(tokenizer.into())).map_err(refused)
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
    let refused = |source| ModelError::Tokenizer { folder: files.label().to_owned(), source };
    tokenizer.map(Tokenizer::from).map_err(refused)
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
    let unnamed = class == TokenizerClass::Other && files.has(MARIAN[0]) && !files.has(JSON);
    Ok(if unnamed { TokenizerClass::Marian } else { class })
}

/// The tasks of `task_specific_params`, with their prefixes.
pub(super) fn tasks(model: &JsonObject) -> Vec<Task> {
    let Some((_, Value::Object(all))) = model.entries().find(|(key, _)| *key == "task_specific_params")
    else {
        return Vec::new();
    };
    let task = |(name, task): (&String, &Value)| {
        let mut options = task.as_object()?.clone();
        let prefix = options.remove("prefix").and_then(|prefix| Some(prefix.as_str()?.to_owned()));
        Some(Task { name: name.clone(), prefix: prefix.unwrap_or_default(), options })
    };
    all.iter().filter_map(task).collect()
}
