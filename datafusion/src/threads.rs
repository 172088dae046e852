//! Threads of translations.
//!
//! A call runs inside a pool: its parallel parts go to threads that have no call of their own. So a single partition uses all cores, and
//! as many partitions as cores work side by side, each on one. More calls wait, because a thread that waits for a part of its call could
//! take up another call above it.

use std::sync::{Condvar, Mutex, PoisonError};

use rayon::{ThreadPool, ThreadPoolBuildError, ThreadPoolBuilder};
use tokio::runtime::{Handle, RuntimeFlavor};

/// Bytes of a thread's stack. A call can lie above others; pages that are not used cost nothing.
const STACK: usize = 16 << 20;

/// A pool, and the number of calls that may enter it.
pub struct Threads {
    pool: ThreadPool,
    free: Mutex<usize>,
    freed: Condvar,
}

impl Threads {
    /// * `count`: `None` for `RAYON_NUM_THREADS`, else one for each core
    pub fn new(count: Option<usize>) -> Result<Self, ThreadPoolBuildError> {
        let builder =
            ThreadPoolBuilder::new().stack_size(STACK).thread_name(|index| format!("translate-{index}"));
        let pool = builder.num_threads(count.unwrap_or(0)).build()?;
        Ok(Self { free: Mutex::new(pool.current_num_threads()), freed: Condvar::new(), pool })
    }

    /// Runs a call, and blocks this thread until it is done.
    pub fn run<R: Send>(&self, call: impl FnOnce() -> R + Send) -> R {
        let free = self.free.lock().unwrap_or_else(PoisonError::into_inner);
        let mut free = self.freed.wait_while(free, |free| *free == 0).unwrap_or_else(PoisonError::into_inner);
        *free -= 1;
        drop(free);
        let _place = Place(self);
        self.pool.install(call)
    }
}

/// The place of a call in the pool, which it leaves after a panic, too.
struct Place<'a>(&'a Threads);

impl Drop for Place<'_> {
    fn drop(&mut self) {
        *self.0.free.lock().unwrap_or_else(PoisonError::into_inner) += 1;
        self.0.freed.notify_one();
    }
}

/// Runs work that blocks. A runtime with several threads moves its other tasks away first; a runtime with one thread waits.
pub fn blocking<R>(work: impl FnOnce() -> R) -> R {
    match Handle::try_current().map(|runtime| runtime.runtime_flavor()) {
        Ok(RuntimeFlavor::MultiThread) => tokio::task::block_in_place(work),
        _ => work(),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    #[test]
    fn no_more_calls_than_threads_run_at_once() {
        let threads = Threads::new(Some(2)).unwrap();
        let (running, most) = (AtomicUsize::new(0), AtomicUsize::new(0));
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    threads.run(|| {
                        most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                        std::thread::sleep(Duration::from_millis(5));
                        running.fetch_sub(1, Ordering::SeqCst);
                    });
                });
            }
        });
        assert!(most.into_inner() <= 2);
    }

    #[test]
    fn a_panic_leaves_its_place() {
        let threads = Threads::new(Some(1)).unwrap();
        let panics = || threads.run(|| panic!("on purpose"));
        assert!(std::panic::catch_unwind(std::panic::AssertUnwindSafe(panics)).is_err());
        assert_eq!(threads.run(|| 1), 1);
    }

    /// The only worker of a runtime waits for a message that another task of this worker sends.
    #[test]
    fn other_tasks_go_on_while_a_call_blocks() {
        let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).build().unwrap();
        let (sender, receiver) = channel();
        let received = runtime.block_on(async {
            let waiting = tokio::spawn(async move {
                tokio::spawn(async move { sender.send(()).unwrap() });
                blocking(|| receiver.recv_timeout(Duration::from_secs(60)))
            });
            waiting.await.unwrap()
        });
        assert_eq!(received, Ok(()));
    }
}
