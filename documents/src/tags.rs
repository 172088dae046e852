//! The tokens of HTML, and its tags: their names and attributes, and where elements end, which may have no end tag.

use std::ops::Range;

/// Elements that stand within a sentence. All others end it.
const INLINE: &[&str] = &[
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "data", "del", "dfn", "em", "font", "i", "img",
    "ins", "label", "mark", "q", "s", "small", "span", "strike", "strong", "sub", "sup", "time", "tt", "u",
    "wbr", "code", "kbd", "samp", "var", "ruby", "rb", "rt", "rp",
];
/// Elements whose content has no tags: the first end tag of their name ends them.
const RAW: &[&str] = &["script", "style", "textarea", "title"];
/// Elements that end a paragraph.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "details",
    "dialog",
    "div",
    "dl",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hgroup",
    "hr",
    "main",
    "menu",
    "nav",
    "ol",
    "p",
    "pre",
    "search",
    "section",
    "table",
    "ul",
];
/// Tags that end a text wherever they stand: they need no end tag, and `nl` is KDE's line break.
const BREAKS: &[&str] = &["br", "hr", "nl", "p", "li", "dt", "dd", "td", "th", "tr"];
/// Elements of other formats that end a text: of KDE, of Qt, of DocBook.
const OTHER_BLOCKS: &[&str] =
    &["body", "html", "itemizedlist", "listitem", "orderedlist", "para", "qt", "simpara", "tbody", "thead"];
/// Names of [`BLOCKS`] that messages also give to a part of a sentence: `Open the <menu>settings</menu> now`.
const NAMES: &[&str] =
    &["address", "details", "form", "header", "footer", "main", "menu", "search", "section"];
/// Elements with code, by their names in HTML, DocBook, DITA and KDE's messages.
const CODE: &[&str] = &[
    "code",
    "kbd",
    "samp",
    "var",
    "tt",
    "pre",
    "script",
    "style",
    "programlisting",
    "codeblock",
    "screen",
    "literal",
    "command",
    "filename",
    "codeph",
    "icode",
    "bcode",
];
/// Those whose names are also used for text that is no code, and which are code only if they stand within a sentence.
const CODE_IN_SENTENCES: &[&str] = &["var", "literal", "command", "filename", "style", "script"];
const ROWS: &[&str] = &["tr", "tbody", "thead", "tfoot"];
/// Elements that have paragraphs in them, besides [`BLOCKS`].
const AROUND_PARAGRAPHS: &[&str] = &["body", "dd", "dt", "html", "li", "td", "th"];

