//! The translation memory of a server.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use wordloom_documents::{MemoryPair, TranslationMemory};
use wordloom_hub::Language;

use super::super::{CliError, memory};
use super::glossaries::languages_of;

/// Number of pairs of languages whose translations are kept ready.
const MOST_PAIRS: usize = 64;

pub struct Memories {
    memory: TranslationMemory,
    /// Languages of a table, by its name.
    languages: Option<[Language; 2]>,
    /// Least similarity.
    pub least: f32,
    pairs: Mutex<HashMap<[String; 2], Arc<MemoryPair>>>,
}

impl Memories {
    /// Reads a file. The name of a table ends in `.FROM-TO.tsv`.
    pub fn open(path: &Path, least: f32) -> Result<Self, CliError> {
        let memory = memory::read(path)?;
        let languages = languages_of(path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default());
        if !memory.has_languages() && languages.is_none() {
            return Err(CliError::Usage(format!(
                "{}: a server needs the languages in the name of a table, as in corrections.en-de.tsv",
                path.display()
            )));
        }
        Ok(Self { memory, languages, least, pairs: Mutex::default() })
    }

    /// The translations from a language to another.
    pub fn pair(&self, from: &Language, to: &Language) -> Option<Arc<MemoryPair>> {
        if !self.memory.has_languages() {
            let [own_from, own_to] = self.languages.as_ref()?;
            if !own_from.fits(from) || !own_to.fits(to) {
                return None;
            }
        }
        let key = [from.base().to_owned(), to.base().to_owned()];
        let mut pairs = self.pairs.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = pairs.get(&key) {
            return Some(known.clone());
        }
        let pair = Arc::new(self.memory.pair(Some(&key[0]), Some(&key[1])).ok()?);
        if pairs.len() >= MOST_PAIRS {
            pairs.clear();
        }
        pairs.insert(key, pair.clone());
        Some(pair)
    }
}
