//! `web/pkg`: the library as a wasm module, with its JavaScript.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::steps::run_if_stale;
use super::{shown, target};
use crate::{wasm, wasm_bindgen};

const PKG: &str = "web/pkg";
const MODULE: &str = "wordloom_web_bg.wasm";

pub fn build() -> Result<(), String> {
    let target = target();
    shown(&mut compile(&target))?; // cargo itself detects changes
    let compiled = target.join("wasm32-unknown-unknown/web/wordloom_web.wasm");
    let bound = target.join("web-bindgen");
    let inputs = [compiled.clone(), "web/package-lock.json".into()];
    let output = Path::new(PKG).join(MODULE);
    run_if_stale(&target.join("web-steps/module"), &inputs, &output, "module", || {
        let tool =
            wasm_bindgen::tool("wasm-bindgen").ok_or("wasm-bindgen is missing: run `cargo xtask setup`")?;
        let _ = fs::remove_dir_all(&bound);
        shown(
            Command::new(tool)
                .args(["--target", "web", "--no-typescript", "--out-dir"])
                .args([&bound, &compiled]),
        )?;
        let optimized = target.join(MODULE);
        shown(&mut optimize(&bound.join(MODULE), &optimized))?;
        fs::rename(&optimized, bound.join(MODULE))
            .and_then(|()| replace(&bound, Path::new(PKG)))
            .map_err(|error| format!("cannot write {PKG}: {error}"))
    })
}

fn compile(target: &Path) -> Command {
    let mut command =
        wasm::cargo_for_browsers(&["build", "--locked", "--package", "wordloom-web", "--profile", "web"]);
    command.arg("--target-dir").arg(target);
    // The variable would replace the flags of .cargo/config.toml for this target, which enable SIMD.
    command.env_remove("RUSTFLAGS");
    command
}

/// `wasm-opt` of the npm package, a Node script. It reads the allowed WebAssembly features from the module.
fn optimize(from: &Path, to: &Path) -> Command {
    let mut command = Command::new("node");
    command.arg("web/node_modules/binaryen/bin/wasm-opt").arg("-O3").arg(from).arg("--output").arg(to);
    command
}

/// Makes `to` a folder with the files of `from` and no others.
fn replace(from: &Path, to: &Path) -> std::io::Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let path: PathBuf = entry?.path();
        if let (true, Some(name)) = (path.is_file(), path.file_name()) {
            fs::copy(&path, to.join(name))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::process;

    #[test]
    fn the_module_is_built_for_size_and_speed() {
        let line = process::line(&compile(Path::new("target")));
        assert!(line.contains("--package wordloom-web --profile web"), "{line}");
        assert!(line.contains("--target wasm32-unknown-unknown"), "{line}");
        let line = process::line(&optimize(Path::new("a.wasm"), Path::new("b.wasm")));
        assert!(line.ends_with("wasm-opt -O3 a.wasm --output b.wasm"), "{line}");
    }
}
