//! `web/pkg`, `web/pkg-documents`, `web/pkg-tokenizer` and `web/pkg-train`: the library as wasm modules, with their JavaScript.
//! Documents, Hugging Face's tokenizers and training have their own, so that the first download does not hold them.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;

use super::steps::run_if_stale;
use super::{shown, target};
use crate::{wasm, wasm_bindgen};

/// A module and its folder.
struct Module {
    /// Name in messages.
    name: &'static str,
    package: &'static str,
    /// The package's name as cargo writes it.
    file: &'static str,
    pkg: &'static str,
}

const MODULES: [Module; 4] = [
    Module { name: "module", package: "wordloom-web", file: "wordloom_web", pkg: "web/pkg" },
    Module {
        name: "module of documents",
        package: "wordloom-web-documents",
        file: "wordloom_web_documents",
        pkg: "web/pkg-documents",
    },
    Module {
        name: "module of tokenizers",
        package: "wordloom-web-tokenizer",
        file: "wordloom_web_tokenizer",
        pkg: "web/pkg-tokenizer",
    },
    Module {
        name: "module of training",
        package: "wordloom-web-train",
        file: "wordloom_web_train",
        pkg: "web/pkg-train",
    },
];

/// Flags, added to those of `.cargo/config.toml`: small functions alone are copied to where they are called. This takes 75 kB
/// from a download. Loops over numbers lose nothing, because their functions ask for inlining.
const INLINE_LESS: &str = "llvm-args=-inline-threshold=20 -inlinehint-threshold=40";

/// The flags, as TOML. Messages of panics have paths: without the part that differs from machine to machine, equal sources give
/// equal bytes.
fn flags() -> String {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo"))).unwrap_or_default();
    let registry = home.join("registry/src");
    // the folder of a registry has a hash in its name
    let folders = fs::read_dir(&registry).into_iter().flatten().flatten().map(|entry| entry.path());
    let prefixes = folders.map(|folder| format!("--remap-path-prefix={}/=", folder.display()));
    let flags: Vec<String> = ["-C".into(), INLINE_LESS.into()].into_iter().chain(prefixes).collect();
    format!("{flags:?}")
}

/// Builds all modules. While cargo compiles the next one, which its optimizer does on one core, `wasm-opt` has the one before.
pub fn build() -> Result<(), String> {
    let target = &target();
    thread::scope(|scope| {
        let mut bound = Vec::new();
        for module in &MODULES {
            // cargo itself detects changes; one command for each, because cargo would unite the features of all
            shown(&mut module.compile(target))?;
            bound.push(scope.spawn(|| module.bind(target)));
        }
        bound.into_iter().try_for_each(|module| module.join().expect("it does not panic"))
    })
}

impl Module {
    fn compile(&self, target: &Path) -> Command {
        let arguments = ["build", "--locked", "--profile", "web", "--package", self.package];
        let mut command = wasm::cargo_for_browsers(&arguments);
        command.arg("--target-dir").arg(target);
        command.arg("--config").arg(format!("target.{}.rustflags={}", wasm::TARGET, flags()));
        // The variable would replace the flags of .cargo/config.toml for this target, which enable SIMD.
        command.env_remove("RUSTFLAGS");
        command
    }

    fn bind(&self, target: &Path) -> Result<(), String> {
        let Self { name, package, file, pkg } = *self;
        let wasm = format!("{file}_bg.wasm");
        let compiled = target.join("wasm32-unknown-unknown/web").join(format!("{file}.wasm"));
        let bound = target.join("web-bindgen").join(package);
        let inputs = [compiled.clone(), "web/package-lock.json".into()];
        let done = target.join("web-steps").join(package);
        run_if_stale(&done, &inputs, &Path::new(pkg).join(&wasm), name, || {
            let tool = wasm_bindgen::tool("wasm-bindgen")
                .ok_or("wasm-bindgen is missing: run `cargo xtask setup`")?;
            let _ = fs::remove_dir_all(&bound);
            shown(
                Command::new(tool)
                    .args(["--target", "web", "--no-typescript", "--out-dir"])
                    .args([&bound, &compiled]),
            )?;
            let optimized = target.join(&wasm);
            shown(&mut optimize(&bound.join(&wasm), &optimized))?;
            fs::rename(&optimized, bound.join(&wasm))
                .and_then(|()| replace(&bound, Path::new(pkg)))
                .map_err(|error| format!("cannot write {pkg}: {error}"))
        })
    }
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
        let packages =
            ["wordloom-web ", "wordloom-web-documents ", "wordloom-web-tokenizer ", "wordloom-web-train "];
        for (module, package) in MODULES.iter().zip(packages) {
            let line = process::line(&module.compile(Path::new("target")));
            assert!(line.contains("--profile web "), "{line}");
            assert!(line.contains(&format!("--package {package}")), "{line}");
            assert!(line.contains("--target wasm32-unknown-unknown"), "{line}");
            assert!(line.contains("-inline-threshold=20"), "{line}");
            assert!(line.contains("--remap-path-prefix="), "{line}");
        }
        let line = process::line(&optimize(Path::new("a.wasm"), Path::new("b.wasm")));
        assert!(line.ends_with("wasm-opt -O3 a.wasm --output b.wasm"), "{line}");
    }
}
