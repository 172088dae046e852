//! Makes units of text and tags.

use super::escape::Escape;
use super::placeholders::{emoji, placeholders, words_for};
use super::unit::{Finish, Kind, Mark, Markup, Part, StandIn, Unit, Units, append, copied, push};

/// A piece of a text with tags.
#[derive(Clone, Debug)]
pub enum Inline {
    Text {
        /// The text as the document writes it.
        raw: String,
        text: String,
    },
    Open {
        raw: Markup,
        name: String,
    },
    Close {
        raw: Markup,
        name: String,
    },
    /// Markup that ends the text before it, such as a line break or a tag of a block: [`unit`] makes two units there.
    End(Markup),
    /// Markup that stands for itself.
    Alone(Markup),
    /// Markup in place of a word, such as code or a mention.
    Kept {
        raw: Markup,
        /// Whether it belongs to the sentence at the ends of the text, too.
        is_word: bool,
    },
}

impl Inline {
    pub fn text(raw: &str, text: impl Into<String>) -> Self {
        Self::Text { raw: raw.to_owned(), text: text.into() }
    }

    pub fn into_markup(self) -> Markup {
        match self {
            Self::Text { raw, .. } => copied(raw),
            Self::Open { raw, .. } | Self::Close { raw, .. } | Self::Kept { raw, .. } => raw,
            Self::Alone(raw) | Self::End(raw) => raw,
        }
    }
}

/// How the text of units is read and written.
#[derive(Clone, Debug)]
pub struct Style {
    pub escape: Escape,
    pub finish: Finish,
    /// Whether white space of any length is one space.
    pub collapses: bool,
}

impl Style {
    pub fn new(escape: Escape) -> Self {
        Self { escape, finish: Finish::None, collapses: false }
    }

    pub fn collapsing(escape: Escape) -> Self {
        Self { collapses: true, ..Self::new(escape) }
    }
}

/// Number of placeholders of a unit that have stand-ins. The others are placed as tags.
const MOST_STAND_INS: usize = 100;
/// Depth of elements that are placed as a pair. Deeper tags are placed one by one.
const MOST_DEPTH: usize = 64;

/// Whether a text has something to translate.
pub fn has_words(text: &str) -> bool {
    let mut done = 0;
    for range in placeholders(text) {
        if text[done..range.start].contains(char::is_alphabetic) {
            return true;
        }
        done = range.end;
    }
    text[done..].contains(char::is_alphabetic)
}

/// A character as a model reads it. Soft hyphens and the like, which say where words of the source may be broken, are left out: with them, a
/// model reads other words.
fn readable(character: char) -> Option<char> {
    match character {
        '\0' | '\u{ad}' | '\u{2060}' | '\u{feff}' => None,
        '\u{2010}' | '\u{2011}' => Some('-'),
        other => Some(other),
    }
}

/// Makes a unit of a text without tags. Without a letter, it is copied.
pub fn text_unit(raw: &str, text: &str, style: Style, units: &mut Units) -> Markup {
    unit(vec![Inline::text(raw, text)], style, units)
}

/// Makes a unit of text and tags, or several where a token [ends the text](Inline::end). Without a letter, they are copied.
pub fn unit(tokens: Vec<Inline>, mut style: Style, units: &mut Units) -> Markup {
    if !tokens.iter().any(|token| matches!(token, Inline::End(_))) {
        return sentence(tokens, style, units);
    }
    let finish = std::mem::replace(&mut style.finish, Finish::None);
    let mut parts = Markup::new();
    let mut text = Vec::new();
    for token in tokens {
        let Inline::End(end) = token else {
            text.push(token);
            continue;
        };
        let before = sentence(std::mem::take(&mut text), style.clone(), units);
        before.into_iter().chain(end).for_each(|part| append(&mut parts, part));
    }
    sentence(text, style, units).into_iter().for_each(|part| append(&mut parts, part));
    finished(parts, finish, units)
}

/// Puts all parts of a text in its last unit, so that the last change applies to all of them: quotes around a field.
fn finished(mut parts: Markup, finish: Finish, units: &mut Units) -> Markup {
    let last = parts.iter().rposition(|part| matches!(part, Part::Unit(_)));
    let Some(last) = last.filter(|_| finish != Finish::None) else { return parts };
    let after = parts.split_off(last + 1);
    if let Some(&Part::Unit(index)) = parts.last() {
        let unit = &mut units.0[index];
        parts.pop();
        parts.append(&mut unit.before);
        unit.before = parts;
        after.into_iter().for_each(|part| append(&mut unit.after, part));
        unit.finish = finish;
        return vec![Part::Unit(index)];
    }
    parts
}

