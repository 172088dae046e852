//! Mozilla's registry: which models there are, and which of them is the best of a pair.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::HubError;

/// Architectures, the better first: base-memory is what Firefox takes on computers; base is larger and little better.
const ORDER: [&str; 3] = ["base-memory", "base", "tiny"];

/// The registry.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Registry {
    pub base_url: String,
    pub models: BTreeMap<String, Vec<Entry>>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Entry {
    pub architecture: String,
    #[serde(default)]
    pub release_status: Option<String>,
    pub source_language: String,
    pub target_language: String,
    pub files: BTreeMap<String, RemoteFile>,
    #[serde(default)]
    metrics: Value,
    #[serde(flatten)]
    others: BTreeMap<String, Value>,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct RemoteFile {
    pub path: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncompressed_size: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uncompressed_hash: Option<String>,
}

/// A Firefox model that can be fetched.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FirefoxModel {
    /// Source language.
    pub from: String,
    /// Target language.
    pub to: String,
    /// `tiny`, `base` or `base-memory`.
    pub architecture: String,
    /// Bytes of the unpacked weights, if published.
    pub bytes: Option<u64>,
    /// Whether Firefox gives it to its users.
    pub released: bool,
    /// Published BLEU on FLORES-200.
    pub bleu: Option<f64>,
    /// Published COMET on FLORES-200.
    pub comet: Option<f64>,
}

impl Entry {
    pub fn is_released(&self) -> bool {
        self.release_status.as_deref().is_some_and(|status| status.starts_with("Release"))
    }

    /// Its place in the order of preference: released ones first, then by architecture.
    pub fn rank(&self) -> (bool, usize) {
        let architecture = ORDER.iter().position(|name| *name == self.architecture).unwrap_or(ORDER.len());
        (!self.is_released(), architecture)
    }

    pub fn model(&self) -> FirefoxModel {
        let score =
            |name: &str| self.metrics.pointer(&format!("/flores200-plus/{name}")).and_then(Value::as_f64);
        FirefoxModel {
            from: self.source_language.clone(),
            to: self.target_language.clone(),
            architecture: self.architecture.clone(),
            bytes: self.files.get("model").and_then(|file| file.uncompressed_size),
            released: self.is_released(),
            bleu: score("bleu"),
            comet: score("comet"),
        }
    }

    pub fn name(&self) -> String {
        format!("firefox:{}-{}:{}", self.source_language, self.target_language, self.architecture)
    }

    /// Whether it translates between these languages.
    pub fn translates(&self, from: &str, to: &str) -> bool {
        is_language(&self.source_language, from) && is_language(&self.target_language, to)
    }

    /// What tells an entry from its successors: the hash of its weights, else their path.
    pub fn version(&self) -> &str {
        let model = self.files.get("model");
        model.map_or("", |file| file.uncompressed_hash.as_deref().unwrap_or(&file.path))
    }
}

impl RemoteFile {
    /// Its name without its folder and `.gz`.
    pub fn name(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or_default();
        name.strip_suffix(".gz").unwrap_or(name)
    }

    /// Whether this SHA-256 is published for it.
    pub fn has_hash(&self, digits: &str) -> bool {
        self.uncompressed_hash.as_deref() == Some(digits)
    }
}

impl Registry {
    /// The entry of a pair, or the reason why there is none.
    pub fn chosen(&self, (from, to, architecture): (&str, &str, Option<&str>)) -> Result<&Entry, HubError> {
        let all = || self.models.values().flatten();
        let direct: Vec<&Entry> = all().filter(|entry| entry.translates(from, to)).collect();
        let fitting =
            direct.iter().filter(|entry| architecture.is_none_or(|wanted| wanted == entry.architecture));
        if let Some(best) = fitting.min_by_key(|entry| entry.rank()) {
            return Ok(best);
        }
        if let (Some(architecture), false) = (architecture, direct.is_empty()) {
            let known: Vec<&str> = direct.iter().map(|entry| &*entry.architecture).collect();
            return Err(HubError::UnknownArchitecture {
                pair: format!("{from}-{to}"),
                architecture: architecture.to_owned(),
                known: known.join(", "),
            });
        }
        let has = |from: &str, to: &str| all().any(|entry| entry.translates(from, to));
        let (from_text, to_text) = (from.to_owned(), to.to_owned());
        if has(from, "en") && has("en", to) {
            return Err(HubError::NoDirectPair {
                from: from_text,
                to: to_text,
                first: format!("firefox:{from}-en"),
                second: format!("firefox:en-{to}"),
            });
        }
        let mut targets: Vec<String> = all()
            .filter(|entry| is_language(&entry.source_language, from))
            .map(|entry| entry.target_language.clone())
            .collect();
        targets.sort();
        targets.dedup();
        Err(HubError::UnknownPair { from: from_text, to: to_text, targets })
    }
}

/// Whether two codes are the same, whatever separates their parts.
fn is_language(code: &str, other: &str) -> bool {
    code.replace('_', "-").eq_ignore_ascii_case(&other.replace('_', "-"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn registry() -> Registry {
        let entry = |from: &str, to: &str, architecture: &str, status: &str| {
            serde_json::json!({"architecture": architecture, "releaseStatus": status, "sourceLanguage": from,
                "targetLanguage": to, "files": {"model": {"path": "m/model.bin.gz"}, "vocab": {"path": "v.spm.gz"}}})
        };
        serde_json::from_value(serde_json::json!({"generated": "", "baseUrl": "https://x", "models": {
            "en-fr": [entry("en", "fr", "base", "Release"), entry("en", "fr", "base-memory", "Release Desktop"),
                      entry("en", "fr", "tiny", "Release Android")],
            "de-en": [entry("de", "en", "base-memory", "Nightly"), entry("de", "en", "tiny", "Release")],
            "en-zh_hant": [entry("en", "zh_hant", "tiny", "Nightly")]}}))
        .expect("a registry")
    }

    #[test]
    fn released_models_come_first_and_then_base_memory() {
        let registry = registry();
        let architecture = |pair| registry.chosen(pair).map(|entry| entry.architecture.clone()).ok();
        assert_eq!(architecture(("en", "fr", None)).as_deref(), Some("base-memory"));
        assert_eq!(architecture(("en", "fr", Some("tiny"))).as_deref(), Some("tiny"));
        assert_eq!(architecture(("de", "en", None)).as_deref(), Some("tiny"));
        assert_eq!(architecture(("en", "zh-Hant", None)).as_deref(), Some("tiny"));
    }

    #[test]
    fn what_there_is_not_is_said_with_the_way_out() {
        let registry = registry();
        let error = |pair| registry.chosen(pair).expect_err("no model").to_string();
        let pivot = error(("de", "fr", None));
        assert!(
            pivot.contains("models get firefox:de-en") && pivot.contains("models get firefox:en-fr"),
            "{pivot}"
        );
        assert!(error(("en", "ja", None)).contains("from en there are fr, zh_hant"));
        assert!(error(("xx", "yy", None)).contains("nor any from xx"));
        assert!(
            error(("en", "fr", Some("huge"))).contains("comes as base, base-memory, tiny, not as \"huge\"")
        );
    }
}
