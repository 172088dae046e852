//! Characters that a format writes in another way.

/// The way in which a format writes text.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Escape {
    /// As it is.
    None,
    /// `&lt;` and the like, in the text of HTML and XML.
    Markup,
    /// As [`Escape::Markup`], within quotes of this kind.
    Attribute(char),
    /// `\"`, in JSON, PO and strings.
    Backslash,
    /// As [`Escape::Markup`], with backslashes that Android's strings need.
    Android,
    /// `""`, in a quoted field of a table.
    Doubled,
    /// `\*`, in Markdown.
    Markdown {
        block: Block,
        /// Whether a link is in the text, or around it, which a bracket would end.
        link: bool,
    },
}

/// What the text of a unit of Markdown is in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Block {
    /// A paragraph or an item: some characters at its beginning would make it another block.
    Text,
    /// A heading behind a `#`, which a `#` ends.
    Heading,
    /// A cell of a table, which a `|` ends.
    Cell,
    Other,
}

impl Escape {
    /// Appends a part of a text.
    ///
    /// * `range`: the part, in bytes of `text`
    pub fn write(self, text: &str, range: std::ops::Range<usize>, written: &mut String) {
        let part = &text[range.clone()];
        match self {
            Self::None => written.push_str(part),
            Self::Markup => *written += &html_escape::encode_text(part),
            Self::Attribute('\'') => *written += &html_escape::encode_single_quoted_attribute(part),
            Self::Attribute(_) => *written += &html_escape::encode_double_quoted_attribute(part),
            Self::Backslash => backslash(part, written),
            Self::Android => android(text, range, written),
            Self::Doubled => *written += &part.replace('"', "\"\""),
            Self::Markdown { block, link } => {
                if block == Block::Text && range.start == 0 {
                    guard_start(part, written);
                }
                let single = if link { single_brackets(text, range.clone()) } else { Vec::new() };
                markdown(text, range, block, &single, written);
            }
        }
    }

    /// A whole text.
    pub fn encode(self, text: &str) -> String {
        let mut written = String::with_capacity(text.len());
        self.write(text, 0..text.len(), &mut written);
        written
    }
}

fn backslash(text: &str, written: &mut String) {
    for character in text.chars() {
        match character {
            '"' => *written += "\\\"",
            '\\' => *written += "\\\\",
            '\n' => *written += "\\n",
            '\r' => *written += "\\r",
            '\t' => *written += "\\t",
            control if u32::from(control) < 0x20 => *written += &format!("\\u{:04x}", u32::from(control)),
            other => written.push(other),
        }
    }
}

fn android(text: &str, range: std::ops::Range<usize>, written: &mut String) {
    for (index, character) in text[range.clone()].char_indices() {
        // the first character would make a reference of the text
        let is_first = range.start + index == 0;
        match character {
            '\'' | '"' | '\\' => written.extend(['\\', character]),
            '@' | '?' if is_first => written.extend(['\\', character]),
            other => *written += &html_escape::encode_text(other.encode_utf8(&mut [0; 4])),
        }
    }
}

/// A backslash where the beginning of a text would make a heading, a list or a quote.
fn guard_start(text: &str, written: &mut String) {
    let followed = |rest: &str| rest.is_empty() || rest.starts_with(' ');
    let heading = text.trim_start_matches('#');
    let digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    if digits.len() < text.len() && digits.starts_with(['.', ')']) && followed(&digits[1..]) {
        // the backslash goes behind the number: `markdown` writes it
        return;
    }
    let list = text.starts_with(['-', '+', '*']) && followed(&text[1..]);
    if list || text.starts_with('>') || (heading.len() < text.len() && followed(heading)) {
        written.push('\\');
    }
}

/// The places of brackets in a part of a text that have no other one there, in order. They would end a link, or begin another.
fn single_brackets(text: &str, range: std::ops::Range<usize>) -> Vec<usize> {
    let (mut open, mut single) = (Vec::new(), Vec::new());
    for (index, bracket) in text[range.clone()].match_indices(['[', ']']) {
        let at = range.start + index;
        if bracket == "[" {
            open.push(at);
        } else if ends_label(&text[at + 1..]) || open.pop().is_none() {
            single.push(at);
        }
    }
    single.extend(open);
    single.sort_unstable();
    single
}

/// Whether a bracket before this text would end the text of a link, or the label of a definition.
fn ends_label(rest: &str) -> bool {
    rest.starts_with(['(', '[', ':'])
}

/// * `brackets`: places of brackets that need a backslash, in order
fn markdown(
    text: &str,
    range: std::ops::Range<usize>,
    block: Block,
    brackets: &[usize],
    written: &mut String,
) {
    let number = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let number = (block == Block::Text && number.len() < text.len()).then_some(text.len() - number.len());
    for (index, character) in text[range.clone()].char_indices() {
        let at = range.start + index;
        let rest = &text[at + character.len_utf8()..];
        let (before, after) = (text[..at].chars().next_back(), rest.chars().next());
        let is_space = |other: Option<char>| other.is_none_or(char::is_whitespace);
        let is_letter = |other: Option<char>| other.is_some_and(char::is_alphanumeric);
        let needed = match character {
            '`' => true,
            '\\' => after.is_none_or(|c| c.is_ascii_punctuation()),
            '*' => !(is_space(before) && is_space(after)),
            '_' => !(is_space(before) && is_space(after) || is_letter(before) && is_letter(after)),
            ']' if ends_label(rest) => true,
            '[' | ']' => brackets.binary_search(&at).is_ok(),
            '#' => block == Block::Heading && is_space(before) && rest.trim_start_matches('#').is_empty(),
            '<' => after.is_some_and(|c| c.is_ascii_alphabetic() || "/!?".contains(c)),
            '&' => after.is_some_and(|c| c.is_ascii_alphabetic() || c == '#') && rest.contains(';'),
            '~' => after == Some('~') || before == Some('~'),
            '|' => block == Block::Cell,
            '.' | ')' => number == Some(at) && is_space(after),
            _ => false,
        };
        if needed {
            written.push('\\');
        }
        written.push(character);
    }
}

#[cfg(test)]
mod tests {
    use super::{Block, Escape};

    #[test]
    fn markdown_is_escaped_where_it_would_be_markup() {
        let escape = Escape::Markdown { block: Block::Text, link: false };
        for (text, want) in [
            ("2 * 3 is snake_case", "2 * 3 is snake_case"),
            ("*bold*", "\\*bold\\*"),
            ("# no heading", "\\# no heading"),
            ("#tag", "#tag"),
            ("1986. A year", "1986\\. A year"),
            ("- no list", "\\- no list"),
            ("* no list", "\\* no list"),
            ("a <b> & c", "a \\<b> & c"),
            ("AT&T; [x](y)", "AT\\&T; [x\\](y)"),
            ("C:\\dir", "C:\\dir"),
        ] {
            assert_eq!(escape.encode(text), want);
        }
        assert_eq!(Escape::Markdown { block: Block::Cell, link: false }.encode("- a|b"), "- a\\|b");
        assert_eq!(Escape::Android.encode("@l'\"a\\ & ?@"), "\\@l\\'\\\"a\\\\ &amp; ?@");
        let heading = Escape::Markdown { block: Block::Heading, link: false };
        assert_eq!(heading.encode("# C# and ##"), "# C# and \\##");
        let link = Escape::Markdown { block: Block::Other, link: true };
        assert_eq!(link.encode("[a] b] [c [d](e)"), "[a] b\\] \\[c \\[d\\](e)");
    }
}
