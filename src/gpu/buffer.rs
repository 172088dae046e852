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
    /// Its size in bytes.
    pub fn bytes(&self) -> u64 {
        self.handle.size()
    }
}

/// Some 4-byte words of one buffer for another.
#[derive(Clone, Copy, Debug)]
pub struct BufferCopy<'a> {
    /// Whose.
    pub from: &'a Buffer,
    /// The first of them.
    pub first: usize,
    /// Another buffer.
    pub to: &'a Buffer,
    /// Where the first goes.
    pub at: usize,
    /// How many.
    pub elements: usize,
}

/// A buffer whose memory is given back when it is dropped. A browser would wait for its garbage collector, which does
/// not know how much device memory a handle holds.
#[derive(Debug)]
pub(super) struct Owned {
    buffer: wgpu::Buffer,
    /// Of all buffers of the device.
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
        self.buffer.destroy(); // what has been submitted still runs
    }
}

impl Gpu {
    /// A zeroed storage buffer of `elements` 4-byte words.
    ///
    /// # Errors
    /// [`GpuError::TooLarge`] beyond the device's binding limit, [`GpuError::OutOfMemory`].
    pub fn buffer(&self, label: &str, elements: usize) -> Result<Buffer, GpuError> {
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
        // 16 bytes at least, so that kernels may read the buffer as `vec4`
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

    /// Overwrites part of a buffer, starting at 4-byte word `first`, before whatever is submitted next.
    pub fn write<T: bytemuck::NoUninit>(&self, buffer: &Buffer, first: usize, data: &[T]) {
        self.queue.write_buffer(&buffer.handle, first as u64 * 4, bytemuck::cast_slice(data));
    }

    /// Copies on the device, after all that was submitted before.
    pub fn copy<'a>(&self, copies: impl IntoIterator<Item = BufferCopy<'a>>) {
        let label = wgpu::CommandEncoderDescriptor { label: Some("copy") };
        let mut encoder = self.device.create_command_encoder(&label);
        for BufferCopy { from, first, to, at, elements } in copies {
            let [first, at, bytes] = [first, at, elements].map(|elements| elements as u64 * 4);
            encoder.copy_buffer_to_buffer(&from.handle, first, &to.handle, at, bytes);
        }
        self.send([encoder.finish()]);
    }

    /// Sends pending writes off and frees their staging memory; call it now and then while uploading weights.
    ///
    /// # Errors
    /// [`GpuError`] of anything that failed since the last check.
    pub fn flush(&self) -> Result<(), GpuError> {
        self.send([]);
        #[cfg(not(target_arch = "wasm32"))] // the browser drives its own queue
        if let Err(error) = self.device.poll(wgpu::PollType::wait_indefinitely()) {
            return Err(GpuError::Lost { adapter: self.adapter_name().into(), reason: error.to_string() });
        }
        self.check()
    }

    pub(super) fn uniform_buffer(&self, label: &str, bytes: &[u8]) -> Result<Owned, GpuError> {
        let usage = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let buffer = self.create(label, bytes.len() as u64, usage)?;
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
        let buffer = self.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some(label),
            size: bytes,
            usage,
            mapped_at_creation: false,
        });
        self.memory.take(buffer.size());
        let owned = Owned { buffer, memory: self.memory.clone() };
        self.check()?;
        self.tally.buffers.add(1);
        Ok(owned)
    }
}
