//! gettext's PO files: messages without a translation get one. Comments, headers and translations that are there stay, but for the
//! header's charset: what is written is UTF-8.

use std::ops::Range;

use super::super::error::DocumentError;
use super::super::message;
use super::super::unescape::{Dialect, unescape};
use super::super::unit::{Markup, Units, append, push};

/// Messages of GNOME, and messages and contexts of KDE, that stand for the names of those who translate: a translation would be shown as one.
const CREDITS: &[&str] =
    &["translator-credits", "translator_credits", "NAME OF TRANSLATORS", "EMAIL OF TRANSLATORS"];

/// A keyword with its strings.
#[derive(Clone, Debug, Default)]
struct Field {
    keyword: String,
    /// Escaped text of all its strings.
    raw: String,
    /// Place of its strings, from the first quote to the last.
    strings: Range<usize>,
}

/// Cuts a file.
pub fn read(po: &str, units: &mut Units) -> Result<Markup, DocumentError> {
    let mut parts = Markup::new();
    let mut done = 0;
    let mut messages: [String; 2] = Default::default();
    let mut context = String::new();
    let mut credits = false;
    for field in fields(po)? {
        match field.keyword.as_str() {
            "msgctxt" => context = field.raw,
            "msgid" => {
                credits = CREDITS.contains(&&*field.raw) || CREDITS.contains(&&*context);
                context.clear();
                messages = [field.raw.clone(), field.raw];
            }
            "msgid_plural" => messages[1] = field.raw,
            keyword if keyword.starts_with("msgstr") && field.raw.is_empty() => {
                let is_first = matches!(keyword, "msgstr" | "msgstr[0]");
                let raw = &messages[usize::from(!is_first)];
                if raw.is_empty() || credits {
                    continue;
                }
                push(&mut parts, &po[done..=field.strings.start]);
                message::read(raw, unescape(raw, Dialect::Po), units)
                    .into_iter()
                    .for_each(|part| append(&mut parts, part));
                done = field.strings.end - 1;
            }
            // the header is the translation of an empty message
            "msgstr" if messages[0].is_empty() => {
                if let Some(charset) = other_charset(po, field.strings) {
                    push(&mut parts, &po[done..charset.start]);
                    push(&mut parts, "UTF-8");
                    done = charset.end;
                }
            }
            _ => {}
        }
    }
    push(&mut parts, &po[done..]);
    Ok(parts)
}

/// The place of a header's charset that is not UTF-8: of another one, or `CHARSET` in a template.
fn other_charset(po: &str, header: Range<usize>) -> Option<Range<usize>> {
    const KEY: &str = "charset=";
    let start = header.start + po[header.clone()].find(KEY)? + KEY.len();
    let value = &po[start..header.end];
    let length = value.find(|c: char| !(c.is_ascii_alphanumeric() || "-_.:".contains(c)))?;
    let is_unicode = value[..length].to_ascii_lowercase().starts_with("utf");
    (length > 0 && !is_unicode).then_some(start..start + length)
}

fn fields(po: &str) -> Result<Vec<Field>, DocumentError> {
    let mut fields: Vec<Field> = Vec::new();
    let mut at = 0;
    for (number, line) in po.split_inclusive('\n').enumerate() {
        let start = at;
        at += line.len();
        let content = line.trim();
        // also obsolete messages, which are comments
        if content.is_empty() || content.starts_with('#') {
            continue;
        }
        let invalid = |problem: &str| DocumentError::invalid("PO", format!("line {}: {problem}", number + 1));
        let quote = line.find('"').ok_or_else(|| invalid("a string in quotes is missing"))?;
        let keyword = line[..quote].trim();
        let last =
            line.rfind('"').filter(|&last| last > quote).ok_or_else(|| invalid("a quote is missing"))?;
        let place = start + quote..start + last + 1;
        let raw = &line[quote + 1..last];
        match (keyword, fields.last_mut()) {
            ("", Some(field)) => {
                field.raw += raw;
                field.strings.end = place.end;
            }
            ("", None) => return Err(invalid("a string without a keyword")),
            (keyword, _) if keyword.starts_with("msg") || keyword == "domain" => {
                fields.push(Field { keyword: keyword.to_owned(), raw: raw.to_owned(), strings: place });
            }
            _ => return Err(invalid("an unknown keyword")),
        }
    }
    Ok(fields)
}
