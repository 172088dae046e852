//! A crate's files as modules, and the paths that lead from one to another.

use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

use crate::graph::Graph;
use crate::paths::{self, Named};

/// A module's path below the crate, without `crate`; the root's is empty.
type Module = Vec<String>;

pub struct Source {
    files: BTreeMap<Module, Vec<Named>>,
}

impl Source {
    /// All Rust files of `folder`, in which `lib.rs` is the root. Files called `tests.rs` are tests.
    pub fn read(folder: &Path) -> io::Result<Source> {
        let mut files = Vec::new();
        let mut open = vec![folder.to_owned()];
        while let Some(folder) = open.pop() {
            for entry in fs::read_dir(folder)? {
                let path = entry?.path();
                if path.is_dir() {
                    open.push(path);
                } else if path.extension().is_some_and(|extension| extension == "rs") {
                    files.push((path.clone(), fs::read_to_string(&path)?));
                }
            }
        }
        let below =
            |path: &Path| path.strip_prefix(folder).expect("below").to_string_lossy().replace('\\', "/");
        Ok(Source::of(files.iter().map(|(path, text)| (below(path), text.clone())).collect()))
    }

    /// The crate of files with these paths and texts.
    pub fn of(files: Vec<(String, String)>) -> Source {
        let files = files.into_iter().filter(|(path, _)| !path.ends_with("tests.rs")).map(|(path, text)| {
            let module = module_of(&path);
            let named = paths::of(&text, &module).unwrap_or_else(|error| panic!("{path}: {error}"));
            (module, named)
        });
        Source { files: files.collect() }
    }

    /// The names of the modules right below the root.
    pub fn modules(&self) -> Vec<String> {
        self.files.keys().filter(|module| module.len() == 1).map(|module| module[0].clone()).collect()
    }

    /// The arrows between those modules. A name that the root re-exports belongs to its module.
    pub fn between_modules(&self) -> Graph {
        let mut graph = Graph::default();
        for (module, named) in self.files.iter().filter(|(module, _)| !module.is_empty()) {
            for path in named {
                let target = self.defining(&path.target, 0);
                let first = if self.files.contains_key(&path.target[..1]) {
                    path.target.first()
                } else {
                    target.first()
                };
                if let Some(first) = first {
                    graph.add(&module[0], first, &path.to_string());
                }
            }
        }
        graph
    }

    /// The arrows between the files of one folder right below the root.
    pub fn between_files(&self, folder: &str) -> Graph {
        let inside = |module: &Module| module.first().is_some_and(|first| first == folder);
        let mut graph = Graph::default();
        for (module, named) in self.files.iter().filter(|(module, _)| inside(module)) {
            // a folder's file hands on what its files have: that is no use of them
            for path in named.iter().filter(|path| !(path.handed_on && path.target.starts_with(module))) {
                let target = self.defining(&path.target, 0);
                if inside(&target) {
                    graph.add(&module.join("/"), &target.join("/"), &path.to_string());
                }
            }
        }
        graph
    }

    /// The file that defines what `path` names, through what modules hand on.
    fn defining(&self, path: &[String], depth: usize) -> Module {
        let length =
            (0..=path.len()).rev().find(|&length| self.files.contains_key(&path[..length])).unwrap_or(0);
        let module = path[..length].to_vec();
        let handed_on = path.get(length).filter(|_| depth < 8).and_then(|name| {
            self.files.get(&module)?.iter().find(|named| named.handed_on && named.name() == Some(name))
        });
        match handed_on {
            Some(named) => {
                let rest = &path[length + 1..];
                self.defining(&[&named.target, rest].concat(), depth + 1)
            }
            None => module,
        }
    }
}

/// `graph/mod.rs` and `graph.rs` are both `graph`.
fn module_of(path: &str) -> Module {
    let path = path.trim_end_matches(".rs").trim_end_matches("mod").trim_end_matches('/');
    path.split('/').filter(|part| !part.is_empty() && *part != "lib").map(str::to_owned).collect()
}
