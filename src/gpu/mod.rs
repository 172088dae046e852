//! The device layer: all of wgpu lives here. Opening an adapter, buffers, pipelines, recording, reading back.
//!
//! Only functions that wait for the device are `async`. Natively, such a future finishes while it is polled; in a browser, it
//! waits for the event loop. One handler stores errors that the API reports out of band (validation, memory, a lost
//! device), and the next call that can fail returns them.

mod adapter;
mod buffer;
#[cfg(not(target_arch = "wasm32"))]
mod clock;
mod counters;
mod descriptor;
mod error;
mod lineage;
mod pipeline;
#[cfg(not(target_arch = "wasm32"))]
mod pipeline_file;
#[cfg(not(target_arch = "wasm32"))]
mod profile;
mod readback;
mod recording;
mod verdict;
#[cfg(not(target_arch = "wasm32"))]
mod verdict_file;

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

pub use adapter::{Adapter, adapters, any, hardware, named};
pub use buffer::{Buffer, BufferCopy};
#[cfg(not(target_arch = "wasm32"))]
pub use clock::Clock;
pub use counters::Counters;
pub use descriptor::descriptor;
pub use error::GpuError;
pub use lineage::DeviceNews;
#[cfg(not(target_arch = "wasm32"))]
pub use profile::KernelTime;
pub use readback::{Readback, Reading};
pub use recording::{Recording, Submission};
pub use verdict::{Extent, Verdict};

use crate::kernels::{AdapterClass, MAX_STORAGE_BUFFERS, PassedOver};

/// An open GPU.
pub struct Gpu {
    device: wgpu::Device,
    queue: wgpu::Queue,
    /// Held by a write and by a submit. wgpu 30 fills a new buffer with zeros at its first submit; if another thread writes to it while that
    /// submit is prepared, the zeros come after the write.
    turn: Mutex<()>,
    adapter: Adapter,
    limits: wgpu::Limits,
    class: AdapterClass,
    /// Folder of compiled pipelines.
    folder: Option<PathBuf>,
    lineage: Arc<lineage::Lineage>,
    /// The device that replaced this one.
    successor: Mutex<Option<Arc<Self>>>,
    fault: Arc<Mutex<Option<GpuError>>>,
    pipelines: pipeline::PipelineCache,
    #[cfg(not(target_arch = "wasm32"))]
    pipeline_file: Option<pipeline_file::PipelineFile>,
    /// While launches are timed.
    #[cfg(not(target_arch = "wasm32"))]
    profile: Mutex<Option<profile::Profile>>,
    verdict: Mutex<Verdict>,
    #[cfg(not(target_arch = "wasm32"))]
    verdict_file: Option<verdict_file::VerdictFile>,
    params_layout: wgpu::BindGroupLayout,
    tally: counters::Tally,
    memory: Arc<counters::Memory>,
    /// Set before the device is closed on purpose, so that its loss is no error.
    closing: Arc<AtomicBool>,
    /// Whether another owner uses the device, too, and closes it.
    shared: bool,
}

impl Gpu {
    /// Opens an adapter with WebGPU's default limits, but with buffers as large as the adapter allows. If the adapter has less
    /// than a default, it is opened with that, and a kernel that needs more is an error. Compiled pipelines, and the result of a
    /// check, are stored in the [user's folder](pipeline_folder).
    ///
    /// # Errors
    /// [`GpuError::Open`].
    pub async fn open(adapter: Adapter) -> Result<Self, GpuError> {
        Self::open_with_pipelines(adapter, pipeline_folder().as_deref()).await
    }

    /// As [`open`](Self::open), with compiled pipelines stored in the given folder, if the API gives access to them. A damaged
    /// file, or a file of another driver, is replaced. An error of writing is ignored.
    ///
    /// # Errors
    /// [`GpuError::Open`].
    pub async fn open_with_pipelines(adapter: Adapter, folder: Option<&Path>) -> Result<Self, GpuError> {
        let descriptor = descriptor(&adapter.handle, folder.is_some());
        Self::open_as(adapter, descriptor, folder).await
    }

    /// Opens an adapter with the given limits, for tests of low limits.
    ///
    /// # Errors
    /// [`GpuError::Open`], naming a limit that the adapter cannot meet.
    pub async fn open_with_limits(adapter: Adapter, limits: wgpu::Limits) -> Result<Self, GpuError> {
        let descriptor = descriptor::with_limits(&adapter.handle, limits, false);
        Self::open_as(adapter, descriptor, None).await
    }

