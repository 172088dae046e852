//! Android's `strings.xml`: text with backslashes, which `aapt` refuses if an apostrophe lacks one.
//!
//! A line break of the text (`\n`) ends a unit. Quotes without a backslash, which keep white space, and other escapes stay. So do
//! references (`@string/name`), and `xliff:g`, which says that its content is not translated. Tags are elements, or text: `&lt;b>`.

use std::ops::Range;
use std::sync::LazyLock;

use regex_lite::Regex;

use super::super::escape::Escape;
use super::super::inline::{Inline, Style, unit};
use super::super::message;
use super::super::unit::{Markup, Units, append, copied, push};
use super::super::xml::{Kind, Xml};

/// Elements of resources that are no text.
const KEPT: &[&str] = &[
    "color",
    "dimen",
    "bool",
    "integer",
    "fraction",
    "drawable",
    "style",
    "declare-styleable",
    "attr",
    "integer-array",
    "id",
    "public",
    "skip",
    "eat-comment",
];
/// A text that names another resource or an attribute of a theme.
static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"^\s*[@?]\+?(?:[A-Za-z0-9_.]+:)?[a-z]+/[A-Za-z0-9_.]+\s*$").expect("a regular expression")
});
/// Escapes, and quotes without one.
static ESCAPE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r#"\\u[0-9A-Fa-f]{1,4}|\\(?s:.)|""#).expect("a regular expression"));

/// Whether a file is one of Android's: its first element is `resources`.
pub fn is_one(xml: &Xml<'_>) -> bool {
    let first = xml.nodes.iter().find(|node| matches!(node.kind, Kind::Start | Kind::Empty));
    first.is_some_and(|node| node.name == "resources")
}

/// Whether an element of resources is no text: a colour, a style.
pub fn is_kept(name: &str) -> bool {
    KEPT.contains(&name)
}

/// The content of an element.
///
/// * `is_kept`: whether an element is copied
pub fn text(
    xml: &Xml<'_>,
    nodes: Range<usize>,
    is_kept: &dyn Fn(usize) -> bool,
    units: &mut Units,
) -> Markup {
    let raw = &xml.source[xml.nodes[nodes.start].range.start..xml.nodes[nodes.end].range.start];
    if REFERENCE.is_match(raw) {
        return copied(raw);
    }
    let is_inline = |index: usize| {
        let node = &xml.nodes[index];
        node.kind != Kind::CData && node.name != "xliff:g" && !is_kept(index)
    };
    let style = Style::collapsing(Escape::Android);
    let mut parts = Markup::new();
    let mut line = Vec::new();
    let mut whole = |index: usize| xml.kept(index);
    for token in message::with_escaped_tags(xml.inline(nodes, &is_inline, &mut whole)) {
        let Inline::Text { raw, .. } = token else {
            line.push(token);
            continue;
        };
        let mut done = 0;
        for escape in ESCAPE.find_iter(&raw) {
            plain(&raw[done..escape.start()], &mut line);
            done = escape.end();
            // white space at the ends, which only an escape keeps, stays one
            let is_between = raw[..escape.start()].ends_with(char::is_alphanumeric)
                && raw[done..].starts_with(char::is_alphanumeric);
            match escape.as_str() {
                r"\n" => {
                    let before = std::mem::take(&mut line);
                    unit(before, style.clone(), units).into_iter().for_each(|part| append(&mut parts, part));
                    push(&mut parts, r"\n");
                }
                escape @ (r"\'" | r#"\""# | r"\@" | r"\?" | r"\\") => {
                    line.push(Inline::text(escape, &escape[1..]));
                }
                escape => line.push(match character(escape) {
                    Some(letter) if is_between || !letter.is_whitespace() => Inline::text(escape, letter),
                    _ => Inline::Alone(copied(escape)),
                }),
            }
        }
        plain(&raw[done..], &mut line);
    }
    unit(line, style, units).into_iter().for_each(|part| append(&mut parts, part));
    parts
}

/// The character of a `\u00e9`.
fn character(escape: &str) -> Option<char> {
    let digits = escape.strip_prefix(r"\u")?;
    char::from_u32(u32::from_str_radix(digits, 16).ok()?).filter(|letter| !letter.is_control())
}

fn plain(raw: &str, line: &mut Vec<Inline>) {
    if !raw.is_empty() {
        line.push(Inline::text(raw, html_escape::decode_html_entities(raw)));
    }
}
