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

mod built_in;
mod cache;
mod cached;
mod catalogue;
mod choose;
mod detect;
mod download;
mod error;
mod firefox;
mod gaps;
mod hash;
mod http;
mod hub;
mod language;
mod languages;
mod lock;
mod near;
mod progress;
mod record;
mod reference;
mod repository;
mod route;
mod settings;
#[cfg(feature = "testing")]
pub mod testing;
mod watch;

use std::path::PathBuf;

pub use built_in::{BuiltIn, Place};
pub use cached::{CachedModel, Languages};
pub use catalogue::{Offer, Score, about, catalogue, command, offered_sources, offers, suggest};
pub use detect::{Certainty, Detected, detect};
pub use error::HubError;
pub use firefox::FirefoxModel;
pub use hub::{Hub, Unfinished};
pub use language::{Language, NoLanguage};
pub use progress::Progress;
pub use reference::ModelReference;
pub use route::{Choosable, Route, Step, choose, code_for, direct, sources, targets, written};
pub use settings::Settings;
pub use wordloom::transformer::Cancel;

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
