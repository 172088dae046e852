//! HTML and XHTML.
//!
//! Block tags, comments, scripts and the like end a text. Inline tags stay in it, each at its place. Code, mentions and links whose text
//! is an address are one thing that is kept as it is. Attributes that are text are units of their own.

use std::borrow::Cow;
use std::ops::Range;

use super::super::escape::Escape;
use super::super::inline::{Inline, Style, text_unit, unit};
use super::super::tags::{Token, attributes, end_of_element, end_of_tag, is_inline, is_marked, name};
use super::super::unit::{Markup, Units, append, copied, push};
use super::indices::with_indices;

/// Elements without an end tag.
const VOID: &[&str] = &[
    "area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track",
    "wbr",
];
/// Elements that are copied with their content.
const COPIED: &[&str] =
    &["script", "style", "pre", "textarea", "svg", "math", "template", "noscript", "rt", "rp"];
/// Readings above a word, which are no word of the sentence.
const READINGS: &[&str] = &["rt", "rp"];
/// Inline elements that are copied with their content, whatever it is.
const CODE: &[&str] = &["code", "kbd", "samp", "var", "tt"];
/// Attributes that are text.
const TEXT_ATTRIBUTES: &[&str] =
    &["title", "alt", "placeholder", "aria-label", "aria-description", "aria-placeholder"];
/// Names of `meta` whose content is text, in search results and where a link is shared.
const TEXT_METAS: &[&str] = &[
    "description",
    "og:title",
    "og:description",
    "og:image:alt",
    "twitter:title",
    "twitter:description",
    "twitter:image:alt",
];

/// Cuts a document.
pub fn read(html: &str, units: &mut Units) -> Markup {
    let tokens = with_kept(with_indices(tokens(html), html), html);
    let mut parts = Markup::new();
    let mut run: Vec<Inline> = Vec::new();
    for token in tokens {
        let inline = match token {
            Token::Text(_) | Token::Kept(_) => true,
            Token::Open(raw) | Token::Close(raw) | Token::Other(raw) => is_inline(raw),
        };
        if inline {
            run.push(inline_token(token, units));
            continue;
        }
        parts.extend(unit(std::mem::take(&mut run), style(), units));
        match token {
            Token::Open(raw) => parts.extend(tag(raw, units)),
            other => push(&mut parts, other.raw()),
        }
    }
    parts.extend(unit(run, style(), units));
    parts
}

fn style() -> Style {
    Style::collapsing(Escape::Markup)
}

/// The text of HTML, to detect its language.
pub fn text_of_html(html: &str) -> String {
    let mut units = Units::default();
    read(html, &mut units);
    units.0.iter().map(|unit| unit.text().to_owned() + "\n").collect()
}

fn inline_token(token: Token<'_>, units: &mut Units) -> Inline {
    match token {
        Token::Text(raw) => Inline::text(raw, html_escape::decode_html_entities(raw)),
        Token::Open(raw) if VOID.contains(&&*name(raw)) || raw.ends_with("/>") => {
            Inline::Alone(tag(raw, units))
        }
        Token::Open(raw) => Inline::Open { raw: tag(raw, units), name: name(raw) },
        Token::Close(raw) => Inline::Close { raw: copied(raw), name: name(raw) },
        Token::Kept(raw) => {
            let is_formula = !raw.starts_with('<');
            Inline::Kept { raw: copied(raw), is_word: is_formula || CODE.contains(&&*name(raw)) }
        }
        Token::Other(raw) => Inline::Alone(copied(raw)),
    }
}

/// A start tag; attributes that are text are units.
fn tag(raw: &str, units: &mut Units) -> Markup {
    let mut markup = Markup::new();
    let mut done = 0;
    let attributes = attributes(raw);
    for (attribute, value) in &attributes {
        let value_text = &raw[value.clone()];
        if value_text.is_empty() || !is_text(raw, &attributes, attribute) {
            continue;
        }
        let text = html_escape::decode_html_entities(value_text);
        let quote = raw[..value.start].chars().next_back().filter(|c| matches!(c, '"' | '\''));
        // a translation may have spaces
        let added = if quote.is_none() { "\"" } else { "" };
        push(&mut markup, &raw[done..value.start]);
        push(&mut markup, added);
        let style = Style::collapsing(Escape::Attribute(quote.unwrap_or('"')));
        text_unit(value_text, &text, style, units).into_iter().for_each(|part| append(&mut markup, part));
        push(&mut markup, added);
        done = value.end;
    }
    push(&mut markup, &raw[done..]);
    markup
}

