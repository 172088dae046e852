//! Translators that work side by side, each on a device of its own or on a share of the processors.

use std::str::FromStr;
use std::sync::Arc;

use rayon::{ThreadPool, ThreadPoolBuilder};
use wordloom::device::Gpu;
use wordloom::gpu;
use wordloom::kernels::AdapterClass;
use wordloom::model::generation_config::GenerationConfig;
use wordloom::precision::PrecisionChoice;
use wordloom::translate::Quality;
use wordloom::{Device, DeviceChoice, TranslateError, TranslateOptions, Translation, Translator};
use wordloom_corpus::{CorpusError, Translate, Translated};

use crate::choice::Chosen;
use crate::setup::{load, open_device};
use crate::{CliError, notice};

/// The value of `--devices`.
#[derive(Clone, Debug)]
pub enum Devices {
    /// Every hardware GPU.
    All,
    /// A worker for each.
    Each(Vec<DeviceChoice>),
}

impl FromStr for Devices {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.trim() {
            "all" => Ok(Self::All),
            list => list.split(',').map(str::parse).collect::<Result<_, _>>().map(Self::Each),
        }
    }
}

impl Devices {
    /// Opens them. CPU workers share the processors.
    fn open(&self) -> Result<Vec<Device>, CliError> {
        match self {
            Self::Each(choices) => choices.iter().map(open_device).collect(),
            Self::All => {
                let adapters = pollster::block_on(gpu::adapters());
                let hardware =
                    adapters.into_iter().filter(|adapter| adapter.class() == AdapterClass::Hardware);
                let open = |adapter: gpu::Adapter| {
                    notice(&format!("a worker on {}", adapter.name()));
                    Ok(Device::Gpu(Arc::new(pollster::block_on(Gpu::open(adapter))?)))
                };
                let devices = hardware.map(open).collect::<Result<Vec<_>, CliError>>()?;
                if devices.is_empty() {
                    let none = "--devices all: there is no hardware GPU; --devices cpu takes the processors";
                    return Err(CliError::Usage(none.into()));
                }
                Ok(devices)
            }
        }
    }
}

/// A model on a device.
pub struct Worker {
    translator: Translator,
    options: TranslateOptions,
    /// The threads of its own, if it shares the processors with others.
    threads: Option<ThreadPool>,
}

impl Worker {
    /// Loads the model on each device.
    pub fn load_each(
        devices: &Devices,
        chosen: &Chosen,
        weights: PrecisionChoice,
        options: &TranslateOptions,
        generation: &GenerationConfig,
    ) -> Result<Vec<Box<dyn Translate>>, CliError> {
        let devices = devices.open()?;
        let on_cpu = devices.iter().filter(|device| device.gpu().is_none()).count();
        let processors = std::thread::available_parallelism().map_or(1, usize::from);
        let threads = || {
            let pool = ThreadPoolBuilder::new().num_threads((processors / on_cpu).max(1)).build();
            pool.map_err(|error| CliError::Input(format!("cannot start the threads of a worker: {error}")))
        };
        let mut workers: Vec<Box<dyn Translate>> = Vec::new();
        for device in &devices {
            let transformer = load(device, &chosen.model, weights, Some(generation))?;
            let translator = Translator::from_parts(transformer, Translator::tokenizer_of(&chosen.model)?);
            let shares = device.gpu().is_none() && on_cpu > 1;
            let threads = shares.then(threads).transpose()?;
            workers.push(Box::new(Self { translator, options: options.clone(), threads }));
        }
        Ok(workers)
    }
}

impl Translate for Worker {
    fn translate(
        &mut self,
        texts: &[&str],
        done: &mut (dyn FnMut(f64) + Send),
    ) -> Result<Vec<Translated>, CorpusError> {
        let Self { translator, options, threads } = self;
        match threads {
            Some(threads) => threads.install(|| translate(translator, options, texts, done)),
            None => translate(translator, options, texts, done),
        }
    }
}

fn translate(
    translator: &mut Translator,
    options: &TranslateOptions,
    texts: &[&str],
    done: &mut (dyn FnMut(f64) + Send),
) -> Result<Vec<Translated>, CorpusError> {
    let translator = &*translator;
    let mut translated = Vec::with_capacity(texts.len());
    let mut stream = translator.stream(texts, options).map_err(failed)?;
    while let Some(update) = pollster::block_on(stream.next()).map_err(failed)? {
        translated.extend(update.translations.iter().map(counted));
        done(f64::from(update.fraction));
    }
    Ok(translated)
}

fn failed(error: TranslateError) -> CorpusError {
    use wordloom::transformer::GenerateError;
    match error {
        TranslateError::Generate(GenerateError::Cancelled) => CorpusError::Cancelled,
        error => CorpusError::Translate(Box::new(error)),
    }
}

/// A translation with what the report counts.
fn counted(translation: &Translation) -> Translated {
    let best = || translation.sentences.iter().filter_map(|sentence| sentence.hypotheses.first());
    let trust = translation.sentences.iter().filter_map(Quality::of).map(|quality| quality.trust);
    let count = |tokens: usize| u32::try_from(tokens).unwrap_or(u32::MAX);
    Translated {
        text: translation.text.clone(),
        trust: trust.reduce(f32::min), // a text is as good as its worst sentence
        source_tokens: count(translation.sentences.iter().map(|sentence| sentence.source_ids.len()).sum()),
        tokens: count(best().map(|best| best.search.step_logprobs.len()).sum()),
        cut: best().any(|best| best.reached_max_length),
    }
}
