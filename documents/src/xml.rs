//! Elements and text of XML, with their places in the source. Entities of a DTD are never expanded.

use std::borrow::Cow;
use std::ops::Range;

use quick_xml::Reader;
use quick_xml::events::Event;

use super::error::DocumentError;
use super::escape::Escape;
use super::inline::Inline;
use super::message;
use super::unit::copied;

/// Depth of the deepest element.
const MOST_DEPTH: usize = 200;

#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Start,
    End,
    Empty,
    Text,
    /// Text that is not escaped.
    CData,
    /// A comment, a declaration.
    Other,
}

/// A token of the source.
#[derive(Clone, Debug)]
pub struct Node<'a> {
    pub kind: Kind,
    pub range: Range<usize>,
    /// Name with its prefix, of an element.
    pub name: Cow<'a, str>,
    /// Index of the token that ends the element, of a start.
    pub end: usize,
}

/// A file as tokens.
pub struct Xml<'a> {
    pub source: &'a str,
    pub nodes: Vec<Node<'a>>,
}

impl<'a> Xml<'a> {
    /// Cuts a file.
    ///
    /// # Errors
    /// [`DocumentError::Invalid`] if it is not well-formed, or deeper than 200 elements.
    pub fn read(source: &'a str, format: &'static str) -> Result<Self, DocumentError> {
        let invalid = |at: usize, problem: String| {
            let line =
                source.as_bytes()[..at.min(source.len())].iter().filter(|byte| **byte == b'\n').count() + 1;
            DocumentError::invalid(format, format!("line {line}: {problem}"))
        };
        // byte order marks, which the reader would leave out of its positions
        let marked = source.trim_start_matches('\u{feff}');
        let mark = source.len() - marked.len();
        let mut reader = Reader::from_str(marked);
        reader.config_mut().allow_dangling_amp = true;
        let mut nodes: Vec<Node<'a>> = Vec::new();
        if mark > 0 {
            nodes.push(Node { kind: Kind::Other, range: 0..mark, name: Cow::Borrowed(""), end: 0 });
        }
        let mut open = Vec::new();
        loop {
            let start = mark + reader.buffer_position() as usize;
            let event = reader.read_event().map_err(|error| invalid(start, error.to_string()))?;
            let range = start..mark + reader.buffer_position() as usize;
            let kind = match event {
                Event::Eof => break,
                Event::Start(_) => Kind::Start,
                Event::End(_) => Kind::End,
                Event::Empty(_) => Kind::Empty,
                Event::Text(_) | Event::GeneralRef(_) => Kind::Text,
                Event::CData(_) => Kind::CData,
                _ => Kind::Other,
            };
            let name = match kind {
                Kind::Start | Kind::End | Kind::Empty => name(&source[range.clone()]),
                _ => "",
            };
            match (kind, nodes.last_mut()) {
                (Kind::Text, Some(last)) if last.kind == Kind::Text => {
                    last.range.end = range.end;
                    continue;
                }
                (Kind::Start, _) if open.len() == MOST_DEPTH => {
                    return Err(invalid(start, format!("more than {MOST_DEPTH} elements in one another")));
                }
                (Kind::Start, _) => open.push(nodes.len()),
                (Kind::End, _) => {
                    let index = nodes.len();
                    if let Some(opened) = open.pop() {
                        nodes[opened].end = index;
                    }
                }
                _ => {}
            }
            nodes.push(Node { kind, range, name: Cow::Borrowed(name), end: nodes.len() });
        }
        match open.pop() {
            Some(start) => Err(invalid(source.len(), format!("<{}> has no end", nodes[start].name))),
            None => Ok(Self { source, nodes }),
        }
    }

