//! Served files: `/` is the page, `/model/` its model, `/models/NAME/` the others, and `/models.json` lists them all.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use rust_embed::RustEmbed;
use wordloom::Model;
use wordloom::model::files::ModelFiles;
use wordloom_hub::{BuiltIn, Choosable, Place};

use super::super::{CliError, notice};
use super::content::{Content, Embedded};
use super::listing;

/// The page of `cargo xtask web`; empty if it was not built. The binary has its own copies of the models.
#[derive(RustEmbed)]
#[folder = "site"]
#[allow_missing = true]
#[exclude = ".*"]
#[exclude = "model/*"]
#[exclude = "models/*"]
#[exclude = "licences.txt"]
struct BuiltPage;

pub struct Site {
    page: Files,
    /// The models, by the folder of their address.
    models: HashMap<String, Files>,
    list: Embedded,
    /// The listed models, for the interface that translates.
    pub offered: Vec<Choosable>,
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
    /// Opens the page, in a folder or built in, and the models.
    ///
    /// * `page`: `Page::None` serves models only
    /// * `models`: the page opens the first one
    /// * `others`: folders of models, or of folders of models
    pub fn open(page: Page<'_>, models: &[Place], others: &[PathBuf]) -> Result<Self, CliError> {
        let page = match page {
            Page::Folder(folder) => page_folder(folder)?,
            Page::BuiltIn => embedded_page()?,
            Page::None => Files::Embedded(HashMap::new()),
        };
        let list = Embedded::new(Cow::Borrowed(&[]));
        let mut site = Self { page, models: HashMap::new(), list, offered: Vec::new() };
        let mut entries = Vec::new();
        for place in models {
            match site.add(place) {
                Ok(entry) => entries.push(entry),
                // The page loads it anyway; a list needs its languages.
                Err(_) => drop(Model::from_files(place.files()?)?),
            }
        }
        for given in others {
            for folder in listing::folders(given)? {
                notice(&format!("reading {}", folder.display())); // hashing large weights takes seconds
                entries.push(site.add(&Place::Folder(folder))?);
            }
        }
        site.list = Embedded::new(Cow::Owned(listing::write(entries)));
        Ok(site)
    }

    /// Serves a model, and describes it for the list.
    fn add(&mut self, place: &Place) -> Result<listing::Entry, CliError> {
        let (name, licence, files) = match place {
            Place::BuiltIn(_) => {
                let model = BuiltIn::at(place).map(|model| (model.title, model.licence));
                let (title, licence) = model.unwrap_or_default();
                (title.to_owned(), Some(licence.to_owned()), embedded_model(place.files()?))
            }
            Place::Folder(folder) => {
                let path = fs::canonicalize(folder).unwrap_or_else(|_| folder.to_owned());
                (listing::name_of(&path), listing::licence(folder), Files::Folder(folder.to_owned()))
            }
        };
        let address = self.free_address(&name);
        self.models.insert(address.clone(), files);
        let entry = listing::entry(&name, place.files()?, &address, licence.as_deref())?;
        let (place, languages) = (place.clone(), entry.read_and_written());
        self.offered.push(Choosable { name, place, languages, bytes: entry.bytes(), fetched: None });
        Ok(entry)
    }

    /// The folder of a model's address: `model/` for the first one.
    fn free_address(&self, name: &str) -> String {
        if self.models.is_empty() {
            return MODEL.to_owned();
        }
        let numbered = (2..).map(|number| format!("{OTHERS}{name}-{number}/"));
        let mut all = std::iter::once(format!("{OTHERS}{name}/")).chain(numbered);
        all.find(|address| !self.models.contains_key(address)).unwrap_or_default()
    }

    /// Content of a decoded path without a leading slash.
    pub fn find(&self, path: &str) -> io::Result<Option<Content>> {
        if path == listing::NAME {
            return Ok(Some((&self.list).into()));
        }
        if let Some((folder, name)) = split(path) {
            return match self.models.get(folder) {
                Some(Files::Embedded(files)) => Ok(files.get(name).map(Content::from)),
                // Links are followed, because the Hub's cache uses them.
                Some(Files::Folder(folder)) if is_model_file(name) => Content::file(&folder.join(name)),
                _ => Ok(None),
            };
        }
        match &self.page {
            Files::Embedded(files) => Ok(files.get(path).map(Content::from)),
            // A path of the page leads to a file below the folder, or to nothing.
            Files::Folder(folder) => match fs::canonicalize(folder.join(path)) {
                Ok(path) if path.starts_with(folder) => Content::file(&path),
                Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(error),
                _ => Ok(None),
            },
        }
    }
}

/// The folder and the name of a model's file: `models/NAME/`, `config.json`.
fn split(path: &str) -> Option<(&str, &str)> {
    let other = path.strip_prefix(OTHERS).and_then(|rest| rest.find('/').map(|end| OTHERS.len() + end + 1));
    let end = other.or_else(|| path.starts_with(MODEL).then_some(MODEL.len()))?;
    Some(path.split_at(end))
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
