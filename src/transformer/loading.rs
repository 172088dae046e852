use std::sync::{Arc, RwLock};

use super::Transformer;
use super::attempts::Recovery;
use super::edited::Edited;
use super::error::GenerateError;
use super::loaded::{HostModel, LoadedModel};
use super::options::resolve;
use super::placed::Placed;
use super::queue::Followers;
use super::request::GenerateRequest;
use super::session::{DecodeSession, IdleSessions, SessionKey};
#[cfg(not(target_arch = "wasm32"))]
use crate::answers;
use crate::decode::BatchSearch;
use crate::device::Device;
#[cfg(not(target_arch = "wasm32"))]
use crate::gpu::GpuError;
use crate::graph::{Upload, Weights, check_known_answers};
use crate::model::blueprint::CheckpointSource;
use crate::model::config::{Architecture, Family};
use crate::model::generation_config::GenerationConfig;
use crate::model::{Model, ModelError, Switches};
use crate::precision::{InputRounding, PrecisionChoice, WeightPrecision};

/// Tokens of the rehearsed sentence: enough that the kernels for many rows are compiled, too.
#[cfg(not(target_arch = "wasm32"))]
const REHEARSED_TOKENS: usize = 24;

impl Transformer {
    /// Loads weights to a device, tensor by tensor. `progress` gets the loaded fraction.
    ///
    /// # Errors
    /// [`ModelError`] if a file cannot be read, or the device has no room.
    pub fn load(device: &Device, model: &Model, progress: &mut dyn FnMut(f32)) -> Result<Self, ModelError> {
        Self::load_with_weights(device, model, PrecisionChoice::Auto, progress)
    }

    /// As [`Transformer::load`], with a chosen storage format.
    ///
    /// # Errors
    /// Those of [`Transformer::load`]; [`ModelError::UnstorableWeight`] if f16 cannot hold a weight;
    /// [`GpuError::WrongAnswer`] if the device reads the format wrongly. A browser cannot
    /// wait for that check here; it calls [`Loading::check`].
    pub fn load_with_weights(
        device: &Device,
        model: &Model,
        choice: PrecisionChoice,
        progress: &mut dyn FnMut(f32),
    ) -> Result<Self, ModelError> {
        let load = |device: &Device| {
            let mut loading = Loading::with_weights(device, model, choice)?;
            #[cfg(not(target_arch = "wasm32"))]
            pollster::block_on(loading.check())?;
            while loading.advance(model)? {
                progress(loading.fraction());
            }
            loading.finish()
        };
        Self::load_lasting(device, model, choice, load)
    }

    /// Loads a model; after a loss, the page's engine does so again.
    #[cfg(target_arch = "wasm32")]
    fn load_lasting(
        device: &Device,
        _: &Model,
        _: PrecisionChoice,
        mut load: impl FnMut(&Device) -> Result<Self, ModelError>,
    ) -> Result<Self, ModelError> {
        load(device)
    }

    /// Loads a model that goes on after the loss of its device, which may also be lost here.
    #[cfg(not(target_arch = "wasm32"))]
    fn load_lasting(
        device: &Device,
        model: &Model,
        choice: PrecisionChoice,
        mut load: impl FnMut(&Device) -> Result<Self, ModelError>,
    ) -> Result<Self, ModelError> {
        let loaded = match load(device) {
            Err(ModelError::Gpu(lost @ GpuError::Lost { .. })) => {
                load(&pollster::block_on(device.reopen(lost))?).map_err(|error| match error {
                    ModelError::Gpu(GpuError::Lost { adapter, reason }) => {
                        GpuError::LostAgain { adapter, reason }.into()
                    }
                    error => error,
                })
            }
            loaded => loaded,
        };
        let mut transformer = loaded?;
        transformer.recovery.source = Some((model.clone(), choice));
        Ok(transformer)
    }

    /// The storage format that [`Transformer::load_with_weights`] takes.
    pub fn precision_on(device: &Device, model: &Model, choice: PrecisionChoice) -> WeightPrecision {
        // in a browser a software adapter would lose more time compiling the unpacking of f16 than f16 saves
        let gains = !device.class().is_software() || (device.gpu().is_none() && model.is_trained_in_8_bits());
        choice.resolve(model.stored_precision(), gains)
    }

