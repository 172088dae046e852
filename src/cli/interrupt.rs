//! Ctrl-C: work in progress ends between two steps, so that what is done has been written; a second one, or one
//! while nothing is in progress, ends the process at once.

use std::sync::atomic::{AtomicBool, Ordering};

use wordloom::transformer::Cancel;

/// 128 + SIGINT, as shells expect.
pub const EXIT_CODE: u8 = 130;

static WORKING: AtomicBool = AtomicBool::new(false);

/// Installs the handler and gives what it sets.
pub fn handler() -> Cancel {
    let cancel = Cancel::default();
    let wish = cancel.clone();
    // an error means that a handler exists already or signals are not to be had: Ctrl-C then simply ends the process
    let _ = ctrlc::set_handler(move || {
        if wish.is_cancelled() || !WORKING.load(Ordering::Relaxed) {
            std::process::exit(EXIT_CODE.into());
        }
        wish.cancel();
    });
    cancel
}

/// Runs something that looks at [`Cancel`] now and then.
pub fn working<R>(work: impl FnOnce() -> R) -> R {
    WORKING.store(true, Ordering::Relaxed);
    let result = work();
    WORKING.store(false, Ordering::Relaxed);
    result
}
