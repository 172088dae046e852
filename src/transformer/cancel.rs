//! Stopping a generation that is running.

use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks a running generation to stop. Clones share the wish.
#[derive(Clone, Default)]
pub struct Cancel {
    wished: Arc<AtomicBool>,
    turn: Option<Arc<Turn>>,
}

/// Lets others run.
type Turn = dyn Fn() -> Pin<Box<dyn Future<Output = ()>>> + Send + Sync;

impl Cancel {
    /// A wish that can only be uttered while others run: in a browser a worker hears nothing while it computes. `turn`
    /// is awaited before every step; it decides itself how often that is worth its time.
    pub fn with_turn(turn: impl Fn() -> Pin<Box<dyn Future<Output = ()>>> + Send + Sync + 'static) -> Self {
        Self { wished: Arc::default(), turn: Some(Arc::new(turn)) }
    }

    /// Stops the generation before its next step.
    pub fn cancel(&self) {
        self.wished.store(true, Ordering::Relaxed);
    }

    /// Whether that was asked for.
    pub fn is_cancelled(&self) -> bool {
        self.wished.load(Ordering::Relaxed)
    }

    /// Whether both are the same wish.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.wished, &other.wished)
    }

    /// Whether that was asked for, once whoever may ask has had the chance to.
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
