//! Strings of programs: tags as in `<0>…</0>`, line breaks, and the branches of ICU's plurals.

use std::collections::HashSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex_lite::Regex;

use super::alternatives::alternatives;
use super::escape::Escape;
use super::inline::{Inline, Style, unit};
use super::tags::{self, ends_text, is_code, is_marked};
use super::unescape::{KEPT, Kept, Message};
use super::unit::{Finish, Markup, Part, Units, append, copied, push};

static TAG: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"<(/?)([A-Za-z0-9][A-Za-z0-9_-]*)(?:[.:][^<>\s]*)?(?:\s[^<>]*?)?(/?)>"#)
        .expect("a regular expression")
});
/// An argument of ICU with branches, up to the first branch.
static CHOICE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"\{\s*[A-Za-z0-9_]+\s*,\s*(?:plural|select|selectordinal)\s*,").expect("a regular expression")
});
/// A tag that XML has as text: `&lt;b>`.
static ESCAPED_TAG: LazyLock<Regex> = LazyLock::new(|| {
    let entity = "&(?:quot|apos|amp|nbsp|#[0-9]{1,7}|#[xX][0-9A-Fa-f]{1,6});";
    let open = "(?:&lt;|&#60;|&#[xX]3[cC];)";
    let name = r"(/?)([A-Za-z0-9][A-Za-z0-9_-]*)(?:[.:][^<>&\s]*)?";
    let form = format!(r"{open}{name}(?:\s(?:[^<>&]|{entity})*?)?(/?)(?:>|&gt;|&#62;|&#[xX]3[eE];)");
    Regex::new(&form).expect("a regular expression")
});
/// Elements without an end tag, as in HTML.
const VOID: &[&str] = &["br", "img", "hr", "wbr", "input"];
/// Depth of plurals in plurals.
const MOST_DEPTH: usize = 8;

/// How the documents write messages.
const ESCAPE: Escape = Escape::Backslash;

/// Makes units of a message: of each of its lines, and of each branch of its plurals.
///
/// * `raw`: the message as the document writes it, copied if there is nothing to translate
pub fn read(raw: &str, message: Message, units: &mut Units) -> Markup {
    let before = units.0.len();
    let mut reader = Reader { kept: message.kept.into_iter(), units, parts: Markup::new() };
    for (place, piece) in pieces(&message.text) {
        match piece {
            Piece::Copied => reader.copy(&message.text[place]),
            Piece::Text { in_branch } => reader.lines(&message.text[place], in_branch),
        }
    }
    let parts = reader.parts;
    match units.0.len() == before {
        true => copied(raw),
        false => parts,
    }
}

/// Keeps what ICU's apostrophes quote: without them, `'{name}'` would be an argument.
pub fn with_quotes(message: Message) -> Message {
    let text = message.text;
    let is_choice = CHOICE.is_match(&text);
    let mut kept = message.kept.into_iter();
    let mut quoted = Message::default();
    let mut done = 0;
    while let Some(quote) = quote(&text, done, is_choice) {
        let before = &text[done..quote.start];
        quoted.text += before;
        quoted.kept.extend(kept.by_ref().take(before.matches(KEPT).count()));
        let raw = written(&text[quote.clone()], ESCAPE, &mut kept);
        // a brace alone is a sign beside a word
        let is_word = raw.contains(char::is_alphanumeric);
        quoted.keep(raw, is_word);
        done = quote.end;
    }
    quoted.text += &text[done..];
    quoted.kept.extend(kept);
    quoted
}

/// The place of the next text that apostrophes quote. One behind a letter, or without another one, is a letter of the text: other
/// programs than ICU have `l'{name}`.
///
/// * `is_choice`: whether a `#` may be a number, which apostrophes quote, too
fn quote(text: &str, mut from: usize, is_choice: bool) -> Option<Range<usize>> {
    // two apostrophes are one of the text
    let next =
        |from: usize| text[from..].find('\'').map(|at| (from + at, text[from + at + 1..].starts_with('\'')));
    while let Some((start, is_double)) = next(from) {
        from = start + 1 + usize::from(is_double);
        let rest = &text[start + 1..];
        let opens = rest.starts_with(['{', '}']) || is_choice && rest.starts_with('#');
        if is_double || !opens || text[..start].ends_with(char::is_alphanumeric) {
            continue;
        }
        let mut end = from;
        while let Some((at, is_double)) = next(end) {
            if !is_double {
                return Some(start..at + 1);
            }
            end = at + 2;
        }
    }
    None
}

