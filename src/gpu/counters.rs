//! Counters of a device's work, for measurements, and for tests that a replay creates nothing.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts since the device was opened.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Kernel launches.
    pub dispatches: u64,
    /// Submissions to the queue, including empty ones.
    pub submits: u64,
    /// Read-backs that the host waited for.
    pub readbacks: u64,
    /// Created buffers; constant while a plan is replayed.
    pub buffers: u64,
    /// Created bind groups; constant while a plan is replayed.
    pub bind_groups: u64,
}

impl Counters {
    /// The difference to an earlier reading.
    pub fn since(self, earlier: Self) -> Self {
        Self {
            dispatches: self.dispatches - earlier.dispatches,
            submits: self.submits - earlier.submits,
            readbacks: self.readbacks - earlier.readbacks,
            buffers: self.buffers - earlier.buffers,
            bind_groups: self.bind_groups - earlier.bind_groups,
        }
    }
}

/// The counters of an open device.
#[derive(Default)]
pub(super) struct Tally {
    pub dispatches: Count,
    pub submits: Count,
    pub readbacks: Count,
    pub buffers: Count,
    pub bind_groups: Count,
}

impl Tally {
    pub fn counters(&self) -> Counters {
        Counters {
            dispatches: self.dispatches.get(),
            submits: self.submits.get(),
            readbacks: self.readbacks.get(),
            buffers: self.buffers.get(),
            bind_groups: self.bind_groups.get(),
        }
    }
}

#[derive(Default)]
pub(super) struct Count(AtomicU64);

impl Count {
    pub fn add(&self, more: u64) {
        self.0.fetch_add(more, Ordering::Relaxed);
    }

    pub fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

/// Bytes of all buffers of a device.
#[derive(Debug, Default)]
pub(super) struct Memory {
    now: AtomicU64,
    peak: AtomicU64,
}

impl Memory {
    pub fn take(&self, bytes: u64) {
        let now = self.now.fetch_add(bytes, Ordering::Relaxed) + bytes;
        self.peak.fetch_max(now, Ordering::Relaxed);
    }

    pub fn give_back(&self, bytes: u64) {
        self.now.fetch_sub(bytes, Ordering::Relaxed);
    }

    pub fn now(&self) -> u64 {
        self.now.load(Ordering::Relaxed)
    }

    pub fn peak(&self) -> u64 {
        self.peak.load(Ordering::Relaxed)
    }
}
