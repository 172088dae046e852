//! Other numbers in both sides of a pair.

use super::edit::Edit;
use super::letters::is_of_word;
use crate::train::random::Stream;

/// A number of a text: digits, perhaps with points, commas or colons between them.
struct Number<'a> {
    start: usize,
    end: usize,
    /// Runs of digits.
    parts: Vec<&'a str>,
    separators: Vec<char>,
}

/// Edits that put other numbers in, if both sides have the same ones and each once. Separators stay: "3.50" and "3,50" are the
/// same number.
pub(super) fn change(texts: [&str; 2], random: &mut Stream, edits: &mut [Vec<Edit>; 2]) {
    let [source, target] = texts.map(numbers);
    let is_once = |number: &Number| {
        let count = |all: &[Number]| all.iter().filter(|other| other.parts == number.parts).count();
        count(&source) == 1 && count(&target) == 1
    };
    if source.len() != target.len() || !source.iter().all(is_once) {
        return;
    }
    for one in &source {
        let Some(other) = target.iter().find(|other| other.parts == one.parts) else { continue };
        let is_time = [one, other].iter().any(|number| number.separators == [':']);
        let parts = match (&one.parts[..], is_time) {
            (&[hour, minute], true) if hour.len() <= 2 && minute.len() == 2 => time(hour, random),
            (&[number], _) => vec![whole(number, random)],
            (parts, _) => digits(parts, random),
        };
        for (number, edits) in [one, other].into_iter().zip(&mut *edits) {
            edits.push(Edit { start: number.start, end: number.end, text: number.with(&parts) });
        }
    }
}

impl Number<'_> {
    fn with(&self, parts: &[String]) -> String {
        let mut text = String::new();
        for (index, part) in parts.iter().enumerate() {
            text.extend(index.checked_sub(1).and_then(|before| self.separators.get(before)));
            text.push_str(part);
        }
        text
    }
}

/// The numbers of a text that are words of their own: not those of "3rd" or "A4".
fn numbers(text: &str) -> Vec<Number<'_>> {
    let bytes = text.as_bytes();
    let mut found = Vec::new();
    let mut end = 0;
    while let Some(start) = bytes[end..].iter().position(u8::is_ascii_digit).map(|place| end + place) {
        let mut number = Number { start, end: start, parts: Vec::new(), separators: Vec::new() };
        loop {
            let run = bytes[number.end..].iter().take_while(|byte| byte.is_ascii_digit()).count();
            number.parts.push(&text[number.end..number.end + run]);
            number.end += run;
            match bytes[number.end..] {
                [separator @ (b'.' | b',' | b':'), b'0'..=b'9', ..] => {
                    number.separators.push(char::from(separator));
                    number.end += 1;
                }
                _ => break,
            }
        }
        end = number.end;
        let before = text[..start].chars().next_back();
        let is_part = |character: char| is_of_word(character) || ".,:".contains(character);
        if !before.is_some_and(is_part) && !text[end..].chars().next().is_some_and(is_of_word) {
            found.push(number);
        }
    }
    found
}

/// Another number of the same kind: a small one, a day of a month, a year, or as many digits. 0 and 1 stay, because words
/// after them depend on them.
fn whole(number: &str, random: &mut Stream) -> String {
    let value: usize = number.parse().unwrap_or(usize::MAX);
    let [least, most] = match (number.len(), value) {
        (1, 0 | 1) => return number.to_owned(),
        (1, _) => [2, 9],
        (2, 10..=31) => [10, 31],
        (2, 32..) => [32, 99],
        (4, 1900..=2099) => [1900, 2059],
        _ => return digits(&[number], random).concat(),
    };
    random.between(least, most).to_string()
}

/// Another time: before noon and after it, so that "a.m." stays true.
fn time(hour: &str, random: &mut Stream) -> Vec<String> {
    let other = match hour.parse().unwrap_or(0) {
        0..=12 => random.between(1, 12),
        _ => random.between(13, 23),
    };
    let other = if hour.starts_with('0') { format!("{other:02}") } else { other.to_string() };
    vec![other, format!("{:02}", random.below(60))]
}

/// As many other digits. A number does not begin with 0 if it did not before.
fn digits(parts: &[&str], random: &mut Stream) -> Vec<String> {
    let mut is_first = true;
    let mut digit = |old: char| {
        let least = usize::from(std::mem::take(&mut is_first) && old != '0');
        char::from(b'0' + random.between(least, 9) as u8)
    };
    parts.iter().map(|part| part.chars().map(&mut digit).collect()).collect()
}