/// Whether the value of an attribute is text.
///
/// * `attributes`: of the tag
fn is_text(tag: &str, attributes: &[(&str, Range<usize>)], attribute: &str) -> bool {
    let attribute = attribute.to_ascii_lowercase();
    let has = |key: &str, values: &[&str]| {
        attributes.iter().any(|(other, value)| {
            let value = tag[value.clone()].trim();
            other.eq_ignore_ascii_case(key) && values.iter().any(|text| value.eq_ignore_ascii_case(text))
        })
    };
    match (&*name(tag), &*attribute) {
        ("meta", "content") => has("name", TEXT_METAS) || has("property", TEXT_METAS),
        ("input", "value") => has("type", &["submit", "button", "reset"]),
        ("optgroup" | "option" | "track", "label") => true,
        _ => TEXT_ATTRIBUTES.contains(&&*attribute),
    }
}

/// The end of a comment that begins `text`.
fn end_of_comment(text: &str) -> usize {
    match text {
        _ if text.starts_with("<!-->") => 5,
        _ if text.starts_with("<!--->") => 6,
        _ => text[4..].find("-->").map_or(text.len(), |end| end + 7),
    }
}

fn is_tag(text: &str) -> bool {
    let inside = text[1..].strip_prefix('/').unwrap_or(&text[1..]);
    text.starts_with("<!") || text.starts_with("<?") || inside.starts_with(|c: char| c.is_ascii_alphabetic())
}

fn tokens(html: &str) -> Vec<Token<'_>> {
    let mut tokens = Vec::new();
    let mut rest = html;
    while !rest.is_empty() {
        let starts = rest.match_indices('<').map(|(at, _)| at);
        let start = starts.clone().find(|&at| is_tag(&rest[at..])).unwrap_or(rest.len());
        if start > 0 {
            tokens.push(Token::Text(&rest[..start]));
            rest = &rest[start..];
            continue;
        }
        let end = match rest {
            _ if rest.starts_with("<!--") => end_of_comment(rest),
            _ if rest.starts_with("<![CDATA[") => rest.find("]]>").map_or(rest.len(), |end| end + 3),
            _ => end_of_tag(rest),
        };
        let (tag, _) = rest.split_at(end);
        let (token, end) = if tag.starts_with("<!") || tag.starts_with("<?") {
            (Token::Other(tag), end)
        } else if tag.starts_with("</") {
            (Token::Close(tag), end)
        } else if COPIED.contains(&&*name(tag)) || is_marked(tag) {
            let is_empty = tag.ends_with("/>") || VOID.contains(&&*name(tag));
            let whole = if is_empty { end } else { end + end_of_element(&rest[end..], &name(tag)) };
            let is_kept = is_inline(tag) && !READINGS.contains(&&*name(tag));
            let token = if is_kept { Token::Kept } else { Token::Other };
            (token(&rest[..whole]), whole)
        } else {
            (Token::Open(tag), end)
        };
        tokens.push(token);
        rest = &rest[end..];
    }
    tokens
}

/// Joins the tokens of elements that are kept as they are: links and mentions without a space, code.
fn with_kept<'a>(tokens: Vec<Token<'a>>, html: &'a str) -> Vec<Token<'a>> {
    let ends = ends(&tokens);
    let mut kept = Vec::with_capacity(tokens.len());
    let mut index = 0;
    while index < tokens.len() {
        if let (Token::Open(tag), Some(end)) = (tokens[index], ends[index])
            && (CODE.contains(&&*name(tag)) || is_link(&tokens[index..=end]))
        {
            let place = |token: Token<'_>| token.raw().as_ptr() as usize - html.as_ptr() as usize;
            kept.push(Token::Kept(&html[place(tokens[index])..place(tokens[end]) + tokens[end].raw().len()]));
            index = end + 1;
            continue;
        }
        kept.push(tokens[index]);
        index += 1;
    }
    kept
}

/// Whether the text of an element is an address, a mention or a hashtag.
fn is_link(element: &[Token<'_>]) -> bool {
    /// Tokens of the longest link.
    const LONGEST: usize = 16;
    if element.len() > LONGEST {
        return false;
    }
    let texts = element.iter().filter(|token| matches!(token, Token::Text(_)));
    let text: Cow<'_, str> = texts.map(|token| token.raw()).collect();
    let link = text.contains("://") || text.starts_with("www.") || text.starts_with(['@', '#']);
    link && !text.trim().contains(char::is_whitespace)
}

/// For each inline start tag, the index of its end tag, if only text and complete inline elements are between.
fn ends(tokens: &[Token<'_>]) -> Vec<Option<usize>> {
    let mut ends = vec![None; tokens.len()];
    let mut open: Vec<(usize, String)> = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match token {
            Token::Text(_) => {}
            Token::Open(tag) if is_inline(tag) => {
                if !VOID.contains(&&*name(tag)) && !tag.ends_with("/>") {
                    open.push((index, name(tag)));
                }
            }
            Token::Close(tag) => match open.pop() {
                Some((start, opened)) if opened == name(tag) => ends[start] = Some(index),
                _ => open.clear(),
            },
            _ => open.clear(),
        }
    }
    ends
}
