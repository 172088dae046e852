//! Text with tags inside and markup around.

use super::escape::Escape;
use super::lines::{broken, parts};

/// A piece of a document.
#[derive(Clone, Debug, PartialEq)]
pub enum Part {
    /// Text that is copied.
    Copied(String),
    /// The translation of a unit, by its index.
    Unit(usize),
}

/// Text that is copied, with units inside: attributes that are text, notes within a paragraph.
pub type Markup = Vec<Part>;

/// Markup without units.
pub fn copied(text: impl Into<String>) -> Markup {
    vec![Part::Copied(text.into())]
}

/// Adds copied text at the end.
pub fn push(markup: &mut Markup, text: &str) {
    match markup.last_mut() {
        _ if text.is_empty() => {}
        Some(Part::Copied(last)) => last.push_str(text),
        _ => markup.push(Part::Copied(text.to_owned())),
    }
}

/// Adds a part at the end.
pub fn append(markup: &mut Markup, part: Part) {
    match part {
        Part::Copied(text) => push(markup, &text),
        unit => markup.push(unit),
    }
}

/// The units of a document.
#[derive(Clone, Debug, Default)]
pub struct Units(pub Vec<Unit>);

impl Units {
    /// Adds a unit. Returns its place in the document.
    pub fn add(&mut self, unit: Unit) -> Part {
        self.0.push(unit);
        Part::Unit(self.0.len() - 1)
    }
}

/// A text that is translated as a whole, with the tags within.
#[derive(Clone, Debug)]
pub struct Unit {
    /// Markup and white space around the text.
    pub(crate) before: Markup,
    pub(crate) after: Markup,
    /// Text without tags, with a word in place of each placeholder; trimmed.
    pub(crate) text: String,
    pub(crate) marks: Vec<Mark>,
    pub(crate) stand_ins: Vec<StandIn>,
    pub(crate) escape: Escape,
    pub(crate) finish: Finish,
}

impl Unit {
    /// The text to translate: without tags, and with a word such as `XA` in place of each placeholder.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether the links between words place tags in the translation.
    pub fn needs_links(&self) -> bool {
        !self.marks.is_empty() || !self.stand_ins.is_empty()
    }
}

/// A tag in a text.
#[derive(Clone, Debug)]
pub struct Mark {
    /// Place in the text, in bytes.
    pub at: usize,
    pub kind: Kind,
    pub raw: Markup,
    /// Whether white space follows that the text has only before the tag.
    pub spaced: bool,
}

/// Start and end tags are in pairs, and nest.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    Open,
    Close,
    /// Markup that stands for itself.
    Alone,
}

/// A word of the text that stands in for a placeholder.
#[derive(Clone, Debug)]
pub struct StandIn {
    /// Place of the word in the text, in bytes.
    pub at: usize,
    pub word: String,
    pub raw: Markup,
}

/// The last change of a written unit.
#[derive(Clone, Debug, PartialEq)]
pub enum Finish {
    None,
    /// Breaks the text into this number of lines, with this line end.
    Lines(usize, &'static str),
    /// Cuts the text into the parts of a sentence that runs over several subtitles.
    Cues(Vec<Cue>),
    /// Quotes a field of a table if it has to be.
    Quotes(char),
    /// Leaves out this markup, which covers no text.
    Without(String),
}

/// A subtitle with a part of a sentence.
#[derive(Clone, Debug, PartialEq)]
pub struct Cue {
    /// Characters of its text.
    pub share: usize,
    pub lines: usize,
    pub line_end: &'static str,
    /// Tags before the text.
    pub before: String,
    /// Tags behind the text, and the document up to the next subtitle's own ones.
    pub after: String,
}

impl Finish {
    pub fn apply(&self, mut text: String) -> String {
        match self {
            Self::None => text,
            Self::Lines(lines, end) => broken(&text, *lines, end),
            Self::Cues(cues) => {
                let shares: Vec<usize> = cues.iter().map(|cue| cue.share).collect();
                let parts = parts(&text, &shares);
                let write = |(cue, part): (&Cue, &String)| {
                    [&*cue.before, &broken(part, cue.lines, cue.line_end), &cue.after].concat()
                };
                cues.iter().zip(&parts).map(write).collect()
            }
            Self::Quotes(separator) => match text.contains([*separator, '"', '\n', '\r']) {
                true => format!("\"{}\"", text.replace('"', "\"\"")),
                false => text,
            },
            Self::Without(markup) => {
                while text.contains(markup.as_str()) {
                    text = text.replace(markup.as_str(), "");
                }
                text
            }
        }
    }
}