/// Text as the document writes it, with the parts that stay.
fn written(text: &str, escape: Escape, kept: &mut dyn Iterator<Item = Kept>) -> String {
    let mut written = String::with_capacity(text.len());
    for (index, part) in text.split(KEPT).enumerate() {
        if let Some(kept) = if index > 0 { kept.next() } else { None } {
            written += &kept.raw;
        }
        written += &escape.encode(part);
    }
    written
}

/// A part of a message with choices.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Piece {
    /// What tells the choices.
    Copied,
    Text {
        /// Whether a `#` is a number.
        in_branch: bool,
    },
}

/// Cuts a message at its choices.
fn pieces(text: &str) -> Vec<(Range<usize>, Piece)> {
    let mut pieces = Vec::new();
    branches(text, 0..text.len(), 0, &mut pieces);
    pieces
}

/// * `place`: of a message, or of a branch of one
fn branches(text: &str, place: Range<usize>, depth: usize, pieces: &mut Vec<(Range<usize>, Piece)>) {
    if depth > MOST_DEPTH {
        return pieces.push((place, Piece::Copied));
    }
    let own = Piece::Text { in_branch: depth > 0 };
    let Range { mut start, end: stop } = place;
    while let Some(choice) = CHOICE.find(&text[start..stop])
        && let Some(end) = closing(&text[..stop], start + choice.start())
    {
        pieces.push((start..start + choice.start(), own));
        let (mut done, mut at) = (start + choice.start(), start + choice.end());
        while let Some(open) = text[at..end - 1].find('{').map(|index| at + index)
            && let Some(close) = closing(&text[..stop], open)
        {
            pieces.push((done..open + 1, Piece::Copied));
            branches(text, open + 1..close - 1, depth + 1, pieces);
            (done, at) = (close - 1, close);
        }
        pieces.push((done..end, Piece::Copied));
        start = end;
    }
    pieces.push((start..stop, own));
}

/// Makes units of tokens: of each branch, if their text has choices.
pub fn choices(tokens: Vec<Inline>, style: &Style, units: &mut Units) -> Markup {
    let sign = KEPT.to_string();
    let texts = tokens.iter().map(|token| match token {
        Inline::Text { text, .. } => text.as_str(),
        _ => &sign,
    });
    let text: String = texts.collect();
    if !CHOICE.is_match(&text) {
        return unit(tokens, style.clone(), units);
    }
    let mut rest = Rest { tokens: tokens.into_iter(), text: String::new(), done: 0 };
    let mut parts = Markup::new();
    for (place, piece) in pieces(&text) {
        let tokens = rest.take(place.len(), style.escape);
        let markup = match piece {
            Piece::Copied => tokens.into_iter().flat_map(Inline::into_markup).collect(),
            Piece::Text { in_branch: false } => unit(tokens, style.clone(), units),
            Piece::Text { in_branch: true } => {
                let tokens = tokens.into_iter().flat_map(|token| numbers(token, style.escape));
                unit(tokens.collect(), style.clone(), units)
            }
        };
        markup.into_iter().for_each(|part| append(&mut parts, part));
    }
    parts
}

/// Tokens that are not read yet.
struct Rest {
    tokens: std::vec::IntoIter<Inline>,
    /// Text before them, and bytes of it that are read.
    text: String,
    done: usize,
}

impl Rest {
    /// The tokens of the next bytes. One that is no text is a byte.
    fn take(&mut self, mut length: usize, escape: Escape) -> Vec<Inline> {
        let mut taken = Vec::new();
        loop {
            let end = self.text.len().min(self.done + length);
            plain(&self.text[self.done..end], escape, &mut taken);
            length -= end - self.done;
            self.done = end;
            if length == 0 {
                return taken;
            }
            match self.tokens.next() {
                Some(Inline::Text { text, .. }) => (self.text, self.done) = (text, 0),
                Some(other) => {
                    taken.push(other);
                    length -= KEPT.len_utf8();
                }
                None => return taken,
            }
        }
    }
}

