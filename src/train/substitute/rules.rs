//! What a language does to a name: endings after it, and elision before it.

use super::letters::is_of_word;

/// Endings that a name may have, such as the s of the German genitive.
#[derive(Clone, Debug, Default, PartialEq, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Endings {
    /// The endings.
    pub add: Vec<String>,
    /// Ends of names that take none of them.
    #[serde(default)]
    pub not_after: Vec<String>,
}

impl Endings {
    pub fn can_follow(&self, form: &str) -> bool {
        !self.not_after.iter().any(|end| form.ends_with(&**end))
    }
}

/// Words that lose their last vowel before another one, such as the French "de": "de Tom", "d'Anna".
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Elision {
    words: Vec<String>,
}

/// What stands before a name.
enum Before {
    /// A word with its vowel: the place of the vowel.
    Whole(usize),
    /// A word without it: the place of the apostrophe, and the lost vowel.
    Elided(usize, char),
}

/// The sound that a name begins with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Sound {
    Vowel,
    Consonant,
    /// h and y, which some names elide before, and others do not.
    Unsure,
}

impl Elision {
    pub fn new(words: Vec<String>) -> Self {
        Self { words }
    }

    /// Whether it is known how to write a name at a place.
    pub fn is_sure(&self, text: &str, start: usize, form: &str) -> bool {
        sound(form) != Sound::Unsure || self.before(text, start).is_none()
    }

    /// The change before a name, if there is one: the place where it begins, and what stands there instead.
    pub fn joint(&self, text: &str, start: usize, form: &str) -> Option<(usize, String)> {
        match (self.before(text, start)?, sound(form)) {
            (Before::Whole(place), Sound::Vowel) => Some((place, "'".to_owned())),
            (Before::Elided(place, vowel), Sound::Consonant) => Some((place, format!("{vowel} "))),
            _ => None,
        }
    }

    fn before(&self, text: &str, start: usize) -> Option<Before> {
        let text = &text[..start];
        self.words.iter().find_map(|word| {
            let vowel = word.chars().next_back()?;
            let stem = &word[..word.len() - vowel.len_utf8()];
            if let Some(rest) = text.strip_suffix(' ') {
                let place = rest.len().checked_sub(vowel.len_utf8())?;
                return ends_with_word(rest, word).then_some(Before::Whole(place));
            }
            let rest = text.strip_suffix('\'').or_else(|| text.strip_suffix('’'))?;
            ends_with_word(rest, stem).then_some(Before::Elided(rest.len(), vowel))
        })
    }
}

/// Whether a text ends with a whole word, in any case.
fn ends_with_word(text: &str, word: &str) -> bool {
    let start = text.rfind(|character| !is_of_word(character));
    let start = start.map_or(0, |start| start + text[start..].chars().next().map_or(0, char::len_utf8));
    text[start..].to_lowercase() == word
}

fn sound(form: &str) -> Sound {
    let first = form.chars().next().unwrap_or_default().to_lowercase().next().unwrap_or_default();
    match first {
        'h' | 'y' => Sound::Unsure,
        first if "aàáâãäåæeèéêëiìíîïoòóôõöøœuùúûü".contains(first) => Sound::Vowel,
        _ => Sound::Consonant,
    }
}
