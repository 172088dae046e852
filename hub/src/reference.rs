//! The name of a model, as a user gives it.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::HubError;

/// A model as a user names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ModelReference {
    /// A folder, which need not exist.
    Folder(PathBuf),
    /// A repository of the hub: `OWNER/NAME` or `OWNER/NAME@REVISION`.
    Hub {
        /// `OWNER/NAME`.
        repository: String,
        /// Branch, tag or commit; the main branch if `None`.
        revision: Option<String>,
    },
    /// A Firefox model: `firefox:FROM-TO` or `firefox:FROM-TO:ARCHITECTURE`.
    Firefox {
        /// Source language, such as `en`.
        from: String,
        /// Target language, such as `fr` or `zh-Hant`.
        to: String,
        /// `tiny`, `base` or `base-memory`; the best that there is if `None`.
        architecture: Option<String>,
    },
}

/// Extensions of files, which no name of a repository has.
const FILE_ENDS: [&str; 8] = [".json", ".safetensors", ".bin", ".pt", ".gz", ".zip", ".git", ".ipc"];

impl ModelReference {
    /// Reads a name or a path.
    ///
    /// A path that exists is a folder, and so is a text that looks like a path, or that begins with a folder that
    /// exists (`models/opus` beside a folder `models`): no network is ever asked for it. A revision tells a name from a
    /// path (`models/opus@main`). The only error is a text that begins with `firefox:` and names no pair.
    ///
    /// ```
    /// use wordloom_hub::ModelReference;
    ///
    /// let name = ModelReference::parse("Helsinki-NLP/opus-mt-en-fr")?;
    /// assert!(matches!(name, ModelReference::Hub { .. }));
    /// assert!(matches!(ModelReference::parse("./Helsinki-NLP/opus-mt-en-fr")?, ModelReference::Folder(_)));
    /// # Ok::<_, wordloom_hub::HubError>(())
    /// ```
    pub fn parse(text: &str) -> Result<Self, HubError> {
        let path = PathBuf::from(text);
        let first = path.parent().filter(|first| !first.as_os_str().is_empty());
        let is_path = path.exists() || (!text.contains('@') && first.is_some_and(Path::is_dir));
        match is_path {
            true => Ok(Self::Folder(path)),
            false => Self::parse_name(text),
        }
    }

    /// As [`parse`](Self::parse), without a look at the file system: a name stays a name if a folder is called so.
    pub fn parse_name(text: &str) -> Result<Self, HubError> {
        if let Some(pair) = text.strip_prefix("firefox:") {
            return firefox(pair).ok_or_else(|| HubError::NoPair { text: text.to_owned() });
        }
        let (repository, revision) = match text.split_once('@') {
            Some((repository, revision)) => (repository, Some(revision)),
            None => (text, None),
        };
        let named = repository.split_once('/').is_some_and(|(owner, name)| is_part(owner) && is_part(name))
            && !FILE_ENDS.iter().any(|end| repository.ends_with(end))
            && revision.is_none_or(is_revision);
        Ok(match named {
            true => Self::Hub { repository: repository.to_owned(), revision: revision.map(str::to_owned) },
            false => Self::Folder(PathBuf::from(text)),
        })
    }
}

impl fmt::Display for ModelReference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(folder) => write!(f, "{}", folder.display()),
            Self::Hub { repository, revision: None } => f.write_str(repository),
            Self::Hub { repository, revision: Some(revision) } => write!(f, "{repository}@{revision}"),
            Self::Firefox { from, to, architecture: None } => write!(f, "firefox:{from}-{to}"),
            Self::Firefox { from, to, architecture: Some(architecture) } => {
                write!(f, "firefox:{from}-{to}:{architecture}")
            }
        }
    }
}

/// Whether the hub takes this as the name of an owner or of a repository.
pub fn is_part(part: &str) -> bool {
    (1..=96).contains(&part.len())
        && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && !part.starts_with(['-', '.'])
        && !part.ends_with(['-', '.'])
        && !part.contains("--")
        && !part.contains("..")
}

/// Whether this is the name of a branch or tag (`main`, `refs/pr/1`), or a commit.
fn is_revision(revision: &str) -> bool {
    (1..=255).contains(&revision.len())
        && revision.split('/').all(|part| {
            !part.is_empty()
                && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.+".contains(&byte))
                && !part.starts_with(['-', '.'])
                && !part.contains("..")
                && !part.ends_with(".lock")
        })
}

/// Reads `en-fr` or `en-fr:tiny`. A code may have a script or a region: `en-zh-Hant`, `pt-BR-en`.
fn firefox(text: &str) -> Option<ModelReference> {
    let (pair, architecture) = match text.split_once(':') {
        Some((pair, architecture)) => (pair, Some(architecture)),
        None => (text, None),
    };
    let is_word = |word: &str| {
        (1..=32).contains(&word.len())
            && word.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_".contains(&byte))
    };
    let mut languages: Vec<String> = Vec::new();
    for part in pair.split('-') {
        let code = part.split('_').next().unwrap_or(part);
        let is_language = (2..=3).contains(&code.len()) && code.bytes().all(|byte| byte.is_ascii_lowercase());
        match languages.last_mut() {
            Some(last) if !is_language => *last = format!("{last}-{part}"),
            _ => languages.push(part.to_owned()),
        }
    }
    let [from, to] = <[String; 2]>::try_from(languages).ok()?;
    let valid = [&from, &to].into_iter().all(|word| is_word(word)) && architecture.is_none_or(is_word);
    let architecture = architecture.map(str::to_owned);
    valid.then_some(ModelReference::Firefox { from, to, architecture })
}