struct Reader<'u> {
    /// Parts of the message that stay and are not in `parts`.
    kept: std::vec::IntoIter<Kept>,
    units: &'u mut Units,
    parts: Markup,
}

impl Reader<'_> {
    fn copy(&mut self, text: &str) {
        push(&mut self.parts, &written(text, ESCAPE, &mut self.kept));
    }

    /// * `in_branch`: whether a `#` is a number
    fn lines(&mut self, text: &str, in_branch: bool) {
        // a tab ends a text as a line break does: a model would lose it
        for line in text.split_inclusive(['\n', '\t']) {
            let content = line.strip_suffix(['\n', '\t']).unwrap_or(line);
            let mut tokens = tokens_with(content, ESCAPE, &mut self.kept);
            if in_branch {
                tokens = tokens.into_iter().flat_map(|token| numbers(token, ESCAPE)).collect();
            }
            for part in unit(alternatives(tokens, ESCAPE), Style::new(ESCAPE), self.units) {
                append(&mut self.parts, part);
            }
            self.copy(&line[content.len()..]);
        }
    }
}

/// The place behind the brace that closes the one at `open`.
fn closing(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0;
    for (index, character) in text[open..].char_indices() {
        match character {
            '{' => depth += 1,
            '}' => depth -= 1,
            _ => {}
        }
        if depth == 0 {
            return Some(open + index + 1);
        }
    }
    None
}

/// Cuts text at each `#`, which stays.
fn numbers(token: Inline, escape: Escape) -> Vec<Inline> {
    let Inline::Text { text, .. } = &token else { return vec![token] };
    let mut cut = Vec::new();
    for (index, part) in text.split('#').enumerate() {
        if index > 0 {
            cut.push(Inline::Kept { raw: copied("#"), is_word: true });
        }
        plain(part, escape, &mut cut);
    }
    cut
}

/// Text and tags.
pub fn tokens(text: &str, escape: Escape) -> Vec<Inline> {
    tokens_with(text, escape, &mut std::iter::empty())
}

/// Text, tags and parts that stay.
fn tokens_with(text: &str, escape: Escape, kept: &mut dyn Iterator<Item = Kept>) -> Vec<Inline> {
    let mut tokens = Vec::new();
    let mut done = 0;
    for found in TAG.captures_iter(text) {
        let [whole, is_end, name, is_empty] =
            [0, 1, 2, 3].map(|group| found.get(group).map_or("", |part| part.as_str()));
        let at = whole.as_ptr() as usize - text.as_ptr() as usize;
        parts(&text[done..at], escape, kept, &mut tokens);
        done = at + whole.len();
        let raw = copied(written(whole, escape, kept));
        let name = name.to_owned();
        tokens.push(tag(raw, name, [!is_end.is_empty(), !is_empty.is_empty()]));
    }
    parts(&text[done..], escape, kept, &mut tokens);
    with_elements(tokens)
}

/// * `is_end`: whether it is an end tag
/// * `is_empty`: whether it is the tag of an element without an end tag
fn tag(raw: Markup, name: String, [is_end, is_empty]: [bool; 2]) -> Inline {
    match is_end {
        true => Inline::Close { raw, name },
        false if !is_empty && !VOID.contains(&&*name.to_ascii_lowercase()) => Inline::Open { raw, name },
        false if ends_text(&name, false) => Inline::End(raw),
        false => Inline::Alone(raw),
    }
}

/// Text of XML in which tags that are text, too, are tags: Android and feeds write HTML so. One without its other half is a word:
/// `The &lt;p&gt; element`.
pub fn with_escaped_tags(tokens: Vec<Inline>) -> Vec<Inline> {
    let mut cut = Vec::with_capacity(tokens.len());
    let mut names = [HashSet::new(), HashSet::new()];
    for token in tokens {
        let Inline::Text { raw, .. } = &token else {
            cut.push((token, false));
            continue;
        };
        let mut done = 0;
        for found in ESCAPED_TAG.captures_iter(raw) {
            let [whole, is_end, name, is_empty] =
                [0, 1, 2, 3].map(|group| found.get(group).map_or("", |part| part.as_str()));
            let at = whole.as_ptr() as usize - raw.as_ptr() as usize;
            decoded(&raw[done..at], &mut cut);
            done = at + whole.len();
            names[usize::from(!is_end.is_empty())].insert(name.to_owned());
            let shape = [!is_end.is_empty(), !is_empty.is_empty()];
            cut.push((tag(copied(whole), name.to_owned(), shape), true));
        }
        match done {
            0 => cut.push((token, false)),
            _ => decoded(&raw[done..], &mut cut),
        }
    }
    let is_half = |name: &String| !names.iter().all(|names| names.contains(name));
    let tokens = cut.into_iter().map(|(token, is_escaped)| match token {
        Inline::Open { raw, name } | Inline::Close { raw, name }
            if is_escaped && !name.is_empty() && is_half(&name) =>
        {
            Inline::Kept { raw, is_word: true }
        }
        token => token,
    });
    with_elements(tokens.collect())
}

