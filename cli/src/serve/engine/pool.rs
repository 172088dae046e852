//! The offered models. Loaded ones share a memory budget: the least recently used makes room for the next.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Instant;

use indicatif::BinaryBytes;
use tokio::sync::Notify;
use wordloom::model::generation_config::GenerationConfig;
use wordloom::{Device, Model, Transformer, Translator, WeightPrecision};
use wordloom_hub::{Choosable, Language, Route, choose, direct, sources, targets, written};

use super::super::super::setup::DeviceArguments;
use super::super::super::{CliError, notice};
use super::model::{Failure, Lease, LoadedModel, blocking};

pub struct PoolOptions {
    /// Device of all models; it is opened for the first one.
    pub device: DeviceArguments,
    /// Bytes of weights of all loaded models.
    pub memory: u64,
    /// Bytes of each model's cache of sentences.
    pub cache: usize,
}

pub struct Pool {
    options: PoolOptions,
    device: OnceLock<Device>,
    offered: Vec<Choosable>,
    loaded: Mutex<Vec<Loaded>>,
    /// One model is loaded at a time.
    loading: tokio::sync::Mutex<()>,
    freed: Arc<Notify>,
    loads: AtomicU64,
}

struct Loaded {
    /// Index among the offered models.
    index: usize,
    model: Arc<LoadedModel>,
    used: Instant,
}

/// Numbers for the metrics.
#[derive(Default)]
pub struct Numbers {
    pub loaded: usize,
    pub bytes: u64,
    pub loads: u64,
    pub waiting: usize,
    pub running: usize,
}

impl Pool {
    pub fn new(offered: Vec<Choosable>, options: PoolOptions) -> Self {
        Self {
            offered,
            options,
            device: OnceLock::new(),
            loaded: Mutex::default(),
            loading: tokio::sync::Mutex::default(),
            freed: Arc::default(),
            loads: AtomicU64::new(0),
        }
    }

    /// The models of a pair of languages. `None` if there are none.
    pub fn route(&self, from: &Language, to: &Language) -> Option<Route> {
        choose(&self.offered, from, to)
    }

    /// Pairs of languages that one model translates.
    pub fn direct_pairs(&self) -> Vec<[Language; 2]> {
        let [read, written] = self.languages();
        let pairs = read.iter().flat_map(|from| written.iter().map(move |to| [from, to]));
        let is_direct =
            |[from, to]: &[&Language; 2]| !from.fits(to) && direct(&self.offered, from, to).is_some();
        pairs.filter(is_direct).map(|pair| pair.map(Language::clone)).collect()
    }

    /// Languages that can be read, and written.
    pub fn languages(&self) -> [Vec<Language>; 2] {
        [sources(&self.offered), written(&self.offered)]
    }

    /// Languages that can be reached from a language.
    pub fn targets(&self, from: &Language) -> Vec<Language> {
        targets(&self.offered, from)
    }

    pub fn numbers(&self) -> Numbers {
        let loaded = self.locked();
        let numbers =
            Numbers { loaded: loaded.len(), loads: self.loads.load(Ordering::Relaxed), ..Numbers::default() };
        loaded.iter().fold(numbers, |numbers, Loaded { model, .. }| {
            let [waiting, running] = model.counts();
            Numbers {
                bytes: numbers.bytes + model.bytes(),
                waiting: numbers.waiting + waiting,
                running: numbers.running + running,
                ..numbers
            }
        })
    }

