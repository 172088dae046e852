//! Stopping a generation that is running.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A request to stop a running generation. Clones are the same request.
#[derive(Clone, Default)]
pub struct Cancel {
    requested: Arc<AtomicBool>,
    turn: Option<Arc<Turn>>,
}

/// Lets the event loop run.
type Turn = dyn Fn() -> Pin<Box<dyn Future<Output = ()>>> + Send + Sync;

impl Cancel {
    /// A request that can only be made while the event loop runs: in a browser a worker receives no message while it
    /// computes. `turn` is awaited before every step; it decides itself how often that is worth its time.
    pub fn with_turn(turn: impl Fn() -> Pin<Box<dyn Future<Output = ()>>> + Send + Sync + 'static) -> Self {
        Self { requested: Arc::default(), turn: Some(Arc::new(turn)) }
    }

    /// Stops the generation before its next step.
    pub fn cancel(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }

    /// Whether that was asked for.
    pub fn is_cancelled(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Whether both are the same request.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.requested, &other.requested)
    }

    /// Whether that was asked for, after the event loop had its turn.
    pub(crate) async fn listen(&self) -> bool {
        if let Some(turn) = &self.turn {
            turn().await;
        }
        self.is_cancelled()
    }
}

impl fmt::Debug for Cancel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cancel").field(&self.is_cancelled()).finish()
    }
}
