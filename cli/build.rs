//! Has the binary built again after `cargo xtask web` has built the page that is embedded in it (`src/serve/site.rs`).

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The folder itself is in the repository: if it were missing, cargo would run this for every build.
    println!("cargo::rerun-if-changed=site");
}
