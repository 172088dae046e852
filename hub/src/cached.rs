//! The description of a model in the cache.

use std::path::PathBuf;

/// A model in the cache.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedModel {
    /// Name for `--model`: `OWNER/NAME`, `OWNER/NAME@REVISION` if no branch leads to it, or `firefox:FROM-TO:ARCHITECTURE`.
    pub name: String,
    /// `model_type` of `config.json`; "firefox" for a Firefox model; empty if unknown.
    pub family: String,
    /// Languages, as far as files and name tell.
    pub languages: Languages,
    /// Bytes on disk.
    pub bytes: u64,
    /// Folder to open.
    pub folder: PathBuf,
    /// Licence as the publisher names it, such as "apache-2.0".
    pub licence: Option<String>,
    /// Commit, or the Firefox model's version.
    pub revision: String,
}

/// The languages of a model, as its publisher writes them: `en`, `eng_Latn`, `en_XX`. Both lists are empty if unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Languages {
    /// Languages that the model reads.
    pub from: Vec<String>,
    /// Languages that the model writes; it translates each of `from` into each of these.
    pub to: Vec<String>,
}
