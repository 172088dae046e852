//! Strings of a program in JSON: values are translated, keys stay. In ARB, keys with an `@` describe others and stay with their values.

use serde::de::IgnoredAny;

use super::super::error::DocumentError;
use super::super::message;
use super::super::placeholders::is_code;
use super::super::unescape::{Dialect, unescape};
use super::super::unit::{Markup, Units, append, copied, push};

/// Cuts a file.
///
/// * `arb`: whether keys with an `@` describe others
pub fn read(json: &str, arb: bool, units: &mut Units) -> Result<Markup, DocumentError> {
    let format = if arb { "ARB" } else { "JSON" };
    // an empty file of any format is one
    if json.trim().is_empty() {
        return Ok(copied(json));
    }
    // below, only strings are looked for: the rest is known to be right
    serde_json::from_str::<IgnoredAny>(json)
        .map_err(|error| DocumentError::invalid(format, error.to_string()))?;
    let mut parts = Markup::new();
    let (mut done, mut at) = (0, 0);
    let mut depth = 0;
    // depth of the object whose strings describe others
    let mut described: Option<usize> = None;
    let mut describes_next = false;
    while let Some(index) = json[at..].find(['"', '{', '}', '[', ']', ',']) {
        let start = at + index;
        at = start + 1;
        match json.as_bytes()[start] {
            b'{' | b'[' => {
                depth += 1;
                if describes_next && described.is_none() {
                    described = Some(depth);
                }
            }
            b'}' | b']' => {
                if described == Some(depth) {
                    described = None;
                }
                depth -= 1;
            }
            b',' if described.is_none() => describes_next = false,
            b'"' => {
                let end = end_of_string(json, start);
                at = end;
                if json[end..].trim_start().starts_with(':') {
                    describes_next = arb && (described.is_some() || json[start + 1..].starts_with('@'));
                } else if !describes_next && described.is_none() {
                    let raw = &json[start + 1..end - 1];
                    if is_code(raw) {
                        continue;
                    }
                    push(&mut parts, &json[done..=start]);
                    let message = message::with_quotes(unescape(raw, Dialect::Json));
                    message::read(raw, message, units).into_iter().for_each(|part| append(&mut parts, part));
                    done = end - 1;
                }
            }
            _ => {}
        }
    }
    push(&mut parts, &json[done..]);
    Ok(parts)
}

/// The place behind the quote that ends the string at `start`.
fn end_of_string(json: &str, start: usize) -> usize {
    let mut escaped = false;
    for (index, byte) in json.bytes().enumerate().skip(start + 1) {
        match byte {
            _ if escaped => escaped = false,
            b'\\' => escaped = true,
            b'"' => return index + 1,
            _ => {}
        }
    }
    json.len()
}
