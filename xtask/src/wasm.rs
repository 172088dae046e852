//! The standard library for `wasm32-unknown-unknown`: rustup's, or else built from Debian's `rust-web-src`.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::apt;
use crate::process::{self, cargo};
use crate::rustup;
use crate::system::System;

pub const TARGET: &str = "wasm32-unknown-unknown";

/// Debian's second Rust compiler, kept recent for its browsers, and the source of its standard library.
const DEBIAN_PACKAGES: [&str; 2] = ["rustc-web", "rust-web-src"];
const DEBIAN_RUSTC: &str = "/usr/bin/rustc";

#[derive(Clone, Copy, Debug, PartialEq)]
enum StandardLibrary {
    Prebuilt,
    DebianSource,
}

impl StandardLibrary {
    fn find() -> Option<StandardLibrary> {
        let folder =
            process::probe(Command::new("rustc").args(["--print", "target-libdir", "--target", TARGET]));
        if folder.is_some_and(|folder| Path::new(&folder).exists()) {
            Some(StandardLibrary::Prebuilt)
        } else if apt::installed(&DEBIAN_PACKAGES) {
            Some(StandardLibrary::DebianSource)
        } else {
            None
        }
    }
}

pub fn find() -> Option<String> {
    StandardLibrary::find().map(|library| match library {
        StandardLibrary::Prebuilt => format!("target {TARGET}"),
        StandardLibrary::DebianSource => format!("built from Debian's {}", DEBIAN_PACKAGES[1]),
    })
}

pub fn install() -> Result<(), String> {
    let advice = match rustup::run(&["target", "add", TARGET]) {
        Ok(()) => return Ok(()),
        Err(advice) => advice,
    };
    if System::detect() != System::Debian {
        return Err(advice);
    }
    anstream::println!("    {advice}");
    anstream::println!("    instead, Debian's compiler, which builds the standard library from source:");
    apt::install(&DEBIAN_PACKAGES).map_err(|second| format!("{advice}, or {second}"))
}

/// Lints the code for browsers, which the native lints skip.
pub fn lints() -> Command {
    let library = StandardLibrary::find();
    // Debian's compiler has no clippy.
    let words: &[&str] = match library {
        Some(StandardLibrary::DebianSource) => &["check"],
        _ => &["clippy"],
    };
    let packages = [
        "--locked",
        "--package",
        "wordloom",
        "--package",
        "wordloom-web",
        "--package",
        "wordloom-web-documents",
        "--package",
        "wordloom-web-tokenizer",
        "--package",
        "wordloom-web-train",
        "--lib",
    ];
    let mut command = cargo_with(library, &[words, &packages].concat());
    if library != Some(StandardLibrary::DebianSource) {
        command.args(["--", "-D", "warnings"]);
    }
    command
}

/// Cargo with `arguments`, for browsers. Without a standard library, rustc's own message says what to install.
pub fn cargo_for_browsers(arguments: &[&str]) -> Command {
    cargo_with(StandardLibrary::find(), arguments)
}

fn cargo_with(library: Option<StandardLibrary>, arguments: &[&str]) -> Command {
    let mut command = cargo();
    command.args(arguments).args(["--target", TARGET]);
    if library == Some(StandardLibrary::DebianSource) {
        // Building the standard library is an unstable option, which the variable allows. The library path
        // that `cargo run` sets for this program belongs to another compiler.
        command.args(["-Z", "build-std=std,panic_abort"]);
        command.env("RUSTC", DEBIAN_RUSTC).env("RUSTC_BOOTSTRAP", "1").env_remove("LD_LIBRARY_PATH");
        if let Some(linker) = linker() {
            command.env("CARGO_TARGET_WASM32_UNKNOWN_UNKNOWN_LINKER", linker);
        }
    }
    command
}

/// The linker of the active Rust toolchain, because Debian's compiler for browsers has none.
fn linker() -> Option<PathBuf> {
    let libraries = process::probe(Command::new("rustc").args(["--print", "target-libdir"]))?;
    Some(Path::new(&libraries).with_file_name("bin").join("rust-lld")).filter(|path| path.exists())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_are_plain_unless_the_library_must_be_built() {
        let plain = "cargo check --lib --target wasm32-unknown-unknown";
        let line = |library| process::line(&cargo_with(library, &["check", "--lib"]));
        assert_eq!(line(Some(StandardLibrary::Prebuilt)), plain);
        assert_eq!(line(None), plain);
        let from_source = line(Some(StandardLibrary::DebianSource));
        let end = format!("RUSTC=/usr/bin/rustc RUSTC_BOOTSTRAP=1 {plain} -Z build-std=std,panic_abort");
        assert!(from_source.ends_with(&end), "{from_source}");
    }
}
