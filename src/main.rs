//! The `wordloom` command.

#[cfg(not(target_arch = "wasm32"))]
mod cli;

#[cfg(not(target_arch = "wasm32"))]
fn main() -> std::process::ExitCode {
    #[cfg(target_os = "linux")]
    hush_device_selection();
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
