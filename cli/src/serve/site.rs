//! The served files: `/` is the page, `/model/` has the files of the page's model.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fs;
use std::io::{self, ErrorKind};
use std::path::{Path, PathBuf};

use hyper::body::Bytes;
use wordloom::Model;
use wordloom::model::files::ModelFiles;

use super::super::CliError;
use super::super::setup::model_files;
use super::content::{Content, Embedded};

pub struct Site {
    page: Page,
    model: ModelFolder,
}

enum Page {
    Embedded(HashMap<&'static str, Embedded>),
    /// A folder, with links resolved.
    Folder(PathBuf),
}

enum ModelFolder {
    Embedded(HashMap<&'static str, Embedded>),
    Folder(PathBuf),
}

/// The page's files by path, from `build.rs`; empty if there was no page.
const BUILT_PAGE: &[(&str, &[u8])] = &include!(concat!(env!("OUT_DIR"), "/page.rs"));

/// The file of `/`.
pub const INDEX: &str = "index.html";
const MODEL: &str = "model/";

/// The served files of a model's folder, besides shards, which may have any name.
const MODEL_FILES: [&str; 12] = [
    "config.json",
    "generation_config.json",
    "model.safetensors",
    "model.safetensors.index.json",
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
    /// A page and a model, each in a folder or built in.
    pub fn open(page: Option<&Path>, model: Option<&Path>) -> Result<Self, CliError> {
        let page = match page {
            Some(folder) => Page::folder(folder)?,
            None => Page::embedded()?,
        };
        let files = model_files(model)?;
        let model = match model {
            None => ModelFolder::embedded(files),
            Some(folder) => {
                Model::from_files(files)?; // checks that the page can load it
                ModelFolder::Folder(folder.to_owned())
            }
        };
        Ok(Self { page, model })
    }

    /// The content of a decoded path without a leading slash.
    pub fn find(&self, path: &str) -> io::Result<Option<Content>> {
        match path.strip_prefix(MODEL) {
            Some(name) => self.model.find(name),
            None => self.page.find(path),
        }
    }
}

impl Page {
    fn embedded() -> Result<Self, CliError> {
        if BUILT_PAGE.is_empty() {
            return Err(CliError::Usage(
                "this wordloom was built without its page; run `cargo xtask web` and build again, \
                 or name the folder of a built page with --page"
                    .into(),
            ));
        }
        let files = BUILT_PAGE.iter().map(|(name, bytes)| (*name, Embedded::new(Bytes::from_static(bytes))));
        Ok(Self::Embedded(files.collect()))
    }

    fn folder(folder: &Path) -> Result<Self, CliError> {
        let name = folder.display();
        let folder = fs::canonicalize(folder)
            .map_err(|source| CliError::Io { what: format!("cannot read {name}"), source })?;
        if !folder.join(INDEX).is_file() {
            return Err(CliError::Input(format!(
                "{name}: there is no {INDEX} in it; `cargo xtask web` builds the page"
            )));
        }
        Ok(Self::Folder(folder))
    }

    fn find(&self, path: &str) -> io::Result<Option<Content>> {
        match self {
            Self::Embedded(files) => Ok(files.get(path).map(Content::from)),
            Self::Folder(folder) => match fs::canonicalize(folder.join(path)) {
                // Any path leads to a file below the folder, or to nothing.
                Ok(path) if path.starts_with(folder) => Content::file(&path),
                Ok(_) => Ok(None),
                Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(error),
                Err(_) => Ok(None),
            },
        }
    }
}

impl ModelFolder {
    fn embedded(files: ModelFiles) -> Self {
        // The files live until the process ends.
        let files: &'static ModelFiles = Box::leak(Box::new(files));
        let content = |name| match files.read(name, u64::MAX).ok()? {
            Cow::Borrowed(bytes) => Some((name, Embedded::new(Bytes::from_static(bytes)))),
            Cow::Owned(bytes) => Some((name, Embedded::new(bytes))),
        };
        Self::Embedded(MODEL_FILES.into_iter().filter_map(content).collect())
    }

    fn find(&self, name: &str) -> io::Result<Option<Content>> {
        match self {
            Self::Embedded(files) => Ok(files.get(name).map(Content::from)),
            // Links are followed, because the Hub's cache uses them.
            Self::Folder(folder) if is_model_file(name) => Content::file(&folder.join(name)),
            Self::Folder(_) => Ok(None),
        }
    }
}

fn is_model_file(name: &str) -> bool {
    let is_shard =
        name.ends_with(".safetensors") && !name.starts_with('.') && !name.contains(['/', '\\', ':', '\0']);
    MODEL_FILES.contains(&name) || is_shard
}

#[cfg(test)]
mod tests {
    use super::is_model_file;

    #[test]
    fn only_a_model_s_files_are_given_away() {
        for name in
            ["config.json", "model.safetensors", "model-00001-of-00002.safetensors", "weights.safetensors"]
        {
            assert!(is_model_file(name), "{name}");
        }
        for name in [
            "",
            "notes.txt",
            "training_args.json",
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
