//! Markdown: paragraphs, headings, items and cells are units. Code, HTML blocks, front matter and link targets stay.

use std::ops::Range;

use pulldown_cmark::{Event, LinkType, Options, Parser, Tag};

use super::super::escape::{Block, Escape};
use super::super::inline::{Inline, Style, has_words, text_unit, unit};
use super::super::message;
use super::super::unit::{Markup, Units, append, copied, push};
use super::formulas::{Marked, Spanned};

/// Cuts a document.
pub fn read(markdown: &str, units: &mut Units) -> Markup {
    let (front, markdown) = markdown.split_at(front_matter(markdown));
    let marked = Marked::new(markdown);
    let events = marked.events();
    let mut reader = Reader {
        markdown,
        units,
        parts: copied(front),
        done: 0,
        run: Vec::new(),
        span: 0..0,
        block: Block::Other,
        labels: Vec::new(),
        directives: directives(markdown),
    };
    let mut index = 0;
    while index < events.len() {
        index = reader.event(&events, index);
    }
    reader.flush();
    push(&mut reader.parts, &markdown[reader.done..]);
    reader.parts
}

/// The length of the front matter. The parser takes rules with text between for front matter, too, so that it reads only the first.
fn front_matter(markdown: &str) -> usize {
    if !markdown.starts_with("---") && !markdown.starts_with("+++") {
        return 0;
    }
    let options =
        Options::ENABLE_YAML_STYLE_METADATA_BLOCKS | Options::ENABLE_PLUSES_DELIMITED_METADATA_BLOCKS;
    match Parser::new_ext(markdown, options).into_offset_iter().next() {
        Some((Event::Start(Tag::MetadataBlock(_)), range)) if range.start == 0 => range.end,
        _ => 0,
    }
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
    /// For each open link, the label that its end names, if its own text does now.
    labels: Vec<Option<String>>,
    /// Lines that are directives, in order.
    directives: Vec<Range<usize>>,
}

impl Reader<'_, '_> {
    /// Reads an event. Returns the index of the next.
    fn event(&mut self, events: &[Spanned<'_>], index: usize) -> usize {
        let (event, range) = &events[index];
        let raw = &self.markdown[range.clone()];
        if is_inline(event) && self.is_in_directive(range) {
            self.flush();
            return end(events, index) + 1;
        }
        match event {
            Event::Start(Tag::CodeBlock(_) | Tag::HtmlBlock) => {
                self.flush();
                return end(events, index) + 1;
            }
            Event::Start(tag @ (Tag::Emphasis | Tag::Strong | Tag::Strikethrough | Tag::Link { .. })) => {
                if let Some(next) = self.open(events, index, tag) {
                    return next;
                }
            }
            Event::Start(tag @ Tag::Image { .. }) => {
                let close = end(events, index);
                let markup = self.image(&events[index..=close], label(tag));
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
                    Tag::Heading { .. } if raw.starts_with('#') => Block::Heading,
                    Tag::Paragraph | Tag::Item | Tag::Heading { .. } => Block::Text,
                    Tag::TableCell => Block::Cell,
                    _ => Block::Other,
                };
            }
            Event::Text(text) => self.text(range, text),
            Event::SoftBreak if self.run.is_empty() => {}
            Event::SoftBreak if definition_mark(&self.markdown[range.end..]) > 0 => self.flush(),
            Event::SoftBreak if matches!(self.run.last(), Some(Inline::End(_))) => {
                // the line stays as it is, with the signs of the block at its beginning
                let next = events.get(index + 1).map_or(range.end, |(_, next)| next.start);
                let line = range.start..next.max(range.end);
                self.push(&line, Inline::End(copied(&self.markdown[line.clone()])));
            }
            Event::SoftBreak => self.push(range, Inline::text(raw, " ")),
            Event::DisplayMath(_) if raw.contains('\n') => self.formula(events, index),
            Event::Code(_) | Event::InlineMath(_) | Event::DisplayMath(_) => {
                self.push(range, Inline::Kept { raw: copied(raw), is_word: true });
            }
            Event::FootnoteReference(_) => self.push(range, Inline::Alone(copied(raw))),
            Event::InlineHtml(_) => {
                // a comment may have tags
                if raw.starts_with("<!") || raw.starts_with("<?") {
                    self.push(range, Inline::Alone(copied(raw)));
                } else {
                    message::tokens(raw, Escape::None).into_iter().for_each(|tag| self.push(range, tag));
                }
            }
            Event::HardBreak | Event::Rule | Event::TaskListMarker(_) | Event::Html(_) => self.flush(),
        }
        index + 1
    }

    /// Whether a part of a paragraph is in a directive, or breaks the line beside one.
    fn is_in_directive(&self, range: &Range<usize>) -> bool {
        let next = self.directives.partition_point(|line| line.end < range.start);
        self.directives.get(next).is_some_and(|line| line.start <= range.end)
    }

