//! Reading results back to the host.

use std::ops::Range;

use super::buffer::Owned;
use super::{Buffer, Gpu, GpuError, Submission};

/// Host-visible memory for results; made once and reused.
#[derive(Debug)]
pub struct Readback {
    pub(super) handle: Owned,
}

impl Readback {
    pub(super) fn bytes(&self) -> u64 {
        self.handle.size()
    }
}

impl Gpu {
    /// Host-visible memory of the size of `buffer`.
    ///
    /// # Errors
    /// As [`Gpu::buffer`].
    pub fn readback(&self, label: &str, buffer: &Buffer) -> Result<Readback, GpuError> {
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        Ok(Readback { handle: self.create(label, buffer.bytes(), usage)? })
    }

    /// Waits until the copy into `readback` is done, then calls `use_words`. If the caller gives the submission with the copy,
    /// later submissions are not waited for.
    ///
    /// # Errors
    /// [`GpuError`] of this or an earlier command.
    pub async fn map<R>(
        &self,
        readback: &Readback,
        submission: Option<Submission>,
        use_words: impl FnOnce(&[u32]) -> R,
    ) -> Result<R, GpuError> {
        self.tally.readbacks.add(1);
        let (send, done) = futures_channel::oneshot::channel();
        readback.handle.map_async(wgpu::MapMode::Read, .., move |outcome| {
            let _ = send.send(outcome); // the receiver may have been dropped
        });
        let lost = |reason: String| self.lost(reason);
        #[cfg(not(target_arch = "wasm32"))] // the browser drives its own queue
        {
            let submission_index = submission.map(|submission| submission.0);
            let wait = wgpu::PollType::Wait { submission_index, timeout: None };
            self.device.poll(wait).map_err(|error| lost(error.to_string()))?;
        }
        #[cfg(target_arch = "wasm32")]
        let _ = submission;
        let outcome = done.await;
        self.check()?; // the reason, if mapping failed
        match outcome {
            Ok(Ok(())) => {}
            Ok(Err(error)) => return Err(lost(error.to_string())),
            Err(_) => return Err(lost("the read-back was dropped".into())),
        }
        let view = readback.handle.get_mapped_range(..).map_err(|error| lost(error.to_string()))?;
        let result = use_words(bytemuck::cast_slice(&view));
        drop(view);
        readback.handle.unmap();
        Ok(result)
    }

    /// Reads a whole buffer, with temporary memory.
    ///
    /// # Errors
    /// As [`Gpu::map`].
    pub async fn read<T: bytemuck::AnyBitPattern>(&self, buffer: &Buffer) -> Result<Vec<T>, GpuError> {
        self.read_part(buffer, 0..(buffer.bytes() / 4) as usize).await
    }

    /// Reads part of a buffer.
    ///
    /// # Errors
    /// As [`Gpu::map`].
    pub async fn read_part<T: bytemuck::AnyBitPattern>(
        &self,
        buffer: &Buffer,
        words: Range<usize>,
    ) -> Result<Vec<T>, GpuError> {
        if words.is_empty() {
            return Ok(Vec::new());
        }
        let (first, bytes) = (4 * words.start as u64, 4 * words.len() as u64);
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let readback = Readback { handle: self.create("read", bytes, usage)? };
        let mut encoder =
            self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("read") });
        encoder.copy_buffer_to_buffer(&buffer.handle, first, &readback.handle, 0, bytes);
        self.send([encoder.finish()]);
        self.map(&readback, None, |words| bytemuck::cast_slice(words).to_vec()).await
    }
}