    /// As [`Transformer::load_with_weights`], for a model that will soon [generate](Self::generate) with `options`: on
    /// a GPU, kernels are compiled while weights load. A failure of this preparation is no error; the generation
    /// reports it.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn load_to_generate(
        device: &Device,
        model: &Model,
        choice: PrecisionChoice,
        options: &GenerationConfig,
        progress: &mut dyn FnMut(f32),
    ) -> Result<Self, ModelError> {
        let transformer = Self::load_lasting(device, model, choice, |device| {
            let mut loading = Loading::with_weights(device, model, choice)?;
            pollster::block_on(loading.check())?;
            loading.advance_and_rehearse(model, options, progress)?;
            loading.finish()
        })?;
        if let Some(gpu) = transformer.device().gpu() {
            gpu.store_pipelines(); // now, because a long-running program may be killed
        }
        Ok(transformer)
    }
}

/// Zeros for a model's weights, in the chosen format.
pub(super) fn allocate(
    device: &Device,
    model: &Model,
    choice: PrecisionChoice,
) -> Result<Weights, ModelError> {
    let rounding = choice.input_rounding();
    if rounding == InputRounding::EightBits && device.gpu().is_some() {
        return Err(ModelError::EightBitInputs { device: device.to_string() });
    }
    let precision = Transformer::precision_on(device, model, choice);
    Ok(Weights::allocate(device, &model.blueprint().table, precision)?.with_input_rounding(rounding))
}

/// A [`Transformer`] whose weights arrive chunk by chunk, for a page that downloads them; else [`Transformer::load`].
pub struct Loading {
    transformer: Transformer,
    upload: Upload,
}

impl Loading {
    /// Allocates a model on a device, with [`PrecisionChoice::Auto`].
    ///
    /// # Errors
    /// [`ModelError::Gpu`] if the device has no room.
    pub fn new(device: &Device, model: &Model) -> Result<Self, ModelError> {
        Self::with_weights(device, model, PrecisionChoice::Auto)
    }

    /// As [`Loading::new`], with a chosen storage format.
    pub fn with_weights(device: &Device, model: &Model, choice: PrecisionChoice) -> Result<Self, ModelError> {
        let blueprint = model.blueprint().clone();
        let upload = Upload::new(blueprint.file_order(model.checkpoint()));
        let weights = allocate(device, model, choice)?;
        let host = Arc::new(HostModel {
            config: model.config().clone(),
            generation: model.generation_config().clone(),
            shortlist: match model.config().family {
                Family::Firefox => model.shortlist()?.map(Arc::new),
                _ => None,
            },
            blueprint,
        });
        let own_kinds = host.config.encoder_kinds.clone();
        let model = LoadedModel { host: host.clone(), device: device.clone(), weights };
        let transformer = Transformer {
            host,
            placed: RwLock::new(Arc::new(Placed { model, idle: IdleSessions::default() })),
            recovery: Recovery::default(),
            muted: Vec::new(),
            switches: Switches::default(),
            edits: Edited::default(),
            own_kinds,
        };
        Ok(Self { transformer, upload })
    }

    /// A model without weights, for its shapes.
    pub(super) fn shapes_of(model: &Model) -> Result<Transformer, ModelError> {
        Ok(Self::with_weights(&Device::Cpu, model, PrecisionChoice::Is(WeightPrecision::F32))?.transformer)
    }

    /// Checks with a small test that the device reads the storage format of weights; no test for f32 and on the CPU.
    pub async fn check(&self) -> Result<(), ModelError> {
        if let Some(gpu) = self.transformer.device().gpu() {
            check_known_answers(gpu, self.transformer.precision()).await?;
        }
        Ok(())
    }

    /// Loads one more chunk of weights, about a megabyte; `false` if all are loaded.
    ///
    /// # Errors
    /// [`ModelError`]. After [`ModelError::NotArrived`] the same chunk can be tried again.
    pub fn advance(&mut self, model: &Model) -> Result<bool, ModelError> {
        let LoadedModel { host, device, weights } = &mut self.transformer.placed_mut().model;
        let blueprint = &host.blueprint;
        let mut source = CheckpointSource { blueprint, checkpoint: model.checkpoint() };
        self.upload.advance(device.gpu(), &blueprint.table, weights, &mut source)
    }

    /// Bytes of loaded weights, counted as f32.
    pub fn bytes(&self) -> u64 {
        self.upload.elements() as u64 * 4
    }

