//! The files of a corpus, and what of its folders is none.

use std::path::{Path, PathBuf};

use super::error::CorpusError;
use super::format::Format;

/// The files of a corpus, those of a folder in the order of their names.
pub fn files(inputs: &[PathBuf]) -> Result<Vec<PathBuf>, CorpusError> {
    let mut files = Vec::new();
    for input in inputs {
        let unreadable = |source| CorpusError::io(format!("cannot read {}", input.display()), source);
        if std::fs::metadata(input).map_err(unreadable)?.is_dir() {
            let listed = Listed::of(input)?;
            if listed.files.is_empty() {
                let folder = input.display().to_string();
                return Err(CorpusError::NoFiles { folder, folders: names(&listed.folders) });
            }
            files.extend(listed.files);
        } else {
            Format::of(input)?;
            files.push(input.clone());
        }
    }
    Ok(files)
}

/// What a run passes over in its folders, in a sentence for each kind and folder.
pub fn passed_over(inputs: &[PathBuf]) -> Result<Vec<String>, CorpusError> {
    let mut said = Vec::new();
    for input in inputs.iter().filter(|input| input.is_dir()) {
        let Listed { others, folders, .. } = Listed::of(input)?;
        let input = input.display();
        if !others.is_empty() {
            said.push(format!(
                "{input}: passes over {} of no known format: {}",
                count(&others, "file"),
                first(&names(&others))
            ));
        }
        if !folders.is_empty() {
            said.push(format!(
                "{input}: subfolders are not read, here {}: {}; name them as inputs of their own",
                folders.len(),
                first(&names(&folders))
            ));
        }
    }
    Ok(said)
}

/// What stands in a folder, each in the order of names.
struct Listed {
    /// Files of known formats.
    files: Vec<PathBuf>,
    /// Files of other formats.
    others: Vec<PathBuf>,
    folders: Vec<PathBuf>,
}

impl Listed {
    fn of(folder: &Path) -> Result<Self, CorpusError> {
        let unreadable = |source| CorpusError::io(format!("cannot read {}", folder.display()), source);
        let mut listed = Self { files: Vec::new(), others: Vec::new(), folders: Vec::new() };
        for entry in folder.read_dir().map_err(unreadable)? {
            let path = entry.map_err(unreadable)?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            // what engines put beside their data: _SUCCESS, .part.crc
            if name.starts_with(['_', '.']) {
                continue;
            }
            let kind = match Format::of(&path) {
                _ if path.is_dir() => &mut listed.folders,
                Ok(_) if path.is_file() => &mut listed.files,
                _ => &mut listed.others,
            };
            kind.push(path);
        }
        for kind in [&mut listed.files, &mut listed.others, &mut listed.folders] {
            kind.sort();
        }
        Ok(listed)
    }
}

fn names(paths: &[PathBuf]) -> Vec<String> {
    let name = |path: &PathBuf| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    paths.iter().map(name).collect()
}

fn count(paths: &[PathBuf], what: &str) -> String {
    let plural = if paths.len() == 1 { "" } else { "s" };
    format!("{} {what}{plural}", paths.len())
}

/// The first names of some.
pub fn first(names: &[String]) -> String {
    const SHOWN: usize = 3;
    let some = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{some} and {} more", names.len() - SHOWN) } else { some }
}
