//! Pools of threads for the searches of a call. The process keeps them: the C library gives new threads memory of their own
//! to allocate from, and a process that makes threads for each call grows until it has used all of it.

use std::mem::forget;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::yield_now;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::cpu;

/// Fewest rows of a search: with fewer, each core reads all weights for little work.
const FEWEST_ROWS: usize = 16;

/// Pools without a search, at most one for each core.
static IDLE: Mutex<Vec<Idle>> = Mutex::new(Vec::new());

struct Idle {
    /// The process that has the threads: its child after a fork has the pool only.
    process: u32,
    threads: Arc<ThreadPool>,
}

/// The threads of one search. Another search gets them when this is dropped.
pub(super) struct Pool(Arc<ThreadPool>);

impl Pool {
    /// Pools for a call with so many rows, one for each search. `None` if one search with all threads is best, or if there is
    /// no memory for more threads.
    pub fn of_call(rows: usize) -> Option<Vec<Self>> {
        let threads = cpu::cores();
        let searches = (rows / FEWEST_ROWS).min(threads);
        if searches < 2 {
            return None;
        }
        let threads = threads / searches;
        (0..searches).map(|_| Self::idle(threads).or_else(|| Self::new(threads))).collect()
    }

    fn new(threads: usize) -> Option<Self> {
        ThreadPoolBuilder::new().num_threads(threads).build().ok().map(|pool| Self(Arc::new(pool)))
    }

    fn idle(threads: usize) -> Option<Self> {
        let mut idle = lock_idle()?;
        idle.extract_if(.., |idle| idle.process != std::process::id()).for_each(forget);
        let found = idle.iter().position(|idle| idle.threads.current_num_threads() == threads)?;
        Some(Self(idle.swap_remove(found).threads))
    }

    /// The threads, to start a search that owns this pool.
    pub fn threads(&self) -> Arc<ThreadPool> {
        self.0.clone()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let Some(mut idle) = lock_idle() else { return };
        if idle.len() < cpu::cores() {
            idle.push(Idle { process: std::process::id(), threads: self.0.clone() });
        }
    }
}

/// `None` in a child whose parent held the lock at the fork: nothing unlocks it there.
fn lock_idle() -> Option<MutexGuard<'static, Vec<Idle>>> {
    let tries = std::iter::from_fn(|| {
        yield_now();
        Some(IDLE.try_lock().ok())
    });
    tries.take(1000).flatten().next()
}
