//! What recovery keeps, and the errors that it acts on.

#[cfg(not(target_arch = "wasm32"))]
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::error::GenerateError;
use super::forward::ForwardError;
use super::score::ScoreError;
use crate::gpu::GpuError;
#[cfg(not(target_arch = "wasm32"))]
use crate::{model::Model, precision::PrecisionChoice};

/// What is needed to go on.
pub(super) struct Recovery {
    /// The files to read weights from again, and the choice of their storage format. Without, a loss is an error.
    #[cfg(not(target_arch = "wasm32"))]
    pub source: Option<(Model, PrecisionChoice)>,
    /// One call loads the model again, others wait.
    #[cfg(not(target_arch = "wasm32"))]
    pub one: Mutex<()>,
    /// Number of devices that were replaced.
    pub replaced: AtomicUsize,
    /// Maximal number of sentences of a batch: fewer after the device was out of memory.
    pub most_sentences: AtomicUsize,
}

impl Default for Recovery {
    fn default() -> Self {
        Self {
            #[cfg(not(target_arch = "wasm32"))]
            source: None,
            #[cfg(not(target_arch = "wasm32"))]
            one: Mutex::default(),
            replaced: AtomicUsize::new(0),
            most_sentences: AtomicUsize::new(usize::MAX),
        }
    }
}

impl Recovery {
    pub fn most_sentences(&self) -> usize {
        self.most_sentences.load(Ordering::Relaxed)
    }
}

/// An error of a run, which may be one of the device.
pub(crate) trait DeviceFault: From<GpuError> {
    /// The error of the device.
    fn device_fault(&self) -> Option<&GpuError>;
}

impl DeviceFault for ForwardError {
    fn device_fault(&self) -> Option<&GpuError> {
        match self {
            Self::Gpu(error) => Some(error),
            _ => None,
        }
    }
}

impl DeviceFault for ScoreError {
    fn device_fault(&self) -> Option<&GpuError> {
        match self {
            Self::Gpu(error) => Some(error),
            _ => None,
        }
    }
}

impl DeviceFault for GenerateError {
    fn device_fault(&self) -> Option<&GpuError> {
        match self {
            Self::Gpu(error) => Some(error),
            Self::Forward(error) => error.device_fault(),
            _ => None,
        }
    }
}

/// The attempts of a call. A device that is lost again before any progress would be lost for ever.
#[derive(Default)]
pub(crate) struct Attempts {
    pub lost: bool,
}

impl Attempts {
    /// Notes that a sentence is finished.
    pub fn progress(&mut self) {
        self.lost = false;
    }
}