    /// Ends the text before a formula with lines of its own, which stay.
    fn formula(&mut self, events: &[Spanned<'_>], index: usize) {
        if let Some((Event::SoftBreak, line)) = index.checked_sub(1).map(|before| &events[before])
            && self.span.end == line.end
            && self.run.pop().is_some()
        {
            self.span.end = line.start;
        }
        self.flush();
    }

    /// Adds to the run.
    fn push(&mut self, range: &Range<usize>, token: Inline) {
        if self.run.is_empty() {
            self.span = range.clone();
        }
        self.span.end = self.span.end.max(range.end);
        self.run.push(token);
    }

    /// Adds text. The parser leaves out a backslash before it, which belongs to it.
    fn text(&mut self, range: &Range<usize>, text: &str) {
        let from = if self.run.is_empty() { self.done } else { self.span.end };
        let before = &self.markdown[from.min(range.start)..range.start];
        let start = range.start - (before.len() - before.trim_end_matches('\\').len());
        let mark = match self.run.is_empty() {
            true => definition_mark(&self.markdown[start..range.end]),
            false => 0,
        };
        let text = text.get(mark..).unwrap_or_default();
        self.push(&(start + mark..range.end), Inline::text(&self.markdown[start + mark..range.end], text));
    }

    /// The start of an inline element; the next index if it was read as a whole.
    fn open(&mut self, events: &[Spanned<'_>], index: usize, tag: &Tag<'_>) -> Option<usize> {
        let range = &events[index].1;
        let raw = &self.markdown[range.clone()];
        let close = end(events, index);
        let is_address = matches!(tag, Tag::Link { link_type: LinkType::Autolink | LinkType::Email, .. });
        let label = label(tag);
        // code or a number that is its own label
        let is_name = label.is_some() && !events[index..close].iter().any(|(event, _)| has_text(event));
        if is_address || is_name || close == index + 1 {
            self.push(range, Inline::Kept { raw: copied(raw), is_word: is_address || is_name });
            return Some(close + 1);
        }
        if matches!(tag, Tag::Link { .. }) {
            self.labels.push(label);
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
        let raw = match name {
            "Link" => self.labels.pop().flatten().map(|label| format!("][{label}]")),
            _ => None,
        };
        let raw = raw.unwrap_or_else(|| self.markdown[closing.clone()].to_owned());
        self.push(&closing, Inline::Close { raw: copied(raw), name: name.to_owned() });
    }

    /// An image, whose description is a unit.
    ///
    /// * `label`: what its end names, if its description does now
    fn image(&mut self, events: &[Spanned<'_>], label: Option<String>) -> Markup {
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
        let block = if self.block == Block::Cell { Block::Cell } else { Block::Other };
        let style = Style::collapsing(Escape::Markdown { block, link: true });
        debug_assert!(first.1.start >= place.start);
        let before = self.units.0.len();
        text_unit(&self.markdown[place.clone()], &texts.concat(), style, self.units)
            .into_iter()
            .for_each(|part| append(&mut markup, part));
        match label.filter(|_| self.units.0.len() > before) {
            Some(label) => push(&mut markup, &format!("][{label}]")),
            None => push(&mut markup, &self.markdown[place.end..range.end]),
        }
        markup
    }

    /// Ends the run.
    fn flush(&mut self) {
        if self.run.is_empty() {
            return;
        }
        let before = self.units.0.len();
        // the two tags of an element are events of their own
        let run = message::with_elements(std::mem::take(&mut self.run));
        let link = run.iter().any(|token| matches!(token, Inline::Open { name, .. } if name == "Link"));
        let escape = Escape::Markdown { block: self.block, link };
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

/// The places of lines that begin or end a block for programs that make pages of Markdown: `:::note`, `!!! warning "Title"`,
/// `{{% notice %}}`, `{% include a %}`.
fn directives(markdown: &str) -> Vec<Range<usize>> {
    const SIGNS: [&str; 3] = [":::", "!!! ", "??? "];
    const SHORTCODES: [(&str, &str); 3] = [("{{%", "%}}"), ("{{<", ">}}"), ("{%", "%}")];
    let mut at = 0;
    let lines = markdown.split_inclusive('\n').map(|line| {
        at += line.len();
        (at - line.len(), line.trim_end_matches(['\r', '\n']))
    });
    let is_one = |line: &str| {
        let line = line.trim_start_matches([' ', '\t', '>']).trim_end();
        let is_between = |(start, end): &(&str, &str)| line.starts_with(start) && line.ends_with(end);
        SIGNS.iter().any(|sign| line.starts_with(sign)) || SHORTCODES.iter().any(is_between)
    };
    lines.filter(|(_, line)| is_one(line)).map(|(start, line)| start..start + line.len()).collect()
}

/// The length of the mark that begins this line if it is a definition of the term in the line before, as PHP Markdown Extra and Pandoc
/// have it. The parser's own option takes `:smile:` for one, too.
fn definition_mark(line: &str) -> usize {
    let rest = line.trim_start_matches(' ');
    let text = rest.strip_prefix(':').map_or(rest, |text| text.trim_start_matches([' ', '\t']));
    if rest.len() - text.len() > 1 { line.len() - text.len() } else { 0 }
}

/// Whether an event is a part of a paragraph.
fn is_inline(event: &Event<'_>) -> bool {
    use Tag::{Emphasis, Image, Link, Strikethrough, Strong};
    match event {
        Event::Start(tag) => {
            matches!(tag, Emphasis | Strong | Strikethrough | Link { .. } | Image { .. })
        }
        Event::Text(_) | Event::Code(_) | Event::InlineMath(_) | Event::DisplayMath(_) => true,
        Event::SoftBreak | Event::InlineHtml(_) | Event::HardBreak => true,
        _ => false,
    }
}

/// The name of an inline element whose end this is.
fn name(tag: &str) -> Option<&'static str> {
    ["Emphasis", "Strong", "Strikethrough", "Link"].into_iter().find(|name| *name == tag)
}

/// The label of a link or an image whose own text is its label: `[house]` and `[house][]`.
fn label(tag: &Tag<'_>) -> Option<String> {
    let (Tag::Link { link_type, id, .. } | Tag::Image { link_type, id, .. }) = tag else { return None };
    // a label may be in two lines
    let label = || id.split_whitespace().collect::<Vec<_>>().join(" ");
    matches!(link_type, LinkType::Shortcut | LinkType::Collapsed).then(label)
}

fn has_text(event: &Event<'_>) -> bool {
    matches!(event, Event::Text(text) if has_words(text))
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
