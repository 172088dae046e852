//! Strings of programs: tags as in `<0>…</0>`, line breaks, and the branches of ICU's plurals.

use std::sync::LazyLock;

use regex_lite::Regex;

use super::escape::Escape;
use super::inline::{Inline, Style, unit};
use super::unit::{Finish, Markup, Units, append, copied, push};

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
/// Depth of plurals in plurals.
const MOST_DEPTH: usize = 8;

/// Makes units of a message: of each of its lines, and of each branch of its plurals.
///
/// * `raw`: the message as the document writes it, copied if there is nothing to translate
pub fn read(raw: &str, text: &str, escape: Escape, units: &mut Units) -> Markup {
    let before = units.0.len();
    let mut parts = Markup::new();
    branches(text, escape, units, 0, &mut parts);
    match units.0.len() == before {
        true => copied(raw),
        false => parts,
    }
}

fn branches(mut text: &str, escape: Escape, units: &mut Units, depth: usize, parts: &mut Markup) {
    if depth > MOST_DEPTH {
        return push(parts, &escape.encode(text));
    }
    while let Some(choice) = CHOICE.find(text)
        && let Some(end) = closing(text, choice.start())
    {
        lines(&text[..choice.start()], escape, units, depth > 0, parts);
        let (mut done, mut at) = (choice.start(), choice.end());
        while let Some(open) = text[at..end - 1].find('{').map(|index| at + index)
            && let Some(close) = closing(text, open)
        {
            push(parts, &escape.encode(&text[done..=open]));
            branches(&text[open + 1..close - 1], escape, units, depth + 1, parts);
            (done, at) = (close - 1, close);
        }
        push(parts, &escape.encode(&text[done..end]));
        text = &text[end..];
    }
    lines(text, escape, units, depth > 0, parts);
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

/// * `in_branch`: whether a `#` is a number
fn lines(text: &str, escape: Escape, units: &mut Units, in_branch: bool, parts: &mut Markup) {
    for line in text.split_inclusive('\n') {
        let content = line.strip_suffix('\n').unwrap_or(line);
        let mut tokens = tokens(content, escape);
        if in_branch {
            tokens = tokens.into_iter().flat_map(|token| numbers(token, escape)).collect();
        }
        for part in unit(tokens, Style::new(escape), units) {
            append(parts, part);
        }
        push(parts, &escape.encode(&line[content.len()..]));
    }
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
    let mut tokens = Vec::new();
    let mut done = 0;
    for found in TAG.captures_iter(text) {
        let [whole, is_end, name, is_empty] =
            [0, 1, 2, 3].map(|group| found.get(group).map_or("", |part| part.as_str()));
        let at = whole.as_ptr() as usize - text.as_ptr() as usize;
        plain(&text[done..at], escape, &mut tokens);
        done = at + whole.len();
        let raw = copied(escape.encode(whole));
        let name = name.to_owned();
        tokens.push(match (is_end, is_empty) {
            ("/", _) => Inline::Close { raw, name },
            (_, "/") => Inline::Alone(raw),
            _ if VOID.contains(&&*name.to_ascii_lowercase()) => Inline::Alone(raw),
            _ => Inline::Open { raw, name },
        });
    }
    plain(&text[done..], escape, &mut tokens);
    tokens
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
