//! XML of any kind: an element with text of its own is a unit. Android's strings have rules of their own.

use std::ops::Range;

use super::super::error::DocumentError;
use super::super::escape::Escape;
use super::super::inline::{Style, unit};
use super::super::message;
use super::super::placeholders::is_code;
use super::super::tags::is_code_alone;
use super::super::unit::{Markup, Units, append, copied, push};
use super::super::xml::{Kind, Xml};
use super::android;

/// Cuts a file. An element with text of its own is a unit, with all that is in it; the others are structure. Text outside of all
/// elements, which a fragment may have, is a unit with all of the source.
///
/// * `kept`: names of elements that are copied with their content
pub fn read(source: &str, kept: &[String], units: &mut Units) -> Result<Markup, DocumentError> {
    let xml = Xml::read(source, "XML")?;
    // whether an element has text, without that of its children
    let mut has_text = vec![false; xml.nodes.len()];
    let mut is_fragment = false;
    let mut open = Vec::new();
    for (index, node) in xml.nodes.iter().enumerate() {
        match node.kind {
            Kind::Start => open.push(index),
            Kind::End => _ = open.pop(),
            Kind::Text if xml.token(index).contains(char::is_alphanumeric) => match open.last() {
                Some(&owner) => has_text[owner] = true,
                None => is_fragment = true,
            },
            _ => {}
        }
    }
    let is_android = android::is_one(&xml);
    let is_kept = |index: usize| {
        // the second is Android's
        xml.attribute(index, "translate") == Some("no")
            || xml.attribute(index, "translatable") == Some("false")
            || is_android && android::is_kept(&xml.nodes[index].name)
            || kept.iter().any(|name| *name == xml.nodes[index].name)
    };
    let text = |nodes: Range<usize>, units: &mut Units| {
        if nodes.len() == 1 && is_code(xml.token(nodes.start)) {
            return copied(xml.token(nodes.start));
        }
        if is_android && !is_fragment {
            return android::text(&xml, nodes, &is_kept, units);
        }
        let mut whole = |index: usize| xml.kept(index);
        // in XML of any kind, text that is not escaped is code more often than text
        let is_inline = |index: usize| xml.nodes[index].kind != Kind::CData && !is_kept(index);
        let tokens = message::with_escaped_tags(xml.inline(nodes, &is_inline, &mut whole));
        unit(tokens, Style::collapsing(Escape::Markup), units)
    };
    if is_fragment {
        return Ok(text(0..xml.nodes.len(), units));
    }
    let mut parts = Markup::new();
    let mut index = 0;
    while index < xml.nodes.len() {
        let node = &xml.nodes[index];
        push(&mut parts, xml.token(index));
        let is_code = has_text[index] && is_code_alone(&node.name);
        if node.kind == Kind::Start && (is_kept(index) || is_code) {
            push(&mut parts, if index + 1 < node.end { xml.raw(index + 1, node.end - 1) } else { "" });
            index = node.end;
        } else if node.kind == Kind::Start && has_text[index] {
            text(index + 1..node.end, units).into_iter().for_each(|part| append(&mut parts, part));
            index = node.end;
        } else {
            index += 1;
        }
    }
    Ok(parts)
}
