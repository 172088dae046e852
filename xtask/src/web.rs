//! `cargo xtask web`: the wasm module, the npm package and the page, each only if something it is made of has changed.

mod module;
mod steps;

use std::path::PathBuf;
use std::process::Command;

use crate::chromium;
use crate::node::{self, npm};
use crate::process::{self, cargo};
use crate::terminal::heading;
use steps::Step;

/// Builds everything and measures it. To serve, the page's development server takes the place of what follows the
/// module, and runs until it is stopped.
///
/// # Errors
/// What failed, as one line; the program that failed has said more.
pub fn run(serve: bool) -> Result<(), String> {
    heading("web");
    if node::find_packages().is_none() {
        node::install_packages()?;
    }
    module::build()?;
    if serve {
        return shown(npm_in_web().args(["run", "dev"]));
    }
    package().run()?;
    page().run()?;
    heading("sizes");
    shown(Command::new("node").arg("web/scripts/sizes.js"))
}

/// `web/dist`, what npm publishes.
fn package() -> Step {
    let mut command = npm_in_web();
    command.args(["run", "build"]);
    Step {
        name: "package",
        inputs: paths(&[
            "web/ts",
            "web/scripts",
            "web/pkg",
            "web/package.json",
            "web/package-lock.json",
            MODEL,
        ]),
        output: "web/dist".into(),
        command,
    }
}

/// `web/site`, what `wordloom serve` has in it.
fn page() -> Step {
    let mut command = npm_in_web();
    command.args(["run", "build:page"]);
    Step {
        name: "page",
        inputs: paths(&["web/page", "web/dist", "web/package.json", "web/package-lock.json", MODEL]),
        output: "web/site/index.html".into(),
        command,
    }
}

const MODEL: &str = "models/tatoeba-en-de-q8";

/// The tests of package and page in a browser, with `wordloom serve` of the binary that cargo's tests ran.
pub fn browser_tests() -> Command {
    let mut command = npm_in_web();
    command.arg("test");
    let binary = target().join("debug").join(format!("wordloom{}", std::env::consts::EXE_SUFFIX));
    command.env("WORDLOOM", std::path::absolute(&binary).unwrap_or(binary));
    if let Some(chromium) = chromium::path() {
        command.env("CHROMIUM", chromium);
    }
    command
}

/// This command again, as a check among others.
pub fn build() -> Command {
    let mut command = cargo();
    command.args(["xtask", "web"]);
    command
}

/// Where cargo builds.
fn target() -> PathBuf {
    std::env::var_os("CARGO_TARGET_DIR").map_or("target".into(), PathBuf::from)
}

fn npm_in_web() -> Command {
    let mut command = npm();
    command.args(["--prefix", "web"]);
    command
}

fn shown(command: &mut Command) -> Result<(), String> {
    process::run_shown(command).map_err(|failure| format!("{}: {failure}", process::line(command)))
}

fn paths(names: &[&str]) -> Vec<PathBuf> {
    names.iter().map(PathBuf::from).collect()
}
