use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Stops a running generation. Clones share the request.
#[derive(Clone, Default)]
pub struct Cancel {
    requested: Arc<AtomicBool>,
    turn: Option<Arc<Turn>>,
}

type Turn = dyn Fn() -> Pin<Box<dyn Future<Output = ()>>> + Send + Sync;

impl Cancel {
    /// For single-threaded programs, whose event loop must run to call [`cancel`](Self::cancel), such as a browser's
    /// worker. The generation awaits `turn` before every step; `turn` decides how often it yields.
    pub fn with_turn(turn: impl Fn() -> Pin<Box<dyn Future<Output = ()>>> + Send + Sync + 'static) -> Self {
        Self { requested: Arc::default(), turn: Some(Arc::new(turn)) }
    }

    /// Stops the generation before its next step. On the CPU, also within the encoder.
    pub fn cancel(&self) {
        self.requested.store(true, Ordering::Relaxed);
    }

    /// Whether [`cancel`](Self::cancel) was called.
    pub fn is_cancelled(&self) -> bool {
        self.requested.load(Ordering::Relaxed)
    }

    /// Whether both are clones of one request.
    pub fn is_same(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.requested, &other.requested)
    }

    /// The flag behind the request.
    pub(crate) fn flag(&self) -> &Arc<AtomicBool> {
        &self.requested
    }

    /// Gives the event loop a turn. Returns whether the generation has to stop.
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
