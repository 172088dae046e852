//! What a device hands on to the one that replaces it: whom to tell, and the faults of a test.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use super::Gpu;

use crate::readable::counted;

/// An event that a user should hear of, because work takes another course.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DeviceNews {
    /// A device was lost, and its work begins anew on another.
    Replaced {
        /// Name of the lost adapter.
        lost: String,
        /// The driver's words.
        reason: String,
        /// The device that goes on.
        by: String,
    },
    /// Device memory is exhausted, and batches are smaller from now on. Told once.
    Smaller {
        /// Name of the adapter.
        adapter: String,
        /// Sentences of a batch.
        sentences: usize,
    },
}

impl fmt::Display for DeviceNews {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Replaced { lost, reason, by } => {
                let reason = reason.trim_end_matches('.');
                write!(f, "the GPU `{lost}` was lost ({reason}); going on with {by}")
            }
            Self::Smaller { adapter, sentences } => {
                let most = counted(*sentences, "sentence");
                write!(f, "`{adapter}` is out of memory; batches have {most} from now on")
            }
        }
    }
}

type Listener = Box<dyn Fn(&DeviceNews) + Send + Sync>;

/// No submit is the last one, and no buffer is too much.
const NEVER: u64 = u64::MAX;

#[derive(Default)]
pub(super) struct Lineage {
    listener: OnceLock<Listener>,
    told_of_memory: AtomicBool,
    faults: Faults,
}

/// Faults that tests ask for.
struct Faults {
    /// Submits until the device is lost.
    submits: AtomicU64,
    /// Submits between later losses.
    later: Mutex<VecDeque<u64>>,
    /// Whether the adapter cannot be opened again.
    gone: AtomicBool,
    /// Bytes of all buffers.
    bytes: AtomicU64,
}

impl Default for Faults {
    fn default() -> Self {
        Self {
            submits: NEVER.into(),
            later: Mutex::default(),
            gone: AtomicBool::default(),
            bytes: NEVER.into(),
        }
    }
}

impl Lineage {
    pub fn listen(&self, listener: Listener) {
        let _ = self.listener.set(listener); // the first one stays
    }

    pub fn tell(&self, news: &DeviceNews) {
        let again =
            matches!(news, DeviceNews::Smaller { .. }) && self.told_of_memory.swap(true, Ordering::Relaxed);
        if let (Some(listener), false) = (self.listener.get(), again) {
            listener(news);
        }
    }

    /// Counts a submit. Returns whether the device is to be lost with it.
    pub fn is_last_submit(&self) -> bool {
        let left = self.faults.submits.load(Ordering::Relaxed);
        if left == NEVER {
            return false;
        }
        let mut later = self.faults.later.lock().unwrap_or_else(PoisonError::into_inner);
        let next = if left == 0 { later.pop_front().unwrap_or(NEVER) } else { left - 1 };
        self.faults.submits.store(next, Ordering::Relaxed);
        left == 0
    }

    /// Whether a test lets the adapter be gone.
    pub fn is_gone(&self) -> bool {
        self.faults.gone.load(Ordering::Relaxed)
    }

    /// The bytes that all buffers may have together.
    pub fn most_bytes(&self) -> u64 {
        self.faults.bytes.load(Ordering::Relaxed)
    }
}

/// Faults for tests.
impl Gpu {
    /// Loses the device right before a submit: after `submits[0]` others. The devices that replace it are lost after
    /// `submits[1]` more, and so on.
    pub fn lose_after(&self, submits: &[u64]) {
        let mut later = self.lineage.faults.later.lock().unwrap_or_else(PoisonError::into_inner);
        *later = submits.iter().copied().collect();
        let first = later.pop_front().unwrap_or(NEVER);
        self.lineage.faults.submits.store(first, Ordering::Relaxed);
    }

    /// As if the adapter could not be opened again after a loss.
    pub fn refuse_to_reopen(&self) {
        self.lineage.faults.gone.store(true, Ordering::Relaxed);
    }

    /// As if all buffers together could not have more bytes. `None` lifts the limit.
    pub fn limit_memory(&self, bytes: Option<u64>) {
        self.lineage.faults.bytes.store(bytes.unwrap_or(NEVER), Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn news_are_whole_sentences() {
        let replaced = DeviceNews::Replaced {
            lost: "Fast".into(),
            reason: "Device was destroyed.".into(),
            by: "CPU".into(),
        };
        let said = "the GPU `Fast` was lost (Device was destroyed); going on with CPU";
        assert_eq!(replaced.to_string(), said);
        let smaller = |sentences| DeviceNews::Smaller { adapter: "Fast".into(), sentences }.to_string();
        assert_eq!(smaller(1), "`Fast` is out of memory; batches have 1 sentence from now on");
        assert_eq!(smaller(8), "`Fast` is out of memory; batches have 8 sentences from now on");
    }
}
