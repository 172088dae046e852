//! Errors of the hub, each in one line with the way out.

/// The reason why a model could not be found, fetched, checked or removed.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// A name that begins with `firefox:` and names no pair.
    #[error("{text:?} names no pair of languages; write firefox:en-fr, or firefox:en-fr:tiny")]
    NoPair {
        /// The text.
        text: String,
    },
    /// The user has no home folder.
    #[error("the cache has no place: there is no home folder; set HF_HOME and WORDLOOM_MODELS")]
    NoHome,
    /// The network may not be asked, or does not answer, and the model is not in the cache.
    #[error("offline: {name} is not in the cache; {}", here(cached))]
    Offline {
        /// Name of the model.
        name: String,
        /// Names of the models in the cache.
        cached: Vec<String>,
    },
    /// The model is not in the cache, and the call asks no network.
    #[error("{name} is not in the cache; {}", here(cached))]
    NotCached {
        /// Name of the model.
        name: String,
        /// Names of the models in the cache.
        cached: Vec<String>,
    },
    /// The caller cancelled.
    #[error("interrupted; the same command goes on where it stopped")]
    Cancelled,
}

/// The models in the cache, in words.
fn here(cached: &[String]) -> String {
    match cached {
        [] => "no models are there".into(),
        names => format!("these models are here: {}", names.join(", ")),
    }
}