/// Text of XML, which is no tag.
fn decoded(raw: &str, tokens: &mut Vec<(Inline, bool)>) {
    if !raw.is_empty() {
        tokens.push((Inline::text(raw, html_escape::decode_html_entities(raw)), false));
    }
}

/// Tokens in which an element with code is one, and tags of blocks end the text.
pub fn with_elements(tokens: Vec<Inline>) -> Vec<Inline> {
    with_ends(with_code(tokens))
}

/// Tokens in which line breaks and tags of blocks end the text.
fn with_ends(tokens: Vec<Inline>) -> Vec<Inline> {
    let closed: HashSet<String> = tokens.iter().filter_map(closed).collect();
    let ends = |token: &Inline| match token {
        Inline::Open { name, .. } | Inline::Close { name, .. } => {
            ends_text(name, closed.contains(&name.to_ascii_lowercase()))
        }
        Inline::Alone(raw) => match &raw[..] {
            [Part::Copied(tag)] => tag.starts_with('<') && ends_text(&tags::name(tag), false),
            _ => false,
        },
        _ => false,
    };
    let end = |token: Inline| if ends(&token) { Inline::End(token.into_markup()) } else { token };
    tokens.into_iter().map(end).collect()
}

/// The name of the element that a token ends.
fn closed(token: &Inline) -> Option<String> {
    match token {
        Inline::Close { name, .. } => Some(name.to_ascii_lowercase()),
        _ => None,
    }
}

/// Tokens in which an element with code, or one that is not translated, is one.
fn with_code(tokens: Vec<Inline>) -> Vec<Inline> {
    let is_kept =
        |raw: &Markup, name: &str| is_code(name) || matches!(&raw[..], [Part::Copied(tag)] if is_marked(tag));
    let mut joined = Vec::with_capacity(tokens.len());
    let mut tokens = tokens.into_iter();
    // a search for an end that is missing reads on to the text's end
    let mut is_complete = true;
    while let Some(token) = tokens.next() {
        let end = match &token {
            Inline::Open { raw, name } if is_complete && is_kept(raw, name) => {
                let is_end = |token: &Inline| matches!(token, Inline::Close { name: end, .. } if end == name);
                let end = tokens.as_slice().iter().position(is_end);
                is_complete = end.is_some();
                end
            }
            _ => None,
        };
        joined.push(match end {
            None => token,
            Some(end) => {
                let mut raw = token.into_markup();
                for inside in tokens.by_ref().take(end + 1) {
                    inside.into_markup().into_iter().for_each(|part| append(&mut raw, part));
                }
                Inline::Kept { raw, is_word: true }
            }
        });
    }
    joined
}

/// Text and parts that stay.
fn parts(text: &str, escape: Escape, kept: &mut dyn Iterator<Item = Kept>, tokens: &mut Vec<Inline>) {
    for (index, part) in text.split(KEPT).enumerate() {
        match if index > 0 { kept.next() } else { None } {
            Some(Kept { raw, is_word: true }) => {
                tokens.push(Inline::Kept { raw: copied(raw), is_word: true })
            }
            Some(Kept { raw, .. }) => tokens.push(Inline::Alone(copied(raw))),
            None => {}
        }
        plain(part, escape, tokens);
    }
}

fn plain(text: &str, escape: Escape, tokens: &mut Vec<Inline>) {
    if !text.is_empty() {
        tokens.push(Inline::text(&escape.encode(text), text));
    }
}

/// The style of a message in a field that may need quotes.
pub fn quoted(separator: char) -> Style {
    Style { finish: Finish::Quotes(separator), ..Style::new(Escape::None) }
}
