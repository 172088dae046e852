//! Where the time of a device goes: each launch by the device's own clock.

use std::collections::BTreeMap;
use std::time::Duration;

use super::buffer::Owned;
use super::recording::{Command, Recording};
use super::{Gpu, GpuError, Readback, Submission};

/// Launches between two readings of the clock: WebGPU allows 4,096 timestamps in a set.
const MOST_LAUNCHES: usize = 2048;
/// Bytes of a timestamp.
const BYTES: u64 = 8;

/// Time of the launches of one kernel in one program.
#[derive(Clone, Debug, PartialEq)]
pub struct KernelTime {
    /// Label of the program, e.g. `decode step`.
    pub program: String,
    /// Name of the kernel.
    pub kernel: &'static str,
    /// Number of launches.
    pub launches: u64,
    /// Time of all of them on the device, without the waiting between launches.
    pub time: Duration,
}

/// Timestamps before and after each launch, and what they said so far.
pub(super) struct Profile {
    queries: wgpu::QuerySet,
    ticks: Owned,
    readback: Readback,
    nanoseconds_per_tick: f64,
    times: BTreeMap<(String, &'static str), (u64, Duration)>,
}

impl Gpu {
    /// From now on, times every launch until [`take_profile`](Self::take_profile). Each runs in a pass of its own and every
    /// submit is waited for, so that a run takes longer than without. Returns whether the device has a clock.
    ///
    /// # Errors
    /// As [`Gpu::buffer`].
    pub fn start_profile(&self) -> Result<bool, GpuError> {
        if !self.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            return Ok(false);
        }
        let queries = self.device.create_query_set(&wgpu::QuerySetDescriptor {
            label: Some("profile"),
            ty: wgpu::QueryType::Timestamp,
            count: 2 * MOST_LAUNCHES as u32,
        });
        let bytes = 2 * MOST_LAUNCHES as u64 * BYTES;
        let resolved = wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC;
        let read = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        *self.profile() = Some(Profile {
            queries,
            ticks: self.create("profile", bytes, resolved)?,
            readback: Readback { handle: self.create("profile", bytes, read)? },
            nanoseconds_per_tick: f64::from(self.queue.get_timestamp_period()),
            times: BTreeMap::new(),
        });
        Ok(true)
    }

    /// Ends a [profile](Self::start_profile). Returns the times, by program and kernel; none if there was no profile.
    pub fn take_profile(&self) -> Vec<KernelTime> {
        let times = self.profile().take().map(|profile| profile.times).unwrap_or_default();
        let line = |((program, kernel), (launches, time))| KernelTime { program, kernel, launches, time };
        times.into_iter().map(line).collect()
    }

    pub(super) fn profile(&self) -> std::sync::MutexGuard<'_, Option<Profile>> {
        self.profile.lock().unwrap_or_else(|poison| poison.into_inner())
    }

    /// Runs a recording `times` over, launch by launch. An error shows at the caller's next command.
    pub(super) fn run_profiled(&self, profile: &mut Profile, recording: &Recording, times: usize) {
        let launches: Vec<_> = (0..times).flat_map(|_| recording.launches()).collect();
        for launches in launches.chunks(MOST_LAUNCHES) {
            // a lost device is reported by what the caller waits for
            let _ = pollster::block_on(self.time_launches(profile, recording, launches));
        }
    }

    async fn time_launches(
        &self,
        profile: &mut Profile,
        recording: &Recording,
        launches: &[(u64, &Command)],
    ) -> Result<(), GpuError> {
        let mut encoder = self.encoder(recording);
        for (index, launch) in (0..).zip(launches) {
            let stamps = wgpu::ComputePassTimestampWrites {
                query_set: &profile.queries,
                beginning_of_pass_write_index: Some(2 * index),
                end_of_pass_write_index: Some(2 * index + 1),
            };
            self.pass(&mut encoder, recording, std::iter::once(*launch), Some(stamps));
        }
        let stamps = 2 * launches.len();
        encoder.resolve_query_set(&profile.queries, 0..stamps as u32, &profile.ticks, 0);
        let bytes = stamps as u64 * BYTES;
        encoder.copy_buffer_to_buffer(&profile.ticks, 0, &profile.readback.handle, 0, bytes);
        let submission = Submission(self.send([encoder.finish()]));
        let Profile { readback, nanoseconds_per_tick, times, .. } = profile;
        let add = |words: &[u32]| {
            let stamp = |at: usize| u64::from(words[2 * at]) | (u64::from(words[2 * at + 1]) << 32);
            for (index, (_, launch)) in launches.iter().enumerate() {
                let ticks = stamp(2 * index + 1).saturating_sub(stamp(2 * index));
                let (launches, time) =
                    times.entry((recording.label().to_owned(), launch.kernel())).or_default();
                *launches += 1;
                *time += Duration::from_nanos((ticks as f64 * *nanoseconds_per_tick) as u64);
            }
        };
        self.map(readback, Some(submission), add).await
    }
}
