//! Time by the device's own clock, without the latency between host and device.

use std::time::Duration;

use super::buffer::Owned;
use super::{Gpu, GpuError, Readback, Recording};

/// Bytes of two 64-bit timestamps.
const BYTES: u64 = 16;

/// A device's clock, which is read at the beginning and at the end of a pass.
#[derive(Debug)]
pub struct Clock {
    queries: wgpu::QuerySet,
    ticks: Owned,
    readback: Readback,
    nanoseconds_per_tick: f64,
}

impl Gpu {
    /// The device's clock; `None` if the device was opened without [`wgpu::Features::TIMESTAMP_QUERY`].
    ///
    /// # Errors
    /// As [`Gpu::buffer`].
    pub fn clock(&self) -> Result<Option<Clock>, GpuError> {
        if !self.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            return Ok(None);
        }
        let queries = self.device.create_query_set(&wgpu::QuerySetDescriptor {
            label: Some("clock"),
            ty: wgpu::QueryType::Timestamp,
            count: 2,
        });
        let resolved = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
        let read = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        Ok(Some(Clock {
            queries,
            ticks: self.create("clock", BYTES, resolved)?,
            readback: Readback { handle: self.create("clock", BYTES, read)? },
            nanoseconds_per_tick: f64::from(self.queue.get_timestamp_period()),
        }))
    }

    /// Submits a recording, waits, and returns the device's working time; `None` if its clock did not move.
    ///
    /// # Errors
    /// [`GpuError`] of this or an earlier command.
    pub async fn time(&self, recording: &Recording, clock: &Clock) -> Result<Option<Duration>, GpuError> {
        let mut encoder = self.encoder(recording);
        let stamps = wgpu::ComputePassTimestampWrites {
            query_set: &clock.queries,
            beginning_of_pass_write_index: Some(0),
            end_of_pass_write_index: Some(1),
        };
        self.pass(&mut encoder, recording, recording.launches(), Some(stamps));
        encoder.resolve_query_set(&clock.queries, 0..2, &clock.ticks, 0);
        encoder.copy_buffer_to_buffer(&clock.ticks, 0, &clock.readback.handle, 0, BYTES);
        let submission = super::Submission(self.send([encoder.finish()]));
        let [begin, end] = self
            .map(&clock.readback, Some(submission), |words| {
                [0, 2].map(|at| u64::from(words[at]) | (u64::from(words[at + 1]) << 32))
            })
            .await?;
        let ticks = end.checked_sub(begin).filter(|&ticks| ticks > 0);
        Ok(ticks.map(|ticks| Duration::from_nanos((ticks as f64 * clock.nanoseconds_per_tick) as u64)))
    }
}
