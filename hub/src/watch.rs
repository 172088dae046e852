//! The caller's view and its wish to stop, in one hand.

use std::thread;
use std::time::{Duration, Instant};

use wordloom::transformer::Cancel;

use crate::{HubError, Progress};

/// The caller of a long call.
pub struct Watch<'a> {
    progress: &'a mut dyn Progress,
    cancel: &'a Cancel,
    /// Whether bytes are shown.
    counts: bool,
}

impl<'a> Watch<'a> {
    pub fn new(progress: &'a mut dyn Progress, cancel: &'a Cancel) -> Self {
        Self { progress, cancel, counts: false }
    }

    /// Shows bytes from now on.
    pub fn start(&mut self, name: &str, total: u64, present: u64) {
        self.counts = true;
        self.progress.start(name, total, present);
    }

    pub fn advance(&mut self, bytes: u64) {
        if self.counts {
            self.progress.advance(bytes);
        }
    }

    pub fn retreat(&mut self, bytes: u64) {
        if self.counts && bytes > 0 {
            self.progress.retreat(bytes);
        }
    }

    pub fn notice(&mut self, line: &str) {
        self.progress.notice(line);
    }

    pub fn finish(&mut self) {
        if std::mem::take(&mut self.counts) {
            self.progress.finish();
        }
    }

    pub fn is_cancelled(&self) -> bool {
        self.cancel.is_cancelled()
    }

    /// Returns [`HubError::Cancelled`] after the caller's wish.
    pub fn check(&self) -> Result<(), HubError> {
        if self.is_cancelled() { Err(HubError::Cancelled) } else { Ok(()) }
    }

    /// Sleeps, and listens meanwhile.
    pub fn sleep(&self, duration: Duration) -> Result<(), HubError> {
        let end = Instant::now() + duration;
        loop {
            self.check()?;
            match end.checked_duration_since(Instant::now()) {
                None | Some(Duration::ZERO) => return Ok(()),
                Some(rest) => thread::sleep(rest.min(Duration::from_millis(50))),
            }
        }
    }
}