    async fn open_as(
        adapter: Adapter,
        descriptor: wgpu::DeviceDescriptor<'_>,
        folder: Option<&Path>,
    ) -> Result<Self, GpuError> {
        let (device, queue) = adapter
            .handle
            .request_device(&descriptor)
            .await
            .map_err(|error| GpuError::Open { adapter: adapter.name().into(), reason: error.to_string() })?;
        Ok(Self::around(adapter, device, queue, descriptor.required_limits, folder, false))
    }

    /// Shares a device that another owner (such as a window) has opened and continues to use. The shared device is never closed
    /// here. From now on, this side gets all errors that the API reports out of band, including the owner's.
    ///
    /// # Errors
    /// [`GpuError::Open`] if the device was opened with less than [`wgpu::Limits::defaults`].
    #[cfg(not(target_arch = "wasm32"))]
    pub fn share(adapter: wgpu::Adapter, device: wgpu::Device, queue: wgpu::Queue) -> Result<Self, GpuError> {
        let adapter = Adapter::new(adapter);
        let limits = device.limits();
        let mut short = None;
        wgpu::Limits::defaults().check_limits_with_fail_fn(&limits, false, |name, needed, there| {
            short.get_or_insert(format!("it was opened with {there} {name}, and {needed} are needed"));
        });
        if let Some(reason) = short {
            return Err(GpuError::Open { adapter: adapter.name().into(), reason });
        }
        let keeps_pipelines = device.features().contains(wgpu::Features::PIPELINE_CACHE);
        let folder = pipeline_folder().filter(|_| keeps_pipelines);
        Ok(Self::around(adapter, device, queue, limits, folder.as_deref(), true))
    }

    fn around(
        adapter: Adapter,
        device: wgpu::Device,
        queue: wgpu::Queue,
        limits: wgpu::Limits,
        folder: Option<&Path>,
        shared: bool,
    ) -> Self {
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
        #[cfg(not(target_arch = "wasm32"))]
        let pipeline_file =
            folder.and_then(|folder| pipeline_file::PipelineFile::open(&device, adapter.info(), folder));
        #[cfg(not(target_arch = "wasm32"))]
        let compiled = pipeline_file.as_ref().map(|file| file.cache().clone());
        #[cfg(target_arch = "wasm32")] // a browser stores pipelines itself
        let compiled = None;
        #[cfg(not(target_arch = "wasm32"))]
        let verdict_file = folder.map(|folder| verdict_file::VerdictFile::of(adapter.info(), folder));
        #[cfg(not(target_arch = "wasm32"))]
        let verdict = verdict_file.as_ref().and_then(verdict_file::VerdictFile::read).unwrap_or_default();
        #[cfg(target_arch = "wasm32")] // a page keeps it
        let verdict = Verdict::default();
        Self {
            #[cfg(not(target_arch = "wasm32"))]
            profile: Mutex::default(),
            verdict: Mutex::new(verdict),
            #[cfg(not(target_arch = "wasm32"))]
            verdict_file,
            params_layout: pipeline::params_layout(&device),
            pipelines: pipeline::PipelineCache::new(compiled),
            #[cfg(not(target_arch = "wasm32"))]
            pipeline_file,
            tally: counters::Tally::default(),
            memory: Arc::default(),
            closing,
            class: adapter.class(),
            folder: folder.map(Path::to_owned),
            lineage: Arc::default(),
            successor: Mutex::default(),
            device,
            queue,
            turn: Mutex::new(()),
            adapter,
            limits,
            fault,
            shared,
        }
    }

