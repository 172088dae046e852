use std::sync::{Mutex, PoisonError};

use super::{DecodeSession, SessionKey};
use crate::Device;

/// Bytes of all idle sessions: enough for sentences that come one by one.
const MAX_IDLE_BYTES: usize = 32 << 20;
/// Bytes of the newest idle session, until another is made: the texts of a typing user have similar sentences. On a discrete GPU
/// there is no limit but that of batches: memory for hundreds of sentences takes as long to get as their run.
const MAX_NEWEST_BYTES: usize = 128 << 20;

/// Idle sessions of earlier batches, oldest first.
#[derive(Default)]
pub struct IdleSessions(Mutex<Vec<DecodeSession>>);

impl IdleSessions {
    pub fn take(&self, key: &SessionKey) -> Option<DecodeSession> {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = idle.iter().position(|session| session.key == *key)?;
        Some(idle.remove(index))
    }

    /// Keeps a session of this device.
    pub fn put(&self, device: &Device, session: DecodeSession) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_discrete = device.gpu().is_some_and(|gpu| gpu.adapter().is_discrete());
        let spared = usize::from(is_discrete || session.bytes <= MAX_NEWEST_BYTES);
        idle.push(session);
        trim(&mut idle, spared);
    }

    /// Frees the memory of all. Returns whether there was any.
    pub fn clear(&self) -> bool {
        let idle = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        !idle.is_empty()
    }

    /// Frees memory for another session.
    pub fn make_room(&self) {
        trim(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner), 0);
    }
}

/// Drops the oldest sessions until the others fit, but never the newest `spared`.
fn trim(idle: &mut Vec<DecodeSession>, spared: usize) {
    while idle.len() > spared && idle.iter().map(|session| session.bytes).sum::<usize>() > MAX_IDLE_BYTES {
        idle.remove(0);
    }
}
