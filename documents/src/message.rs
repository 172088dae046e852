//! Strings of programs: tags as in `<0>…</0>`, line breaks, and the branches of ICU's plurals.

use std::ops::Range;
use std::sync::LazyLock;

use regex_lite::Regex;

use super::escape::Escape;
use super::inline::{Inline, Style, unit};
use super::tags::is_marked;
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
/// Elements without an end tag, as in HTML.
const VOID: &[&str] = &["br", "img", "hr", "wbr", "input"];
/// Elements with code, as in HTML.
const CODE: &[&str] = &["code", "kbd", "samp", "var", "tt", "pre", "script", "style"];
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
    reader.branches(&message.text, 0);
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

struct Reader<'u> {
    /// Parts of the message that stay and are not in `parts`.
    kept: std::vec::IntoIter<Kept>,
    units: &'u mut Units,
    parts: Markup,
}

impl Reader<'_> {
    fn branches(&mut self, mut text: &str, depth: usize) {
        if depth > MOST_DEPTH {
            return self.copy(text);
        }
        while let Some(choice) = CHOICE.find(text)
            && let Some(end) = closing(text, choice.start())
        {
            self.lines(&text[..choice.start()], depth > 0);
            let (mut done, mut at) = (choice.start(), choice.end());
            while let Some(open) = text[at..end - 1].find('{').map(|index| at + index)
                && let Some(close) = closing(text, open)
            {
                self.copy(&text[done..=open]);
                self.branches(&text[open + 1..close - 1], depth + 1);
                (done, at) = (close - 1, close);
            }
            self.copy(&text[done..end]);
            text = &text[end..];
        }
        self.lines(text, depth > 0);
    }

    fn copy(&mut self, text: &str) {
        push(&mut self.parts, &written(text, ESCAPE, &mut self.kept));
    }

    /// * `in_branch`: whether a `#` is a number
    fn lines(&mut self, text: &str, in_branch: bool) {
        for line in text.split_inclusive('\n') {
            let content = line.strip_suffix('\n').unwrap_or(line);
            let mut tokens = tokens_with(content, ESCAPE, &mut self.kept);
            if in_branch {
                tokens = tokens.into_iter().flat_map(numbers).collect();
            }
            for part in unit(tokens, Style::new(ESCAPE), self.units) {
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
fn numbers(token: Inline) -> Vec<Inline> {
    let Inline::Text { text, .. } = &token else { return vec![token] };
    let mut cut = Vec::new();
    for (index, part) in text.split('#').enumerate() {
        if index > 0 {
            cut.push(Inline::Kept { raw: copied("#"), is_word: true });
        }
        plain(part, ESCAPE, &mut cut);
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
        tokens.push(match (is_end, is_empty) {
            ("/", _) => Inline::Close { raw, name },
            (_, "/") => Inline::Alone(raw),
            _ if VOID.contains(&&*name.to_ascii_lowercase()) => Inline::Alone(raw),
            _ => Inline::Open { raw, name },
        });
    }
    parts(&text[done..], escape, kept, &mut tokens);
    with_code(tokens)
}

/// Tokens in which an element with code, or one that is not translated, is one.
fn with_code(tokens: Vec<Inline>) -> Vec<Inline> {
    let is_kept = |raw: &Markup, name: &str| {
        CODE.contains(&name) || matches!(&raw[..], [Part::Copied(tag)] if is_marked(tag))
    };
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
