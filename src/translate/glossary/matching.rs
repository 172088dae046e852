//! Terms in a sentence.

use crate::sorting;
use std::collections::HashMap;
use std::ops::Range;

use super::file::{CaseRule, GlossaryEntry};

/// Finds the terms of a glossary, longest first.
#[derive(Debug)]
pub(super) struct Matcher {
    /// Terms by the first character of their source in lower case; the longest first.
    by_first: HashMap<char, Vec<Pattern>>,
}

#[derive(Debug)]
struct Pattern {
    entry: usize,
    source: String,
    case: CaseRule,
}

impl Matcher {
    pub fn new(entries: &[GlossaryEntry]) -> Self {
        let mut by_first: HashMap<char, Vec<Pattern>> = HashMap::new();
        for (entry, GlossaryEntry { source, case, .. }) in entries.iter().enumerate() {
            let Some(first) = source.chars().flat_map(char::to_lowercase).next() else { continue };
            let pattern = Pattern { entry, source: source.clone(), case: *case };
            by_first.entry(first).or_default().push(pattern);
        }
        for patterns in by_first.values_mut() {
            sorting::sort_by_key(patterns, |pattern| {
                (std::cmp::Reverse(pattern.source.chars().count()), pattern.case == CaseRule::Any)
            });
        }
        Self { by_first }
    }

    /// Terms of a text with their bytes, in order; no two overlap.
    pub fn find(&self, text: &str) -> Vec<(usize, Range<usize>)> {
        let mut found = Vec::new();
        let mut free = 0;
        let mut before = None;
        for (start, character) in text.char_indices() {
            let begins = start >= free && is_start(before, character);
            before = Some(character);
            let Some(first) = character.to_lowercase().next().filter(|_| begins) else { continue };
            let patterns = self.by_first.get(&first).into_iter().flatten();
            let longest =
                patterns.filter_map(|pattern| Some((pattern.entry, pattern.end(text, start)?))).next();
            if let Some((entry, end)) = longest {
                found.push((entry, start..end));
                free = end;
            }
        }
        found
    }
}

impl Pattern {
    /// End of the term, if it begins at `start` and ends with a word. White space is as long as it likes.
    fn end(&self, text: &str, start: usize) -> Option<usize> {
        let mut characters = text[start..].char_indices().peekable();
        let mut end = start;
        let mut last = None;
        for expected in self.source.chars() {
            if expected == ' ' {
                let mut spaces = 0;
                while characters.next_if(|(_, c)| c.is_whitespace()).is_some() {
                    spaces += 1;
                }
                if spaces == 0 {
                    return None;
                }
                continue;
            }
            let (at, character) = characters.next()?;
            let equal = character == expected
                || self.case == CaseRule::Any && character.to_lowercase().eq(expected.to_lowercase());
            if !equal {
                return None;
            }
            end = start + at + character.len_utf8();
            last = Some(character);
        }
        is_end(last?, text[end..].chars().next()).then_some(end)
    }
}

/// Whether a word can begin at a character.
fn is_start(before: Option<char>, character: char) -> bool {
    let inside = |before: char| is_word(before) && is_word(character);
    before.is_none_or(|before| !inside(before) || has_no_spaces(before) || has_no_spaces(character))
}

/// Whether a word can end with a character. Korean particles are written at their word, so a word of Hangul ends anywhere.
fn is_end(last: char, after: Option<char>) -> bool {
    let inside = |after: char| is_word(last) && is_word(after);
    after
        .is_none_or(|after| !inside(after) || has_no_spaces(last) || has_no_spaces(after) || is_hangul(after))
}

fn is_word(character: char) -> bool {
    character.is_alphanumeric() || character == '_' || is_mark(character)
}

/// Marks that belong to the letter before them.
fn is_mark(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36f}' | '\u{483}'..='\u{489}' | '\u{591}'..='\u{5c7}' | '\u{610}'..='\u{61a}'
        | '\u{64b}'..='\u{65f}' | '\u{900}'..='\u{903}' | '\u{93a}'..='\u{94f}' | '\u{980}'..='\u{983}'
        | '\u{9bc}'..='\u{9cd}' | '\u{b82}' | '\u{bbe}'..='\u{bcd}' | '\u{200d}')
}

/// Whether the character's script is written without spaces between words.
pub(super) fn has_no_spaces(character: char) -> bool {
    matches!(character, '\u{e00}'..='\u{eff}' | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}'
        | '\u{2e80}'..='\u{30ff}' | '\u{31c0}'..='\u{31ff}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

pub(super) fn is_hangul(character: char) -> bool {
    matches!(character, '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7af}')
}

#[cfg(test)]
mod tests {
    use super::super::file::GlossaryFile;
    use super::*;

    fn found<'a>(terms: &str, text: &'a str) -> Vec<&'a str> {
        let lines: String = terms.split(',').map(|term| format!("{term}\tx\n")).collect();
        let file = GlossaryFile::parse("terms.tsv", lines.as_bytes()).unwrap();
        Matcher::new(&file.entries).find(text).into_iter().map(|(_, range)| &text[range]).collect()
    }

    #[test]
    fn terms_are_whole_words_and_the_longest_wins() {
        assert_eq!(found("ticket", "A ticket, tickets, the Ticket."), ["ticket", "Ticket"]);
        assert_eq!(
            found("ticket,ticket office", "the ticket  office; a ticket"),
            ["ticket  office", "ticket"]
        );
        assert_eq!(found("the,the office", "the office"), ["the office"]);
        assert_eq!(found("art,cart", "a cart is art"), ["cart", "art"]);
        assert_eq!(found("C++", "in C++, or C"), ["C++"]);
        assert_eq!(found("e-mail", "an e-mail: mail"), ["e-mail"]);
        assert_eq!(found("müde,über", "Sehr MÜDE. Über"), ["MÜDE", "Über"]);
    }

    #[test]
    fn upper_case_in_a_term_means_itself() {
        assert_eq!(found("IT,US", "it is IT for us in the US"), ["IT", "US"]);
        assert_eq!(found("us", "Us, US, us"), ["Us", "US", "us"]);
    }

    #[test]
    fn scripts_without_spaces_and_korean_particles() {
        assert_eq!(found("東京,駅", "東京駅はどこですか"), ["東京", "駅"]);
        assert_eq!(found("สถานี", "ไปสถานีรถไฟ"), ["สถานี"]);
        assert_eq!(found("기차역", "기차역이 어디예요? 옛기차역"), ["기차역"]);
        assert_eq!(found("USB", "このUSBを"), ["USB"]);
    }
}
