//! Work without the interpreter's lock, on threads of this process.
//!
//! The calling thread waits, and looks for Ctrl-C meanwhile. Work runs in a pool that belongs to the process: after a fork, the
//! threads of the parent's pool do not exist in the child, which therefore makes its own. Rayon's global pool is never used.

use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;
use rayon::{ThreadPool, ThreadPoolBuilder};
use wordloom::transformer::Cancel as LibraryCancel;

/// Time between two looks for Ctrl-C.
const LOOK: Duration = Duration::from_millis(50);
/// Bytes of a thread's stack. Concurrent calls of several Python threads can lie on one another; pages that are not used cost nothing.
const STACK: usize = 16 << 20;

/// Stops a call from another thread.
#[pyclass(frozen, module = "wordloom._native")]
#[derive(Default)]
pub struct Cancel(pub LibraryCancel);

#[pymethods]
impl Cancel {
    #[new]
    fn new() -> Self {
        Self::default()
    }

    /// Stops the call before its next step.
    fn cancel(&self) {
        self.0.cancel();
    }
}

/// Done and total units of the work.
pub type Done = (u64, u64);

/// The cancel flag of a call, and the Python function that gets its progress.
#[derive(Default)]
pub struct Watch {
    pub cancel: LibraryCancel,
    /// Called with done and total units.
    pub progress: Option<Py<PyAny>>,
}

impl Watch {
    pub fn new(cancel: Option<&Cancel>, progress: Option<Py<PyAny>>) -> Self {
        Self { cancel: cancel.map(|cancel| cancel.0.clone()).unwrap_or_default(), progress }
    }

    fn tell(&self, done: Done) -> PyResult<()> {
        let Some(progress) = &self.progress else { return Ok(()) };
        Python::attach(|py| progress.call1(py, done).map(drop))
    }
}

/// Runs `work` on the pool. `work` sends its progress, and stops if the watch's [`Cancel`] asks for it.
///
/// # Errors
/// The exception of a signal's handler or of the progress function, which have cancelled the work.
pub fn run<R: Send>(
    py: Python<'_>,
    watch: &Watch,
    work: impl FnOnce(&Sender<Done>) -> R + Send,
) -> PyResult<R> {
    run_telling(py, &watch.cancel, |done| watch.tell(done), work)
}

/// As [`run`], with messages of any type, which `tell` gets on the calling thread. After an error it gets no more.
pub fn run_telling<M: Send, R: Send>(
    py: Python<'_>,
    cancel: &LibraryCancel,
    mut tell: impl FnMut(M) -> PyResult<()> + Send,
    work: impl FnOnce(&Sender<M>) -> R + Send,
) -> PyResult<R> {
    let pool = pool()?;
    let (sender, receiver) = channel();
    let (mut result, mut raised, mut looked) = (None, None, Instant::now());
    py.detach(|| {
        let result = &mut result;
        pool.in_place_scope(move |scope| {
            scope.spawn(move |_| *result = Some(work(&sender)));
            loop {
                let mut seen = match receiver.recv_timeout(LOOK) {
                    Ok(_) if raised.is_some() => Ok(()),
                    Ok(message) => tell(message),
                    Err(RecvTimeoutError::Timeout) => Ok(()),
                    Err(RecvTimeoutError::Disconnected) => break,
                };
                if seen.is_ok() && looked.elapsed() >= LOOK {
                    looked = Instant::now();
                    seen = Python::attach(|py| py.check_signals());
                }
                if let Err(error) = seen {
                    cancel.cancel();
                    raised = raised.or(Some(error));
                }
            }
            raised
        })
    })
    .map_or(Ok(()), Err)?;
    Ok(result.expect("the scope has waited for the work"))
}

/// Runs work that cannot be cancelled. After an exception of a signal's handler, its thread goes on alone, and its result is dropped.
///
/// # Errors
/// The exception of a signal's handler; `OSError` if the system gives no thread.
pub fn run_to_its_end<R: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> R + Send + 'static,
) -> PyResult<R> {
    let (sender, receiver) = channel();
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || {
        let _ = sender.send(work()); // none listens after a signal
    })?;
    py.detach(move || {
        loop {
            match receiver.recv_timeout(LOOK) {
                Ok(result) => return Ok(result),
                Err(RecvTimeoutError::Timeout) => Python::attach(|py| py.check_signals())?,
                Err(RecvTimeoutError::Disconnected) => break,
            }
        }
        match thread.join() {
            Err(panic) => std::panic::resume_unwind(panic),
            Ok(()) => unreachable!("a thread that ends has sent its result"),
        }
    })
}

/// The pool of this process.
fn pool() -> PyResult<&'static ThreadPool> {
    static POOL: Mutex<Option<(u32, &ThreadPool)>> = Mutex::new(None);
    let process = std::process::id();
    let mut pool = POOL.lock().unwrap_or_else(PoisonError::into_inner);
    match *pool {
        Some((owner, pool)) if owner == process => Ok(pool),
        _ => {
            let made = ThreadPoolBuilder::new().stack_size(STACK).build();
            let made = made.map_err(|error| {
                PyOSError::new_err(format!("{error}; RAYON_NUM_THREADS=1 asks for fewer threads"))
            })?;
            // a parent's pool is never dropped: its threads could not be told to end
            let made: &'static ThreadPool = Box::leak(Box::new(made));
            *pool = Some((process, made));
            Ok(made)
        }
    }
}
