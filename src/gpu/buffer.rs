//! Buffers in device memory.

use std::ops::Deref;
use std::sync::Arc;

use super::counters::Memory;
use super::{Gpu, GpuError};

/// A storage buffer.
#[derive(Clone, Debug)]
pub struct Buffer {
    pub(super) handle: Arc<Owned>,
}

impl Buffer {
    /// The size in bytes.
    pub fn bytes(&self) -> u64 {
        self.handle.size()
    }
}

/// A copy of 4-byte words from one buffer to another.
#[derive(Clone, Copy, Debug)]
pub struct BufferCopy<'a> {
    /// The source buffer.
    pub from: &'a Buffer,
    /// The first word to copy.
    pub first: usize,
    /// The target buffer, another one.
    pub to: &'a Buffer,
    /// Position of the first word in the target.
    pub at: usize,
    /// Number of words.
    pub elements: usize,
}

/// A buffer whose memory is freed on drop. Without this, a browser waits for its garbage collector, which does not know how
/// much device memory a handle holds.
#[derive(Debug)]
pub(super) struct Owned {
    buffer: wgpu::Buffer,
    /// Counter of the bytes of all the device's buffers.
    memory: Arc<Memory>,
}

impl Deref for Owned {
    type Target = wgpu::Buffer;

    fn deref(&self) -> &wgpu::Buffer {
        &self.buffer
    }
}

impl Drop for Owned {
    fn drop(&mut self) {
        self.memory.give_back(self.buffer.size());
        self.buffer.destroy(); // submitted work still runs
    }
}

impl Gpu {
    /// A zeroed storage buffer of `elements` 4-byte words.
    ///
    /// # Errors
    /// [`GpuError::TooLarge`] beyond the device's binding limit, [`GpuError::NoRoom`].
    pub fn buffer(&self, label: &str, elements: usize) -> Result<Buffer, GpuError> {
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        // at least 16 bytes, so that kernels may read the buffer as `vec4`
        Ok(Buffer { handle: Arc::new(self.create(label, (elements as u64 * 4).max(16), usage)?) })
    }

    /// A storage buffer that holds `data`.
    ///
    /// # Errors
    /// As [`Gpu::buffer`].
    pub fn upload<T: bytemuck::NoUninit>(&self, label: &str, data: &[T]) -> Result<Buffer, GpuError> {
        let bytes: &[u8] = bytemuck::cast_slice(data);
        let buffer = self.buffer(label, bytes.len().div_ceil(4))?;
        self.write(&buffer, 0, data);
        Ok(buffer)
    }

    /// Overwrites part of a buffer from 4-byte word `first` on, before the next submission.
    pub fn write<T: bytemuck::NoUninit>(&self, buffer: &Buffer, first: usize, data: &[T]) {
        let _turn = self.turn();
        self.queue.write_buffer(&buffer.handle, first as u64 * 4, bytemuck::cast_slice(data));
    }

    /// Copies on the device, after all earlier submissions.
    pub fn copy<'a>(&self, copies: impl IntoIterator<Item = BufferCopy<'a>>) {
        let label = wgpu::CommandEncoderDescriptor { label: Some("copy") };
        let mut encoder = self.device.create_command_encoder(&label);
        for BufferCopy { from, first, to, at, elements } in copies {
            let [first, at, bytes] = [first, at, elements].map(|elements| elements as u64 * 4);
            encoder.copy_buffer_to_buffer(&from.handle, first, &to.handle, at, bytes);
        }
        self.send([encoder.finish()]);
    }

    /// Submits pending writes and frees their staging memory. Call it regularly while uploading weights.
    ///
    /// # Errors
    /// [`GpuError`] of anything that failed since the last check.
    pub fn flush(&self) -> Result<(), GpuError> {
        self.send([]);
        #[cfg(not(target_arch = "wasm32"))] // the browser drives its own queue
        self.device
            .poll(wgpu::PollType::wait_indefinitely())
            .map_err(|error| self.lost(error.to_string()))?;
        self.check()
    }

    pub(super) fn uniform_buffer(&self, label: &str, bytes: &[u8]) -> Result<Owned, GpuError> {
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let buffer = self.create(label, bytes.len() as u64, usage)?;
        let _turn = self.turn();
        self.queue.write_buffer(&buffer, 0, bytes);
        Ok(buffer)
    }

    pub(super) fn create(
        &self,
        label: &str,
        bytes: u64,
        usage: wgpu::BufferUsages,
    ) -> Result<Owned, GpuError> {
        let limit = match usage.contains(wgpu::BufferUsages::STORAGE) {
            true => self.max_storage_bytes(),
            false => self.limits.max_buffer_size,
        };
        if bytes > limit {
            let adapter = self.adapter_name().to_owned();
            return Err(GpuError::TooLarge { label: label.to_owned(), bytes, limit, adapter });
        }
        let in_use = self.memory.now();
        let no_room = |reason| {
            let (label, adapter) = (label.to_owned(), self.adapter_name().to_owned());
            GpuError::NoRoom { label, bytes, in_use, adapter, reason }
        };
        if in_use.saturating_add(bytes) > self.lineage.most_bytes() {
            return Err(no_room("a limit of a test".into()));
        }
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: bytes,
            usage,
            mapped_at_creation: false,
        });
        self.memory.take(buffer.size());
        let owned = Owned { buffer, memory: self.memory.clone() };
        self.check().map_err(|error| match error {
            GpuError::OutOfMemory { reason, .. } => no_room(reason),
            error => error,
        })?;
        self.tally.buffers.add(1);
        Ok(owned)
    }
}
