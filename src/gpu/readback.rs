//! Reading results back to the host.

use std::ops::Range;

use super::buffer::Owned;
use super::{Buffer, Gpu, GpuError, Submission};

/// Host-visible memory for results; made once and reused.
#[derive(Debug)]
pub struct Readback {
    pub(super) handle: Owned,
}

/// The outcome of a request to map a buffer.
type Mapped = futures_channel::oneshot::Receiver<Result<(), wgpu::BufferAsyncError>>;

/// A copy of part of a buffer that the host has [asked](Gpu::start_reading) for; of nothing, if it has no words.
#[derive(Debug)]
pub struct Reading(Option<(Readback, Mapped)>);

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
        let mapped = self.ask_to_map(readback);
        self.use_mapped(readback, mapped, submission, use_words).await
    }

    fn ask_to_map(&self, readback: &Readback) -> Mapped {
        self.tally.readbacks.add(1);
        let (send, mapped) = futures_channel::oneshot::channel();
        readback.handle.map_async(wgpu::MapMode::Read, .., move |outcome| {
            let _ = send.send(outcome); // the receiver may have been dropped
        });
        mapped
    }

    async fn use_mapped<R>(
        &self,
        readback: &Readback,
        mapped: Mapped,
        submission: Option<Submission>,
        use_words: impl FnOnce(&[u32]) -> R,
    ) -> Result<R, GpuError> {
        let lost = |reason: String| self.lost(reason);
        #[cfg(not(target_arch = "wasm32"))] // the browser drives its own queue
        {
            let submission_index = submission.map(|submission| submission.0);
            let wait = wgpu::PollType::Wait { submission_index, timeout: None };
            self.device.poll(wait).map_err(|error| lost(error.to_string()))?;
        }
        #[cfg(target_arch = "wasm32")]
        let _ = submission;
        let outcome = mapped.await;
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
        let reading = self.start_reading(buffer, words)?;
        self.finish_reading(reading).await
    }

    /// Copies part of a buffer as earlier submissions leave it, without waiting for them.
    ///
    /// # Errors
    /// As [`Gpu::buffer`].
    pub fn start_reading(&self, buffer: &Buffer, words: Range<usize>) -> Result<Reading, GpuError> {
        if words.is_empty() {
            return Ok(Reading(None));
        }
        let (first, bytes) = (4 * words.start as u64, 4 * words.len() as u64);
        let usage = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        let readback = Readback { handle: self.create("read", bytes, usage)? };
        let mut encoder =
            self.device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label: Some("read") });
        encoder.copy_buffer_to_buffer(&buffer.handle, first, &readback.handle, 0, bytes);
        self.send([encoder.finish()]);
        let mapped = self.ask_to_map(&readback);
        Ok(Reading(Some((readback, mapped))))
    }

    /// Waits for the copy, and returns it.
    ///
    /// # Errors
    /// As [`Gpu::map`].
    pub async fn finish_reading<T: bytemuck::AnyBitPattern>(
        &self,
        reading: Reading,
    ) -> Result<Vec<T>, GpuError> {
        let Some((readback, mapped)) = reading.0 else { return Ok(Vec::new()) };
        self.use_mapped(&readback, mapped, None, |words| bytemuck::cast_slice(words).to_vec()).await
    }
}
