//! XLIFF 1.2 and 2: a source without a translation gets one, with its tags and their ids. Translations that are there stay.

use std::collections::HashMap;
use std::ops::Range;

use super::super::error::DocumentError;
use super::super::escape::Escape;
use super::super::inline::{Inline, Style, has_words};
use super::super::message;
use super::super::placeholders::placeholders;
use super::super::tags::{ends_text, name};
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
                text(&xml, place.source, &place.segments, units)
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

/// The content of a source, or of its copy with segments, each of which is a text.
///
/// * `target`: segments of the target, of which those with text stay
fn text(xml: &Xml<'_>, source: usize, target: &[usize], units: &mut Units) -> Markup {
    let mut parts = Markup::new();
    let (mut done, end) = (source + 1, xml.nodes[source].end);
    let ids = target.iter().filter_map(|&segment| Some((xml.attribute(segment, "mid")?, segment)));
    let translated: HashMap<&str, usize> = ids.collect();
    for segment in segments(xml, source) {
        if xml.nodes[segment].kind != Kind::Start {
            continue;
        }
        push(&mut parts, &xml.source[xml.nodes[done].range.start..xml.nodes[segment].range.end]);
        let last = xml.nodes[segment].end;
        let id = xml.attribute(segment, "mid");
        let known = id.and_then(|id| translated.get(id));
        match known.map(|&other| inside(xml, other)).filter(|text| !text.trim().is_empty()) {
            Some(translation) => push(&mut parts, translation),
            None => {
                content(xml, segment + 1..last, units).into_iter().for_each(|part| append(&mut parts, part))
            }
        }
        done = last;
    }
    match parts.is_empty() {
        true => content(xml, done..end, units),
        false => {
            push(&mut parts, &xml.source[xml.nodes[done].range.start..xml.nodes[end].range.start]);
            parts
        }
    }
}

/// The segments of a source or a target, also those in other elements.
fn segments(xml: &Xml<'_>, element: usize) -> Vec<usize> {
    let (mut index, mut segments) = (element + 1, Vec::new());
    while index < xml.nodes[element].end {
        let node = &xml.nodes[index];
        let is_element = matches!(node.kind, Kind::Start | Kind::Empty);
        let is_one = is_element && node.name == "mrk" && xml.attribute(index, "mtype") == Some("seg");
        if is_one {
            segments.push(index);
        }
        index = if is_one { node.end.max(index) + 1 } else { index + 1 };
    }
    segments
}

/// What is between the tags of an element.
fn inside<'a>(xml: &Xml<'a>, element: usize) -> &'a str {
    let [start, end] = [&xml.nodes[element].range, &xml.nodes[xml.nodes[element].end].range];
    &xml.source[start.end..end.start.max(start.end)]
}

fn content(xml: &Xml<'_>, nodes: Range<usize>, units: &mut Units) -> Markup {
    let is_kept = |index: usize| {
        xml.attribute(index, "translate") == Some("no") || xml.attribute(index, "mtype") == Some("protected")
    };
    let is_inline = |index: usize| !CODES.contains(&&*xml.nodes[index].name) && !is_kept(index);
    let mut whole = |index: usize| {
        let raw = xml.raw(index, xml.nodes[index].end);
        match is_kept(index) {
            true => xml.kept(index),
            false if is_variable(xml, index) => Inline::Kept { raw: copied(raw), is_word: true },
            false if is_break(xml, index) => Inline::End(copied(raw)),
            false => Inline::Alone(copied(raw)),
        }
    };
    let tokens = message::with_escaped_tags(xml.inline(nodes, &is_inline, &mut whole));
    message::choices(tokens, &Style::new(Escape::Markup), units)
}

/// Whether a code stands for a line break, or for a tag that ends a text.
fn is_break(xml: &Xml<'_>, index: usize) -> bool {
    let node = &xml.nodes[index];
    let content: String = xml.texts(index + 1..node.end.max(index + 1)).collect();
    let tag = html_escape::decode_html_entities(content.trim());
    let is_tag = tag.starts_with('<') && tag.find('>') == Some(tag.len() - 1);
    xml.attribute(index, "ctype") == Some("lb") || is_tag && ends_text(&name(&tag), false)
}