    /// Whether compiled pipelines are on disk, from this run or an earlier one.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn has_stored_pipelines(&self) -> bool {
        self.pipeline_file.as_ref().is_some_and(pipeline_file::PipelineFile::is_stored)
    }

    /// Writes newly compiled pipelines to disk, if they are stored at all. Dropping the device does the same.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn store_pipelines(&self) {
        if let Some(file) = &self.pipeline_file {
            file.store();
        }
    }

    /// The result of the device's last check: of this run, or a stored one.
    pub fn verdict(&self) -> Verdict {
        self.verdict.lock().unwrap_or_else(|poison| poison.into_inner()).clone()
    }

    /// Takes a result of a check: later sessions get no kernel that it passes over. Natively it is stored beside the compiled
    /// pipelines, so that later runs know it; an error of writing is ignored.
    pub fn set_verdict(&self, verdict: Verdict) {
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(file) = &self.verdict_file {
            file.store(&verdict);
        }
        *self.verdict.lock().unwrap_or_else(|poison| poison.into_inner()) = verdict;
    }

    /// The kernels that are passed over on this device.
    pub(crate) fn passed_over(&self) -> Arc<PassedOver> {
        let found = self.verdict.lock().unwrap_or_else(|poison| poison.into_inner()).passed_over.clone();
        match self.limits.max_storage_buffers_per_shader_stage {
            MAX_STORAGE_BUFFERS.. => found,
            fewer => Arc::new(PassedOver { storage_buffers: Some(fewer as usize), ..(*found).clone() }),
        }
    }

    /// The limits that the device was opened with.
    pub fn limits(&self) -> &wgpu::Limits {
        &self.limits
    }

    /// Whether [kernels for matrix units](crate::kernels::matrix_units) run on the device.
    pub fn has_matrix_units(&self) -> bool {
        self.device.features().contains(descriptor::MATRIX_UNITS) && descriptor::has_room(&self.limits)
    }

    /// Replaces text of a kernel before it is first compiled, so that tests can have a kernel that is wrong.
    pub fn spoil(&self, kernel: &'static str, from: &'static str, to: &'static str) {
        self.pipelines.spoil(kernel, from, to);
    }

    /// The device's adapter.
    pub fn adapter(&self) -> &Adapter {
        &self.adapter
    }

    /// Whether a GPU or a CPU executes the shaders.
    pub fn class(&self) -> AdapterClass {
        self.class
    }

    /// Chooses kernels for another class of adapter, so that tests can run the kernels for hardware on a software adapter, and
    /// the other way round.
    pub fn force_class(&mut self, class: AdapterClass) {
        self.class = class;
    }

    /// Frees the device and all of its memory at once. Running work ends with [`GpuError::Lost`]. A [shared](Self::share)
    /// device stays open.
    pub fn close(&self) {
        self.closing.store(true, Ordering::Relaxed);
        if !self.shared {
            self.device.destroy();
        }
    }

    /// Calls `listener` when work takes another course, also on the devices that replace this one. The first listener stays.
    pub fn listen(&self, listener: impl Fn(&DeviceNews) + Send + Sync + 'static) {
        self.lineage.listen(Box::new(listener));
    }

    pub(crate) fn tell(&self, news: &DeviceNews) {
        self.lineage.tell(news);
    }

    /// The device that replaces this one, which was lost: the same adapter with the same limits, or else the best hardware
    /// adapter. Everyone who asks gets the same device. `None` if there is none.
    pub(crate) async fn reopened(&self) -> Option<Arc<Self>> {
        let mut last = self.successor();
        while let Some(next) = &last {
            if !next.is_lost() {
                return last;
            }
            last = next.successor();
        }
        let same = |adapter: &Adapter| adapter.is_same(&self.adapter) && !self.lineage.is_gone();
        let mut reopened = None;
        if let Some(adapter) = adapters().await.into_iter().find(same) {
            let folder = self.folder.as_deref();
            let descriptor = descriptor::with_limits(&adapter.handle, self.limits.clone(), folder.is_some());
            reopened = Self::open_as(adapter, descriptor, folder).await.ok();
        }
        if let Some(again) = &mut reopened {
            // it keeps what a check found, and the kernels that a test chose
            (again.class, again.verdict) = (self.class, self.verdict().into());
        } else if let Some(adapter) = hardware().await.filter(|adapter| !adapter.is_same(&self.adapter)) {
            reopened = Self::open(adapter).await.ok();
        }
        let mut reopened = reopened?;
        reopened.lineage = self.lineage.clone();
        let reopened = Arc::new(reopened);
        let mut successor = self.successor.lock().unwrap_or_else(|poison| poison.into_inner());
        match &*successor {
            Some(other) if !other.is_lost() => Some(other.clone()), // opened meanwhile
            _ => Some(successor.insert(reopened).clone()),
        }
    }

    fn successor(&self) -> Option<Arc<Self>> {
        self.successor.lock().unwrap_or_else(|poison| poison.into_inner()).clone()
    }

    /// Whether its owner closed it, or another owner uses it, too. Then no other device replaces it.
    pub(crate) fn is_closed_or_shared(&self) -> bool {
        self.shared || self.closing.load(Ordering::Relaxed)
    }

    /// Simulates the loss of the device, for tests.
    pub fn lose(&self) {
        self.device.destroy();
    }

    /// The largest storage buffer, in bytes.
    pub fn max_storage_bytes(&self) -> u64 {
        self.limits.max_storage_buffer_binding_size.min(self.limits.max_buffer_size)
    }

    /// Number of buffers created since the device was opened; constant while a plan is replayed.
    pub fn buffers_created(&self) -> u64 {
        self.tally.buffers.get()
    }

    /// Counts since the device was opened.
    pub fn counters(&self) -> Counters {
        self.tally.counters()
    }

    /// Bytes of all current buffers.
    pub fn bytes_in_use(&self) -> u64 {
        self.memory.now()
    }

    /// The largest number of bytes of all buffers together so far.
    pub fn peak_bytes(&self) -> u64 {
        self.memory.peak()
    }

    /// Waits until all submitted work is done.
    ///
    /// # Errors
    /// [`GpuError`] of anything that failed since the last check.
    pub async fn settled(&self) -> Result<(), GpuError> {
        let (send, done) = futures_channel::oneshot::channel();
        self.send([]);
        self.queue.on_submitted_work_done(move || {
            let _ = send.send(()); // the receiver may have been dropped
        });
        #[cfg(not(target_arch = "wasm32"))] // the browser drives its own queue
        let _ = self.device.poll(wgpu::PollType::wait_indefinitely()); // `check` below reports a lost device
        let _ = done.await;
        self.check()
    }

    /// Whether the device is lost. Does not consume the error that [`check`](Self::check) returns.
    pub fn is_lost(&self) -> bool {
        let fault = self.fault.lock().unwrap_or_else(|poison| poison.into_inner());
        matches!(fault.as_ref(), Some(GpuError::Lost { .. }))
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
        // a loss explains earlier failures, and is reported when the queue is empty; the browser reports it by itself
        let _ = self.device.poll(wgpu::PollType::wait_indefinitely());
        let mut fault = fault();
        // a lost device stays lost
        match fault.as_ref() {
            Some(lost @ GpuError::Lost { .. }) => Err(lost.clone()),
            _ => fault.take().map_or(Ok(()), Err),
        }
    }

    /// Runs work and returns its out-of-band errors here, so that no later call gets them. Errors of other threads' work stay for
    /// their calls.
    ///
    /// # Errors
    /// The work's own error, or the first out-of-band error.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn apart<T>(&self, work: impl FnOnce() -> Result<T, GpuError>) -> Result<T, GpuError> {
        use wgpu::ErrorFilter::{Internal, OutOfMemory, Validation};
        // error scopes belong to a thread; natively, their result is known at once
        let scopes = [Validation, OutOfMemory, Internal].map(|filter| self.device.push_error_scope(filter));
        let result = work();
        let mut reported = None;
        for scope in scopes.into_iter().rev() {
            reported = pollster::block_on(scope.pop()).or(reported);
        }
        match (result, reported) {
            (Err(error @ (GpuError::OutOfMemory { .. } | GpuError::NoRoom { .. })), _)
            | (Err(error @ GpuError::Validation { .. }), _) => {
                // an error that the work got from `check` belongs to others: its own are in the scopes
                keep_first(&self.fault, error.clone());
                Err(error)
            }
            (Err(error), _) => Err(error),
            (Ok(_), Some(error)) => Err(typed(self.adapter_name(), error)),
            (Ok(result), None) => Ok(result),
        }
    }

    /// Submits to the queue.
    fn send(&self, commands: impl IntoIterator<Item = wgpu::CommandBuffer>) -> wgpu::SubmissionIndex {
        self.tally.submits.add(1);
        if self.lineage.is_last_submit() {
            self.lose();
        }
        let _turn = self.turn();
        self.queue.submit(commands)
    }

    fn turn(&self) -> std::sync::MutexGuard<'_, ()> {
        self.turn.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// Notes that a call showed the loss of the device, which may be reported later.
    fn lost(&self, reason: String) -> GpuError {
        let error = GpuError::Lost { adapter: self.adapter_name().into(), reason };
        if !self.closing.load(Ordering::Relaxed) {
            set_lost(&self.fault, error.clone());
        }
        error
    }

    fn adapter_name(&self) -> &str {
        self.adapter.name()
    }
}

impl Drop for Gpu {
    fn drop(&mut self) {
        #[cfg(not(target_arch = "wasm32"))]
        if !self.closing.load(Ordering::Relaxed) && self.check().is_ok() {
            self.store_pipelines();
        }
        self.close(); // a browser's garbage collector would do this late
    }
}

/// The folder where [`Gpu::open`] stores compiled pipelines: in the user's caches, or the value of the environment variable
/// `WORDLOOM_PIPELINE_CACHE`. `None` if that is `off`, or if the system has no such folder.
pub fn pipeline_folder() -> Option<PathBuf> {
    #[cfg(not(target_arch = "wasm32"))]
    return pipeline_file::users_folder();
    #[cfg(target_arch = "wasm32")]
    None
}

/// Stores the loss of a device. It replaces earlier errors, because it explains them.
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
