//! OpenDocument: paragraphs and headings with spans. Comments and recorded changes stay.

use super::super::error::DocumentError;
use super::super::escape::Escape;
use super::super::inline::{Inline, Style, unit};
use super::super::unit::{Markup, Units, append, copied, push};
use super::super::xml::{Kind, Xml};
use super::namespaces::{Namespace, use_usual_prefixes};

const NAMESPACES: &[Namespace] = &[
    ("office", &["urn:oasis:names:tc:opendocument:xmlns:office:1.0"]),
    ("text", &["urn:oasis:names:tc:opendocument:xmlns:text:1.0"]),
];
/// Elements with text of the paragraph around them.
const INLINE: &[&str] = &["text:span", "text:a", "text:meta", "text:ruby", "text:ruby-base"];
/// Elements that are copied with their content.
const COPIED: &[&str] =
    &["office:annotation", "text:tracked-changes", "text:note-citation", "text:sequence", "office:settings"];

/// Elements with text that is no part of the sentence.
const HIDDEN: &[&str] = &["text:ruby-text", "text:hidden-text", "text:script", "text:note-citation"];

/// Cuts `content.xml` or `styles.xml`.
pub fn read(source: &str, units: &mut Units) -> Result<Markup, DocumentError> {
    let mut xml = Xml::read(source, "OpenDocument file")?;
    use_usual_prefixes(&mut xml, NAMESPACES);
    Ok(walk(&xml, 0, xml.nodes.len(), units))
}

fn walk(xml: &Xml<'_>, first: usize, end: usize, units: &mut Units) -> Markup {
    let mut parts = Markup::new();
    let mut index = first;
    while index < end {
        let node = &xml.nodes[index];
        let is_start = node.kind == Kind::Start;
        if is_start && COPIED.contains(&&*node.name) {
            push(&mut parts, xml.raw(index, node.end));
            index = node.end + 1;
            continue;
        }
        push(&mut parts, xml.token(index));
        index += 1;
        if is_start && matches!(&*node.name, "text:p" | "text:h") {
            paragraph(xml, index, node.end, units).into_iter().for_each(|part| append(&mut parts, part));
            index = node.end;
        }
    }
    parts
}

fn paragraph(xml: &Xml<'_>, first: usize, end: usize, units: &mut Units) -> Markup {
    let mut parts = Markup::new();
    let mut line: Vec<Inline> = Vec::new();
    let mut index = first;
    while index < end {
        let node = &xml.nodes[index];
        // an empty element is written with or without an end tag
        let is_empty = node.kind == Kind::Empty || (node.kind == Kind::Start && node.end == index + 1);
        let last = if node.kind == Kind::Start { node.end } else { index };
        match &*node.name {
            "text:s" if is_empty => line.push(Inline::text(xml.raw(index, last), " ")),
            "text:tab" | "text:line-break" if is_empty => {
                unit(std::mem::take(&mut line), style(), units)
                    .into_iter()
                    .for_each(|part| append(&mut parts, part));
                push(&mut parts, xml.raw(index, last));
            }
            _ if node.kind != Kind::Start || INLINE.contains(&&*node.name) => {
                let mut none = |_| Inline::Alone(Markup::new()); // one token has no element within
                line.extend(xml.inline(index..index + 1, &|_| true, &mut none));
                index += 1;
                continue;
            }
            _ if is_field(xml, index) => {
                line.push(Inline::Kept { raw: copied(xml.raw(index, last)), is_word: true });
            }
            name if COPIED.contains(&name) => line.push(Inline::Alone(copied(xml.raw(index, last)))),
            _ => line.push(Inline::Alone(walk(xml, index, last + 1, units))),
        }
        index = last + 1;
    }
    unit(line, style(), units).into_iter().for_each(|part| append(&mut parts, part));
    parts
}

/// Whether an element shows a word or a number that the program writes anew: a page number, a date, a reference.
fn is_field(xml: &Xml<'_>, index: usize) -> bool {
    let node = &xml.nodes[index];
    let shows = |text: &str| text.contains(char::is_alphanumeric);
    // a note has paragraphs
    let has_element = xml.children(index).next().is_some();
    node.name.starts_with("text:")
        && !HIDDEN.contains(&&*node.name)
        && !has_element
        && xml.texts(index + 1..node.end).any(shows)
}

fn style() -> Style {
    Style::collapsing(Escape::Markup)
}