/// Whether a code stands for a name or a number of the sentence, and not for a tag: `<x id="INTERPOLATION" equiv-text="{{name}}"/>` of
/// Angular, `<ph id="1">%s</ph>`.
fn is_variable(xml: &Xml<'_>, index: usize) -> bool {
    let node = &xml.nodes[index];
    if !matches!(&*node.name, "x" | "ph") {
        return false;
    }
    let content: String = match node.kind {
        Kind::Start => xml.texts(index + 1..node.end).collect(),
        _ => String::new(),
    };
    let shown = ["equiv-text", "disp"].into_iter().filter_map(|name| xml.attribute(index, name));
    let is_placeholder = |text: &str| {
        !has_words(text) && placeholders(text).iter().any(|place| !text[place.clone()].starts_with('&'))
    };
    let is_of_angular = |id: &str| id.starts_with("INTERPOLATION") || id.starts_with("ICU");
    let is_name = |name: &str| xml.attribute(index, name).is_some_and(is_of_angular);
    is_name("id") || is_name("equiv") || shown.chain([&*content]).any(is_placeholder)
}

/// A source whose target is missing.
struct Pair {
    /// The source, or its copy with segments.
    source: usize,
    /// Place of an empty target, or the place for one.
    replaced: [usize; 2],
    /// Markup before the translation.
    before: String,
    /// Segments of the target, some of which are empty.
    segments: Vec<usize>,
}

/// Whether a target is said to be no translation yet: tools put the source there.
fn is_waiting(xml: &Xml<'_>, elements: [usize; 2]) -> bool {
    let states = elements.into_iter().filter_map(|element| xml.attribute(element, "state"));
    states.into_iter().any(|state| matches!(state, "new" | "needs-translation" | "initial"))
}

/// The segments of a target if one of them is empty, and nothing else of the target is text.
fn waiting_segments(xml: &Xml<'_>, target: usize) -> Vec<usize> {
    let segments = segments(xml, target);
    let is_blank = |nodes: Range<usize>| xml.texts(nodes).all(|text| text.trim().is_empty());
    let mut at = target + 1;
    for &segment in &segments {
        if !is_blank(at..segment) {
            return Vec::new();
        }
        at = xml.nodes[segment].end.max(segment) + 1;
    }
    let is_waiting = |&segment: &usize| is_blank(segment..xml.nodes[segment].end.max(segment));
    let is_one = is_blank(at..xml.nodes[target].end.max(at)) && segments.iter().any(is_waiting);
    if is_one { segments } else { Vec::new() }
}

fn pair(xml: &Xml<'_>, holder: usize) -> Option<Pair> {
    let child = |name: &str| xml.children(holder).find(|&child| xml.nodes[child].name == name);
    let source = child("source").filter(|&source| xml.nodes[source].kind == Kind::Start)?;
    let copy = child("seg-source").filter(|&copy| xml.nodes[copy].kind == Kind::Start);
    let text = copy.unwrap_or(source);
    match child("target") {
        Some(target) => {
            let end = xml.nodes[target].end.max(target);
            let is_blank = |index: usize| match xml.nodes[index].kind {
                Kind::Text => xml.token(index).trim().is_empty(),
                Kind::CData => cdata(xml.token(index)).trim().is_empty(),
                _ => false,
            };
            let segments = if copy.is_some() { waiting_segments(xml, target) } else { Vec::new() };
            let is_empty = xml.nodes[target].kind == Kind::Empty || (target + 1..end).all(is_blank);
            let is_copy = || inside(xml, target).trim() == inside(xml, source).trim();
            let is_empty = is_empty || !segments.is_empty() || is_waiting(xml, [holder, target]) && is_copy();
            let tag = xml.token(target).trim_end_matches('>').trim_end_matches('/').trim_end();
            let replaced = [xml.nodes[target].range.start, xml.nodes[end].range.end];
            is_empty.then(|| Pair { source: text, replaced, before: format!("{tag}>"), segments })
        }
        None => {
            // behind the source, and behind its segments
            let last = child("seg-source").unwrap_or(source);
            let place = xml.nodes[xml.nodes[last].end.max(last)].range.end;
            let start = xml.nodes[source].range.start;
            let indent = &xml.source[..start];
            let indent = &indent[indent.trim_end_matches([' ', '\t']).len()..];
            let before = &xml.source[..start - indent.len()];
            let break_line = match before.ends_with('\n') {
                true if before.ends_with("\r\n") => format!("\r\n{indent}"),
                true => format!("\n{indent}"),
                false => String::new(),
            };
            let before = format!("{break_line}<target>");
            Some(Pair { source: text, replaced: [place, place], before, segments: Vec::new() })
        }
    }
}
