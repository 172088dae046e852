//! Served files: `/` is the page, `/model/` its model, `/models/NAME/` the others, and `/models.json` lists them all.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use rust_embed::RustEmbed;
use wordloom::Model;
use wordloom::model::files::ModelFiles;

use super::super::setup::model_files;
use super::super::{CliError, notice};
use super::content::{Content, Embedded};
use super::engine::Offered;
use super::listing;

/// The page of `cargo xtask web`; empty if it was not built. The binary has its own copy of the default model.
#[derive(RustEmbed)]
#[folder = "site"]
#[allow_missing = true]
#[exclude = ".*"]
#[exclude = "model/*"]
#[exclude = "licences.txt"]
struct BuiltPage;

pub struct Site {
    page: Files,
    model: Files,
    /// The folders of the other models, by name.
    others: HashMap<String, PathBuf>,
    list: Embedded,
    /// The listed models, for the interface that translates.
    pub offered: Vec<Offered>,
}

enum Files {
    Embedded(HashMap<Cow<'static, str>, Embedded>),
    /// A folder, for the page with links resolved.
    Folder(PathBuf),
}

/// The served page.
pub enum Page<'a> {
    BuiltIn,
    Folder(&'a Path),
    None,
}

pub const INDEX: &str = "index.html";
const LICENCES: &str = "licences.txt";
const MODEL: &str = "model/";
const OTHERS: &str = "models/";

/// Name and licence of the built-in model.
const BUILT_IN: [&str; 2] = ["tatoeba-en-de", "CC-BY-2.0-FR"];

/// Served files of a model's folder; shards may have any name.
const MODEL_FILES: [&str; 14] = [
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
    "sentencepiece.bpe.model",
    "source.spm",
    "spiece.model",
    "target.spm",
    "target_vocab.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.json",
];

impl Site {
    /// Opens page and model, each in a folder or built in, and the folders of other models.
    ///
    /// * `page`: `Page::None` serves models only
    pub fn open(page: Page<'_>, model: Option<&Path>, others: &[PathBuf]) -> Result<Self, CliError> {
        let page = match page {
            Page::Folder(folder) => page_folder(folder)?,
            Page::BuiltIn => embedded_page()?,
            Page::None => Files::Embedded(HashMap::new()),
        };
        let files = model_files(model)?;
        let (others, list, offered) = listed(model, others)?;
        let model = match model {
            None => embedded_model(files),
            Some(folder) => {
                Model::from_files(files)?; // checks that the page can load it
                Files::Folder(folder.to_owned())
            }
        };
        Ok(Self { page, model, others, list, offered })
    }

