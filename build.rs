//! Writes the shaders without their comments, for `src/kernels`: a page downloads them.

#[path = "src/kernels/wgsl.rs"]
mod wgsl;

use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=shaders");
    println!("cargo::rerun-if-changed=src/kernels/wgsl.rs");
    let out = env::var_os("OUT_DIR").expect("cargo sets it");
    for folder in ["shaders", "shaders/shared"] {
        write_code(Path::new(folder), &Path::new(&out).join(folder));
    }
}

/// Writes the code of each shader in `folder` to a file of the same name.
fn write_code(folder: &Path, out: &Path) {
    fs::create_dir_all(out).expect("the build folder takes it");
    for entry in folder.read_dir().expect("the shaders are part of the package") {
        let path = entry.expect("a file").path();
        let Some(name) = path.file_name().filter(|_| path.extension().is_some_and(|end| end == "wgsl"))
        else {
            continue;
        };
        let text = fs::read_to_string(&path).expect("a shader is UTF-8");
        fs::write(out.join(name), wgsl::code(&text)).expect("the build folder takes it");
    }
}
