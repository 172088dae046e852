//! Markdown: paragraphs, headings, items and cells are units. Code, HTML blocks, front matter and link targets stay.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};

use super::super::escape::Escape;
use super::super::inline::{Inline, Style, text_unit, unit};
use super::super::message;
use super::super::unit::{Markup, Units, append, copied, push};

type Spanned<'a> = (Event<'a>, Range<usize>);

/// Cuts a document.
pub fn read(markdown: &str, units: &mut Units) -> Markup {
    let options = Options::ENABLE_TABLES
        | Options::ENABLE_FOOTNOTES
        | Options::ENABLE_STRIKETHROUGH
        | Options::ENABLE_TASKLISTS
        | Options::ENABLE_HEADING_ATTRIBUTES
        | Options::ENABLE_YAML_STYLE_METADATA_BLOCKS;
    let events: Vec<Spanned<'_>> = Parser::new_ext(markdown, options).into_offset_iter().collect();
    let mut reader = Reader {
        markdown,
        units,
        parts: Markup::new(),
        done: 0,
        run: Vec::new(),
        span: 0..0,
        block: Block::Other,
    };
    let mut index = 0;
    while index < events.len() {
        index = reader.event(&events, index);
    }
    reader.flush();
    push(&mut reader.parts, &markdown[reader.done..]);
    reader.parts
}

#[derive(Clone, Copy, PartialEq)]
enum Block {
    /// A paragraph or an item: some characters at its beginning would make it another block.
    Text,
    Cell,
    Other,
}

struct Reader<'a, 'u> {
    markdown: &'a str,
    units: &'u mut Units,
    parts: Markup,
    /// Bytes that are in `parts`.
    done: usize,
    run: Vec<Inline>,
    /// Place of the run.
    span: Range<usize>,
    block: Block,
}

impl Reader<'_, '_> {
    /// Reads an event. Returns the index of the next.
    fn event(&mut self, events: &[Spanned<'_>], index: usize) -> usize {
        let (event, range) = &events[index];
        let raw = &self.markdown[range.clone()];
        match event {
            Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock | Tag::MetadataBlock(_)) => {
                self.flush();
                return end(events, index) + 1;
            }
            Event::Start(tag @ (Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. })) => {
                if let Some(next) = self.open(events, index, tag) {
                    return next;
                }
            }
            Event::Start(Tag::Image { .. }) => {
                let close = end(events, index);
                let markup = self.image(&events[index..=close]);
                self.push(range, Inline::Alone(markup));
                return close + 1;
            }
            Event::End(tag) => match name(&format!("{tag:?}")) {
                Some(name) => self.close(events, index, name),
                None => self.flush(),
            },
            Event::Start(tag) => {
                self.flush();
                self.block = match tag {
                    Tag::Paragraph | Tag::Item => Block::Text,
                    Tag::TableCell => Block::Cell,
                    _ => Block::Other,
                };
            }
            Event::Text(text) => self.push(range, Inline::text(raw, text.to_string())),
            Event::SoftBreak => self.push(range, Inline::text(raw, " ")),
            Event::Code(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {
                self.push(range, Inline::Kept { raw: copied(raw), is_word: true });
            }
            Event::FootnoteReference(_) => self.push(range, Inline::Alone(copied(raw))),
            Event::InlineHtml(_) => {
                for token in message::tokens(raw, Escape::None) {
                    let token = match token {
                        Inline::Text { raw, .. } => Inline::Alone(copied(raw)), // a comment
                        tag => tag,
                    };
                    self.push(range, token);
                }
            }
            Event::HardBreak | Event::Rule | Event::TaskListMarker(_) | Event::Html(_) => self.flush(),
        }
        index + 1
    }

    /// Adds to the run.
    fn push(&mut self, range: &Range<usize>, token: Inline) {
        if self.run.is_empty() {
            self.span = range.clone();
        }
        self.span.end = self.span.end.max(range.end);
        self.run.push(token);
    }

