//! The words of a text, with their counts, as SentencePiece's trainer cuts them.

use std::collections::{BTreeMap, HashMap, HashSet};

use unicode_script::{Script, UnicodeScript};

use super::{Stage, VocabularyError};
use crate::text::Normalization;

/// Stands for the space before a word.
pub(super) const SPACE: char = '\u{2581}';
/// Characters of the longest part that pieces are learned from. Longer words are addresses and noise, and the library's sums
/// over all ways to cut a word may overflow.
const LONGEST: usize = 64;
/// Texts between two calls of the progress.
const PROGRESS_STEP: usize = 4096;

/// Words, cut where the script changes, so that no piece has two scripts: `TrainerSpec.split_by_unicode_script` of SentencePiece.
pub(super) struct Words {
    /// Parts of words in alphabetical order, each with the number of its occurrences. The first part of a word begins with U+2581.
    pub counts: Vec<(String, u32)>,
    /// The covered characters, each with the number of its occurrences.
    pub characters: HashMap<char, u64>,
    /// The characters that the coverage leaves out, the most frequent first.
    pub rare_characters: Vec<char>,
}

impl Words {
    /// Counts the words of normalized texts. Leaves out the rarest characters, as far as `coverage` allows it.
    pub fn count<'a>(
        texts: impl IntoIterator<Item = &'a str>,
        coverage: f64,
        normalization: &Normalization,
        on_stage: &mut dyn FnMut(Stage),
    ) -> Result<Self, VocabularyError> {
        if !(coverage > 0.0 && coverage <= 1.0) {
            return Err(VocabularyError::Coverage(coverage));
        }
        let mut words: HashMap<String, u64> = HashMap::new();
        for (index, text) in texts.into_iter().enumerate() {
            if index % PROGRESS_STEP == 0 {
                on_stage(Stage::Counting { texts: index });
            }
            for word in normalization.normalize(text).split_inclusive_start(SPACE) {
                match words.get_mut(word) {
                    Some(count) => *count += 1,
                    None => drop(words.insert(word.to_owned(), 1)),
                }
            }
        }
        let (characters, rare_characters) = covered(&words, coverage);
        let known: HashSet<char> = characters.keys().copied().collect();
        let mut parts: BTreeMap<String, u64> = BTreeMap::new();
        for (word, count) in &words {
            for part in parts_of(word, &known) {
                *parts.entry(part).or_default() += count;
            }
        }
        if parts.is_empty() {
            return Err(VocabularyError::NoText);
        }
        Ok(Self { counts: scaled(parts), characters, rare_characters })
    }
}

/// The characters that make up at least a share of the text, the most frequent ones first, and the others.
fn covered(words: &HashMap<String, u64>, coverage: f64) -> (HashMap<char, u64>, Vec<char>) {
    let mut counts: HashMap<char, u64> = HashMap::new();
    for (word, count) in words {
        word.chars().for_each(|character| *counts.entry(character).or_default() += count);
    }
    let all: u64 = counts.values().sum();
    let mut counts: Vec<(char, u64)> = counts.into_iter().collect();
    counts.sort_unstable_by_key(|&(character, count)| (std::cmp::Reverse(count), character));
    let mut sum = 0;
    let is_covered = |&(character, count): &(char, u64)| {
        let before = sum as f64;
        sum += count;
        character == SPACE || before < coverage * all as f64
    };
    let (known, rare): (Vec<_>, Vec<_>) = counts.into_iter().partition(is_covered);
    (known.into_iter().collect(), rare.into_iter().map(|(character, _)| character).collect())
}

/// Cuts a word where the script changes, at characters that are left out, and where it gets too long.
fn parts_of(word: &str, known: &HashSet<char>) -> Vec<String> {
    let mut parts = Vec::new();
    let mut part = String::new();
    let mut length = 0;
    let mut before = None;
    for character in word.chars() {
        let is_known = known.contains(&character);
        // marks belong to any script; the space goes with every first character
        let script = script(character).or(before);
        if !is_known || length == LONGEST || (before.is_some() && script != before) {
            parts.push(std::mem::take(&mut part));
            length = 0;
        }
        before = script;
        if is_known {
            part.push(character);
            length += 1;
        }
    }
    parts.push(part);
    parts.retain(|part| !part.is_empty());
    parts
}

/// The script of a character; `None` for U+2581 and for marks, which go with any script. Japanese is one script, as in
/// SentencePiece.
fn script(character: char) -> Option<Script> {
    match character.script() {
        _ if character == SPACE => None,
        _ if character == '\u{30fc}' => Some(Script::Han),
        Script::Inherited => None,
        Script::Hiragana | Script::Katakana => Some(Script::Han),
        script => Some(script),
    }
}

/// Counts as the library takes them: their sum must be within a u32. Larger ones are divided, and stay at least 1.
fn scaled(parts: BTreeMap<String, u64>) -> Vec<(String, u32)> {
    let sum: u64 = parts.values().sum();
    let divisor = sum / u64::from(u32::MAX / 2) + 1;
    let scale = |count: u64| (count / divisor).max(1) as u32;
    parts.into_iter().map(|(part, count)| (part, scale(count))).collect()
}

/// Cuts a text before each separator.
trait SplitInclusiveStart {
    fn split_inclusive_start(&self, separator: char) -> impl Iterator<Item = &str>;
}

impl SplitInclusiveStart for str {
    fn split_inclusive_start(&self, separator: char) -> impl Iterator<Item = &str> {
        let starts: Vec<usize> = self.match_indices(separator).map(|(start, _)| start).collect();
        let first = if starts.first() == Some(&0) { None } else { Some(0) };
        let starts: Vec<usize> = first.into_iter().chain(starts).collect();
        let ends: Vec<usize> = starts.iter().skip(1).copied().chain([self.len()]).collect();
        starts.into_iter().zip(ends).map(|(start, end)| &self[start..end]).filter(|word| !word.is_empty())
    }
}
