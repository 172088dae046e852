//! A model that is loaded at its first text.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use wordloom::{Device, Model, TextError, TranslateOptions, Translator};

use crate::FunctionError;
use crate::threads::Threads;

/// Bytes for results of repeated sentences, some ten thousands.
const CACHE_BYTES: usize = 64 << 20;

/// Where a model comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The library.
    #[cfg(feature = "embedded-model")]
    Embedded,
    /// A folder, as it was published.
    Folder(PathBuf),
    /// The caller, who has loaded it.
    Given,
}

/// A model of one or more pairs.
pub struct LazyModel {
    pub origin: Origin,
    /// `None` before the first text.
    loaded: Mutex<Option<Arc<Translator>>>,
    /// Held by a call on a GPU, which runs one call at a time: each would need memory of its own.
    pub turn: Mutex<()>,
}

impl LazyModel {
    pub fn new(origin: Origin, loaded: Option<Arc<Translator>>) -> Self {
        Self { origin, loaded: Mutex::new(loaded), turn: Mutex::default() }
    }

    /// The translator. The first call loads it, while others wait; after a failure, the next one tries again.
    ///
    /// Not for a thread of the pool: waiting for a part of the work, it could take up a call that waits for this lock.
    pub fn translator(
        &self,
        threads: &Threads,
        device: impl FnOnce() -> Result<Device, FunctionError>,
    ) -> Result<Arc<Translator>, FunctionError> {
        let mut loaded = self.loaded.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(translator) = &*loaded {
            return Ok(translator.clone());
        }
        let device = device()?;
        let translator = threads.run(|| self.load(&device))?;
        Ok(loaded.insert(Arc::new(translator)).clone())
    }

    fn load(&self, device: &Device) -> Result<Translator, FunctionError> {
        let model = match &self.origin {
            #[cfg(feature = "embedded-model")]
            Origin::Embedded => Model::embedded()?,
            Origin::Folder(folder) => Model::load(folder)?,
            Origin::Given => unreachable!("the caller has loaded it"),
        };
        Ok(Translator::new(device, &model)?.with_cache(CACHE_BYTES))
    }
}

/// The options with a pair's languages, as far as the model has several to choose from: a bilingual one has none.
pub fn with_languages(
    translator: &Translator,
    options: &TranslateOptions,
    [from, to]: [&str; 2],
) -> Result<TranslateOptions, FunctionError> {
    let (mut source, mut target) = (Some(from), Some(to));
    loop {
        match translator.tokenizer().direction(source, target) {
            Ok(_) => break,
            Err(TextError::NoLanguages { side: "source" }) if source.is_some() => source = None,
            Err(TextError::NoLanguages { side: "target" }) if target.is_some() => target = None,
            Err(error) => {
                return Err(FunctionError::Languages { from: from.to_owned(), to: to.to_owned(), error });
            }
        }
    }
    let mut options = options.clone();
    options.source_language = source.map(str::to_owned);
    options.target_language = target.map(str::to_owned);
    Ok(options)
}
