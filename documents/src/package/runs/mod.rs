//! Word and PowerPoint: paragraphs of runs. A run is text of one format.
//!
//! A paragraph's text is written in runs of its most frequent format. A run of another format is a tag pair in it: the start closes
//! the run and opens one of the other format, the end goes back. So each word keeps its format, wherever it goes.

mod fields;
mod indices;
mod line;

use super::super::error::DocumentError;
use super::super::escape::Escape;
use super::super::inline::{Inline, has_words};
use super::super::unit::{Markup, Units, append, copied, push};
use super::super::xml::{Kind, Xml, cdata, name, text_tokens};
use super::namespaces::{Namespace, use_usual_prefixes};
use fields::{Mark, is_link};

/// Names of elements, with their usual prefix.
pub struct Names {
    namespace: Namespace,
    paragraph: &'static str,
    paragraph_properties: &'static str,
    run: &'static str,
    properties: &'static str,
    text: &'static str,
    /// Attributes of a text.
    text_attributes: &'static str,
    /// Elements that end a text.
    breaks: &'static [&'static str],
    /// Whether these elements stand between runs.
    breaks_between: bool,
    /// Elements with runs of their own.
    wrappers: &'static [&'static str],
}

pub const WORD: Names = Names {
    namespace: (
        "w",
        &[
            "http://schemas.openxmlformats.org/wordprocessingml/2006/main",
            "http://purl.oclc.org/ooxml/wordprocessingml/main",
        ],
    ),
    paragraph: "w:p",
    paragraph_properties: "w:pPr",
    run: "w:r",
    properties: "w:rPr",
    text: "w:t",
    text_attributes: " xml:space=\"preserve\"",
    breaks: &["w:br", "w:cr", "w:tab", "w:ptab"],
    breaks_between: false,
    wrappers: &[
        "w:hyperlink",
        "w:ins",
        "w:smartTag",
        "w:customXml",
        "w:moveTo",
        "w:sdt",
        "w:sdtContent",
        // directions of text
        "w:dir",
        "w:bdo",
        // a link; other fields are kept
        "w:fldSimple",
    ],
};

pub const SLIDE: Names = Names {
    namespace: (
        "a",
        &[
            "http://schemas.openxmlformats.org/drawingml/2006/main",
            "http://purl.oclc.org/ooxml/drawingml/main",
        ],
    ),
    paragraph: "a:p",
    paragraph_properties: "a:pPr",
    run: "a:r",
    properties: "a:rPr",
    text: "a:t",
    text_attributes: "",
    breaks: &["a:br"],
    breaks_between: true,
    wrappers: &[],
};

/// Cuts a part.
pub fn read(source: &str, names: &'static Names, units: &mut Units) -> Result<Markup, DocumentError> {
    let mut xml = Xml::read(source, "Office document")?;
    use_usual_prefixes(&mut xml, &[names.namespace]);
    let mut reader = Reader { xml: &xml, names, prefix: "", units };
    Ok(reader.walk(0, xml.nodes.len()))
}

