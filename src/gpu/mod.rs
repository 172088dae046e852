//! The device layer: all of wgpu lives here. Opening an adapter, buffers, pipelines, recording, reading back.
//!
//! Only what waits for the device is `async`; natively such futures finish while they are polled, in a browser they
//! wait for its event loop. Errors that the API reports out of band (validation, memory, a lost device) are caught by
//! one handler, kept, and returned by the next call that can fail.

mod adapter;
mod buffer;
mod error;
mod pipeline;
mod readback;
mod recording;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

pub use adapter::{Adapter, adapters, any, hardware, named};
pub use buffer::Buffer;
pub use error::GpuError;
pub use readback::Readback;
pub use recording::Recording;

use crate::kernels::AdapterClass;

/// An open GPU.
pub struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
    adapter: Adapter,
    limits: wgpu::Limits,
    class: AdapterClass,
    fault: Arc<Mutex<Option<GpuError>>>,
    pipelines: pipeline::PipelineCache,
    params_layout: wgpu::BindGroupLayout,
    buffers_created: AtomicU64,
    bytes_in_use: Arc<AtomicU64>,
    /// Set before the device is given back, which is no fault.
    closing: Arc<AtomicBool>,
}

impl Gpu {
    /// Opens an adapter with WebGPU's default limits, save that buffers may be as large as the adapter allows.
    ///
    /// # Errors
    /// [`GpuError::Open`].
    pub async fn open(adapter: Adapter) -> Result<Self, GpuError> {
        let offered = adapter.limits();
        let limits = wgpu::Limits {
            max_buffer_size: offered.max_buffer_size,
            max_storage_buffer_binding_size: offered.max_storage_buffer_binding_size,
            ..wgpu::Limits::defaults()
        };
        Self::open_with_limits(adapter, limits).await
    }

    /// Opens an adapter with the limits given: for tests that lower them on purpose.
    ///
    /// # Errors
    /// [`GpuError::Open`], naming a limit that the adapter cannot meet.
    pub async fn open_with_limits(adapter: Adapter, limits: wgpu::Limits) -> Result<Self, GpuError> {
        let (device, queue) = adapter
            .handle
            .request_device(&wgpu::DeviceDescriptor {
                label: Some("wordloom"),
                required_features: wgpu::Features::empty(),
                required_limits: limits.clone(),
                // weights and caches stay: small blocks waste less than they cost
                memory_hints: wgpu::MemoryHints::MemoryUsage,
                ..Default::default()
            })
            .await
            .map_err(|error| GpuError::Open { adapter: adapter.name().into(), reason: error.to_string() })?;

        let fault = Arc::new(Mutex::new(None));
        let (name, slot) = (adapter.name().to_owned(), fault.clone());
        device.on_uncaptured_error(Arc::new(move |error| keep_first(&slot, typed(&name, error))));
        let (name, slot) = (adapter.name().to_owned(), fault.clone());
        let closing = Arc::new(AtomicBool::new(false));
        let on_purpose = closing.clone();
        device.set_device_lost_callback(move |_, reason| {
            if !on_purpose.load(Ordering::Relaxed) {
                let reason = if reason.is_empty() { "the driver gave no reason".into() } else { reason };
                set_lost(&slot, GpuError::Lost { adapter: name.clone(), reason });
            }
        });
        Ok(Self {
            params_layout: pipeline::params_layout(&device),
            pipelines: pipeline::PipelineCache::default(),
            buffers_created: AtomicU64::new(0),
            bytes_in_use: Arc::default(),
            closing,
            class: adapter.class(),
            device,
            queue,
            adapter,
            limits,
            fault,
        })
    }

    /// The adapter behind it.
    pub fn adapter(&self) -> &Adapter {
        &self.adapter
    }

    /// Whether a GPU or a CPU executes the shaders.
    pub fn class(&self) -> AdapterClass {
        self.class
    }

    /// Chooses kernels as if the adapter were of another class: so that the kernels for hardware can be tested on a
    /// software adapter, and the other way round.
    pub fn force_class(&mut self, class: AdapterClass) {
        self.class = class;
    }

    /// Gives the device and all of its memory back at once, whatever is still running: that ends with
    /// [`GpuError::Lost`].
    pub fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        self.device.destroy();
    }

    /// Gives the device up, as a driver may do at any time: so that tests can see what becomes of that.
    pub fn lose(&self) {
        self.device.destroy();
    }

    /// The largest storage buffer, bytes.
    pub fn max_storage_bytes(&self) -> u64 {
        self.limits.max_storage_buffer_binding_size.min(self.limits.max_buffer_size)
    }

    /// How many buffers have been made since the device was opened: constant while a plan is replayed.
    pub fn buffers_created(&self) -> u64 {
        self.buffers_created.load(Ordering::Relaxed)
    }

    /// Bytes of all buffers that there are now.
    pub fn bytes_in_use(&self) -> u64 {
        self.bytes_in_use.load(Ordering::Relaxed)
    }

    /// Waits until everything that was submitted has been done.
    ///
    /// # Errors
    /// [`GpuError`] of anything that failed since the last check.
    pub async fn settled(&self) -> Result<(), GpuError> {
        let (send, done) = futures_channel::oneshot::channel();
        self.queue.submit([]);
        self.queue.on_submitted_work_done(move || {
            let _ = send.send(()); // the receiver may have been dropped: nobody waits any more
        });
        #[cfg(not(target_arch = "wasm32"))] // the browser drives its own queue
        let _ = self.device.poll(wgpu::PollType::wait_indefinitely()); // a lost device is found below
        let _ = done.await;
        self.check()
    }

    /// The first error reported out of band since the last check, if any.
    ///
    /// # Errors
    /// That error.
    pub fn check(&self) -> Result<(), GpuError> {
        let fault = || self.fault.lock().unwrap_or_else(|poison| poison.into_inner());
        if fault().is_none() {
            return Ok(());
        }
        #[cfg(not(target_arch = "wasm32"))]
        // a loss explains what failed before it; the browser tells it by itself
        let _ = self.device.poll(wgpu::PollType::Poll);
        let mut fault = fault();
        // a lost device stays lost
        match fault.as_ref() {
            Some(lost @ GpuError::Lost { .. }) => Err(lost.clone()),
            _ => fault.take().map_or(Ok(()), Err),
        }
    }

    fn adapter_name(&self) -> &str {
        self.adapter.name()
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        self.close(); // a browser would wait for its garbage collector
    }
}

/// The loss of a device explains whatever failed before it was noticed.
fn set_lost(slot: &Mutex<Option<GpuError>>, error: GpuError) {
    *slot.lock().unwrap_or_else(|poison| poison.into_inner()) = Some(error);
}

fn keep_first(slot: &Mutex<Option<GpuError>>, error: GpuError) {
    slot.lock().unwrap_or_else(|poison| poison.into_inner()).get_or_insert(error);
}

fn typed(adapter: &str, error: wgpu::Error) -> GpuError {
    let adapter = adapter.to_owned();
    match error {
        wgpu::Error::OutOfMemory { source } => GpuError::OutOfMemory { adapter, reason: source.to_string() },
        wgpu::Error::Validation { description, .. } | wgpu::Error::Internal { description, .. } => {
            GpuError::Validation { adapter, reason: description }
        }
    }
}
