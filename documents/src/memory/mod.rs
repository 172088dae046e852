//! Translations that people made or corrected: found before a model is asked.
//!
//! | file | |
//! |---|---|
//! | `mod` | a memory, and the translations of one pair of languages |
//! | `tmx`, `table` | the two kinds of files |
//! | `variants` | a unit of a memory |
//! | `similar` | how alike two texts are, by words |

mod similar;
mod table;
mod tmx;
mod variants;

use std::collections::HashMap;
use std::sync::OnceLock;

use super::document::decoded;
use super::error::DocumentError;
use similar::Similar;
use variants::Variants;

/// A translation memory: a TMX file, or a table with the columns source and target.
pub struct TranslationMemory {
    name: String,
    /// Language of the sources, by the file's header.
    source: Option<String>,
    units: Vec<Variants>,
}

/// The translations of a memory for one pair of languages.
pub struct MemoryPair {
    /// Sources with single spaces, and targets.
    entries: Vec<(String, String)>,
    by_source: HashMap<String, usize>,
    /// Made for the first text that is not found exactly.
    similar: OnceLock<Similar>,
}

/// A translation that was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Match<'a> {
    /// The text that the memory has.
    pub source: &'a str,
    /// Its translation.
    pub target: &'a str,
    /// Similarity of the texts: 1 if they have the same words, else 1 - edits / words of the longer one.
    pub score: f32,
}

impl TranslationMemory {
    /// Bytes of the largest file.
    pub const MAX_BYTES: usize = 256 << 20;

    /// Reads a file; its ending says whether it is TMX (`.tmx`) or a table (`.tsv`).
    ///
    /// # Errors
    /// [`DocumentError`] if the file is too large, no text, or no valid file of its kind. Entities of a DTD are not expanded.
    pub fn read(name: &str, bytes: Vec<u8>) -> Result<Self, DocumentError> {
        if bytes.len() > Self::MAX_BYTES {
            return Err(DocumentError::TooLarge { what: name.to_owned(), limit: Self::MAX_BYTES as u64 });
        }
        let (text, _) = decoded(bytes)?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let ending = name.rsplit('.').next().unwrap_or_default().to_lowercase();
        let (source, units) = match &*ending {
            "tmx" => tmx::read(text)?,
            "tsv" => (None, table::read(text)?),
            _ => {
                let problem = "its name ends neither in .tmx nor in .tsv".to_owned();
                return Err(DocumentError::invalid("translation memory", problem));
            }
        };
        Ok(Self { name: name.to_owned(), source, units })
    }

    /// Name of the file.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it says which languages its texts have: a table does not.
    pub fn has_languages(&self) -> bool {
        self.units.iter().flatten().any(|(language, _)| language.is_some())
    }

    /// The translations from a language to another: codes such as `de` or `de-AT`, of which the first part counts. An unknown source is
    /// the header's; an unknown target is the only other language.
    ///
    /// # Errors
    /// [`DocumentError::Invalid`] if the file does not say which languages are meant.
    pub fn pair(&self, source: Option<&str>, target: Option<&str>) -> Result<MemoryPair, DocumentError> {
        if !self.has_languages() {
            let pairs = self.units.iter().map(|unit| (&*unit[0].1, &*unit[1].1));
            return Ok(MemoryPair::new(pairs));
        }
        let unclear = |problem: String| Err(DocumentError::invalid("TMX", problem));
        let Some(source) = source.or(self.source.as_deref()).map(base) else {
            return unclear(
                "its header names no language of the sources; say which one is translated".into(),
            );
        };
        let languages =
            || self.units.iter().flatten().filter_map(|(language, _)| language.as_deref()).map(base);
        let mut others: Vec<String> = languages().filter(|language| *language != source).collect();
        others.sort_unstable();
        others.dedup();
        let target = match (target.map(base), &others[..]) {
            (Some(target), _) => target,
            (None, [only]) => only.clone(),
            (None, _) => {
                return unclear(format!(
                    "it has the languages {}; say into which one is translated",
                    others.join(", ")
                ));
            }
        };
        let text = |unit: &'_ Variants, wanted: &str| -> Option<usize> {
            unit.iter().position(|(language, _)| language.as_deref().map(base).as_deref() == Some(wanted))
        };
        let pairs = self
            .units
            .iter()
            .filter_map(|unit| Some((&*unit[text(unit, &source)?].1, &*unit[text(unit, &target)?].1)));
        Ok(MemoryPair::new(pairs))
    }
}

impl MemoryPair {
    /// Of equal sources the last counts: corrections are added at the end.
    fn new<'a>(pairs: impl Iterator<Item = (&'a str, &'a str)>) -> Self {
        let mut new = Self { entries: Vec::new(), by_source: HashMap::new(), similar: OnceLock::new() };
        for (source, target) in pairs {
            let source = single_spaces(source);
            if source.is_empty() || target.trim().is_empty() {
                continue;
            }
            // a line of text stays one, however the file breaks its lines
            let target = match target.contains(['\n', '\r']) {
                true => single_spaces(target),
                false => target.trim().to_owned(),
            };
            let entry = (source.clone(), target);
            match new.by_source.get(&source) {
                Some(&known) => new.entries[known] = entry,
                None => {
                    new.by_source.insert(source, new.entries.len());
                    new.entries.push(entry);
                }
            }
        }
        new
    }

    /// Number of texts.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether it has no text.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The translation of a text, or of the most similar one; white space does not count.
    ///
    /// * `least`: smallest similarity, above 0; 1 finds equal texts only
    pub fn find(&self, text: &str, least: f32) -> Option<Match<'_>> {
        let text = single_spaces(text);
        let found = |index: usize, score: f32| {
            let (source, target) = &self.entries[index];
            Match { source, target, score }
        };
        if let Some(&index) = self.by_source.get(&text) {
            return Some(found(index, 1.0));
        }
        if least >= 1.0 {
            return None;
        }
        let similar =
            self.similar.get_or_init(|| Similar::new(self.entries.iter().map(|(source, _)| &**source)));
        similar.find(&text, least).map(|(index, score)| found(index, score))
    }
}

/// The language without its region, in lower case.
fn base(code: &str) -> String {
    code.split(['-', '_']).next().unwrap_or_default().to_lowercase()
}

fn single_spaces(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}
