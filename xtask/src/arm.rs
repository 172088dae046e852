//! Tests of the CPU runner on an emulated 64-bit ARM: its NEON code, in f32 and in 8 bits. Debian or Ubuntu on another processor.

use std::process::Command;

use crate::checks::Check;
use crate::process::{cargo, probe};
use crate::system::System;
use crate::{apt, rustup};

const TARGET: &str = "aarch64-unknown-linux-gnu";
const PACKAGES: [&str; 3] = ["qemu-user", "gcc-aarch64-linux-gnu", "libc6-dev-arm64-cross"];
const LINKER: &str = "aarch64-linux-gnu-gcc";
/// Where Debian's packages put the libraries that a program asks for.
const RUNNER: &str = "qemu-aarch64 -L /usr/aarch64-linux-gnu";

/// Installs the emulator, the linker and the standard library. Returns what is missing.
pub fn set_up() -> Vec<String> {
    let there = |program: &str| probe(Command::new(program).arg("--version")).is_some();
    let mut missing = Vec::new();
    if !there("qemu-aarch64") || !there(LINKER) {
        let installed = match System::detect() {
            System::Debian => apt::install(&PACKAGES),
            _ => Err(format!("install what Debian calls {}", PACKAGES.join(", "))),
        };
        missing.extend(installed.err());
    }
    missing.extend(rustup::run(&["target", "add", TARGET]).err());
    missing
}

/// Operators against plain code; numbers in 8 bits; translations of every tenth sentence of the test set, whose BLEU is that of x86-64.
pub fn checks() -> [Check; 3] {
    [
        Check::new("operators", emulated("--package wordloom --test cpu_ops")),
        // the emulated system has no GPU
        Check::new("8 bits", emulated("--package wordloom --test transformer -- eight_bits:: --skip a_gpu")),
        Check::new("translations", emulated("--package wordloom-cli --test bleu")),
    ]
}

fn emulated(tests: &str) -> Command {
    let mut command = cargo();
    command.args(["test", "--locked", "--target", TARGET]).args(tests.split_whitespace());
    let variable = |name: &str| format!("CARGO_TARGET_{}_{name}", TARGET.to_uppercase().replace('-', "_"));
    command.env(variable("LINKER"), LINKER).env(variable("RUNNER"), RUNNER);
    command.env("WORDLOOM_EMULATOR", RUNNER); // for programs that tests start
    command.env("CC_aarch64_unknown_linux_gnu", LINKER);
    command
}
