//! Takes the page that `cargo xtask web` has built, if it is there, into the `wordloom` binary for `wordloom serve`.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// The built page. The folder itself is in the repository: were it missing, cargo would run this for every build.
const PAGE: &str = "site";

/// The page's copy of the default model, which is in the binary already.
const MODEL: &str = "model";

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-changed=build.rs");
    let page = Path::new(&variable("CARGO_MANIFEST_DIR")).join(PAGE);
    let mut files = Vec::new();
    if page.exists() {
        println!("cargo::rerun-if-changed={PAGE}");
        list(&page, "", &mut files)?;
        files.sort();
    }
    let mut table = String::from("[\n");
    for (name, path) in &files {
        let path = path.to_str().ok_or_else(|| io::Error::other(format!("{name} has no path in UTF-8")))?;
        let _ = writeln!(table, "    ({name:?}, include_bytes!({path:?})),");
    }
    table.push_str("]\n");
    fs::write(Path::new(&variable("OUT_DIR")).join("page.rs"), table)
}

/// Collects the files below `folder` as (path in URLs, path on disk); hidden ones and the model are left out.
fn list(folder: &Path, prefix: &str, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name();
        let name = name.to_str().ok_or_else(|| io::Error::other(format!("{name:?} is no UTF-8")))?;
        if name.starts_with('.') || (prefix.is_empty() && name == MODEL) {
            continue;
        }
        let name = format!("{prefix}{name}");
        match entry.file_type()?.is_dir() {
            true => list(&entry.path(), &format!("{name}/"), files)?,
            false => files.push((name, entry.path())),
        }
    }
    Ok(())
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| panic!("cargo sets {name}"))
}
