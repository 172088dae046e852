//! Words that a translation must have, such as names, days and numbers.

/// The required words of a line: each with its alternatives.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Required(Vec<Vec<String>>);

impl Required {
    /// Words separated by `|`, each perhaps with alternatives after a `/`: `Anna|Montag/montags`.
    pub fn new(text: &str) -> Self {
        let alternatives = |word: &str| -> Vec<String> {
            word.split('/').map(str::trim).filter(|word| !word.is_empty()).map(str::to_owned).collect()
        };
        let words = text.split('|').map(alternatives);
        Self(words.filter(|alternatives| !alternatives.is_empty()).collect())
    }

    /// Whether there are no words.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The words that a translation lacks, with their alternatives. Case counts, and words are whole: "12" is not in "120".
    pub fn missing_in(&self, translation: &str) -> Vec<String> {
        let has = |word: &String| has_word(translation, word);
        let missing = self.0.iter().filter(|alternatives| !alternatives.iter().any(has));
        missing.map(|alternatives| alternatives.join("/")).collect()
    }
}

/// Whether a text has a word or words, without letters or digits around them.
fn has_word(text: &str, word: &str) -> bool {
    let is_end = |character: Option<char>| !character.is_some_and(char::is_alphanumeric);
    text.match_indices(word).any(|(start, _)| {
        is_end(text[..start].chars().next_back()) && is_end(text[start + word.len()..].chars().next())
    })
}