    /// Source of tokens, the last one included.
    pub fn raw(&self, first: usize, last: usize) -> &'a str {
        &self.source[self.nodes[first].range.start..self.nodes[last].range.end]
    }

    /// Source of a token.
    pub fn token(&self, index: usize) -> &'a str {
        &self.source[self.nodes[index].range.clone()]
    }

    /// Indexes of the children that are elements, of the element at `index`.
    pub fn children(&self, index: usize) -> impl Iterator<Item = usize> + '_ {
        let last = self.nodes[index].end;
        let mut at = index + 1;
        std::iter::from_fn(move || {
            while at < last {
                let child = at;
                at = self.nodes[child].end.max(child) + 1;
                if matches!(self.nodes[child].kind, Kind::Start | Kind::Empty) {
                    return Some(child);
                }
            }
            None
        })
    }

    /// Texts of tokens, as they are written.
    pub fn texts(&self, nodes: Range<usize>) -> impl Iterator<Item = &'a str> + '_ {
        nodes
            .filter(|&index| matches!(self.nodes[index].kind, Kind::Text | Kind::CData))
            .map(|index| self.token(index))
    }

    /// Value of an attribute of a start tag, as it is written.
    pub fn attribute(&self, index: usize, name: &str) -> Option<&'a str> {
        self.attribute_behind(index, name, char::is_whitespace)
    }

    /// Value of an attribute with any prefix, as it is written.
    pub fn attribute_of_any_prefix(&self, index: usize, name: &str) -> Option<&'a str> {
        self.attribute_behind(index, name, |c| c == ':' || c.is_whitespace())
    }

    /// * `begins`: whether a name may begin behind this character
    fn attribute_behind(&self, index: usize, name: &str, begins: fn(char) -> bool) -> Option<&'a str> {
        let tag = self.token(index);
        tag.match_indices(name).find_map(|(at, _)| {
            let before = tag[..at].ends_with(begins);
            let value = tag[at + name.len()..].trim_start().strip_prefix('=')?.trim_start();
            let quote = value.chars().next().filter(|quote| before && matches!(quote, '"' | '\''))?;
            value[1..].split(quote).next()
        })
    }

    /// Text and tags of an element's content.
    ///
    /// * `is_inline`: whether an element, or text that is not escaped, belongs to the text
    /// * `whole`: reads an element that is not inline, also an empty one: notes with texts of their own, or text that is copied
    pub fn inline(
        &self,
        nodes: Range<usize>,
        is_inline: &dyn Fn(usize) -> bool,
        whole: &mut dyn FnMut(usize) -> Inline,
    ) -> Vec<Inline> {
        let mut tokens = Vec::new();
        let mut index = nodes.start;
        while index < nodes.end {
            let node = &self.nodes[index];
            match node.kind {
                Kind::Text => text_tokens(self.token(index), &mut tokens),
                Kind::Start if is_inline(index) => {
                    tokens.push(Inline::Open { raw: copied(self.token(index)), name: node.name.to_string() });
                }
                Kind::Start => {
                    tokens.push(whole(index));
                    index = node.end;
                }
                Kind::End => {
                    tokens.push(Inline::Close { raw: copied(self.token(index)), name: node.name.to_string() })
                }
                Kind::CData if is_inline(index) => cdata_tokens(self.token(index), &mut tokens),
                Kind::Empty if !is_inline(index) => tokens.push(whole(index)),
                Kind::Empty | Kind::CData | Kind::Other => {
                    tokens.push(Inline::Alone(copied(self.token(index))))
                }
            }
            index += 1;
        }
        tokens
    }
}

impl Xml<'_> {
    /// An element that is copied with its content, as a word if it has one.
    pub fn kept(&self, index: usize) -> Inline {
        let end = self.nodes[index].end;
        let has_word = self.texts(index + 1..end).any(|text| text.contains(char::is_alphanumeric));
        let raw = copied(self.raw(index, end));
        if has_word { Inline::Kept { raw, is_word: true } } else { Inline::Alone(raw) }
    }
}

/// Text of XML. An entity that XML itself does not have stays.
pub fn text_tokens(raw: &str, tokens: &mut Vec<Inline>) {
    let mut done = 0;
    for (at, _) in raw.match_indices('&') {
        let Some(length) = raw[at..].find(';').filter(|&end| end < 40) else { continue };
        let entity = &raw[at + 1..at + length];
        let is_name = entity.starts_with(|c: char| c.is_ascii_alphabetic())
            && entity.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '-' | '_' | ':'));
        if is_name && !matches!(entity, "lt" | "gt" | "amp" | "quot" | "apos") {
            plain(&raw[done..at], tokens);
            tokens.push(Inline::Kept { raw: copied(&raw[at..=at + length]), is_word: true });
            done = at + length + 1;
        }
    }
    plain(&raw[done..], tokens);
}

/// Text that is not escaped, of XML: what looks like a tag in it is one. It is written as text that is escaped.
fn cdata_tokens(raw: &str, tokens: &mut Vec<Inline>) {
    tokens.extend(message::tokens(cdata(raw), Escape::Markup));
}

/// The text between the signs around it.
pub fn cdata(raw: &str) -> &str {
    let text = raw.strip_prefix("<![CDATA[").unwrap_or(raw);
    text.strip_suffix("]]>").unwrap_or(text)
}

fn plain(raw: &str, tokens: &mut Vec<Inline>) {
    if !raw.is_empty() {
        tokens.push(Inline::text(raw, html_escape::decode_html_entities(raw)));
    }
}

/// Name of a tag, with its prefix.
pub fn name(tag: &str) -> &str {
    let inside = tag.trim_start_matches('<').trim_start_matches('/');
    inside.split(|c: char| c.is_whitespace() || matches!(c, '/' | '>')).next().unwrap_or_default()
}