struct Reader<'a, 'u> {
    xml: &'a Xml<'a>,
    names: &'static Names,
    /// Prefix of the paragraph's element, with its colon.
    prefix: &'a str,
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
    /// A mark of a field, in a run of this format.
    Field(Mark, String, Markup),
    /// A part of a field's instruction, as above.
    Instruction {
        text: String,
        format: String,
        markup: Markup,
    },
    /// A field, in place of a word.
    Kept {
        markup: Markup,
        /// Whether it shows a word or a number.
        is_word: bool,
    },
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
                let tag = name(self.xml.token(index));
                let prefix = tag.find(':').map_or("", |colon| &tag[..=colon]);
                let outer = std::mem::replace(&mut self.prefix, prefix);
                self.paragraph(index).into_iter().for_each(|part| append(&mut parts, part));
                self.prefix = outer;
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
        let items = self.with_indices(self.with_fields(items));
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
                text.extend(self.xml.texts(index + 1..node.end));
            }
            index += 1;
        }
        has_words(&text)
    }

    /// A name as the paragraph's element has it.
    fn own(&self, name: &str) -> String {
        let local = name.find(':').map_or(name, |colon| &name[colon + 1..]);
        format!("{}{local}", self.prefix)
    }

    /// Reads the pieces of a paragraph, or of an element with runs.
    fn items(&mut self, first: usize, end: usize, items: &mut Vec<Item>) {
        let mut index = first;
        while index < end {
            let node = &self.xml.nodes[index];
            let last = if node.kind == Kind::Start { node.end } else { index };
            match &*node.name {
                name if name == self.names.run && node.kind == Kind::Start => self.run(index, items),
                "w:fldSimple" | "a:fld"
                    if !self.xml.attribute_of_any_prefix(index, "instr").is_some_and(is_link) =>
                {
                    let is_word =
                        self.xml.texts(index..last).any(|text| text.contains(char::is_alphanumeric));
                    items.push(Item::Kept { markup: self.walk(index, last + 1), is_word });
                }
                name if self.names.wrappers.contains(&name) && node.kind == Kind::Start => {
                    self.wrapper(index, items);
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

    /// Reads an element with runs of its own.
    fn wrapper(&mut self, index: usize, items: &mut Vec<Item>) {
        let name = &self.xml.nodes[index].name;
        let last = self.xml.nodes[index].end;
        // an element of content controls has properties before its content
        let content = self.xml.children(index).find(|&child| self.xml.nodes[child].name == "w:sdtContent");
        let [open, close] = match content.filter(|&child| self.xml.nodes[child].kind == Kind::Start) {
            Some(content) => [content, self.xml.nodes[content].end],
            None => [index, last],
        };
        items.push(Item::Open(copied(self.xml.raw(index, open)), name.to_string()));
        self.items(open + 1, close, items);
        items.push(Item::Close(copied(self.xml.raw(close, last)), name.to_string()));
    }

    /// Reads text with its reading above, which stays. Returns whether it has text.
    fn ruby(&mut self, ruby: usize, format: &str, items: &mut Vec<Item>) -> bool {
        let base = self.xml.children(ruby).find(|&child| self.xml.nodes[child].name == "w:rubyBase");
        let Some(base) = base.filter(|&base| self.xml.nodes[base].kind == Kind::Start) else { return false };
        let [first, last] = [base, self.xml.nodes[base].end];
        let name = self.own(self.names.run);
        let start = format!("<{name}>{format}{}", self.xml.raw(ruby, first));
        items.push(Item::Open(copied(start), "w:ruby".to_owned()));
        self.items(first + 1, last, items);
        let end = self.xml.raw(last, self.xml.nodes[ruby].end);
        items.push(Item::Close(copied(format!("{end}</{name}>")), "w:ruby".to_owned()));
        true
    }

    fn run(&mut self, index: usize, items: &mut Vec<Item>) {
        let mut format = String::new();
        let children: Vec<usize> = self.xml.children(index).collect();
        for child in children {
            let node = &self.xml.nodes[child];
            let last = node.end.max(child);
            match &*node.name {
                name if name == self.names.properties => self.xml.raw(child, last).clone_into(&mut format),
                name if name == self.names.text => {
                    let mut tokens = Vec::new();
                    for inside in child + 1..last {
                        match self.xml.nodes[inside].kind {
                            Kind::Text => text_tokens(self.xml.token(inside), &mut tokens),
                            Kind::CData => {
                                let text = cdata(self.xml.token(inside));
                                tokens.push(Inline::text(&Escape::Markup.encode(text), text));
                            }
                            // comments, which Word does not write
                            _ => {}
                        }
                    }
                    add_text(&format, tokens, items);
                }
                "w:lastRenderedPageBreak" => {}
                "w:noBreakHyphen" | "w:softHyphen" => {
                    let is_soft = &*node.name == "w:softHyphen";
                    let [end, start] = [format!("</{}>", self.own(self.names.text)), self.text_tag()];
                    let raw = format!("{end}{}{start}", self.xml.raw(child, last));
                    add_text(&format, vec![Inline::text(&raw, if is_soft { "" } else { "-" })], items);
                }
                name if self.names.breaks.contains(&name) => {
                    items.push(Item::Break(format.clone(), copied(self.xml.raw(child, last))));
                }
                "w:ruby" if self.ruby(child, &format, items) => {}
                name => {
                    let (format, markup) = (format.clone(), self.walk(child, last + 1));
                    let mark = self.xml.attribute_of_any_prefix(child, "fldCharType").and_then(Mark::of);
                    items.push(match (name, mark) {
                        ("w:fldChar", Some(mark)) => Item::Field(mark, format, markup),
                        ("w:instrText", _) => {
                            let text = self.xml.texts(child..last).collect();
                            Item::Instruction { text, format, markup }
                        }
                        _ => Item::InRun(format, markup),
                    });
                }
            }
        }
    }
}

/// Adds text to the one before, if that has the same format.
fn add_text(format: &str, tokens: Vec<Inline>, items: &mut Vec<Item>) {
    match items.last_mut() {
        Some(Item::Text(before, text)) if is_same(before, format) => text.extend(tokens),
        _ => items.push(Item::Text(format.to_owned(), tokens)),
    }
}

/// Whether two formats look the same: marks of the spelling are none.
fn is_same(one: &str, other: &str) -> bool {
    let plain = |format: &str| format.replace(" err=\"1\"", "").replace(" dirty=\"0\"", "");
    one == other || plain(one) == plain(other)
}