    /// Content of a decoded path without a leading slash.
    pub fn find(&self, path: &str) -> io::Result<Option<Content>> {
        if path == listing::NAME {
            return Ok(Some((&self.list).into()));
        }
        if let Some((name, file)) = path.strip_prefix(OTHERS).and_then(|path| path.split_once('/')) {
            let folder = self.others.get(name).filter(|_| is_model_file(file));
            return folder.map_or(Ok(None), |folder| Content::file(&folder.join(file)));
        }
        let name = path.strip_prefix(MODEL);
        match (if name.is_some() { &self.model } else { &self.page }, name) {
            (Files::Embedded(files), _) => Ok(files.get(name.unwrap_or(path)).map(Content::from)),
            // Links are followed, because the Hub's cache uses them.
            (Files::Folder(folder), Some(name)) if is_model_file(name) => Content::file(&folder.join(name)),
            (Files::Folder(_), Some(_)) => Ok(None),
            // A path of the page leads to a file below the folder, or to nothing.
            (Files::Folder(folder), None) => match fs::canonicalize(folder.join(path)) {
                Ok(path) if path.starts_with(folder) => Content::file(&path),
                Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(error),
                _ => Ok(None),
            },
        }
    }
}

/// Folders by name, the list of models for pages, and the models for the interface.
type Listed = (HashMap<String, PathBuf>, Embedded, Vec<Offered>);

/// The folders of the other models by name, and the list of all models.
fn listed(model: Option<&Path>, others: &[PathBuf]) -> Result<Listed, CliError> {
    let [name, licence] = BUILT_IN;
    let first = match model {
        None => Some(listing::entry(name, model_files(None)?, MODEL, Some(licence))?),
        // The page loads it anyway; a list needs its languages.
        Some(folder) => {
            let path = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
            let licence = listing::licence(folder);
            listing::entry(&listing::name_of(&path), model_files(model)?, MODEL, licence.as_deref()).ok()
        }
    };
    let mut entries: Vec<_> = first.into_iter().collect();
    let offer = |entry: &listing::Entry, folder: Option<&Path>| Offered {
        name: entry.name().to_owned(),
        folder: folder.map(Path::to_owned),
        languages: entry.read_and_written(),
        bytes: entry.bytes(),
    };
    let mut offered: Vec<_> = entries.iter().map(|entry| offer(entry, model)).collect();
    let mut folders: HashMap<String, PathBuf> = HashMap::new();
    for given in others {
        for folder in listing::folders(given)? {
            notice(&format!("reading {}", folder.display())); // hashing large weights takes seconds
            let plain = listing::name_of(&folder);
            let numbered = (2..).map(|number| format!("{plain}-{number}"));
            let free = |name: &String| !folders.contains_key(name);
            let name = std::iter::once(plain.clone()).chain(numbered).find(free).unwrap_or(plain.clone());
            let files = ModelFiles::directory(&folder)?;
            let licence = listing::licence(&folder);
            let url = format!("{OTHERS}{name}/");
            let entry = listing::entry(&plain, files, &url, licence.as_deref())?;
            offered.push(offer(&entry, Some(&folder)));
            entries.push(entry);
            folders.insert(name, folder);
        }
    }
    Ok((folders, Embedded::new(Cow::Owned(listing::write(entries))), offered))
}

fn embedded_page() -> Result<Files, CliError> {
    let content = |name| Some((Cow::clone(&name), Embedded::new(BuiltPage::get(&name)?.data)));
    let mut files: HashMap<_, _> = BuiltPage::iter().filter_map(content).collect();
    if files.is_empty() {
        return Err(CliError::Usage(
            "this wordloom was built without its page; run `cargo xtask web` and build again, \
             or name the folder of a built page with --page"
                .into(),
        ));
    }
    // the binary has it compressed
    files.insert(Cow::Borrowed(LICENCES), Embedded::new(wordloom_licences::text().into_bytes().into()));
    Ok(Files::Embedded(files))
}

fn page_folder(folder: &Path) -> Result<Files, CliError> {
    let name = folder.display();
    let folder = fs::canonicalize(folder)
        .map_err(|source| CliError::Io { what: format!("cannot read {name}"), source })?;
    if !folder.join(INDEX).is_file() {
        return Err(CliError::Input(format!(
            "{name}: there is no {INDEX} in it; `cargo xtask web` builds the page"
        )));
    }
    Ok(Files::Folder(folder))
}

fn embedded_model(files: ModelFiles) -> Files {
    // Leaked: the files live as long as the process.
    let files: &'static ModelFiles = Box::leak(Box::new(files));
    let content = |name| Some((Cow::Borrowed(name), Embedded::new(files.read(name, u64::MAX).ok()?)));
    Files::Embedded(MODEL_FILES.into_iter().filter_map(content).collect())
}

fn is_model_file(name: &str) -> bool {
    let is_weights =
        name.ends_with(".safetensors") || (name.starts_with("pytorch_model") && name.ends_with(".bin"));
    let is_shard = is_weights && !name.starts_with('.') && !name.contains(['/', '\\', ':', '\0']);
    MODEL_FILES.contains(&name) || is_shard
}

#[cfg(test)]
mod tests {
    use super::is_model_file;

    #[test]
    fn only_a_model_s_files_are_given_away() {
        for name in [
            "config.json",
            "model.safetensors",
            "model-00001-of-00002.safetensors",
            "pytorch_model-00001-of-00002.bin",
        ] {
            assert!(is_model_file(name), "{name}");
        }
        for name in [
            "",
            "notes.txt",
            "training_args.json",
            "training_args.bin",
            ".hidden.safetensors",
            "../config.json",
            "../other.safetensors",
            "sub/model.safetensors",
            "..\\other.safetensors",
            "C:other.safetensors",
        ] {
            assert!(!is_model_file(name), "{name}");
        }
    }
}
