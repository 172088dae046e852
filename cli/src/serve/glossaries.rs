//! Glossaries that a server offers: files of its operator, and those that clients with keys have made.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::SystemTime;

use wordloom::translate::GlossaryFile;
use wordloom_hub::Language;

use super::super::{CliError, bounded};
use super::store::{KeptGlossaries, KeptGlossary, random_key};

/// Number of glossaries that a client can keep.
const MOST_OF_CLIENT: usize = 100;
/// Number of read glossaries of clients in memory.
const MOST_IN_MEMORY: usize = 64;

/// A glossary with its name.
pub struct Served {
    pub id: String,
    pub name: String,
    /// Of the source and of the target.
    pub languages: [Language; 2],
    pub file: GlossaryFile,
    /// Its lines.
    pub text: String,
    /// Time at which it was made, as RFC 3339 has it.
    pub created: String,
}

/// The reason why a glossary was not kept.
pub enum Unkept {
    /// The server keeps none: it has no database.
    NoStore,
    Wrong(String),
    Failed(Box<CliError>),
}

impl From<CliError> for Unkept {
    fn from(error: CliError) -> Self {
        Self::Failed(Box::new(error))
    }
}

#[derive(Default)]
pub struct Glossaries {
    files: Vec<Arc<Served>>,
    kept: Option<KeptGlossaries>,
    read: Mutex<HashMap<String, Arc<Served>>>,
}

impl Glossaries {
    /// Reads files, whose names end in `.FROM-TO.tsv`.
    pub fn open(paths: &[PathBuf], kept: Option<KeptGlossaries>) -> Result<Self, CliError> {
        let files: Vec<Arc<Served>> =
            paths.iter().map(|path| file(path).map(Arc::new)).collect::<Result<_, _>>()?;
        for (index, one) in files.iter().enumerate() {
            if files[..index].iter().any(|other| other.id == one.id) {
                return Err(CliError::Usage(format!("--glossary: two files are named {}", one.id)));
            }
        }
        Ok(Self { files, kept, read: Mutex::default() })
    }

    /// The glossaries of a client: the files, and its own.
    pub fn list(&self, owner: &str) -> Result<Vec<Arc<Served>>, CliError> {
        let mut all = self.files.clone();
        if let Some(kept) = &self.kept {
            for id in kept.ids(owner)? {
                all.extend(self.find(owner, &id)?);
            }
        }
        Ok(all)
    }

    /// A glossary that a client may use.
    pub fn find(&self, owner: &str, id: &str) -> Result<Option<Arc<Served>>, CliError> {
        if let Some(file) = self.files.iter().find(|file| file.id == id) {
            return Ok(Some(file.clone()));
        }
        let Some(kept) = &self.kept else { return Ok(None) };
        let Some(found) = kept.find(owner, id)? else { return Ok(None) };
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = read.get(id) {
            return Ok(Some(known.clone()));
        }
        let served = Arc::new(served(found).map_err(CliError::Input)?);
        if read.len() >= MOST_IN_MEMORY {
            read.clear();
        }
        read.insert(id.to_owned(), served.clone());
        Ok(Some(served))
    }

    /// Keeps a glossary of a client.
    pub fn add(
        &self,
        owner: &str,
        name: &str,
        languages: [Language; 2],
        text: &str,
    ) -> Result<Arc<Served>, Unkept> {
        let Some(kept) = &self.kept else { return Err(Unkept::NoStore) };
        if kept.ids(owner)?.len() >= MOST_OF_CLIENT {
            return Err(Unkept::Wrong(format!("Too many glossaries: at most {MOST_OF_CLIENT}")));
        }
        let new = KeptGlossary {
            id: random_key()?,
            name: name.to_owned(),
            languages: languages.map(|language| language.to_string()),
            text: text.to_owned(),
            created: humantime::format_rfc3339_micros(SystemTime::now()).to_string(),
        };
        let made = served(new.clone()).map_err(Unkept::Wrong)?;
        kept.add(owner, &new)?;
        Ok(Arc::new(made))
    }

    /// Removes a client's own glossary. Returns whether it was there.
    pub fn remove(&self, owner: &str, id: &str) -> Result<bool, CliError> {
        let Some(kept) = &self.kept else { return Ok(false) };
        let removed = kept.remove(owner, id)?;
        if removed {
            self.read.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        }
        Ok(removed)
    }
}

fn served(kept: KeptGlossary) -> Result<Served, String> {
    let KeptGlossary { id, name, languages, text, created } = kept;
    let file = GlossaryFile::parse("entries", text.as_bytes()).map_err(|error| error.to_string())?;
    let [from, to] = languages.each_ref().map(|code| code.parse::<Language>().map_err(|_| code.clone()));
    Ok(Served { id, name, languages: [from?, to?], file, text, created })
}

fn file(path: &Path) -> Result<Served, CliError> {
    let name = path.display().to_string();
    let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
    let languages = languages_of(stem).ok_or_else(|| {
        CliError::Usage(format!("{name}: a server needs the languages in the name, as in terms.en-de.tsv"))
    })?;
    let bytes = bounded::read(path, GlossaryFile::MAX_BYTES)?;
    let file = GlossaryFile::parse(&name, &bytes).map_err(|error| CliError::Usage(error.to_string()))?;
    let changed =
        std::fs::metadata(path).and_then(|found| found.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    Ok(Served {
        id: stem.to_owned(),
        name: stem.to_owned(),
        languages,
        file,
        text: String::from_utf8_lossy(&bytes).into_owned(),
        created: humantime::format_rfc3339_micros(changed).to_string(),
    })
}

/// The languages of a name such as `terms.en-de`, if it says them.
pub fn languages_of(stem: &str) -> Option<[Language; 2]> {
    let pair = stem.rsplit('.').next()?;
    let (from, to) = pair.split_once('-')?;
    Some([from.parse().ok()?, to.parse().ok()?])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_languages() {
        let of = |stem| languages_of(stem).map(|languages| languages.map(|language| language.to_string()));
        assert_eq!(of("terms.en-de"), Some(["en".to_owned(), "de".to_owned()]));
        assert_eq!(of("en-fr"), Some(["en".to_owned(), "fr".to_owned()]));
        assert_eq!(of("terms"), None);
        assert_eq!(of("my-terms"), None);
    }
}