    /// The start of an inline element; the next index if it was read as a whole.
    fn open(&mut self, events: &[Spanned<'_>], index: usize, tag: &Tag<'_>) -> Option<usize> {
        let range = &events[index].1;
        let raw = &self.markdown[range.clone()];
        let close = end(events, index);
        let is_address = matches!(tag, Tag::Link { link_type: LinkType::Autolink | LinkType::Email, .. });
        if is_address || close == index + 1 {
            self.push(range, Inline::Kept { raw: copied(raw), is_word: is_address });
            return Some(close + 1);
        }
        let (name, length) = match tag {
            Tag::Emphasis => ("Emphasis", 1),
            Tag::Strong => ("Strong", 2),
            Tag::Strikethrough => ("Strikethrough", raw.len() - raw.trim_start_matches('~').len()),
            _ => ("Link", 1),
        };
        let opening = range.start..range.start + length;
        self.push(
            &opening,
            Inline::Open { raw: copied(&self.markdown[opening.clone()]), name: name.to_owned() },
        );
        None
    }

    fn close(&mut self, events: &[Spanned<'_>], index: usize, name: &str) {
        let range = &events[index].1;
        let raw = &self.markdown[range.clone()];
        let length = match name {
            "Emphasis" => 1,
            "Strong" => 2,
            "Strikethrough" => raw.len() - raw.trim_end_matches('~').len(),
            // the bracket and the target, behind the last event within
            _ => range.end - events[index - 1].1.end.clamp(range.start + 1, range.end),
        };
        let closing = range.end - length..range.end;
        self.push(
            &closing,
            Inline::Close { raw: copied(&self.markdown[closing.clone()]), name: name.to_owned() },
        );
    }

    /// An image, whose description is a unit.
    fn image(&mut self, events: &[Spanned<'_>]) -> Markup {
        let range = &events[0].1;
        let inside = &events[1..events.len() - 1];
        let texts: Option<Vec<&str>> = inside
            .iter()
            .map(|(event, _)| match event {
                Event::Text(text) => Some(&**text),
                Event::SoftBreak => Some(" "),
                _ => None,
            })
            .collect();
        let (Some(texts), Some(first), Some(last)) = (texts, inside.first(), inside.last()) else {
            return copied(&self.markdown[range.clone()]);
        };
        let place = range.start + 2..last.1.end;
        let mut markup = copied(&self.markdown[range.start..place.start]);
        let style = Style::collapsing(Escape::Markdown { cell: self.block == Block::Cell, block: false });
        debug_assert!(first.1.start >= place.start);
        text_unit(&self.markdown[place.clone()], &texts.concat(), style, self.units)
            .into_iter()
            .for_each(|part| append(&mut markup, part));
        push(&mut markup, &self.markdown[place.end..range.end]);
        markup
    }

    /// Ends the run.
    fn flush(&mut self) {
        if self.run.is_empty() {
            return;
        }
        let before = self.units.0.len();
        let run = std::mem::take(&mut self.run);
        let escape = Escape::Markdown { cell: self.block == Block::Cell, block: self.block == Block::Text };
        let parts = unit(run, Style::collapsing(escape), self.units);
        // without a text nothing changes, not even a backslash
        if self.units.0.len() > before
            || parts.iter().any(|part| matches!(part, super::super::unit::Part::Unit(_)))
        {
            push(&mut self.parts, &self.markdown[self.done..self.span.start]);
            parts.into_iter().for_each(|part| append(&mut self.parts, part));
            self.done = self.span.end;
        }
    }
}

/// The name of an inline element whose end this is.
fn name(tag: &str) -> Option<&'static str> {
    ["Emphasis", "Strong", "Strikethrough", "Link"].into_iter().find(|name| *name == tag)
}

/// The index of the end of the element that starts at `index`.
fn end(events: &[Spanned<'_>], index: usize) -> usize {
    let mut depth = 0;
    for (at, (event, _)) in events.iter().enumerate().skip(index) {
        match event {
            Event::Start(_) => depth += 1,
            Event::End(_) => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return at;
        }
    }
    events.len() - 1
}