    /// Bytes of all weights, counted as f32.
    pub fn total_bytes(&self) -> u64 {
        self.transformer.host.blueprint.table.elements() as u64 * 4
    }

    /// Submits the programs of a short sentence with the weights loaded so far, so that pipelines are compiled
    /// meanwhile. The session stays for the first sentence of that size.
    pub fn warm_up(&self, options: &GenerationConfig) -> Result<(), GenerateError> {
        rehearse(&self.transformer, options, 1)
    }

    /// Loads all weights; another thread does as [`warm_up`](Self::warm_up), whose errors the generation will report.
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn advance_and_rehearse(
        &mut self,
        model: &Model,
        options: &GenerationConfig,
        progress: &mut dyn FnMut(f32),
    ) -> Result<(), ModelError> {
        let Self { transformer, upload } = self;
        let transformer = &*transformer;
        let placed = transformer.model();
        let Some(gpu) = placed.device.gpu() else {
            drop(placed); // to be changed
            while self.advance(model)? {
                progress(self.fraction());
            }
            return Ok(()); // the CPU has nothing to compile
        };
        let (blueprint, weights) = (&transformer.host.blueprint, &placed.weights);
        let elements = blueprint.table.elements().max(1) as f32;
        std::thread::scope(|scope| {
            let rehearsal = std::thread::Builder::new().name("rehearsal".into());
            // a caller with a pool of its own does without rayon's global one, whose threads are not in a forked child
            let threads = rayon::current_thread_index().map(|_| rayon::current_num_threads());
            // without a thread, the first sentence compiles its kernels
            let _ = rehearsal.spawn_scoped(scope, move || {
                on_a_pool(threads, || {
                    let _ = gpu.apart(|| {
                        answers::check_new(&transformer.device(), transformer.precision())?;
                        match rehearse(transformer, options, REHEARSED_TOKENS) {
                            Err(GenerateError::Gpu(error)) => Err(error),
                            _ => Ok(()),
                        }
                    });
                });
            });
            let mut source = CheckpointSource { blueprint, checkpoint: model.checkpoint() };
            while upload.advance_on_gpu(gpu, &blueprint.table, weights, &mut source)? {
                progress(upload.elements() as f32 / elements);
            }
            Ok(())
        })
    }

    pub(super) fn fraction(&self) -> f32 {
        self.bytes() as f32 / self.total_bytes().max(1) as f32
    }

    /// Returns the loaded model.
    ///
    /// # Panics
    /// If weights are missing: [`advance`](Self::advance) has not returned `false`.
    pub fn finish(self) -> Result<Transformer, ModelError> {
        assert_eq!(self.bytes(), self.total_bytes(), "all weights have to be there");
        if let Some(gpu) = self.transformer.device().gpu() {
            gpu.flush()?;
        }
        Ok(self.transformer)
    }
}

/// Runs work on a pool of its own with so many threads, if there can be one, or on rayon's global pool.
#[cfg(not(target_arch = "wasm32"))]
fn on_a_pool(threads: Option<usize>, work: impl FnOnce() + Send) {
    let Some(threads) = threads else { return work() };
    if let Ok(pool) = rayon::ThreadPoolBuilder::new().num_threads(threads).build() {
        pool.install(work);
    }
}

/// Makes the session of a sentence of `tokens` tokens, and submits its programs with the weights loaded so far.
fn rehearse(
    transformer: &Transformer,
    options: &GenerationConfig,
    tokens: usize,
) -> Result<(), GenerateError> {
    let config = &transformer.host.config;
    if config.architecture() == Architecture::EncoderOnly {
        return Ok(());
    }
    let input_ids = vec![config.tokens.pad; tokens.min(config.source_positions().count())];
    // a model without a decoder, or with missing options, has nothing to rehearse
    let Ok(options) = resolve(options, &transformer.host.generation, config, &input_ids) else {
        return Ok(());
    };
    let mut request = GenerateRequest::new(input_ids, options);
    transformer.host.resolve_columns(&mut request);
    if transformer.check_request(&request).is_err() {
        return Ok(());
    }
    let mut search = BatchSearch::new(vec![request.options.clone()])?;
    let placed = transformer.model();
    let key = SessionKey::new(&placed, &[&request], &search, Followers::None, false);
    let mut session = DecodeSession::new(&placed, key)?;
    session.rehearse(&placed, &request, &mut search)?;
    placed.idle.put(&placed.device, session);
    Ok(())
}
