//! XLIFF 1.2 and 2: a source without a translation gets one, with its tags and their ids. Translations that are there stay.

use super::super::error::DocumentError;
use super::super::escape::Escape;
use super::super::inline::{Style, unit};
use super::super::unit::{Markup, Units, append, copied, push};
use super::super::xml::{Kind, Xml, cdata};

/// Elements that stand for markup and whose content is no text.
const CODES: &[&str] = &["ph", "bpt", "ept", "it", "cp", "x", "bx", "ex", "sc", "ec", "sm", "em"];

/// Cuts a file.
pub fn read(source: &str, units: &mut Units) -> Result<Markup, DocumentError> {
    let xml = Xml::read(source, "XLIFF")?;
    let mut parts = Markup::new();
    let mut done = 0;
    let mut index = 0;
    while index < xml.nodes.len() {
        let node = &xml.nodes[index];
        let is_start = node.kind == Kind::Start;
        if is_start && xml.attribute(index, "translate") == Some("no") && node.name != "xliff" {
            index = node.end + 1;
            continue;
        }
        // the element that holds a source and its target
        if is_start && matches!(&*node.name, "trans-unit" | "segment") {
            if let Some(place) = pair(&xml, index) {
                let [first, last] = place.replaced;
                push(&mut parts, &source[done..first]);
                push(&mut parts, &place.before);
                let inside = place.source + 1..xml.nodes[place.source].end;
                let mut whole = |index: usize| copied(xml.raw(index, xml.nodes[index].end));
                let tokens =
                    xml.inline(inside, &|index| !CODES.contains(&&*xml.nodes[index].name), &mut whole);
                unit(tokens, Style::new(Escape::Markup), units)
                    .into_iter()
                    .for_each(|part| append(&mut parts, part));
                push(&mut parts, "</target>");
                done = last;
            }
            index = node.end + 1;
            continue;
        }
        index += 1;
    }
    push(&mut parts, &source[done..]);
    Ok(parts)
}

/// A source whose target is missing.
struct Pair {
    source: usize,
    /// Place of an empty target, or the place for one.
    replaced: [usize; 2],
    /// Markup before the translation.
    before: String,
}

fn pair(xml: &Xml<'_>, holder: usize) -> Option<Pair> {
    let child = |name: &str| xml.children(holder).find(|&child| xml.nodes[child].name == name);
    let source = child("source").filter(|&source| xml.nodes[source].kind == Kind::Start)?;
    match child("target") {
        Some(target) => {
            let end = xml.nodes[target].end.max(target);
            let is_blank = |index: usize| match xml.nodes[index].kind {
                Kind::Text => xml.token(index).trim().is_empty(),
                Kind::CData => cdata(xml.token(index)).trim().is_empty(),
                _ => false,
            };
            let is_empty = xml.nodes[target].kind == Kind::Empty || (target + 1..end).all(is_blank);
            let tag = xml.token(target).trim_end_matches('>').trim_end_matches('/').trim_end();
            let replaced = [xml.nodes[target].range.start, xml.nodes[end].range.end];
            is_empty.then(|| Pair { source, replaced, before: format!("{tag}>") })
        }
        None => {
            // behind the source, and behind its segments
            let last = child("seg-source").unwrap_or(source);
            let place = xml.nodes[xml.nodes[last].end.max(last)].range.end;
            let start = xml.nodes[source].range.start;
            let indent = &xml.source[..start];
            let indent = &indent[indent.trim_end_matches([' ', '\t']).len()..];
            let line = xml.source[..start - indent.len()].ends_with('\n');
            let break_line = if line { format!("\n{indent}") } else { String::new() };
            Some(Pair { source, replaced: [place, place], before: format!("{break_line}<target>") })
        }
    }
}
