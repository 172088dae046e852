//! A model on its way to a device.

use super::Transformer;
use super::generate::GenerateError;
use super::session::{DecodeSession, IdleSessions, SessionKey};
use super::{GenerateRequest, resolve};
use crate::decode::BatchSearch;
use crate::device::Device;
use crate::graph::{Upload, Weights};
use crate::model::blueprint::CheckpointSource;
use crate::model::config::Architecture;
use crate::model::generation_config::GenerationConfig;
use crate::model::{Model, ModelError};

/// A [`Transformer`] whose weights arrive chunk by chunk, in the order of their files: for a page that downloads them
/// and does other things meanwhile. [`Transformer::load`] is for all else.
pub struct Loading {
    transformer: Transformer,
    upload: Upload,
}

impl Loading {
    /// Takes the device's memory for a model.
    ///
    /// # Errors
    /// [`ModelError::Gpu`] when it has no room.
    pub fn new(device: &Device, model: &Model) -> Result<Self, ModelError> {
        let blueprint = model.blueprint().clone();
        let upload = Upload::new(blueprint.file_order(model.checkpoint()));
        let transformer = Transformer {
            device: device.clone(),
            config: model.config().clone(),
            generation: model.generation_config().clone(),
            weights: Weights::allocate(device, &blueprint.table)?,
            blueprint,
            idle: IdleSessions::default(),
        };
        Ok(Self { transformer, upload })
    }

    /// Brings one more chunk of the weights, a megabyte or so, to the device; `false` when all are there.
    ///
    /// # Errors
    /// [`ModelError`]. After [`ModelError::NotArrived`] the same chunk can be tried again.
    pub fn advance(&mut self, model: &Model) -> Result<bool, ModelError> {
        let Transformer { device, blueprint, weights, .. } = &mut self.transformer;
        let mut source = CheckpointSource { blueprint, checkpoint: model.checkpoint() };
        self.upload.advance(device.gpu(), &blueprint.table, weights, &mut source)
    }

    /// Bytes of weights, counted as f32, that have arrived.
    pub fn bytes(&self) -> u64 {
        self.upload.elements() as u64 * 4
    }

    /// Bytes of all weights, counted as f32.
    pub fn total_bytes(&self) -> u64 {
        self.transformer.blueprint.table.bytes()
    }

    /// Submits the programs of a short sentence with the weights that are there, so that their pipelines are compiled
    /// while the others arrive. The session stays for the first sentence of that size.
    ///
    /// # Errors
    /// [`GenerateError`] when the device refuses something.
    pub fn warm_up(&self, options: &GenerationConfig) -> Result<(), GenerateError> {
        let transformer = &self.transformer;
        let config = &transformer.config;
        if config.architecture() == Architecture::EncoderOnly {
            return Ok(());
        }
        let input_ids = vec![config.tokens.pad];
        // what generates nothing, or not without more being said, has nothing to rehearse
        let Ok(options) = resolve(options, &transformer.generation, config, &input_ids) else {
            return Ok(());
        };
        let search = BatchSearch::new(vec![options.clone()])?;
        let request = GenerateRequest { input_ids, options };
        let mut session = DecodeSession::new(transformer, SessionKey::new(config, &[&request], &search))?;
        session.rehearse(transformer, &request, &search);
        transformer.idle.put(session);
        Ok(())
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
        if let Some(gpu) = self.transformer.device.gpu() {
            gpu.flush()?;
        }
        Ok(self.transformer)
    }
}
