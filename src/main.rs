//! The `wordloom` command.

#[cfg(not(target_arch = "wasm32"))]
mod cli;

#[cfg(not(target_arch = "wasm32"))]
fn main() -> std::process::ExitCode {
    #[cfg(target_os = "linux")]
    hush_device_selection();
    #[cfg(feature = "tokenizers")]
    hush_caught_panics();
    cli::run()
}

#[cfg(target_arch = "wasm32")]
fn main() {}

/// Where there is no desktop session, Mesa's device-selection layer has nobody to ask which GPU the desktop uses, and
/// says so on stderr as an "error". We choose the adapter ourselves.
#[cfg(target_os = "linux")]
fn hush_device_selection() {
    if std::env::var_os("XDG_RUNTIME_DIR").is_none() {
        // SAFETY: this is the first thing that the process does: no other thread reads the environment yet.
        unsafe { std::env::set_var("NODEVICE_SELECT", "1") }
    }
}

/// The `tokenizers` library panics on some damaged files. That is caught and becomes an error, so the panic's own message
/// is kept back; any other one is a fault of ours and is shown.
#[cfg(all(feature = "tokenizers", not(target_arch = "wasm32")))]
fn hush_caught_panics() {
    let show = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if !panic.location().is_some_and(|place| place.file().contains("/tokenizers-")) {
            show(panic);
        }
    }));
}
