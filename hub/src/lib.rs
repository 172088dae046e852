//! Models by name: from the Hugging Face hub, in the cache that it shares with other programs, and from Mozilla's
//! registry of Firefox models.
//!
//! ```no_run
//! use wordloom_hub::{Cancel, ModelReference, get};
//!
//! let reference = ModelReference::parse("Helsinki-NLP/opus-mt-en-fr")?;
//! let folder = get(&reference, &mut (), &Cancel::default())?;
//! # Ok::<_, wordloom_hub::HubError>(())
//! ```
//!
//! A model that is in the cache is taken from there without a network. The free functions take their settings from the
//! environment; [`Hub`] takes any.

mod cached;
mod catalogue;
mod detect;
mod error;
mod language;
mod progress;
mod reference;
mod route;
mod settings;

use std::path::PathBuf;

pub use cached::{CachedModel, Languages};
pub use catalogue::{Offer, Score, about, catalogue, offered_sources, offers, suggest};
pub use detect::{Certainty, Detected, detect};
pub use error::HubError;
pub use language::{Language, NoLanguage};
pub use progress::Progress;
pub use reference::ModelReference;
pub use route::{Choosable, Route, Step, choose, code_for, direct, sources, targets};
pub use settings::Settings;
pub use wordloom::transformer::Cancel;

/// The cache and the registries, with settings.
#[derive(Clone, Debug)]
pub struct Hub {
    settings: Settings,
}

impl Hub {
    /// A hub with these settings.
    pub fn new(settings: Settings) -> Self {
        Self { settings }
    }

    /// A hub with the settings of the environment.
    pub fn from_environment() -> Result<Self, HubError> {
        Ok(Self::new(Settings::from_environment()?))
    }

    /// The settings.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The models in the cache, by name. Reads no weights and asks no network.
    pub fn cached_models(&self) -> Result<Vec<CachedModel>, HubError> {
        Ok(Vec::new())
    }

    /// The folder of a model in the cache; `None` if it is not there, or not complete. Asks no network.
    pub fn find(&self, reference: &ModelReference) -> Result<Option<PathBuf>, HubError> {
        match reference {
            ModelReference::Folder(folder) => Ok(Some(folder.clone())),
            ModelReference::Hub { .. } | ModelReference::Firefox { .. } => Ok(None),
        }
    }

    /// The folder of a model, which is fetched first if it is not in the cache.
    pub fn get(
        &self,
        reference: &ModelReference,
        progress: &mut dyn Progress,
        cancel: &Cancel,
    ) -> Result<PathBuf, HubError> {
        let _ = (progress, cancel);
        match self.find(reference)? {
            Some(folder) => Ok(folder),
            None => Err(HubError::Offline { name: reference.to_string(), cached: Vec::new() }),
        }
    }

    /// Removes a model from the cache. Returns the freed bytes. Files that another revision uses stay.
    pub fn remove(&self, reference: &ModelReference) -> Result<u64, HubError> {
        Err(HubError::NotCached { name: reference.to_string(), cached: Vec::new() })
    }

    /// Compares the files of a model in the cache with the hashes under which they were published. Returns the number
    /// of checked bytes.
    pub fn verify(
        &self,
        reference: &ModelReference,
        progress: &mut dyn Progress,
        cancel: &Cancel,
    ) -> Result<u64, HubError> {
        let _ = (progress, cancel);
        Err(HubError::NotCached { name: reference.to_string(), cached: Vec::new() })
    }
}

/// [`Hub::cached_models`] with the settings of the environment.
pub fn cached_models() -> Result<Vec<CachedModel>, HubError> {
    Hub::from_environment()?.cached_models()
}

/// [`Hub::get`] with the settings of the environment.
pub fn get(
    reference: &ModelReference,
    progress: &mut dyn Progress,
    cancel: &Cancel,
) -> Result<PathBuf, HubError> {
    Hub::from_environment()?.get(reference, progress, cancel)
}

/// [`Hub::remove`] with the settings of the environment.
pub fn remove(reference: &ModelReference) -> Result<u64, HubError> {
    Hub::from_environment()?.remove(reference)
}

/// [`Hub::verify`] with the settings of the environment.
pub fn verify(
    reference: &ModelReference,
    progress: &mut dyn Progress,
    cancel: &Cancel,
) -> Result<u64, HubError> {
    Hub::from_environment()?.verify(reference, progress, cancel)
}
