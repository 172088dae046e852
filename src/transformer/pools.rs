//! Pools of threads for the searches of a call. The process keeps them: the C library gives new threads memory of their own
//! to allocate from, and a process that makes threads for each call grows until it has used all of it.

use std::mem::forget;
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::yield_now;

use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::cpu;

/// Fewest rows of a search: with fewer, each core reads all weights for little work.
const FEWEST_ROWS: usize = 16;

/// Pools without a search.
static IDLE: Mutex<Vec<Idle>> = Mutex::new(Vec::new());

struct Idle {
    /// The process that has the threads: its child after a fork has the pool only.
    process: u32,
    threads: Arc<ThreadPool>,
}

/// The threads of one search. When this is dropped, the next search of as many threads gets them.
pub(super) struct Pool {
    threads: Arc<ThreadPool>,
    /// Pools of its call. So many of as many threads are kept.
    of: usize,
}

impl Pool {
    /// Pools for a call with so many rows, one for each search. `None` if one search with all threads is best, or if there is
    /// no memory for more threads.
    pub fn of_call(rows: usize) -> Option<Vec<Self>> {
        let threads = cpu::cores();
        let searches = (rows / FEWEST_ROWS).min(threads);
        if searches < 2 {
            return None;
        }
        (0..searches).map(|_| Self::one_of(searches, threads / searches)).collect()
    }

    /// One of `of` pools of a call: an idle one, or a new one.
    fn one_of(of: usize, threads: usize) -> Option<Self> {
        let new = || ThreadPoolBuilder::new().num_threads(threads).build().ok().map(Arc::new);
        Some(Self { threads: idle(threads).or_else(new)?, of })
    }

    /// The threads, to start a search that owns this pool.
    pub fn threads(&self) -> Arc<ThreadPool> {
        self.threads.clone()
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let Some(mut idle) = lock_idle() else { return };
        let threads = self.threads.current_num_threads();
        if idle.iter().filter(|idle| idle.threads.current_num_threads() == threads).count() < self.of {
            idle.push(Idle { process: std::process::id(), threads: self.threads.clone() });
        }
    }
}

/// Takes an idle pool of so many threads.
fn idle(threads: usize) -> Option<Arc<ThreadPool>> {
    let mut idle = lock_idle()?;
    idle.extract_if(.., |idle| idle.process != std::process::id()).for_each(forget);
    let found = idle.iter().position(|idle| idle.threads.current_num_threads() == threads)?;
    Some(idle.swap_remove(found).threads)
}

/// `None` in a child whose parent held the lock at the fork: nothing unlocks it there.
fn lock_idle() -> Option<MutexGuard<'static, Vec<Idle>>> {
    let tries = std::iter::from_fn(|| {
        yield_now();
        Some(IDLE.try_lock().ok())
    });
    tries.take(1000).flatten().next()
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// A search drops its pool on the pool's own thread.
    #[test]
    fn the_next_call_gets_the_same_threads() {
        let pointers = || {
            let pools: Vec<Pool> = (0..2).map(|_| Pool::one_of(2, 1).expect("memory")).collect();
            let mut found: Vec<_> = pools.iter().map(|pool| Arc::as_ptr(&pool.threads)).collect();
            found.sort_unstable();
            let (sender, dropped) = channel();
            for pool in pools {
                let sender = sender.clone();
                pool.threads().spawn(move || {
                    drop(pool);
                    sender.send(()).expect("the test waits");
                });
            }
            drop(sender);
            assert_eq!(dropped.iter().count(), 2);
            found
        };
        assert_eq!(pointers(), pointers());
    }
}