    /// A model, which is loaded first if it is not in memory.
    pub async fn lease(self: &Arc<Self>, index: usize) -> Result<Lease, Failure> {
        if let Some(lease) = self.in_memory(index) {
            return Ok(lease);
        }
        let _one = self.loading.lock().await;
        if let Some(lease) = self.in_memory(index) {
            return Ok(lease); // loaded meanwhile
        }
        let (pool, name) = (self.clone(), self.offered[index].name.clone());
        let opened = blocking(move || pool.open(index)).await?;
        let (model, bytes) = opened.map_err(|error| Failure::Broken(format!("{name}: {error}")))?;
        self.make_room(&name, bytes).await?;
        let pool = self.clone();
        let started = Instant::now();
        let loaded = blocking(move || pool.load(index, &model)).await?;
        let model = Arc::new(loaded.map_err(|error| Failure::Broken(format!("{name}: {error}")))?);
        self.loads.fetch_add(1, Ordering::Relaxed);
        notice(&format!(
            "loaded {name}: {}, {:.1} s",
            BinaryBytes(model.bytes()),
            started.elapsed().as_secs_f32()
        ));
        self.locked().push(Loaded { index, model: model.clone(), used: Instant::now() });
        Ok(Lease { model, freed: self.freed.clone() })
    }

    fn in_memory(&self, index: usize) -> Option<Lease> {
        let mut loaded = self.locked();
        loaded.retain(|loaded| loaded.index != index || !loaded.model.is_broken());
        let found = loaded.iter_mut().find(|loaded| loaded.index == index)?;
        found.used = Instant::now();
        Some(Lease { model: found.model.clone(), freed: self.freed.clone() })
    }

    /// Opens a model, and estimates the bytes of its weights on the device.
    fn open(&self, index: usize) -> Result<(Model, u64), CliError> {
        let offered = &self.offered[index];
        let model = Model::from_files(offered.place.files()?)?;
        if self.device.get().is_none() {
            let _ = self.device.set(self.options.device.open()?); // one model is opened at a time
        }
        // quarters of the size in f32
        let quarters = |precision| match precision {
            WeightPrecision::F32 => 4,
            WeightPrecision::F16 => 2,
            WeightPrecision::Q8 => 1,
        };
        let stored = quarters(model.stored_precision());
        let kept = quarters(Transformer::precision_on(self.device()?, &model, self.options.device.weights));
        Ok((model, offered.bytes / stored * kept))
    }

    fn device(&self) -> Result<&Device, CliError> {
        self.device.get().ok_or_else(|| CliError::Input("no device is open".into()))
    }

    fn load(&self, index: usize, model: &Model) -> Result<LoadedModel, CliError> {
        let PoolOptions { device: DeviceArguments { weights, .. }, cache, .. } = &self.options;
        let tokenizer = Translator::tokenizer_of(model)?;
        let options = GenerationConfig::default();
        let transformer =
            Transformer::load_to_generate(self.device()?, model, *weights, &options, &mut |_| {})?;
        let translator = Translator::from_parts(transformer, tokenizer).with_cache(*cache);
        LoadedModel::start(translator, &self.offered[index].name)
            .map_err(|source| CliError::Io { what: "cannot start a thread".into(), source })
    }

    /// Removes least recently used models until another one fits. Waits for those in use.
    async fn make_room(&self, name: &str, bytes: u64) -> Result<(), Failure> {
        let memory = self.options.memory;
        if bytes > memory {
            let [needed, memory] = [bytes, memory].map(BinaryBytes);
            return Err(Failure::Broken(format!("{name} takes about {needed}; --memory is {memory}")));
        }
        loop {
            let freed = self.freed.notified();
            tokio::pin!(freed);
            freed.as_mut().enable(); // what is freed from here on counts
            let removed = {
                let mut loaded = self.locked();
                let used: u64 = loaded.iter().map(|loaded| loaded.model.bytes()).sum();
                if used + bytes <= memory {
                    return Ok(());
                }
                let idle =
                    loaded.iter().enumerate().filter(|(_, loaded)| Arc::strong_count(&loaded.model) == 1);
                let oldest = idle.min_by_key(|(_, loaded)| loaded.used).map(|(place, _)| place);
                oldest.map(|place| loaded.remove(place))
            };
            match removed {
                Some(Loaded { index, model, .. }) => {
                    notice(&format!("unloaded {}", self.offered[index].name));
                    blocking(move || drop(model)).await?; // its memory is free when its thread has ended
                }
                None => freed.await,
            }
        }
    }

    fn locked(&self) -> MutexGuard<'_, Vec<Loaded>> {
        self.loaded.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