/// A token of the source.
#[derive(Clone, Copy, PartialEq)]
pub enum Token<'a> {
    Text(&'a str),
    Open(&'a str),
    Close(&'a str),
    /// A comment, a declaration, a copied element, or a reference to a note.
    Other(&'a str),
    /// An inline element that is kept as it is, or a formula.
    Kept(&'a str),
}

impl<'a> Token<'a> {
    /// The token as the document writes it.
    pub fn raw(self) -> &'a str {
        match self {
            Self::Text(raw) | Self::Open(raw) | Self::Close(raw) | Self::Other(raw) | Self::Kept(raw) => raw,
        }
    }
}

/// The name of a tag, in lower case.
pub fn name(tag: &str) -> String {
    let tag = tag.strip_prefix('<').unwrap_or(tag);
    let tag = tag.strip_prefix('/').unwrap_or(tag);
    let letters = tag.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-');
    letters.collect::<String>().to_ascii_lowercase()
}

/// Whether a tag stands within a sentence.
pub fn is_inline(tag: &str) -> bool {
    tag.starts_with('<') && INLINE.contains(&&*name(tag))
}

/// Whether a tag ends the text before it, in a message or in Markdown.
///
/// * `has_end`: whether an end tag of this name is in the text
pub fn ends_text(name: &str, has_end: bool) -> bool {
    let name = name.to_ascii_lowercase();
    let is_in = |names: &[&str]| names.contains(&&*name);
    is_in(BREAKS) || has_end && (is_in(OTHER_BLOCKS) || is_in(BLOCKS) && !is_in(NAMES))
}

/// Whether an element has code, by its name.
pub fn is_code(name: &str) -> bool {
    CODE.contains(&&*name.to_ascii_lowercase())
}

/// Whether an element has code, by its name, also where it stands alone.
pub fn is_code_alone(name: &str) -> bool {
    is_code(name) && !CODE_IN_SENTENCES.contains(&&*name.to_ascii_lowercase())
}

/// Names of a tag's attributes, and the places of their values without quotes. An attribute without a value is left out.
pub fn attributes(tag: &str) -> Vec<(&str, Range<usize>)> {
    let bytes = tag.as_bytes();
    let skip = |from: usize, skipped: fn(u8) -> bool| {
        from + bytes[from..].iter().take_while(|byte| skipped(**byte)).count()
    };
    let is_name = |byte: u8| !byte.is_ascii_whitespace() && !matches!(byte, b'/' | b'>' | b'=');
    let mut found = Vec::new();
    let mut at = skip(0, |byte| !byte.is_ascii_whitespace() && byte != b'>');
    while at < bytes.len() {
        let start = skip(at, |byte| byte.is_ascii_whitespace() || byte == b'/');
        let end = skip(start, is_name);
        let equals = skip(end, |byte| byte.is_ascii_whitespace());
        if bytes.get(equals) != Some(&b'=') {
            at = end.max(start + 1);
            continue;
        }
        let value = skip(equals + 1, |byte| byte.is_ascii_whitespace());
        let range = match bytes.get(value) {
            Some(&quote @ (b'"' | b'\'')) => {
                let inside = value + 1;
                let length = tag[inside..].find(char::from(quote));
                inside..length.map_or(tag.len(), |length| inside + length)
            }
            _ => value..skip(value, |byte| !byte.is_ascii_whitespace() && byte != b'>'),
        };
        at = range.end + 1;
        found.push((&tag[start..end], range));
    }
    found
}

/// Whether a start tag says that its element is not translated: by its attribute, or by the class that translators on the web take for
/// it.
pub fn is_marked(tag: &str) -> bool {
    attributes(tag).into_iter().any(|(attribute, value)| {
        let value = &tag[value];
        attribute.eq_ignore_ascii_case("translate") && value.eq_ignore_ascii_case("no")
            || attribute.eq_ignore_ascii_case("class")
                && value.split_ascii_whitespace().any(|class| class == "notranslate")
    })
}

/// The end of a tag that begins `text`, behind its `>`. A quoted value may have a `>`; a quote elsewhere is a letter as any other.
pub fn end_of_tag(text: &str) -> usize {
    let (mut quote, mut is_value) = (None, false);
    for (index, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '>') => return index + 1,
            (None, '"' | '\'') if is_value => quote = Some(c),
            (None, _) => is_value = c == '=' || (is_value && c.is_ascii_whitespace()),
        }
        is_value &= quote.is_none();
    }
    text.len()
}

/// What ends an element besides its end tag.
struct Ends {
    /// Elements that nest in it; what ends it does not count in them.
    nested: &'static [&'static str],
    /// Start tags that end it.
    before: &'static [&'static str],
    /// End tags of elements around it, which end it.
    around: [&'static [&'static str]; 2],
}

impl Ends {
    /// By the rules of HTML for optional end tags. Other elements nest in themselves, but for those without tags inside.
    fn of(name: &str) -> Option<Self> {
        const NONE: &[&str] = &[];
        const TABLE: &[&str] = &["table"];
        let (nested, before, around): (&[&str], &[&str], [&[&str]; 2]) = match name {
            _ if RAW.contains(&name) => (NONE, NONE, [NONE, NONE]),
            "li" => (&["ul", "ol", "menu"], &["li"], [&["ul", "ol", "menu"], NONE]),
            "dt" | "dd" => (&["dl"], &["dt", "dd"], [&["dl"], NONE]),
            "p" => (NONE, BLOCKS, [BLOCKS, AROUND_PARAGRAPHS]),
            "rt" | "rp" => (NONE, &["rt", "rp", "rb"], [&["ruby"], BLOCKS]),
            "option" => (NONE, &["option", "optgroup"], [&["select", "optgroup", "datalist"], NONE]),
            "td" | "th" => (TABLE, &["td", "th", "tr", "tbody", "thead", "tfoot"], [TABLE, ROWS]),
            "tr" => (TABLE, &["tr", "tbody", "thead", "tfoot"], [TABLE, &["tbody", "thead", "tfoot"]]),
            _ => return None,
        };
        Some(Self { nested, before, around })
    }
}

/// Bytes of `text`, which follows the start tag, up to the end of its element.
pub fn end_of_element(text: &str, name_of: &str) -> usize {
    let ends = Ends::of(name_of);
    let (mut at, mut depth) = (0, 0_usize);
    while let Some(start) = text[at..].find('<').map(|index| at + index) {
        let tag = &text[start..];
        let (name, is_close) = (name(tag), tag.starts_with("</"));
        at = start + 1;
        if depth == 0 && is_close && name == name_of {
            return start + end_of_tag(tag);
        }
        let nests = match &ends {
            None => name == name_of,
            Some(ends) => {
                let is_end = match is_close {
                    true => ends.around.iter().any(|names| names.contains(&&*name)),
                    false => ends.before.contains(&&*name),
                };
                if depth == 0 && is_end {
                    return start;
                }
                ends.nested.contains(&&*name)
            }
        };
        if nests {
            let length = end_of_tag(tag);
            at = start + length;
            match is_close {
                true => depth = depth.saturating_sub(1),
                false => depth += usize::from(!tag[..length].ends_with("/>")),
            }
        }
    }
    text.len()
}
