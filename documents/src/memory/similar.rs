//! How alike two texts are: the edit distance of their words.

use std::collections::HashMap;

/// Words of the longest text that is compared: the time grows with the square.
const MOST_WORDS: usize = 200;

/// Texts as numbers of their words, and the texts of each word.
pub struct Similar {
    numbers: HashMap<String, u32>,
    texts: Vec<Vec<u32>>,
    /// Of each word, the texts that have it; once for each time.
    having: Vec<Vec<u32>>,
}

impl Similar {
    pub fn new<'a>(texts: impl Iterator<Item = &'a str>) -> Self {
        let mut new = Self { numbers: HashMap::new(), texts: Vec::new(), having: Vec::new() };
        for (index, text) in (0u32..).zip(texts) {
            let mut words = Vec::new();
            for word in text.split_whitespace() {
                let next = new.numbers.len() as u32;
                let number = *new.numbers.entry(word.to_owned()).or_insert(next);
                if number == next {
                    new.having.push(Vec::new());
                }
                new.having[number as usize].push(index);
                words.push(number);
            }
            new.texts.push(words);
        }
        new
    }

    /// The most similar text, of equal ones the first, and its similarity.
    pub fn find(&self, text: &str, least: f32) -> Option<(usize, f32)> {
        let words: Vec<u32> = text
            .split_whitespace()
            .take(MOST_WORDS + 1)
            .map(|word| self.numbers.get(word).copied().unwrap_or(u32::MAX))
            .collect();
        if words.is_empty() || words.len() > MOST_WORDS {
            return None;
        }
        let mut shared: HashMap<u32, usize> = HashMap::new();
        let mut distinct = words.clone();
        distinct.sort_unstable();
        distinct.dedup();
        for &word in distinct.iter().filter(|&&word| word != u32::MAX) {
            for &text in &self.having[word as usize] {
                *shared.entry(text).or_default() += 1;
            }
        }
        // the similarity is at most the share of common words
        let bound = |(&index, &common): (&u32, &usize)| {
            let longer = self.texts[index as usize].len().max(words.len());
            (index as usize, common.min(words.len()) as f32 / longer as f32)
        };
        let mut candidates: Vec<(usize, f32)> =
            shared.iter().map(bound).filter(|&(_, most)| most >= least).collect();
        candidates.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let mut best: Option<(usize, f32)> = None;
        for (index, most) in candidates {
            if best.is_some_and(|(_, score)| score > most) {
                break;
            }
            let other = &self.texts[index];
            if other.len() > MOST_WORDS {
                continue;
            }
            let score = 1.0 - edits(&words, other) as f32 / words.len().max(other.len()) as f32;
            let better =
                |(before, highest): (usize, f32)| score > highest || score == highest && index < before;
            if score >= least && best.is_none_or(better) {
                best = Some((index, score));
            }
        }
        best
    }
}

/// Least number of words to insert, remove or replace. Levenshtein 1966.
fn edits(one: &[u32], other: &[u32]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (index, a) in one.iter().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], index + 1);
        for (column, b) in other.iter().enumerate() {
            // a word that the memory does not know equals none
            let replaced = diagonal + usize::from(a != b || *a == u32::MAX);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}
