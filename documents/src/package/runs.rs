//! Word and PowerPoint: paragraphs of runs. A run is text of one format.
//!
//! A paragraph's text is written in runs of its most frequent format. A run of another format is a tag pair in it: the start closes
//! the run and opens one of the other format, the end goes back. So each word keeps its format, wherever it goes.

use std::collections::HashMap;

use super::super::error::DocumentError;
use super::super::escape::Escape;
use super::super::inline::{Inline, Style, has_words, unit};
use super::super::unit::{Finish, Markup, Part, Units, append, copied, push};
use super::super::xml::{Kind, Xml, text_tokens};

/// Names of elements.
pub struct Names {
    paragraph: &'static str,
    paragraph_properties: &'static str,
    run: &'static str,
    properties: &'static str,
    text: &'static str,
    /// Start tag of a text.
    text_tag: &'static str,
    /// Elements that end a text.
    breaks: &'static [&'static str],
    /// Elements with runs of their own.
    wrappers: &'static [&'static str],
}

pub const WORD: Names = Names {
    paragraph: "w:p",
    paragraph_properties: "w:pPr",
    run: "w:r",
    properties: "w:rPr",
    text: "w:t",
    text_tag: "<w:t xml:space=\"preserve\">",
    breaks: &["w:br", "w:cr", "w:tab", "w:ptab"],
    wrappers: &[
        "w:hyperlink",
        "w:ins",
        "w:smartTag",
        "w:customXml",
        "w:moveTo",
        "w:sdt",
        "w:sdtContent",
        "w:fldSimple",
    ],
};

pub const SLIDE: Names = Names {
    paragraph: "a:p",
    paragraph_properties: "a:pPr",
    run: "a:r",
    properties: "a:rPr",
    text: "a:t",
    text_tag: "<a:t>",
    breaks: &["a:br"],
    wrappers: &[],
};

/// Cuts a part.
pub fn read(source: &str, names: &'static Names, units: &mut Units) -> Result<Markup, DocumentError> {
    let xml = Xml::read(source, "Office document")?;
    let mut reader = Reader { xml: &xml, names, units };
    Ok(reader.walk(0, xml.nodes.len()))
}

struct Reader<'a, 'u> {
    xml: &'a Xml<'a>,
    names: &'static Names,
    units: &'u mut Units,
}

/// A piece of a paragraph.
enum Item {
    /// Text in its format.
    Text(String, Vec<Inline>),
    /// Markup within a run of this format.
    InRun(String, Markup),
    /// A line break or a tab, as above.
    Break(String, Markup),
    /// Markup between runs.
    Between(Markup),
    Open(Markup, String),
    Close(Markup, String),
}

impl Reader<'_, '_> {
    /// Cuts tokens; paragraphs may have others within.
    fn walk(&mut self, first: usize, end: usize) -> Markup {
        let mut parts = Markup::new();
        let mut index = first;
        while index < end {
            let node = &self.xml.nodes[index];
            push(&mut parts, self.xml.token(index));
            if node.kind == Kind::Start && node.name == self.names.paragraph {
                self.paragraph(index).into_iter().for_each(|part| append(&mut parts, part));
                index = node.end;
            } else {
                index += 1;
            }
        }
        parts
    }

    /// The content of a paragraph.
    fn paragraph(&mut self, index: usize) -> Markup {
        let (mut first, end) = (index + 1, self.xml.nodes[index].end);
        let mut parts = Markup::new();
        if let Some(node) =
            self.xml.nodes.get(first).filter(|node| node.name == self.names.paragraph_properties)
        {
            push(&mut parts, self.xml.raw(first, node.end));
            first = node.end + 1;
        }
        if !self.has_text(first, end) {
            self.walk(first, end).into_iter().for_each(|part| append(&mut parts, part));
            return parts;
        }
        let mut items = Vec::new();
        self.items(first, end, &mut items);
        let mut line = Vec::new();
        for item in items {
            match item {
                Item::Break(format, markup) => {
                    self.line(std::mem::take(&mut line))
                        .into_iter()
                        .for_each(|part| append(&mut parts, part));
                    self.in_run(&format, markup).into_iter().for_each(|part| append(&mut parts, part));
                }
                other => line.push(other),
            }
        }
        self.line(line).into_iter().for_each(|part| append(&mut parts, part));
        parts
    }

    /// Whether there are words in runs of the paragraph itself.
    fn has_text(&self, first: usize, end: usize) -> bool {
        let mut text = String::new();
        let mut index = first;
        while index < end {
            let node = &self.xml.nodes[index];
            if node.kind == Kind::Start && node.name == self.names.paragraph {
                index = node.end;
            } else if node.kind == Kind::Start && node.name == self.names.text {
                (index + 1..node.end).for_each(|inside| text += self.xml.token(inside));
            }
            index += 1;
        }
        has_words(&text)
    }