/// Makes a unit of text and tags. Without a letter, they are copied.
fn sentence(tokens: Vec<Inline>, style: Style, units: &mut Units) -> Markup {
    let mut tokens = keys(without_emoji(tokens, style.escape));
    let is_text = |token: &Inline| matches!(token, Inline::Text { text, .. } if has_words(text));
    // punctuation and numbers at the ends belong to the sentence
    let is_part = |token: &Inline| match token {
        Inline::Text { text, .. } => !text.trim().is_empty(),
        Inline::Kept { is_word, .. } => *is_word,
        _ => false,
    };
    if !tokens.iter().any(is_text) {
        return tokens.into_iter().flat_map(Inline::into_markup).collect();
    }
    let first_text = tokens.iter().position(is_part).unwrap_or(0);
    let last_text = tokens.iter().rposition(is_part).unwrap_or(first_text);
    // elements around all of the text stay outside; those around a part of it belong to the unit
    let ends = ends(&tokens);
    let ends_inside = |index: &usize| ends[*index].is_some_and(|end| end > first_text && end < last_text);
    let first = (0..first_text).find(ends_inside).unwrap_or(first_text);
    let inside = ends[first_text..=last_text].iter().flatten();
    let last = inside.copied().max().unwrap_or(last_text).max(last_text);
    let [mut before, mut after] = [Markup::new(), Markup::new()];
    tokens.drain(last + 1..).flat_map(Inline::into_markup).for_each(|part| append(&mut after, part));
    tokens.drain(..first).flat_map(Inline::into_markup).for_each(|part| append(&mut before, part));
    let edges = style.collapses.then(|| edges(&tokens));
    let mut builder = Builder { style, edges, text: String::new(), marks: Vec::new(), found: Vec::new() };
    let mut open: Vec<usize> = Vec::new();
    for (index, token) in tokens.into_iter().enumerate() {
        let end = ends[first + index].filter(|&end| end <= last && open.len() < MOST_DEPTH);
        match token {
            Inline::Text { text, .. } => builder.text(&text),
            Inline::Open { raw, .. } => match end {
                Some(end) => {
                    open.push(end);
                    builder.mark(Kind::Open, raw);
                }
                None => builder.mark(Kind::Alone, raw), // it ends outside of the unit, or never
            },
            Inline::Close { raw, .. } if open.last() == Some(&(first + index)) => {
                open.pop();
                builder.mark(Kind::Close, raw);
            }
            Inline::Close { raw, .. } | Inline::Alone(raw) | Inline::End(raw) => {
                builder.mark(Kind::Alone, raw)
            }
            Inline::Kept { raw, .. } => builder.kept(raw),
        }
    }
    vec![units.add(builder.finish(before, after))]
}

/// White space at the beginning of the first text and at the end of the last one.
fn edges(tokens: &[Inline]) -> [String; 2] {
    let texts = || {
        tokens.iter().filter_map(|token| match token {
            Inline::Text { text, .. } => Some(text.as_str()),
            _ => None,
        })
    };
    let first = texts().next().map_or("", |text| &text[..text.len() - text.trim_start().len()]);
    let last = texts().next_back().map_or("", |text| &text[text.trim_end().len()..]);
    [first.to_owned(), last.to_owned()]
}

/// Joins texts side by side: a placeholder may be in both.
fn joined(tokens: Vec<Inline>) -> Vec<Inline> {
    let mut joined: Vec<Inline> = Vec::with_capacity(tokens.len());
    for token in tokens {
        match (joined.last_mut(), token) {
            (Some(Inline::Text { raw, text }), Inline::Text { raw: more, text: next }) => {
                *raw += &more;
                *text += &next;
            }
            (_, token) => joined.push(token),
        }
    }
    joined
}

/// Joins words that stay with the signs between them: a model would part `<kbd>Ctrl</kbd>+<kbd>C</kbd>`.
fn keys(tokens: Vec<Inline>) -> Vec<Inline> {
    const LONGEST: usize = 3;
    let is_kept = |token: Option<&Inline>| matches!(token, Some(Inline::Kept { is_word: true, .. }));
    let is_sign = |token: &Inline| match token {
        Inline::Text { text, .. } => {
            text.len() <= LONGEST && !text.contains(|c: char| c.is_whitespace() || c.is_alphanumeric())
        }
        _ => false,
    };
    let mut joined: Vec<Inline> = Vec::with_capacity(tokens.len());
    let mut rest = tokens.into_iter().peekable();
    while let Some(token) = rest.next() {
        if is_kept(joined.last()) && (is_kept(Some(&token)) || is_sign(&token) && is_kept(rest.peek())) {
            let more = if is_kept(Some(&token)) { None } else { rest.next() };
            if let Some(Inline::Kept { raw, .. }) = joined.last_mut() {
                let markup = [Some(token), more].into_iter().flatten().flat_map(Inline::into_markup);
                markup.for_each(|part| append(raw, part));
            }
            continue;
        }
        joined.push(token);
    }
    joined
}

