//! Served files: `/` is the page, `/model/` its model, `/models/NAME/` the others, and `/models.json` lists them all.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use rust_embed::RustEmbed;
use wordloom::Model;
use wordloom::model::files::ModelFiles;
use wordloom::model::is_firefox_file;
use wordloom_hub::{BuiltIn, CachedModel, Choosable, Hub, Place};

use super::super::setup::place;
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
    /// The models that were fetched by name.
    fetched: Vec<CachedModel>,
    /// Whether anything is served: models are for the page, so without it there is nothing.
    gives_files: bool,
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
const MODEL_FILES: [&str; 18] = [
    "added_tokens.json",
    "config.json",
    "generation_config.json",
    "merges.txt",
    "model.safetensors",
    "model.safetensors.index.json",
    "pytorch_model.bin",
    "pytorch_model.bin.index.json",
    "sentencepiece.bpe.model",
    "source.spm",
    "special_tokens_map.json",
    "spiece.model",
    "target.spm",
    "target_vocab.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "vocab.json",
    "vocab.txt",
];

impl Site {
    /// Opens the page, in a folder or built in, and the models.
    ///
    /// * `page`: `Page::None` serves no files; the models are described all the same
    /// * `models`: the page opens the first one
    /// * `others`: folders of models, or of folders of models, or names
    /// * `offers_fetched`: whether the Firefox models that were fetched by name are offered, too
    pub fn open(
        page: Page<'_>,
        models: &[Place],
        others: &[PathBuf],
        offers_fetched: bool,
    ) -> Result<Self, CliError> {
        let gives_files = !matches!(page, Page::None);
        let page = match page {
            Page::Folder(folder) => page_folder(folder)?,
            Page::BuiltIn => embedded_page()?,
            Page::None => Files::Embedded(HashMap::new()),
        };
        let list = Embedded::new(Cow::Borrowed(&[]));
        let fetched = Hub::from_environment()?.cached_models()?;
        let mut site = Self { page, models: HashMap::new(), list, offered: Vec::new(), fetched, gives_files };
        let mut entries = Vec::new();
        for place in models {
            match site.add(place) {
                Ok(entry) => entries.push(entry),
                // The page loads it anyway; a list needs its languages.
                Err(_) => drop(Model::from_files(place.files()?)?),
            }
        }
        for given in others {
            let places = match place(Some(given))? {
                Place::Folder(folder) => listing::folders(&folder)?.into_iter().map(Place::Folder).collect(),
                built_in => vec![built_in],
            };
            for place in places {
                notice(&format!("reading {place}")); // hashing large weights takes seconds
                entries.push(site.add(&place)?);
            }
        }
        // small, and made for pages; others have hundreds of megabytes to hash at each start
        let firefox = site.fetched.iter().filter(|model| offers_fetched && model.family == "firefox");
        for model in firefox.cloned().collect::<Vec<_>>() {
            match site.add(&Place::Folder(model.folder)) {
                Ok(entry) => entries.push(entry),
                Err(error) => notice(&format!("{} is not offered: {error}", model.name)),
            }
        }
        site.list = Embedded::new(Cow::Owned(listing::write(entries)));
        Ok(site)
    }

    /// Serves a model, and describes it for the list.
    fn add(&mut self, place: &Place) -> Result<listing::Entry, CliError> {
        let (about, files) = match place {
            Place::BuiltIn(_) => {
                let model = BuiltIn::at(place).map(|model| (model.title, model.licence));
                let (title, licence) = model.unwrap_or_default();
                let about =
                    listing::About { name: title.to_owned(), licence: Some(licence.to_owned()), pair: None };
                (about, embedded_model(place.files()?))
            }
            Place::Folder(folder) => {
                (listing::about(folder, &self.fetched), Files::Folder(folder.to_owned()))
            }
        };
        let name = about.name.clone();
        let address = self.free_address(&name);
        self.models.insert(address.clone(), files);
        let entry = listing::entry(about, place.files()?, &address, self.gives_files)?;
        let (place, languages) = (place.clone(), entry.read_and_written());
        self.offered.push(Choosable { name, place, languages, bytes: entry.bytes(), fetched: None });
        Ok(entry)
    }

    /// The folder of a model's address: `model/` for the first one.
    fn free_address(&self, name: &str) -> String {
        if self.models.is_empty() {
            return MODEL.to_owned();
        }
        let plain = |c: char| if c.is_ascii_alphanumeric() || "-_.".contains(c) { c } else { '-' };
        let name: String = name.chars().map(plain).collect();
        let numbered = (2..).map(|number| format!("{OTHERS}{name}-{number}/"));
        let mut all = std::iter::once(format!("{OTHERS}{name}/")).chain(numbered);
        all.find(|address| !self.models.contains_key(address)).unwrap_or_default()
    }

    /// Content of a decoded path without a leading slash.
    pub fn find(&self, path: &str) -> io::Result<Option<Content>> {
        if !self.gives_files {
            return Ok(None);
        }
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
    let is_plain = !name.starts_with('.') && !name.contains(['/', '\\', ':', '\0']);
    MODEL_FILES.contains(&name) || (is_plain && (is_weights || is_firefox_file(name)))
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
            "vocab.txt",
            "model.ende.intgemm.alphas.bin",
            "vocab.deen.spm",
            "lex.50.50.ende.s2t.bin",
        ] {
            assert!(is_model_file(name), "{name}");
        }
        for name in [
            "",
            "notes.txt",
            "training_args.json",
            "training_args.bin",
            ".hidden.safetensors",
            "model.ende/../../secret.bin",
            "firefox.json",
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
