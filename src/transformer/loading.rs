//! A model on its way to a device.

use super::Transformer;
use super::error::GenerateError;
use super::loaded::LoadedModel;
use super::options::resolve;
use super::request::GenerateRequest;
use super::session::{DecodeSession, IdleSessions, SessionKey};
use crate::decode::BatchSearch;
use crate::device::Device;
use crate::graph::{Upload, Weights, check_known_answers};
use crate::model::blueprint::CheckpointSource;
use crate::model::config::Architecture;
use crate::model::generation_config::GenerationConfig;
use crate::model::{Model, ModelError};
use crate::precision::{PrecisionChoice, WeightPrecision};

/// Tokens of the sentence that is rehearsed natively: so many that the kernels for many rows are among those compiled.
#[cfg(not(target_arch = "wasm32"))]
const REHEARSED_TOKENS: usize = 24;

impl Transformer {
    /// Brings a model's weights to a device, tensor by tensor. `progress` is told the fraction done.
    ///
    /// # Errors
    /// [`ModelError`] when the folder's file cannot be read, or the device has no room.
    pub fn load(device: &Device, model: &Model, progress: &mut dyn FnMut(f32)) -> Result<Self, ModelError> {
        Self::load_with_weights(device, model, PrecisionChoice::Auto, progress)
    }

    /// As [`Transformer::load`], with weights stored as asked for.
    ///
    /// # Errors
    /// Those of [`Transformer::load`]; [`ModelError::UnstorableWeight`] when a weight is beyond what f16 can hold;
    /// [`GpuError::WrongAnswer`](crate::GpuError::WrongAnswer) when the device cannot read weights stored so. A browser cannot
    /// wait for that answer here: there, [`Loading::check`] asks for it.
    pub fn load_with_weights(
        device: &Device,
        model: &Model,
        choice: PrecisionChoice,
        progress: &mut dyn FnMut(f32),
    ) -> Result<Self, ModelError> {
        let mut loading = Loading::with_weights(device, model, choice)?;
        #[cfg(not(target_arch = "wasm32"))]
        pollster::block_on(loading.check())?;
        while loading.advance(model)? {
            progress(loading.fraction());
        }
        loading.finish()
    }

    /// As [`Transformer::load_with_weights`], for a model that is going to [generate](Self::generate) with `options`, soon:
    /// on a GPU, the kernels that a sentence will need are compiled while weights are read and sent. What is not to be had
    /// for that sentence, memory for example, is no error before something is generated.
    ///
    /// # Errors
    /// As [`Transformer::load_with_weights`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn load_to_generate(
        device: &Device,
        model: &Model,
        choice: PrecisionChoice,
        options: &GenerationConfig,
        progress: &mut dyn FnMut(f32),
    ) -> Result<Self, ModelError> {
        let mut loading = Loading::with_weights(device, model, choice)?;
        pollster::block_on(loading.check())?;
        loading.advance_and_rehearse(model, options, progress)?;
        let transformer = loading.finish()?;
        if let Some(gpu) = device.gpu() {
            gpu.store_pipelines(); // now, because a program may run for long, and be killed
        }
        Ok(transformer)
    }
}

/// A [`Transformer`] whose weights arrive chunk by chunk, in the order of their files: for a page that downloads them
/// and does other things meanwhile. [`Transformer::load`] is for all else.
pub struct Loading {
    transformer: Transformer,
    upload: Upload,
}

impl Loading {
    /// Takes the device's memory for a model, whose weights are stored as [`PrecisionChoice::Auto`] says.
    ///
    /// # Errors
    /// [`ModelError::Gpu`] when it has no room.
    pub fn new(device: &Device, model: &Model) -> Result<Self, ModelError> {
        Self::with_weights(device, model, PrecisionChoice::Auto)
    }

    /// The same with weights stored as asked for.
    ///
    /// # Errors
    /// As [`Loading::new`].
    pub fn with_weights(device: &Device, model: &Model, choice: PrecisionChoice) -> Result<Self, ModelError> {
        // in a browser a software adapter takes seconds more to compile what unpacks f16 than it could save
        let precision = choice.resolve(model.stored_precision(), !device.class().is_software());
        let blueprint = model.blueprint().clone();
        let upload = Upload::new(blueprint.file_order(model.checkpoint()));
        let model = LoadedModel {
            device: device.clone(),
            config: model.config().clone(),
            generation: model.generation_config().clone(),
            weights: Weights::allocate(device, &blueprint.table, precision)?,
            blueprint,
        };
        let transformer = Transformer { model, idle: IdleSessions::default(), muted: Vec::new() };
        Ok(Self { transformer, upload })
    }

    /// A model whose weights never come, for what only its shapes decide.
    pub(super) fn shapes_of(model: &Model) -> Result<Transformer, ModelError> {
        Ok(Self::with_weights(&Device::Cpu, model, PrecisionChoice::Is(WeightPrecision::F32))?.transformer)
    }