    /// Reads the pieces of a paragraph, or of an element with runs.
    fn items(&mut self, first: usize, end: usize, items: &mut Vec<Item>) {
        let mut index = first;
        while index < end {
            let node = &self.xml.nodes[index];
            let last = if node.kind == Kind::Start { node.end } else { index };
            match node.name {
                name if name == self.names.run && node.kind == Kind::Start => self.run(index, items),
                name if self.names.wrappers.contains(&name) && node.kind == Kind::Start => {
                    // an element of content controls has properties before its content
                    let content =
                        self.xml.children(index).find(|&child| self.xml.nodes[child].name == "w:sdtContent");
                    let [open, close] =
                        match content.filter(|&child| self.xml.nodes[child].kind == Kind::Start) {
                            Some(content) => [content, self.xml.nodes[content].end],
                            None => [index, last],
                        };
                    items.push(Item::Open(copied(self.xml.raw(index, open)), name.to_owned()));
                    self.items(open + 1, close, items);
                    items.push(Item::Close(copied(self.xml.raw(close, last)), name.to_owned()));
                }
                // marks of the spelling of the words that were there
                "w:proofErr" => {}
                name if self.names.breaks.contains(&name) => {
                    let markup = copied(self.xml.raw(index, last));
                    items.push(Item::Break(String::new(), markup));
                }
                _ => items.push(Item::Between(self.walk(index, last + 1))),
            }
            index = last + 1;
        }
    }

    fn run(&mut self, index: usize, items: &mut Vec<Item>) {
        let mut format = String::new();
        let children: Vec<usize> = self.xml.children(index).collect();
        for child in children {
            let node = &self.xml.nodes[child];
            let last = node.end.max(child);
            match node.name {
                name if name == self.names.properties => self.xml.raw(child, last).clone_into(&mut format),
                name if name == self.names.text => {
                    let mut tokens = Vec::new();
                    (child + 1..last).for_each(|inside| text_tokens(self.xml.token(inside), &mut tokens));
                    match items.last_mut() {
                        Some(Item::Text(before, text)) if is_same(before, &format) => text.extend(tokens),
                        _ => items.push(Item::Text(format.clone(), tokens)),
                    }
                }
                "w:lastRenderedPageBreak" => {}
                name if self.names.breaks.contains(&name) => {
                    items.push(Item::Break(format.clone(), copied(self.xml.raw(child, last))));
                }
                _ => items.push(Item::InRun(format.clone(), self.walk(child, last + 1))),
            }
        }
    }

    /// Markup in a run of its own; without a format, it stands between runs.
    fn in_run(&self, format: &str, markup: Markup) -> Markup {
        let Names { run, .. } = self.names;
        if format.is_empty() && matches!(&markup[..], [Part::Copied(raw)] if raw.starts_with("<a:br")) {
            return markup;
        }
        let mut whole = copied(format!("<{run}>{format}"));
        markup.into_iter().for_each(|part| append(&mut whole, part));
        push(&mut whole, &format!("</{run}>"));
        whole
    }

    /// A part of a paragraph without breaks.
    fn line(&mut self, items: Vec<Item>) -> Markup {
        if items.is_empty() {
            return Markup::new();
        }
        let Names { run, text, text_tag, .. } = self.names;
        let base = base(&items);
        let start = |format: &str| format!("<{run}>{format}{text_tag}");
        let end = format!("</{text}></{run}>");
        let again = start(&base);
        let between = |markup: Markup| {
            let mut whole = copied(end.clone());
            markup.into_iter().for_each(|part| append(&mut whole, part));
            push(&mut whole, &again);
            whole
        };
        let mut tokens = vec![Inline::Alone(copied(again.clone()))];
        for item in items {
            match item {
                Item::Text(format, text) if is_same(&format, &base) => tokens.extend(text),
                Item::Text(format, text) => {
                    let name = "run".to_owned();
                    tokens.push(Inline::Open {
                        raw: copied(end.clone() + &start(&format)),
                        name: name.clone(),
                    });
                    tokens.extend(text);
                    tokens.push(Inline::Close { raw: copied(end.clone() + &again), name });
                }
                Item::InRun(format, markup) | Item::Break(format, markup) => {
                    tokens.push(Inline::Alone(between(self.in_run(&format, markup))));
                }
                Item::Between(markup) => tokens.push(Inline::Alone(between(markup))),
                Item::Open(raw, name) => tokens.push(Inline::Open { raw: between(raw), name }),
                Item::Close(raw, name) => tokens.push(Inline::Close { raw: between(raw), name }),
            }
        }
        tokens.push(Inline::Alone(copied(end.clone())));
        let empty = Finish::Without(again + &end);
        let is_unit =
            tokens.iter().any(|token| matches!(token, Inline::Text { text, .. } if has_words(text)));
        let style = Style { finish: empty.clone(), ..Style::new(Escape::Markup) };
        let parts = unit(tokens, style, self.units);
        if is_unit {
            return parts;
        }
        let tidy = |part: Part| match part {
            Part::Copied(text) => Part::Copied(empty.apply(text)),
            unit => unit,
        };
        let mut joined = Markup::new();
        parts.into_iter().for_each(|part| append(&mut joined, part));
        joined.into_iter().map(tidy).collect()
    }
}

/// The format of most of the text.
fn base(items: &[Item]) -> String {
    let mut lengths: HashMap<&str, usize> = HashMap::new();
    let mut best = ("", 0);
    for item in items {
        if let Item::Text(format, tokens) = item {
            let letters = |token: &Inline| match token {
                Inline::Text { text, .. } => text.chars().filter(|c| c.is_alphanumeric()).count(),
                _ => 0,
            };
            let length = lengths.entry(format).or_default();
            *length += tokens.iter().map(letters).sum::<usize>();
            if *length > best.1 {
                best = (format, *length);
            }
        }
    }
    best.0.to_owned()
}

/// Whether two formats look the same: marks of the spelling are none.
fn is_same(one: &str, other: &str) -> bool {
    let plain = |format: &str| format.replace(" err=\"1\"", "").replace(" dirty=\"0\"", "");
    one == other || plain(one) == plain(other)
}