/// Emoji are tokens of their own.
fn without_emoji(tokens: Vec<Inline>, escape: Escape) -> Vec<Inline> {
    let mut cut = Vec::with_capacity(tokens.len());
    for token in joined(tokens) {
        match token {
            Inline::Text { raw, text } => match emoji(&text).as_slice() {
                [(_, false)] | [] => cut.push(Inline::Text { raw, text }),
                // emoji are written as they are in every format
                parts => cut.extend(parts.iter().map(|&(part, is_emoji)| match is_emoji {
                    true => Inline::Alone(copied(part)),
                    false => Inline::text(&escape.encode(part), part),
                })),
            },
            other => cut.push(other),
        }
    }
    cut
}

/// For each start tag, the index of its end tag, if only complete elements are between.
fn ends(tokens: &[Inline]) -> Vec<Option<usize>> {
    let mut ends = vec![None; tokens.len()];
    let mut open: Vec<(usize, &str)> = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match token {
            Inline::Open { name, .. } => open.push((index, name)),
            Inline::Close { name, .. } => match open.pop() {
                Some((start, opened)) if opened == name => ends[start] = Some(index),
                _ => open.clear(), // elements around a wrong end tag are not complete
            },
            _ => {}
        }
    }
    ends
}

struct Builder {
    style: Style,
    /// White space around the text as the document has it, where the text has one space for it.
    edges: Option<[String; 2]>,
    text: String,
    marks: Vec<Mark>,
    /// Places of placeholders, in bytes of the text, which has a `\u{0}` there for now.
    found: Vec<(usize, Markup)>,
}

impl Builder {
    /// Puts a mark at the end of the text so far.
    fn mark(&mut self, kind: Kind, raw: Markup) {
        self.marks.push(Mark { at: self.text.len(), kind, raw, spaced: false });
    }

    /// A place for a word that stands in.
    fn kept(&mut self, raw: Markup) {
        if self.found.len() >= MOST_STAND_INS {
            return self.mark(Kind::Alone, raw);
        }
        self.found.push((self.text.len(), raw));
        self.text.push('\0');
    }

    fn text(&mut self, text: &str) {
        let mut done = 0;
        for range in placeholders(text) {
            self.words(&text[done..range.start]);
            self.kept(copied(self.style.escape.encode(&text[range.clone()])));
            done = range.end;
        }
        self.words(&text[done..]);
    }

    fn words(&mut self, text: &str) {
        // white space is one space; a removed tag may have been between two
        if text.starts_with(char::is_whitespace)
            && self.text.ends_with(char::is_whitespace)
            && let Some(mark) = self.marks.last_mut()
        {
            mark.spaced = true;
        }
        if !self.style.collapses {
            let text = if self.text.ends_with(' ') && !self.marks.is_empty() {
                text.trim_start_matches(' ')
            } else {
                text
            };
            self.text.extend(text.chars().filter_map(readable));
        } else {
            for (place, word) in text.split(char::is_whitespace).enumerate() {
                if place > 0 && !self.text.ends_with(' ') {
                    self.text.push(' ');
                }
                self.text.extend(word.chars().filter_map(readable));
            }
        }
    }

    /// Names the placeholders and moves white space at the ends of the text out of it.
    fn finish(self, mut before: Markup, mut after: Markup) -> Unit {
        let Self { style, edges, text: raw, mut marks, found } = self;
        let mut text = String::with_capacity(raw.len());
        let mut stand_ins = Vec::with_capacity(found.len());
        let (mut done, mut moved) = (0, 0);
        for (word, (at, raw_markup)) in words_for(&raw, found.len()).into_iter().zip(found) {
            text += &raw[done..at];
            // marks up to here, which are in order, move with the text
            while let Some(mark) = marks.get_mut(moved).filter(|mark| mark.at <= at) {
                mark.at = text.len() - (at - mark.at);
                moved += 1;
            }
            stand_ins.push(StandIn { at: text.len(), word: word.clone(), raw: raw_markup });
            text += &word;
            done = at + 1;
        }
        let grown = text.len() - done;
        marks[moved..].iter_mut().for_each(|mark| mark.at += grown);
        text += &raw[done..];
        let start = text.len() - text.trim_start().len();
        let trimmed = text.trim();
        let white = |part: &str, edge: usize| match &edges {
            Some(edges) if !part.is_empty() && !edges[edge].is_empty() => edges[edge].clone(),
            _ => part.to_owned(),
        };
        push(&mut before, &white(&text[..start], 0));
        let behind = white(&text[start + trimmed.len()..], 1);
        if !behind.is_empty() {
            match after.first_mut() {
                Some(Part::Copied(first)) => first.insert_str(0, &behind),
                _ => after.insert(0, Part::Copied(behind)),
            }
        }
        let length = trimmed.len();
        let text = trimmed.to_owned();
        marks.iter_mut().for_each(|mark| mark.at = mark.at.saturating_sub(start).min(length));
        stand_ins.iter_mut().for_each(|stand_in| stand_in.at -= start);
        Unit { before, after, text, marks, stand_ins, escape: style.escape, finish: style.finish }
    }
}
