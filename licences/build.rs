//! Compresses the licences.

use std::io::Write;
use std::path::Path;
use std::{env, fs};

use flate2::Compression;
use flate2::write::ZlibEncoder;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed=licences.txt");
    let text = fs::read("licences.txt").expect("licences.txt is part of the package");
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(&text).expect("memory takes it");
    let compressed = encoder.finish().expect("memory takes it");
    let folder = env::var_os("OUT_DIR").expect("cargo sets it");
    fs::write(Path::new(&folder).join("licences.zlib"), compressed).expect("the build folder takes it");
}
