//! An X server without a screen (Xvfb) and the libraries that a window loads, for the tests of the desktop window.

use std::process::Command;

use crate::apt;
use crate::process;
use crate::system::System;

/// The server, and the libraries that `winit` loads at run time.
const PACKAGES: [&str; 5] = ["xvfb", "libx11-xcb1", "libxcursor1", "libxi6", "libxkbcommon-x11-0"];

pub fn find() -> Option<String> {
    match System::detect() {
        System::MacOs | System::Windows => Some("not needed: the window is tested on Linux".into()),
        System::Debian if !apt::installed(&PACKAGES) => None,
        _ => process::probe(Command::new("sh").args(["-c", "command -v Xvfb"])),
    }
}

pub fn install() -> Result<(), String> {
    match System::detect() {
        System::Debian => apt::install(&PACKAGES),
        _ => {
            Err("install Xvfb (X.Org's server without a screen), libxcursor, libXi and libxkbcommon-x11"
                .into())
        }
    }
}
