//! The models of a session.

use std::fmt;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use datafusion::logical_expr::ScalarUDF;
use wordloom::{Device, DeviceChoice, TranslateOptions, Translator};

use crate::FunctionError;
use crate::function::Translate;
use crate::model::{LazyModel, Origin, with_languages};
use crate::threads::{Threads, blocking};

/// The models of a session, each with a pair of languages. A model is loaded at the first text of its pair, so a process that only plans
/// queries has none in memory.
#[derive(Default)]
pub struct Translations {
    pairs: Vec<Pair>,
    options: TranslateOptions,
    choice: DeviceChoice,
    thread_count: Option<usize>,
    /// Opened at the first text.
    device: Mutex<Option<Device>>,
    /// Started at the first text.
    threads: Mutex<Option<Arc<Threads>>>,
}

/// Two languages and their model.
struct Pair {
    from: String,
    to: String,
    model: Arc<LazyModel>,
}

impl Translations {
    /// No model yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// The English-German model inside the library.
    #[cfg(feature = "embedded-model")]
    pub fn embedded() -> Self {
        Self::new().with_origin("en", "de", Origin::Embedded, None)
    }

    /// Adds the model of a folder, as Hugging Face and Firefox publish them. A folder with several languages is added once for each pair,
    /// and loaded once. A later model of the same pair replaces the earlier one.
    ///
    /// The languages are those of the queries. A model with several languages has to know them, by code or by name.
    pub fn with_folder(self, from: &str, to: &str, folder: impl Into<PathBuf>) -> Self {
        self.with_origin(from, to, Origin::Folder(folder.into()), None)
    }

    /// Adds a model that is loaded already.
    pub fn with_translator(self, from: &str, to: &str, translator: Arc<Translator>) -> Self {
        self.with_origin(from, to, Origin::Given, Some(translator))
    }

    fn with_origin(mut self, from: &str, to: &str, origin: Origin, loaded: Option<Arc<Translator>>) -> Self {
        let same = |pair: &&Pair| loaded.is_none() && pair.model.origin == origin;
        let model = match self.pairs.iter().find(same) {
            Some(pair) => pair.model.clone(),
            None => Arc::new(LazyModel::new(origin, loaded)),
        };
        self.pairs.retain(|pair| !pair.is(from, to));
        self.pairs.push(Pair { from: from.to_owned(), to: to.to_owned(), model });
        self
    }

    /// Sets the options of all translations, such as the number of beams. Languages are those of a call.
    pub fn with_options(self, options: TranslateOptions) -> Self {
        Self { options, ..self }
    }

    /// Sets the device of the models that are not loaded yet.
    pub fn with_device(self, choice: DeviceChoice) -> Self {
        Self { choice, ..self }
    }

    /// Sets the number of threads on the CPU, which is also the number of calls that run at once. By default `RAYON_NUM_THREADS`, else
    /// one for each core.
    pub fn with_threads(self, threads: usize) -> Self {
        Self { thread_count: Some(threads), ..self }
    }

    /// The pairs of languages, sources first.
    pub fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|pair| (&*pair.from, &*pair.to))
    }

    /// The function for `SessionContext::register_udf`. SQL calls it `translate`, in the place of PostgreSQL's function of that name, which
    /// exchanges letters; plans call it [`wordloom_translate`](crate::NAME), so that a machine without it fails.
    pub fn function(self) -> ScalarUDF {
        ScalarUDF::new_from_impl(Translate::new(Arc::new(self)))
    }

    /// Checks that there is a model of this pair.
    ///
    /// # Errors
    /// [`FunctionError::UnknownPair`]
    pub(crate) fn check(&self, from: &str, to: &str) -> Result<(), FunctionError> {
        self.pair(from, to).map(drop)
    }

    /// Translates texts, and blocks this thread meanwhile.
    pub(crate) fn translate(
        &self,
        [from, to]: [&str; 2],
        texts: &[&str],
    ) -> Result<Vec<String>, FunctionError> {
        let model = &self.pair(from, to)?.model;
        blocking(|| {
            let threads = self.threads()?;
            let translator = model.translator(&threads, || self.device())?;
            let options = with_languages(&translator, &self.options, [from, to])?;
            let gpu = translator.transformer().device().gpu().is_some();
            let _turn = gpu.then(|| model.turn.lock().unwrap_or_else(PoisonError::into_inner));
            let found = threads.run(|| pollster::block_on(translator.translate(texts, &options)))?;
            Ok(found.into_iter().map(|translation| translation.text).collect())
        })
    }

    fn pair(&self, from: &str, to: &str) -> Result<&Pair, FunctionError> {
        self.pairs.iter().find(|pair| pair.is(from, to)).ok_or_else(|| {
            let known: Vec<String> =
                self.pairs.iter().map(|pair| format!("{:?} to {:?}", pair.from, pair.to)).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            FunctionError::UnknownPair { from: from.to_owned(), to: to.to_owned(), known }
        })
    }

    /// The device of all models.
    fn device(&self) -> Result<Device, FunctionError> {
        let mut device = self.device.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(device) = &*device {
            return Ok(device.clone());
        }
        let opened = pollster::block_on(Device::open(&self.choice))?;
        log::info!("translate: {}", opened.notice(&self.choice));
        if let Some(gpu) = opened.gpu() {
            gpu.listen(|news| log::warn!("translate: {news}"));
        }
        Ok(device.insert(opened).clone())
    }

    fn threads(&self) -> Result<Arc<Threads>, FunctionError> {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(threads) = &*threads {
            return Ok(threads.clone());
        }
        Ok(threads.insert(Arc::new(Threads::new(self.thread_count)?)).clone())
    }
}

impl Pair {
    fn is(&self, from: &str, to: &str) -> bool {
        self.from.eq_ignore_ascii_case(from) && self.to.eq_ignore_ascii_case(to)
    }
}

impl fmt::Debug for Translations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list()
            .entries(self.pairs.iter().map(|pair| (&pair.from, &pair.to, &pair.model.origin)))
            .finish()
    }
}
