//! What a model does when its device is lost, or out of memory: it goes on.
//!
//! Every run is an attempt on the model where it is now. After a loss, the device is [opened again](crate::Device::reopen),
//! weights are read again, with all edits, and what was not finished begins anew. Results are the same. In a browser, files
//! come from JavaScript while a future waits, so there the page's engine loads the model again, and begins its call anew.

use std::sync::Arc;
#[cfg(not(target_arch = "wasm32"))]
use std::sync::PoisonError;
use std::sync::atomic::Ordering;

use super::Transformer;
use super::attempts::{Attempts, DeviceFault};
use super::placed::Placed;
use crate::gpu::{DeviceNews, GpuError};
#[cfg(not(target_arch = "wasm32"))]
use {
    super::loaded::LoadedModel,
    super::loading::allocate,
    super::session::IdleSessions,
    crate::device::Device,
    crate::graph::{Upload, check_known_answers},
    crate::model::blueprint::CheckpointSource,
    crate::model::edits::EditedSource,
    crate::model::{Model, ModelError},
    crate::precision::PrecisionChoice,
};

impl Transformer {
    /// Number of devices that were replaced since the model was loaded: what was kept on a device before is gone.
    pub(crate) fn replaced_devices(&self) -> usize {
        self.recovery.replaced.load(Ordering::Relaxed)
    }

    /// Runs `run` on the model; if the device is lost meanwhile, once more.
    pub(super) async fn lasting<T, E: DeviceFault>(
        &self,
        run: impl AsyncFn(&Placed) -> Result<T, E>,
    ) -> Result<T, E> {
        let mut attempts = Attempts::default();
        loop {
            let model = self.model();
            match run(&model).await {
                Ok(done) => return Ok(done),
                Err(error) => self.overcome(&model, error, &mut attempts, 1)?,
            }
        }
    }

    /// Prepares another attempt after an error of a batch on `model`.
    ///
    /// # Errors
    /// `error` if nothing helps; [`GpuError::LostAgain`], [`GpuError::NotReplaced`].
    pub(super) fn overcome<E: DeviceFault>(
        &self,
        model: &Arc<Placed>,
        error: E,
        attempts: &mut Attempts,
        sentences: usize,
    ) -> Result<(), E> {
        match error.device_fault() {
            Some(GpuError::Lost { adapter, reason }) if attempts.lost => {
                Err(GpuError::LostAgain { adapter: adapter.clone(), reason: reason.clone() }.into())
            }
            Some(lost @ GpuError::Lost { .. }) => {
                attempts.lost = true;
                Ok(self.replace(model, lost.clone())?)
            }
            Some(GpuError::OutOfMemory { adapter, .. } | GpuError::NoRoom { adapter, .. }) => {
                if model.idle.clear() {
                    return Ok(()); // their memory may be enough
                }
                if sentences <= 1 {
                    return Err(error);
                }
                let fewer = sentences / 2;
                self.recovery.most_sentences.fetch_min(fewer, Ordering::Relaxed);
                if let Some(gpu) = model.device.gpu() {
                    gpu.tell(&DeviceNews::Smaller { adapter: adapter.clone(), sentences: fewer });
                }
                Ok(())
            }
            _ => Err(error),
        }
    }

    /// After an error in reading what a run kept on the device of `model`: prepares another run.
    pub(crate) fn overcome_loss<E: DeviceFault>(&self, error: E, attempts: &mut Attempts) -> Result<(), E> {
        match error.device_fault() {
            Some(GpuError::Lost { .. }) => self.overcome(&self.model(), error, attempts, 1),
            _ => Err(error),
        }
    }

    /// Begins a whole call anew, because what it kept is gone with its device: once.
    pub(crate) fn begin_anew<E: DeviceFault>(&self, attempts: &mut Attempts) -> Result<(), E> {
        match std::mem::replace(&mut attempts.lost, true) {
            false => Ok(()),
            true => Err(GpuError::LostAgain {
                adapter: self.device().to_string(),
                reason: "what it had to keep was lost with it".into(),
            }
            .into()),
        }
    }

    /// The page's engine loads the model again.
    #[cfg(target_arch = "wasm32")]
    fn replace(&self, _: &Arc<Placed>, lost: GpuError) -> Result<(), GpuError> {
        Err(lost)
    }

    /// Loads the model on a device that replaces the lost one of `model`, unless another call did.
    #[cfg(not(target_arch = "wasm32"))]
    fn replace(&self, model: &Arc<Placed>, lost: GpuError) -> Result<(), GpuError> {
        let Some((files, choice)) = &self.recovery.source else { return Err(lost) };
        let _one = self.recovery.one.lock().unwrap_or_else(PoisonError::into_inner);
        if !Arc::ptr_eq(model, &self.model()) {
            return Ok(());
        }
        let device = pollster::block_on(model.device.reopen(lost.clone()))?;
        if let Some(gpu) = model.device.gpu() {
            gpu.lose(); // its memory may be needed
        }
        let placed = self.load_again(device, files, *choice).map_err(|error| match (error, lost) {
            (ModelError::Gpu(GpuError::Lost { adapter, reason }), _) => {
                GpuError::LostAgain { adapter, reason }
            }
            (error, GpuError::Lost { adapter, reason }) => {
                GpuError::NotReplaced { adapter, reason, problem: error.to_string() }
            }
            (_, lost) => lost,
        })?;
        *self.placed.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(placed);
        self.recovery.replaced.fetch_add(1, Ordering::Relaxed);
        Ok(())
    }

    /// Reads all weights again, with the edits of muted heads and switches.
    #[cfg(not(target_arch = "wasm32"))]
    fn load_again(
        &self,
        device: Device,
        files: &Model,
        choice: PrecisionChoice,
    ) -> Result<Placed, ModelError> {
        let (blueprint, checkpoint) = (files.blueprint(), files.checkpoint());
        let mut weights = allocate(&device, files, choice)?;
        let edits = self.edits.current.all();
        let source = CheckpointSource { blueprint, checkpoint };
        let mut source = EditedSource { source, table: &blueprint.table, edits: &edits };
        let mut upload = Upload::new(blueprint.file_order(checkpoint));
        while upload.advance(device.gpu(), &blueprint.table, &mut weights, &mut source)? {}
        if let Some(gpu) = device.gpu() {
            pollster::block_on(check_known_answers(gpu, weights.precision()))?;
            gpu.flush()?;
        }
        let model = LoadedModel { host: self.host.clone(), device, weights };
        Ok(Placed { model, idle: IdleSessions::default() })
    }
}
