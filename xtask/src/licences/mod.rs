//! `cargo xtask licences`: the licences of everything that is part of a program or package of ours, and lists of it
//! for machines (CycloneDX).
//!
//! `cargo tree` knows what a product has; the texts are in the sources that cargo has fetched, and in npm's folders.
//! Not taken: cargo-about and cargo-cyclonedx, two programs to install, which know nothing of npm.

mod closure;
mod sbom;
mod texts;

use std::fs;

use closure::{of_crates, of_npm};

use crate::terminal::heading;

/// What all products have, in `wordloom-licences`.
pub const TEXT: &str = "licences/licences.txt";
/// Folder of the lists for machines.
const LISTS: &str = "target/sbom";

/// A program or package that is given to others.
struct Product {
    name: &'static str,
    crates: &'static [&'static str],
    target: &'static str,
    /// Whether npm's packages are in it.
    has_page: bool,
}

const ALL: &str = "all";
const WASM: &str = "wasm32-unknown-unknown";

/// The programs, the wheel, and the npm package with the page.
const PRODUCTS: [Product; 4] = [
    Product { name: "wordloom", crates: &["wordloom-cli"], target: ALL, has_page: true },
    Product { name: "wordloom-desktop", crates: &["wordloom-desktop"], target: ALL, has_page: false },
    Product { name: "wordloom-python", crates: &["wordloom-python"], target: ALL, has_page: false },
    Product {
        name: "wordloom-npm",
        crates: &["wordloom-web", "wordloom-web-documents", "wordloom-web-tokenizer", "wordloom-web-train"],
        target: WASM,
        has_page: true,
    },
];

/// Writes the text and the lists.
///
/// # Errors
/// One line that says what is missing.
pub fn run() -> Result<(), String> {
    heading("licences");
    let mut all = Vec::new();
    for product in &PRODUCTS {
        let mut packages = of_crates(product.crates, product.target)?;
        if product.has_page {
            packages.extend(of_npm()?);
        }
        let list = format!("{LISTS}/{}.cdx.json", product.name);
        write(&list, &sbom::list(product.name, &packages)?)?;
        anstream::println!("    {list}: {} packages", packages.len());
        all.extend(packages);
    }
    all.sort();
    all.dedup();
    let text = texts::text(&all)?;
    write(TEXT, &text)?;
    anstream::println!("    {TEXT}: {} packages, {} KB", all.len(), text.len() / 1000);
    Ok(())
}

fn write(path: &str, text: &str) -> Result<(), String> {
    let folder = std::path::Path::new(path).parent().unwrap_or(std::path::Path::new("."));
    fs::create_dir_all(folder)
        .and_then(|()| fs::write(path, text))
        .map_err(|error| format!("cannot write {path}: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Every package of this machine's programs is in the stored text, and the text names no version that is not locked.
    #[test]
    fn the_stored_licences_are_those_of_the_locked_packages() {
        std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).expect("the repository");
        let text = fs::read_to_string(TEXT).expect("a stored text");
        let listed: Vec<&str> = texts::listed(&text).collect();
        let advice = "run `cargo xtask licences`";
        for product in &PRODUCTS {
            // what other systems need may not be fetched here
            let target = if product.target == ALL { closure::HOST } else { product.target };
            for package in of_crates(product.crates, target).expect("cargo tree") {
                assert!(listed.contains(&&*package.id()), "{} is not in {TEXT}: {advice}", package.id());
            }
        }
        let lock = fs::read_to_string("Cargo.lock").expect("locked");
        let npm = fs::read_to_string("web/package-lock.json").expect("locked");
        for id in listed {
            let (name, version) = id.rsplit_once(' ').expect("a name and a version");
            let is_crate = lock.contains(&format!("name = \"{name}\"\nversion = \"{version}\"\n"));
            let is_npm =
                npm.contains(&format!("node_modules/{name}\": {{\n      \"version\": \"{version}\""));
            assert!(is_crate || is_npm, "{id} is not locked: {advice}");
        }
    }

    /// The page and the npm package have what their sources import, and what that needs.
    #[test]
    fn every_imported_npm_package_is_known() {
        std::env::set_current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/..")).expect("the repository");
        let mut folders = vec!["web/page/src".into(), "web/ts".into()];
        while let Some(folder) = folders.pop() {
            let folder: std::path::PathBuf = folder;
            for entry in fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("an entry")) {
                if entry.path().is_dir() {
                    folders.push(entry.path());
                    continue;
                }
                let source = fs::read_to_string(entry.path()).unwrap_or_default();
                for from in source.split("from '").skip(1) {
                    let from = from.split('\'').next().unwrap_or_default();
                    let own = ["wordloom", "wordloom/check", "wordloom/documents", "wordloom/train"]
                        .contains(&from);
                    let known = || closure::NPM.iter().any(|name| from.strip_prefix(name).is_some());
                    let is_package = !from.starts_with('.') && !from.starts_with("node:") && !own;
                    assert!(!is_package || known(), "{}: {from}", entry.path().display());
                }
            }
        }
    }
}
