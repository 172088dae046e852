//! Text with tags inside and markup around.

use super::escape::Escape;

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
    /// Quotes a field of a table if it has to be.
    Quotes(char),
    /// Leaves out this markup, which covers no text.
    Without(String),
}

impl Finish {
    pub fn apply(&self, mut text: String) -> String {
        match self {
            Self::None => text,
            Self::Lines(lines, end) => broken(&text, *lines, end),
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

/// A text in lines of similar lengths, broken at spaces. Tags have no length, and are not broken.
fn broken(text: &str, lines: usize, line_end: &str) -> String {
    let words = words_and_tags(text);
    let length = |word: &str| {
        let mut tag = false;
        let is_text = |c: &char| {
            let before = tag;
            tag = (tag || matches!(c, '<' | '{')) && !matches!(c, '>' | '}');
            !before && !tag && !matches!(c, '>' | '}')
        };
        word.chars().filter(is_text).count()
    };
    let total = words.iter().map(|word| length(word) + 1).sum::<usize>();
    let mut written = String::with_capacity(text.len() + lines);
    let (mut line, mut before) = (1, 0);
    for word in words {
        // the break that is nearest to the even one
        let middle = before + length(word) / 2;
        if line < lines && !written.is_empty() && middle >= total * line / lines.max(1) {
            written += line_end;
            line += 1;
        } else if !written.is_empty() {
            written.push(' ');
        }
        written += word;
        before += length(word) + 1;
    }
    written
}

/// The parts of a text between spaces that are in no tag.
fn words_and_tags(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let (mut start, mut tag) = (0, false);
    for (at, character) in text.char_indices() {
        match character {
            '<' | '{' => tag = true,
            '>' | '}' => tag = false,
            ' ' if !tag => {
                words.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    words.push(&text[start..]);
    words
}

#[cfg(test)]
mod tests {
    use super::broken;

    #[test]
    fn lines_have_similar_lengths() {
        assert_eq!(broken("one two three four", 2, "\n"), "one two\nthree four");
        assert_eq!(broken("one two", 2, "\r\n"), "one\r\ntwo");
        assert_eq!(broken("one", 2, "\n"), "one");
        assert_eq!(broken("a b c d e f", 3, "\n"), "a b\nc d\ne f");
        assert_eq!(broken("a b", 1, "\n"), "a b");
        assert_eq!(broken("<v A very long name>one</v> two", 2, "\n"), "<v A very long name>one</v>\ntwo");
    }
}
