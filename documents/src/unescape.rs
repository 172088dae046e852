//! Strings of programs without their backslashes. What is no text, or is not understood, stays as the document writes it.

use std::sync::LazyLock;

use regex_lite::Regex;

/// Whose escapes a string has.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Dialect {
    /// `\ud83d\ude00`
    Json,
    /// Those of C: `\303\251`, `\xc3\xa9`.
    Po,
    /// `\Ud83d\Ude00`, `\351`.
    Apple,
}

/// A string in which [`KEPT`] stands for each part that stays.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Message {
    pub text: String,
    /// The parts that stay, in order.
    pub kept: Vec<Kept>,
}

/// A part of a string that stays.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    /// The part as the document writes it.
    pub raw: String,
    /// Whether it is a word of the sentence.
    pub is_word: bool,
}

impl Message {
    pub fn keep(&mut self, raw: impl Into<String>, is_word: bool) {
        self.text.push(KEPT);
        self.kept.push(Kept { raw: raw.into(), is_word });
    }
}

/// Stands in a message for a part that stays.
pub const KEPT: char = '\0';

/// The characters from 128 on of NeXTSTEP's encoding, in which Apple's parser reads octal numbers.
const NEXTSTEP: &str = "\u{a0}ÀÁÂÃÄÅÇÈÉÊËÌÍÎÏÐÑÒÓÔÕÖÙÚÛÜÝÞµ×÷©¡¢£⁄¥ƒ§¤’“«‹›ﬁﬂ®–†‡·¦¶•‚„”»…‰¬¿¹ˋ´ˆ˜¯˘˙¨²˚¸³˝˛ˇ—±¼½¾àáâãäåçèéêëìÆíªîïðñŁØŒºòóôõöæùúûıüýłøœßþÿ";

