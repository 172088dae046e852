//! The first missing file of a model in the cache.

use std::fs;

use serde_json::Value;

use crate::HubError;
use crate::cache::Repository;
use crate::choose::{INDICES, lacking_tokenizer, shards};
use crate::record::Record;

/// The first file that a commit lacks; `None` if it is complete.
///
/// Wordloom's notes list the files. Without notes, another program has fetched the commit, perhaps in part: then the
/// family tells which files are needed.
pub fn first(
    repository: &Repository,
    commit: &str,
    record: Option<&Record>,
) -> Result<Option<String>, HubError> {
    let folder = repository.snapshot(commit);
    let has = |file: &str| folder.join(file).exists();
    if let Some(record) = record.filter(|record| !record.files.is_empty()) {
        return Ok(record.files.keys().find(|file| !has(file)).cloned());
    }
    // a link without its blob
    if let Some(file) = repository.files(commit)?.into_iter().find(|file| !has(file)) {
        return Ok(Some(file));
    }
    let Ok(config) = fs::read(folder.join("config.json")) else { return Ok(Some("config.json".into())) };
    if !repository.has_weights(commit) {
        return Ok(Some(weights(repository, commit).unwrap_or_else(|| "model.safetensors".into())));
    }
    let config: Value = serde_json::from_slice(&config).unwrap_or_default();
    let family = config.get("model_type").and_then(Value::as_str).unwrap_or_default();
    // ByT5's tokenizer has no vocabulary
    if config.get("tokenizer_class").is_some_and(|class| class == "ByT5Tokenizer") {
        return Ok(None);
    }
    Ok(lacking_tokenizer(family, has).map(str::to_owned))
}

/// The first missing shard, if there is an index.
fn weights(repository: &Repository, commit: &str) -> Option<String> {
    let folder = repository.snapshot(commit);
    let index = INDICES.into_iter().find(|index| folder.join(index).exists())?;
    let listed = shards(&repository.name, index, &fs::read(folder.join(index)).ok()?).ok()?;
    listed.into_iter().find(|shard| !folder.join(shard).exists())
}
