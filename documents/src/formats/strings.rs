//! Apple's strings: `"key" = "value";` with comments.

use super::super::error::DocumentError;
use super::super::escape::Escape;
use super::super::message;
use super::super::unit::{Markup, Units, append, push};

/// Cuts a file.
pub fn read(text: &str, units: &mut Units) -> Result<Markup, DocumentError> {
    let mut parts = Markup::new();
    let (mut done, mut at) = (0, 0);
    let mut is_value = false;
    while let Some(index) = text[at..].find(['"', '/', '=', ';']) {
        let start = at + index;
        let rest = &text[start..];
        let invalid = |problem: &str| {
            let line = text[..start].matches('\n').count() + 1;
            DocumentError::invalid("strings file", format!("line {line}: {problem}"))
        };
        at = start + 1;
        match rest.as_bytes()[0] {
            b'/' if rest.starts_with("/*") => {
                at = start + rest.find("*/").ok_or_else(|| invalid("a comment without an end"))? + 2;
            }
            b'/' if rest.starts_with("//") => at = start + rest.find('\n').unwrap_or(rest.len()),
            b'=' => is_value = true,
            b';' => is_value = false,
            b'"' => {
                let end = end_of_string(rest).ok_or_else(|| invalid("a string without an end"))?;
                at = start + end;
                if is_value {
                    let raw = &rest[1..end - 1];
                    push(&mut parts, &text[done..=start]);
                    message::read(raw, &decoded(raw), Escape::Backslash, units)
                        .into_iter()
                        .for_each(|part| append(&mut parts, part));
                    done = at - 1;
                }
            }
            _ => {}
        }
    }
    push(&mut parts, &text[done..]);
    Ok(parts)
}

/// The length of the string that begins a text, with its quotes.
fn end_of_string(text: &str) -> Option<usize> {
    let mut escaped = false;
    text.bytes().enumerate().skip(1).find_map(|(index, byte)| {
        let ends = byte == b'"' && !escaped;
        escaped = byte == b'\\' && !escaped;
        ends.then_some(index + 1)
    })
}

/// A string without its backslashes: `\n`, `\"`, and `\U00e9`.
pub fn decoded(raw: &str) -> String {
    let mut text = String::with_capacity(raw.len());
    let mut rest = raw.chars();
    while let Some(character) = rest.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        match rest.next() {
            Some('n') => text.push('\n'),
            Some('r') => text.push('\r'),
            Some('t') => text.push('\t'),
            Some('U' | 'u') => {
                let digits: String = rest.clone().take(4).collect();
                match u32::from_str_radix(&digits, 16).ok().and_then(char::from_u32) {
                    Some(letter) if digits.len() == 4 => {
                        text.push(letter);
                        rest.nth(3);
                    }
                    _ => text += "\\U",
                }
            }
            Some(other) => text.push(other),
            None => text.push('\\'),
        }
    }
    text
}