/// What follows the first character of a terminal's command: `[1m`.
static COMMAND: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\[[0-9;?]*[A-Za-z]").expect("a regular expression"));

/// Reads a string.
pub fn unescape(raw: &str, dialect: Dialect) -> Message {
    let mut message = Message { text: String::with_capacity(raw.len()), kept: Vec::new() };
    let mut rest = raw;
    while let Some(character) = rest.chars().next() {
        let (read, mut length) = match character {
            '\\' => escape(rest, dialect),
            other => (Some(other), other.len_utf8()),
        };
        match read {
            Some(letter) if !letter.is_control() || matches!(letter, '\n' | '\r' | '\t') => {
                message.text.push(letter);
            }
            _ => {
                if read == Some('\u{1b}') {
                    length += COMMAND.find(&rest[length..]).map_or(0, |command| command.end());
                }
                message.keep(&rest[..length], false);
            }
        }
        rest = &rest[length..];
    }
    message
}

/// The character of the escape that begins a text, if it is understood, and the escape's length.
fn escape(text: &str, dialect: Dialect) -> (Option<char>, usize) {
    let Some(letter) = text[1..].chars().next() else { return (None, 1) };
    let length = 1 + letter.len_utf8();
    // a number that is not understood stays as a whole
    let with_digits =
        |most: usize| length + text[length..].bytes().take(most).take_while(u8::is_ascii_hexdigit).count();
    let (number, whole) = match letter {
        'n' => return (Some('\n'), length),
        'r' => return (Some('\r'), length),
        't' => return (Some('\t'), length),
        'u' | 'U' => (unicode(text, dialect), with_digits(4)),
        'x' => (number(text, dialect), with_digits(4)),
        '0'..='7' => (number(text, dialect), with_digits(2)),
        // in a file of Apple, a line break may follow a backslash
        '"' | '\\' | '/' | '\'' | '?' | '\n' => return (Some(letter), length),
        _ if dialect == Dialect::Apple && letter.is_ascii_punctuation() => return (Some(letter), length),
        _ => (None, length),
    };
    number.map_or((None, whole), |(letter, length)| (Some(letter), length))
}

/// The character of a `\u00e9` or of two that are its halves, and their length.
fn unicode(text: &str, dialect: Dialect) -> Option<(char, usize)> {
    const LENGTH: usize = "\\u0000".len();
    let half = |text: &str| {
        let digits = text.strip_prefix("\\u").or_else(|| text.strip_prefix("\\U"))?.get(..4)?;
        digits.bytes().all(|digit| digit.is_ascii_hexdigit()).then_some(())?;
        u16::from_str_radix(digits, 16).ok()
    };
    if dialect == Dialect::Po {
        return None;
    }
    let first = half(text)?;
    let second = half(&text[LENGTH..]);
    let whole = |halves: &[u16]| char::decode_utf16(halves.iter().copied()).next()?.ok();
    whole(&[first])
        .map(|letter| (letter, LENGTH))
        .or_else(|| whole(&[first, second?]).map(|letter| (letter, 2 * LENGTH)))
}

/// The character of a `\351` or `\xe9`, or of a few that are its bytes in UTF-8, and their length.
fn number(text: &str, dialect: Dialect) -> Option<(char, usize)> {
    const MOST_BYTES: usize = 4;
    let (mut bytes, mut ends) = (Vec::new(), vec![0]);
    while let Some((byte, length)) = byte(&text[ends[bytes.len()]..], dialect)
        && bytes.len() < MOST_BYTES
    {
        ends.push(ends[bytes.len()] + length);
        bytes.push(byte);
    }
    for count in 1..=bytes.len() {
        if let Ok(letter) = std::str::from_utf8(&bytes[..count]) {
            return letter.chars().next().map(|letter| (letter, ends[count]));
        }
    }
    let byte = *bytes.first().filter(|_| dialect == Dialect::Apple)?;
    Some((NEXTSTEP.chars().nth(usize::from(byte) - 128)?, ends[1]))
}

/// The byte of the number that begins a text, and its length.
fn byte(text: &str, dialect: Dialect) -> Option<(u8, usize)> {
    let digits = text.strip_prefix('\\')?;
    let length = |digits: &str, is_digit: fn(&char) -> bool| digits.chars().take_while(is_digit).count();
    match (digits.strip_prefix('x'), dialect) {
        (Some(digits), Dialect::Po) => {
            // C reads any number of digits; more than fit are an error
            let length = length(digits, char::is_ascii_hexdigit);
            Some((u8::from_str_radix(&digits[..length], 16).ok()?, length + 2))
        }
        _ => {
            let length = length(digits, |digit| ('0'..='7').contains(digit)).min(3);
            Some((u8::from_str_radix(&digits[..length], 8).ok()?, length + 1))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escapes_are_read_or_stay() {
        for (dialect, raw, text, kept) in [
            (Dialect::Json, r#"a\"\\\/\n\u00e9\ud83d\ude00"#, "a\"\\/\né😀", &[][..]),
            (
                Dialect::Json,
                r"\ud83d \ude00\u0000 \b",
                "\0 \0\0 \0",
                &[r"\ud83d", r"\ude00", r"\u0000", r"\b"],
            ),
            (Dialect::Json, r"\u001b[1;31mred\u001B[0m", "\0red\0", &[r"\u001b[1;31m", r"\u001B[0m"]),
            (Dialect::Po, r"\x41\101\303\251\xc3\xa9\\\'\?", r"AAéé\'?", &[]),
            (
                Dialect::Po,
                r"\a\u0041\q\x \xc3 \x123\351\",
                "\0\0\0\0 \0 \0\0\0",
                &[r"\a", r"\u0041", r"\q", r"\x", r"\xc3", r"\x123", r"\351", r"\"],
            ),
            (Dialect::Apple, r"\U00e9\Ud83d\Ude00\342\200\246\101", "é😀…A", &[]),
            (Dialect::Apple, r"\351\xe9\q\U12 \777", "Ø\0\0\0 \0", &[r"\xe9", r"\q", r"\U12", r"\777"]),
        ] {
            let message = unescape(raw, dialect);
            assert_eq!(message.text, text, "{raw}");
            assert_eq!(message.kept.iter().map(|kept| &*kept.raw).collect::<Vec<_>>(), kept, "{raw}");
        }
        assert_eq!(NEXTSTEP.chars().count(), 126);
    }
}
