//! Sessions of earlier batches, kept for batches of the same shape.

use std::sync::{Mutex, PoisonError};

use super::{DecodeSession, SessionKey};

/// Memory of all idle sessions, bytes: enough for sentences that come one by one.
const MAX_IDLE_BYTES: usize = 32 << 20;
/// Memory of the newest idle session, bytes, as long as no other is made: a user who types on sends texts of the same few
/// sentences again and again. Larger batches make their session anew, which is little beside their run.
const MAX_NEWEST_BYTES: usize = 128 << 20;

/// Sessions of earlier batches, oldest first.
#[derive(Default)]
pub struct IdleSessions(Mutex<Vec<DecodeSession>>);

impl IdleSessions {
    pub fn take(&self, key: &SessionKey) -> Option<DecodeSession> {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = idle.iter().position(|session| session.key == *key)?;
        Some(idle.remove(index))
    }

    pub fn put(&self, session: DecodeSession) {
        let mut idle = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let spared = usize::from(session.bytes <= MAX_NEWEST_BYTES);
        idle.push(session);
        trim(&mut idle, spared);
    }

    /// Gives memory back before another session is made.
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
