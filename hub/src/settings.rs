//! Folders, addresses and the token, as the environment sets them.

use std::env;
use std::path::PathBuf;

use crate::HubError;

/// Folders, addresses and the token.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The hub's cache: `HF_HUB_CACHE`, else `HF_HOME/hub`, else `~/.cache/huggingface/hub`.
    pub cache: PathBuf,
    /// The hub's address: `HF_ENDPOINT`.
    pub endpoint: String,
    /// The token for private and gated repositories: `HF_TOKEN`, else the file that `hf auth login` writes.
    pub token: Option<String>,
    /// Whether no network may be asked: `HF_HUB_OFFLINE`.
    pub offline: bool,
    /// Wordloom's own models: `WORDLOOM_MODELS`, else `wordloom/models` in the user's cache folder.
    pub own: PathBuf,
    /// Address of the Firefox models' `models.json`: `WORDLOOM_FIREFOX_REGISTRY`.
    pub firefox_registry: String,
}

const ENDPOINT: &str = "https://huggingface.co";
const FIREFOX_REGISTRY: &str =
    "https://storage.googleapis.com/moz-fx-translations-data--303e-prod-translations-data/db/models.json";

impl Settings {
    /// The settings of the environment, read as Hugging Face's own programs read them.
    pub fn from_environment() -> Result<Self, HubError> {
        let text = |name: &str| env::var(name).ok().filter(|value| !value.trim().is_empty());
        let home = etcetera::home_dir().map_err(|_| HubError::NoHome)?;
        let caches = text("XDG_CACHE_HOME").map_or_else(|| home.join(".cache"), PathBuf::from);
        let hf_home = text("HF_HOME").map_or_else(|| caches.join("huggingface"), PathBuf::from);
        Ok(Self {
            cache: text("HF_HUB_CACHE").map_or_else(|| hf_home.join("hub"), PathBuf::from),
            endpoint: text("HF_ENDPOINT").unwrap_or_else(|| ENDPOINT.to_owned()),
            token: text("HF_TOKEN"),
            offline: text("HF_HUB_OFFLINE").is_some_and(|value| value != "0"),
            own: text("WORDLOOM_MODELS").map_or_else(|| caches.join("wordloom/models"), PathBuf::from),
            firefox_registry: text("WORDLOOM_FIREFOX_REGISTRY")
                .unwrap_or_else(|| FIREFOX_REGISTRY.to_owned()),
        })
    }
}