    /// Makes sure that the device reads weights as they are stored, with a small test whose answers are known. Nothing to do
    /// for f32, and on the CPU.
    ///
    /// # Errors
    /// [`GpuError::WrongAnswer`](crate::GpuError::WrongAnswer) if it does not.
    pub async fn check(&self) -> Result<(), ModelError> {
        if let Some(gpu) = self.transformer.model.device.gpu() {
            check_known_answers(gpu, self.transformer.precision()).await?;
        }
        Ok(())
    }

    /// Brings one more chunk of the weights, a megabyte or so, to the device; `false` when all are there.
    ///
    /// # Errors
    /// [`ModelError`]. After [`ModelError::NotArrived`] the same chunk can be tried again.
    pub fn advance(&mut self, model: &Model) -> Result<bool, ModelError> {
        let LoadedModel { device, blueprint, weights, .. } = &mut self.transformer.model;
        let mut source = CheckpointSource { blueprint, checkpoint: model.checkpoint() };
        self.upload.advance(device.gpu(), &blueprint.table, weights, &mut source)
    }

    /// Bytes of weights, counted as f32, that have arrived.
    pub fn bytes(&self) -> u64 {
        self.upload.elements() as u64 * 4
    }

    /// Bytes of all weights, counted as f32.
    pub fn total_bytes(&self) -> u64 {
        self.transformer.model.blueprint.table.elements() as u64 * 4
    }

    /// Submits the programs of a short sentence with the weights that are there, so that their pipelines are compiled
    /// while the others arrive. The session stays for the first sentence of that size.
    ///
    /// # Errors
    /// [`GenerateError`] when the device refuses something.
    pub fn warm_up(&self, options: &GenerationConfig) -> Result<(), GenerateError> {
        rehearse(&self.transformer, options, 1)
    }

    /// Brings all weights to the device, and meanwhile, on another thread, does as [`warm_up`](Self::warm_up) does. What
    /// the rehearsal fails with is left for generation to meet: perhaps nothing will be generated, or something else.
    ///
    /// # Errors
    /// As [`advance`](Self::advance).
    #[cfg(not(target_arch = "wasm32"))]
    pub(super) fn advance_and_rehearse(
        &mut self,
        model: &Model,
        options: &GenerationConfig,
        progress: &mut dyn FnMut(f32),
    ) -> Result<(), ModelError> {
        let Self { transformer, upload } = self;
        let transformer = &*transformer;
        let Some(gpu) = transformer.model.device.gpu() else {
            while self.advance(model)? {
                progress(self.fraction());
            }
            return Ok(()); // the CPU has nothing to compile
        };
        let LoadedModel { blueprint, weights, .. } = &transformer.model;
        let elements = blueprint.table.elements().max(1) as f32;
        std::thread::scope(|scope| {
            let rehearsal = std::thread::Builder::new().name("rehearsal".into());
            // where there is no thread to be had, the first sentence compiles what it needs
            let _ = rehearsal.spawn_scoped(scope, || {
                gpu.apart(|| match rehearse(transformer, options, REHEARSED_TOKENS) {
                    Err(GenerateError::Gpu(error)) => Err(error),
                    _ => Ok(()),
                })
            });
            let mut source = CheckpointSource { blueprint, checkpoint: model.checkpoint() };
            while upload.advance_on_gpu(gpu, &blueprint.table, weights, &mut source)? {
                progress(upload.elements() as f32 / elements);
            }
            Ok(())
        })
    }

    /// How much of the weights has arrived.
    pub(super) fn fraction(&self) -> f32 {
        self.bytes() as f32 / self.total_bytes().max(1) as f32
    }

    /// The model on its device.
    ///
    /// # Errors
    /// [`ModelError::Gpu`] of anything that the device could not do.
    ///
    /// # Panics
    /// When weights are missing: [`advance`](Self::advance) has to say `false` first.
    pub fn finish(self) -> Result<Transformer, ModelError> {
        assert_eq!(self.bytes(), self.total_bytes(), "all weights have to be there");
        if let Some(gpu) = self.transformer.model.device.gpu() {
            gpu.flush()?;
        }
        Ok(self.transformer)
    }
}

/// Makes the session of a sentence of `tokens` tokens, and submits its programs with the weights that are there.
fn rehearse(
    transformer: &Transformer,
    options: &GenerationConfig,
    tokens: usize,
) -> Result<(), GenerateError> {
    let config = &transformer.model.config;
    if config.architecture() == Architecture::EncoderOnly {
        return Ok(());
    }
    let input_ids = vec![config.tokens.pad; tokens.min(config.positions.count())];
    // a model without a decoder, or one that needs more options, has nothing to rehearse
    let Ok(options) = resolve(options, &transformer.model.generation, config, &input_ids) else {
        return Ok(());
    };
    let request = GenerateRequest { input_ids, options };
    if transformer.check_request(&request).is_err() {
        return Ok(());
    }
    let mut search = BatchSearch::new(vec![request.options.clone()])?;
    let mut session = DecodeSession::new(
        &transformer.model,
        SessionKey::new(&transformer.model, &[&request], &search, 0, false),
    )?;
    session.rehearse(&transformer.model, &request, &mut search);
    transformer.idle.put(session);
    Ok(())
}
