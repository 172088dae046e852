//! The options `--memory` and `--memory-match`.

use std::path::{Path, PathBuf};

use wordloom_documents::{MemoryPair, TranslationMemory};
use wordloom_hub::Language;

use super::digest::Digest;
use super::{CliError, bounded};

#[derive(clap::Args)]
pub struct MemoryArguments {
    /// Take translations from FILE first: .tmx or .tsv
    // hidden: the help has to fit a screen
    #[arg(long = "memory", alias = "translation-memory", value_name = "FILE", hide = true)]
    translation_memory: Option<PathBuf>,
    /// Least similarity of a text, by words; 1 is an equal one
    #[arg(long, value_name = "X", default_value = "1", value_parser = similarity, requires = "translation_memory", hide = true)]
    memory_match: f32,
}

/// The translations of a memory that fit a text well enough.
pub struct Memory {
    pub pair: MemoryPair,
    /// Least similarity.
    pub least: f32,
}

impl MemoryArguments {
    pub fn path(&self) -> Option<&Path> {
        self.translation_memory.as_deref()
    }

    /// Reads the file, for a pair of languages.
    pub fn open(&self, languages: &[Option<Language>; 2]) -> Result<Option<Memory>, CliError> {
        let Some(path) = &self.translation_memory else { return Ok(None) };
        let memory = read(path)?;
        let [from, to] = languages.each_ref().map(|language| language.as_ref().map(ToString::to_string));
        let pair = memory
            .pair(from.as_deref(), to.as_deref())
            .map_err(|source| CliError::Document { file: path.display().to_string(), source })?;
        if pair.is_empty() {
            super::notice(&format!("warning: {} has no translations of these languages", path.display()));
        }
        Ok(Some(Memory { pair, least: self.memory_match }))
    }

    /// What it is, for a run that is resumed.
    pub fn setting(&self) -> Result<Option<String>, CliError> {
        let Some(path) = &self.translation_memory else { return Ok(None) };
        let mut digest = Digest::default();
        digest.update(&bytes(path)?);
        Ok(Some(format!("{} with digest {}", self.memory_match, digest.summary().hash)))
    }
}

/// Reads a memory.
pub fn read(path: &Path) -> Result<TranslationMemory, CliError> {
    let name = path.display().to_string();
    TranslationMemory::read(&name, bytes(path)?).map_err(|source| CliError::Document { file: name, source })
}

fn bytes(path: &Path) -> Result<Vec<u8>, CliError> {
    bounded::read(path, TranslationMemory::MAX_BYTES)
}

/// Reads a similarity: above 0, at most 1.
pub fn similarity(text: &str) -> Result<f32, &'static str> {
    let similarity = text.parse().ok().filter(|similarity| *similarity > 0.0 && *similarity <= 1.0);
    similarity.ok_or("a number above 0 and at most 1 is needed")
}
