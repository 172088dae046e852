//! Panics of the `tokenizers` library, as errors.

#[cfg(feature = "tokenizers")]
use std::cell::Cell;

#[cfg(feature = "tokenizers")]
thread_local! {
    static CAUGHT: Cell<bool> = const { Cell::new(false) };
}

/// Whether a panic of this thread would be caught and returned as a [`TextError`](super::TextError) now. The panic hook
/// of a program may then be silent; every other panic is a defect, and should be reported.
pub fn panic_is_caught() -> bool {
    #[cfg(feature = "tokenizers")]
    let caught = CAUGHT.get();
    #[cfg(not(feature = "tokenizers"))]
    let caught = false;
    caught
}

/// Calls the library, which panics on some damaged or hostile files. Returns the panic's message as an error.
///
/// A build that aborts at a panic, such as the page's, cannot catch it: there the module traps, and its owner starts a
/// new one. `limits` refuses the known files first, on every platform.
#[cfg(feature = "tokenizers")]
pub(crate) fn guarded<T>(call: impl FnOnce() -> T) -> Result<T, String> {
    let before = CAUGHT.replace(true);
    // what a failed call leaves behind in the library's caches is rebuilt by the next call
    let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
    CAUGHT.set(before);
    result.map_err(|panic| {
        let message = panic.downcast_ref::<String>().map(String::as_str);
        let message = message.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("a panic");
        format!("the tokenizers library cannot use this file ({message})")
    })
}

#[cfg(all(test, feature = "tokenizers"))]
mod tests {
    use super::{guarded, panic_is_caught};

    #[test]
    fn a_panic_is_an_error_and_the_next_one_is_not_hidden() {
        assert!(!panic_is_caught());
        assert_eq!(guarded(panic_is_caught), Ok(true));
        let error = guarded(|| -> () { panic!("at {}", 7) }).unwrap_err();
        assert!(error.contains("at 7"), "{error}");
        assert!(!panic_is_caught());
    }
}
