//! Folders, addresses and the token, as the environment sets them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

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
    /// Wordloom's own models and notes: `WORDLOOM_MODELS`, else `wordloom/models` in the user's cache folder.
    pub own: PathBuf,
    /// Address of the Firefox models' `models.json`: `WORDLOOM_FIREFOX_REGISTRY`.
    pub firefox_registry: String,
    /// Certificates to trust instead of those that are built in, in PEM: `SSL_CERT_FILE`.
    pub certificates: Option<PathBuf>,
    /// Pause before the first repetition of a request; it doubles each time.
    pub pause: Duration,
    /// The longest wait that a server may ask for.
    pub patience: Duration,
    /// Time without a byte after which a connection counts as cut.
    pub silence: Duration,
}

const ENDPOINT: &str = "https://huggingface.co";
const FIREFOX_REGISTRY: &str =
    "https://storage.googleapis.com/moz-fx-translations-data--303e-prod-translations-data/db/models.json";

impl Settings {
    /// The settings of the environment, read as Hugging Face's own programs read them.
    pub fn from_environment() -> Result<Self, HubError> {
        Self::read(env::home_dir().as_deref(), |name| env::var(name).ok())
    }

    /// Settings with these folders and the public addresses; the environment is not read.
    pub fn new(cache: PathBuf, own: PathBuf) -> Self {
        Self {
            cache,
            endpoint: ENDPOINT.to_owned(),
            token: None,
            offline: false,
            own,
            firefox_registry: FIREFOX_REGISTRY.to_owned(),
            certificates: None,
            pause: Duration::from_secs(1),
            patience: Duration::from_secs(120),
            silence: Duration::from_secs(30),
        }
    }

    /// Reads variables through `variable`; unset and blank ones count alike.
    fn read(home: Option<&Path>, variable: impl Fn(&str) -> Option<String>) -> Result<Self, HubError> {
        let text = |name: &str| {
            let value = variable(name)?.trim().to_owned();
            (!value.is_empty()).then_some(value)
        };
        let any = |names: &[&str]| names.iter().find_map(|name| text(name));
        let folder = |name: &str| {
            text(name).map(|value| match (value.strip_prefix("~/"), home) {
                (Some(rest), Some(home)) => home.join(rest),
                _ => PathBuf::from(value),
            })
        };
        let local = folder("LOCALAPPDATA").filter(|_| cfg!(windows));
        let caches = folder("XDG_CACHE_HOME").or_else(|| Some(home?.join(".cache")));
        // as huggingface_hub: below ~/.cache on every system
        let hf_home = folder("HF_HOME").or_else(|| Some(caches.as_ref()?.join("huggingface")));
        let cache = folder("HF_HUB_CACHE").or_else(|| folder("HUGGINGFACE_HUB_CACHE"));
        let own = folder("WORDLOOM_MODELS");
        let mut settings = Self::new(
            cache.or_else(|| Some(hf_home.as_ref()?.join("hub"))).ok_or(HubError::NoHome)?,
            own.or_else(|| Some(local.or(caches)?.join("wordloom").join("models")))
                .ok_or(HubError::NoHome)?,
        );
        let is_on = |name: &str| {
            text(name).is_some_and(|value| ["1", "on", "yes", "true"].contains(&&*value.to_lowercase()))
        };
        let stored = || {
            let file = folder("HF_TOKEN_PATH").or_else(|| Some(hf_home.as_ref()?.join("token")))?;
            let token = fs::read_to_string(file).ok()?.trim().to_owned();
            (!token.is_empty() && !is_on("HF_HUB_DISABLE_IMPLICIT_TOKEN")).then_some(token)
        };
        settings.token = any(&["HF_TOKEN", "HUGGING_FACE_HUB_TOKEN"]).or_else(stored);
        let offline =
            ["HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE"].into_iter().find(|name| text(name).is_some());
        settings.offline = offline.is_some_and(is_on);
        settings.certificates = folder("SSL_CERT_FILE");
        if let Some(address) = text("HF_ENDPOINT") {
            settings.endpoint = address.trim_end_matches('/').to_owned();
        }
        if let Some(address) = text("WORDLOOM_FIREFOX_REGISTRY") {
            settings.firefox_registry = address.trim_end_matches('/').to_owned();
        }
        Ok(settings)
    }

