//! Apple's strings: `"key" = "value";` with comments.

use super::super::error::DocumentError;
use super::super::message;
use super::super::unescape::{Dialect, unescape};
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
                    message::read(raw, unescape(raw, Dialect::Apple), units)
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
