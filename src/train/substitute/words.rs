//! Finds words of lists in a text.

use std::collections::HashMap;

use super::letters::is_of_word;
use super::rules::Endings;

/// Group and entry of a form.
type Key = (usize, usize);

/// An entry of a list at a place of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hit {
    pub start: usize,
    /// With the ending.
    pub end: usize,
    pub group: usize,
    pub entry: usize,
    /// Letters after the form, such as the s of a genitive.
    pub ending: String,
}

impl Hit {
    pub fn overlaps(&self, other: &Self) -> bool {
        self.start < other.end && other.start < self.end
    }
}

/// The forms of all entries in one language, by their first words.
#[derive(Clone, Debug, Default)]
pub(super) struct Finder {
    forms: HashMap<String, Vec<(String, Key)>>,
    endings: Vec<String>,
}

impl Finder {
    pub fn new<'a>(entries: impl Iterator<Item = (Key, &'a [String])>, endings: &Endings) -> Self {
        let mut forms: HashMap<String, Vec<(String, Key)>> = HashMap::new();
        for (key, entry) in entries {
            for form in entry {
                let end = form.find(|character| !is_of_word(character)).unwrap_or(form.len());
                forms.entry(form[..end].to_owned()).or_default().push((form.clone(), key));
            }
        }
        Self { forms, endings: endings.add.clone() }
    }

    /// All entries in a text, as whole words with or without an ending. They may overlap.
    pub fn hits(&self, text: &str) -> Vec<Hit> {
        let mut hits = Vec::new();
        let mut before = None;
        for (start, character) in text.char_indices() {
            if is_of_word(character) && !before.is_some_and(is_of_word) {
                self.hits_at(text, start, &mut hits);
            }
            before = Some(character);
        }
        hits
    }

    fn hits_at(&self, text: &str, start: usize, hits: &mut Vec<Hit>) {
        let rest = &text[start..];
        let word = &rest[..rest.find(|character| !is_of_word(character)).unwrap_or(rest.len())];
        let without = self.endings.iter().filter_map(|ending| word.strip_suffix(&**ending));
        let forms = std::iter::once(word).chain(without).filter_map(|word| self.forms.get(word));
        for (form, (group, entry)) in forms.flatten() {
            let Some(after) = rest.strip_prefix(&**form) else { continue };
            let endings = std::iter::once("").chain(self.endings.iter().map(String::as_str));
            let ending = endings.into_iter().find(|ending| {
                after.strip_prefix(ending).is_some_and(|after| !after.chars().next().is_some_and(is_of_word))
            });
            let Some(ending) = ending else { continue };
            let end = start + form.len() + ending.len();
            let hit = Hit { start, end, group: *group, entry: *entry, ending: ending.to_owned() };
            if !hits.contains(&hit) {
                hits.push(hit);
            }
        }
    }
}