    /// Checks address and token of the hub. A call does so before it asks the network: other calls need neither.
    pub(crate) fn check_hub(&self) -> Result<(), HubError> {
        check_address("HF_ENDPOINT", &self.endpoint)?;
        match &self.token {
            Some(token) if !token.bytes().all(|byte| byte.is_ascii_graphic()) => {
                Err(HubError::BadToken { problem: "it has characters that no token has" })
            }
            _ => Ok(()),
        }
    }

    /// Checks the address of the registry, as [`check_hub`](Self::check_hub) does the hub's.
    pub(crate) fn check_registry(&self) -> Result<(), HubError> {
        check_address("WORDLOOM_FIREFOX_REGISTRY", &self.firefox_registry)
    }
}

fn check_address(variable: &'static str, address: &str) -> Result<(), HubError> {
    match address.starts_with("https://") || address.starts_with("http://") {
        true => Ok(()),
        false => Err(HubError::BadAddress { variable, address: address.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Settings {
        let find = |name: &str| variables.iter().find(|(key, _)| *key == name);
        let home = Path::new("/home/ada");
        Settings::read(Some(home), |name| Some(find(name)?.1.to_owned())).expect("settings")
    }

    #[test]
    fn folders_are_those_of_huggingface_hub() {
        let cache = |variables: &[(&str, &str)]| read(variables).cache;
        assert_eq!(cache(&[]), Path::new("/home/ada/.cache/huggingface/hub"));
        assert_eq!(cache(&[("XDG_CACHE_HOME", "/fast")]), Path::new("/fast/huggingface/hub"));
        assert_eq!(cache(&[("HF_HOME", "/hf"), ("XDG_CACHE_HOME", "/fast")]), Path::new("/hf/hub"));
        assert_eq!(cache(&[("HF_HOME", "~/hf")]), Path::new("/home/ada/hf/hub"));
        assert_eq!(cache(&[("HF_HUB_CACHE", "/c"), ("HF_HOME", "/hf")]), Path::new("/c"));
        assert_eq!(cache(&[("HF_HOME", "  ")]), Path::new("/home/ada/.cache/huggingface/hub"));
        assert_eq!(read(&[("HF_HOME", "/hf")]).own, Path::new("/home/ada/.cache/wordloom/models"));
    }

    #[test]
    fn switches_and_addresses() {
        assert!(read(&[("HF_HUB_OFFLINE", "1")]).offline && read(&[("HF_HUB_OFFLINE", "YES")]).offline);
        assert!(!read(&[("HF_HUB_OFFLINE", "0")]).offline && !read(&[]).offline);
        assert_eq!(read(&[("HF_ENDPOINT", "https://mirror.example/")]).endpoint, "https://mirror.example");
        assert_eq!(read(&[("HF_TOKEN", " hf_1\n")]).token.as_deref(), Some("hf_1"));
        let bad = Settings::read(None, |name| (name == "HF_ENDPOINT").then(|| "mirror.example".into()));
        assert!(matches!(bad, Err(HubError::NoHome)));
        // what no network needs is checked by the calls that ask it
        let bad = read(&[("HF_ENDPOINT", "mirror.example"), ("WORDLOOM_FIREFOX_REGISTRY", "x")]);
        assert!(bad.check_hub().is_err_and(|error| error.to_string().contains("HF_ENDPOINT")));
        assert!(bad.check_registry().is_err_and(|error| error.to_string().contains("REGISTRY")));
        let bad = read(&[("HF_TOKEN", "hf_1 2")]);
        assert!(bad.check_hub().is_err_and(|error| error.to_string().contains("HF_TOKEN")));
    }
}
