//! Whether standard output was closed when the program began. Rust's runtime puts `/dev/null` in its place before `main`, so
//! that all text would be lost without an error.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};

static CLOSED: AtomicBool = AtomicBool::new(false);

/// An error if there is no standard output.
pub fn check() -> io::Result<()> {
    match CLOSED.load(Ordering::Relaxed) {
        true => Err(io::Error::other("it is closed")),
        false => Ok(()),
    }
}

/// Runs before Rust's runtime.
#[cfg(target_os = "linux")]
#[used]
#[allow(unsafe_code, reason = "nothing else runs before Rust's runtime")]
#[unsafe(link_section = ".init_array")]
static BEFORE_RUST: extern "C" fn() = {
    extern "C" fn look() {
        // SAFETY: the call reads the flags of a file descriptor, and an invalid one is only an error.
        let flags = unsafe { nix::libc::fcntl(1, nix::libc::F_GETFD) };
        CLOSED.store(flags == -1, Ordering::Relaxed);
    }
    look
};
