//! `cargo xtask web`: the wasm modules, the npm package and the page, each built only if its inputs have changed.

mod module;
mod steps;

use std::fs;
use std::path::PathBuf;
use std::process::Command;

use crate::chromium;
use crate::node::{self, npm};
use crate::process;
use crate::terminal::heading;
use crate::{licences, wasm, wasm_bindgen};
use steps::Step;

/// What to build.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Parts {
    /// Everything, and it is measured.
    All,
    Modules,
    /// The page's development server replaces the steps after the modules, and runs until it is stopped.
    ModulesThenServe,
}

/// Builds these parts.
///
/// # Errors
/// One line with the failure; the failed program has printed more.
pub fn run(parts: Parts) -> Result<(), String> {
    heading("web");
    // so that a fresh clone needs no other command before this one
    if wasm::find().is_none() {
        wasm::install()?;
    }
    if wasm_bindgen::find().is_none() {
        wasm_bindgen::install()?;
    }
    if node::find_packages().is_none() {
        node::install_packages()?;
    }
    module::build()?;
    match parts {
        Parts::All => {}
        Parts::Modules => return Ok(()),
        Parts::ModulesThenServe => return shown(npm_in_web().args(["run", "dev"])),
    }
    package().run()?;
    page().run()?;
    heading("sizes");
    shown(Command::new("node").arg("web/scripts/sizes.js"))
}

/// `web/dist`, the published package, and `web/models`, those of models.
fn package() -> Step {
    let mut command = npm_in_web();
    command.args(["run", "build"]);
    Step {
        name: "package",
        inputs: with_models(&[
            "web/ts",
            "web/scripts",
            "web/pkg",
            "web/pkg-documents",
            "web/pkg-tokenizer",
            "web/pkg-train",
            "web/package.json",
            "web/package-lock.json",
            licences::TEXT,
        ]),
        output: "web/dist".into(),
        command,
    }
}

/// `cli/site`, the page inside `wordloom serve`.
fn page() -> Step {
    let mut command = npm_in_web();
    command.args(["run", "build:page"]);
    Step {
        name: "page",
        inputs: with_models(&[
            "web/page",
            "web/scripts",
            "web/dist",
            "web/package.json",
            "web/package-lock.json",
            licences::TEXT,
        ]),
        output: "cli/site/index.html".into(),
        command,
    }
}

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

/// `cargo xtask web` as a check: by this program itself, because cargo would wait for another build to start it.
pub fn build() -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap_or_else(|_| "xtask".into()));
    command.arg("web");
    command
}

/// Its modules alone. They take most of its time, and no other build reads them.
pub fn build_modules() -> Command {
    let mut command = build();
    command.arg("--modules");
    command
}

/// Cargo's target folder.
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

/// These, and the folders of the models of ours.
fn with_models(names: &[&str]) -> Vec<PathBuf> {
    let found = fs::read_dir("models").into_iter().flatten().flatten().map(|entry| entry.path());
    let models = found.filter(|path| path.to_string_lossy().ends_with("-q8"));
    paths(names).into_iter().chain(models).collect()
}
