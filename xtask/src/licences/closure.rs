use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::process::{self, cargo};

/// This machine, for `--target`.
#[cfg(test)]
pub const HOST: &str = "host-tuple";

/// The npm packages that are part of the page or of the npm package.
pub const NPM: [&str; 5] = ["@noble/hashes", "@preact/signals", "@preact/signals-core", "fflate", "preact"];

/// What the names of our models' crates begin with.
const MODEL: &str = "wordloom-model-";

/// A package that is part of a product.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Package {
    pub name: String,
    pub version: String,
    /// SPDX expression.
    pub licence: String,
    pub registry: Registry,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Registry {
    Crates,
    Npm,
    /// A model of ours.
    Own,
}

impl Package {
    pub fn id(&self) -> String {
        format!("{} {}", self.name, self.version)
    }

    /// The folder of its sources.
    pub fn folder(&self) -> Result<PathBuf, String> {
        match self.registry {
            Registry::Npm => Ok(Path::new("web/node_modules").join(&self.name)),
            Registry::Own => {
                let pair = self.name.strip_prefix(MODEL).unwrap_or_default();
                Ok(format!("models/tatoeba-{pair}-q8").into())
            }
            Registry::Crates => self.fetched(),
        }
    }

    fn fetched(&self) -> Result<PathBuf, String> {
        let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
        let home = home.or_else(|| std::env::home_dir().map(|home| home.join(".cargo")));
        let sources = home.unwrap_or_default().join("registry/src");
        let name = format!("{}-{}", self.name, self.version);
        let mut registries = fs::read_dir(&sources).into_iter().flatten().flatten();
        let found = registries.find_map(|entry| Some(entry.path().join(&name)).filter(|path| path.is_dir()));
        found.ok_or_else(|| format!("{name} is not in {}: run `cargo fetch --locked`", sources.display()))
    }
}

/// What becomes part of these crates: dependencies, but for those of builds and tests, and macros that run in the compiler.
///
/// * `target`: a target, or `all`
pub fn of_crates(crates: &[&str], target: &str) -> Result<Vec<Package>, String> {
    let mut command = cargo();
    command.args(["tree", "--locked", "--edges", "normal,no-proc-macro", "--prefix", "none"]);
    command.args(["--target", target, "--format", "{p}|{l}"]);
    command.args(crates.iter().flat_map(|name| ["--package", name]));
    let output = command.output().map_err(|error| format!("{}: {error}", process::line(&command)))?;
    if !output.status.success() {
        return Err(format!("{}: {}", process::line(&command), String::from_utf8_lossy(&output.stderr)));
    }
    let tree = String::from_utf8_lossy(&output.stdout);
    Ok(tree.lines().filter_map(package).collect::<BTreeSet<_>>().into_iter().collect())
}

/// `serde v1.0.228|MIT OR Apache-2.0 (*)`; `None` for ours, but for the models.
fn package(line: &str) -> Option<Package> {
    let (package, licence) = line.split_once('|')?;
    let mut words = package.split(' ');
    let (name, version) = (words.next()?, words.next()?.strip_prefix('v')?);
    let registry = match name {
        name if name.starts_with(MODEL) => Registry::Own,
        name if name == "wordloom" || name.starts_with("wordloom-") => return None,
        _ => Registry::Crates,
    };
    let licence = licence.trim_end_matches(" (*)").replace('/', " OR ");
    let licence = if registry == Registry::Own { "CC-BY-2.0-FR".to_owned() } else { licence };
    Some(Package { name: name.to_owned(), version: version.to_owned(), licence, registry })
}

/// The npm packages, with the installed versions.
pub fn of_npm() -> Result<Vec<Package>, String> {
    let package = |name: &&str| {
        let file = format!("web/node_modules/{name}/package.json");
        let text = fs::read_to_string(&file).map_err(|error| format!("{file}: {error}"))?;
        let of = |key: &str| {
            let line = text.lines().find_map(|line| line.trim().strip_prefix(&format!("\"{key}\": \"")));
            let value = line.and_then(|rest| rest.split('"').next());
            value.map(str::to_owned).ok_or_else(|| format!("{file} has no {key:?}"))
        };
        Ok(Package {
            name: (*name).to_owned(),
            version: of("version")?,
            licence: of("license")?,
            registry: Registry::Npm,
        })
    };
    NPM.iter().map(package).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_cargo_tree_are_packages() {
        let line = |text| package(text).map(|package| (package.id(), package.licence));
        let serde = Some(("serde 1.0.228".to_owned(), "MIT OR Apache-2.0".to_owned()));
        assert_eq!(line("serde v1.0.228|MIT/Apache-2.0 (*)"), serde);
        assert_eq!(line("serde v1.0.228|MIT OR Apache-2.0"), serde);
        assert_eq!(line("wordloom-hub v0.1.0 (/work/hub)|MIT"), None);
        assert_eq!(line(""), None);
        let model = package("wordloom-model-en-de v0.1.0 (/work/models)|").expect("a package");
        assert_eq!((model.registry, &*model.licence), (Registry::Own, "CC-BY-2.0-FR"));
    }
}
