//! Ctrl-C: work in progress ends between two steps, so that what is done has been written; a second one, or one
//! before work has begun or while it waits for somebody to type, ends the process at once.

use std::process;
use std::sync::atomic::{AtomicU8, Ordering};

use wordloom::transformer::Cancel;

use super::CliError;

/// 128 + SIGINT, as shells expect.
pub const EXIT_CODE: u8 = 130;

const IDLE: u8 = 0;
const WORKING: u8 = 1;
const INTERRUPTED: u8 = 2;

static STATE: AtomicU8 = AtomicU8::new(IDLE);

/// Installs the handler and gives what it sets.
pub fn handler() -> Cancel {
    let cancel = Cancel::default();
    let wish = cancel.clone();
    // an error means that a handler exists already or signals are not to be had: Ctrl-C then simply ends the process
    let _ = ctrlc::set_handler(move || {
        match STATE.compare_exchange(WORKING, INTERRUPTED, Ordering::SeqCst, Ordering::SeqCst) {
            Ok(_) => wish.cancel(),
            Err(_) => process::exit(EXIT_CODE.into()),
        }
    });
    cancel
}

/// For a command that goes on until it is told to stop: Ctrl-C is its ordinary end.
pub fn ends_the_process() {
    let _ = ctrlc::set_handler(|| process::exit(0)); // an error: as above
}

/// Does all of a command's work, which looks at [`Cancel`] now and then.
///
/// # Errors
/// Its own; [`CliError::Interrupted`] where Ctrl-C was pressed meanwhile, even if it came too late to stop the work.
pub fn working<R>(work: impl FnOnce() -> Result<R, CliError>) -> Result<R, CliError> {
    STATE.store(WORKING, Ordering::SeqCst);
    let result = work();
    match STATE.swap(IDLE, Ordering::SeqCst) {
        INTERRUPTED => Err(CliError::Interrupted),
        _ => result,
    }
}

/// Waits for what may never come, in the middle of the work.
///
/// # Errors
/// [`CliError::Interrupted`] where Ctrl-C was pressed before.
pub fn waiting<R>(wait: impl FnOnce() -> R) -> Result<R, CliError> {
    let change = |from, to| STATE.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst);
    match change(WORKING, IDLE) {
        Err(INTERRUPTED) => Err(CliError::Interrupted),
        Err(_) => Ok(wait()),
        Ok(_) => {
            let result = wait();
            let _ = change(IDLE, WORKING); // nothing else changes an idle state
            Ok(result)
        }
    }
}
