//! Ctrl-C stops work between two steps, so that finished results are written. It ends the process at once the second
//! time, before the work, or during a wait for input.

use std::process;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU8, Ordering};

use wordloom::transformer::Cancel;

use super::CliError;

/// 128 + SIGINT, as shells expect.
pub const EXIT_CODE: u8 = 130;

const IDLE: u8 = 0;
const WORKING: u8 = 1;
const INTERRUPTED: u8 = 2;
const SERVING: u8 = 3;
const STOPPING: u8 = 4;

static STATE: AtomicU8 = AtomicU8::new(IDLE);
static CANCEL: OnceLock<Cancel> = OnceLock::new();

/// The process's wish to stop: a system has one handler of Ctrl-C.
pub fn handler() -> Cancel {
    let install = || {
        let cancel = Cancel::default();
        let wish = cancel.clone();
        let act =
            move || match STATE.compare_exchange(WORKING, INTERRUPTED, Ordering::SeqCst, Ordering::SeqCst) {
                Ok(_) => wish.cancel(),
                Err(SERVING) => {
                    STATE.store(STOPPING, Ordering::SeqCst);
                    wish.cancel();
                }
                Err(STOPPING) => process::exit(0),
                Err(_) => process::exit(EXIT_CODE.into()),
            };
        // on an error (a handler exists, or the system has no signals) Ctrl-C ends the process
        let _ = with_nohup(|| ctrlc::set_handler(act));
        cancel
    };
    CANCEL.get_or_init(install).clone()
}

/// Installs a handler, but `nohup` still does what it says: a hangup that is ignored when the process starts stays ignored.
#[cfg(unix)]
#[allow(unsafe_code, reason = "a signal's disposition can be read and set in no other way")]
fn with_nohup<R>(install: impl FnOnce() -> R) -> R {
    use nix::sys::signal::{SigHandler, Signal, signal};
    // SAFETY: the signal is ignored, or has its default; no handler runs.
    let set = |handler| unsafe { signal(Signal::SIGHUP, handler) };
    let before = set(SigHandler::SigDfl);
    let result = install();
    if matches!(before, Ok(SigHandler::SigIgn)) {
        let _ = set(SigHandler::SigIgn); // nothing but the signal's name can be wrong
    }
    result
}

#[cfg(not(unix))]
fn with_nohup<R>(install: impl FnOnce() -> R) -> R {
    install()
}

/// Makes Ctrl-C the normal end of a command that runs until it is stopped. The command ends when it finds the wish, and
/// finishes its work before; a second Ctrl-C ends it at once.
pub fn ends_the_command() -> Cancel {
    let cancel = handler();
    STATE.store(SERVING, Ordering::SeqCst);
    cancel
}

/// Does a command's work, which checks [`Cancel`] regularly. Returns [`CliError::Interrupted`] after any Ctrl-C.
pub fn working<R>(work: impl FnOnce() -> Result<R, CliError>) -> Result<R, CliError> {
    STATE.store(WORKING, Ordering::SeqCst);
    let result = work();
    match STATE.swap(IDLE, Ordering::SeqCst) {
        INTERRUPTED => Err(CliError::Interrupted),
        _ => result,
    }
}

/// Waits for input during the work. Returns [`CliError::Interrupted`] if Ctrl-C was pressed before.
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
