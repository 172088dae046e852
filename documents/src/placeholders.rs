//! Parts of a text that stay as they are: names in braces, formats of `printf`, code, addresses, emoji.

use std::ops::Range;
use std::sync::LazyLock;

use regex_lite::Regex;
use unicode_segmentation::UnicodeSegmentation;

/// Forms of placeholders, the longest first.
static FORMS: LazyLock<Regex> = LazyLock::new(|| {
    let forms = [
        r#"(?:https?|ftp)://[^\s<>"]+"#,
        r#"www\.[^\s<>"]+\.[^\s<>"]+"#,
        // the longest name that a mail server takes: a search for one without a bound reads on to the text's end
        r"[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+",
        "``[^`\n]+``",
        "`[^`\n]+`",
        // tags and characters as a text about HTML writes them
        r"&lt;/?[A-Za-z][^&<>\n]*&gt;",
        r"&(?:#[0-9]+|#[xX][0-9A-Fa-f]+|[A-Za-z][a-z]{1,7}[0-9]{0,2});",
        r"[$#%]?\{\{[^{}]*\}\}",
        r"[$#%]?\{[^{}\s][^{}]*\}",
        r"%\([A-Za-z0-9_.-]+\)[a-zA-Z]",
        r"%[A-Za-z_][A-Za-z0-9_.]*%",
        r"%(?:[0-9]+\$)?[-+0#']*(?:[0-9]+|\*)?(?:\.(?:[0-9]+|\*))?(?:hh|h|ll|l|L|q|j|z|t)?[diouxXeEfFgGaAcCsSpn@]",
        // formulas of TeX, by one of their signs: `$` alone is a price
        r"\$\$?(?:[^$\s][^$\n]*)?[\\^_][^$\n]*[^$\s]\$\$?",
    ];
    Regex::new(&forms.join("|")).expect("the forms are regular expressions")
});

/// The places of placeholders in a text, in bytes.
pub fn placeholders(text: &str) -> Vec<Range<usize>> {
    let found = FORMS.find_iter(text).map(|found| {
        let mut part = found.as_str();
        let is_address = part.contains("://") || part.starts_with("www.");
        if is_address {
            // punctuation behind an address belongs to the sentence; so does a bracket that it does not open
            loop {
                let shorter = part.trim_end_matches(['.', ',', ';', ':', '!', '?', '\'', '*', '_']);
                let shorter = match shorter.strip_suffix(')') {
                    Some(inside) if !inside.contains('(') => inside,
                    _ => shorter,
                };
                if shorter.len() == part.len() {
                    break;
                }
                part = shorter;
            }
        }
        found.start()..found.start() + part.len()
    });
    // a per cent sign of the text: "5%discount"
    let is_percent = |range: &Range<usize>| {
        text[range.clone()].starts_with('%')
            && text[..range.start].ends_with(|c: char| c.is_ascii_digit())
            && text[range.end..].starts_with(char::is_alphabetic)
    };
    found.filter(|range| !is_percent(range)).collect()
}

/// Cuts a text into text and runs of emoji, which are marked.
pub fn emoji(text: &str) -> Vec<(&str, bool)> {
    if text.is_ascii() {
        return vec![(text, false)];
    }
    let is_emoji =
        |cluster: &str| !cluster.is_ascii() && emojis::get(cluster).is_some_and(|_| !is_sign(cluster));
    let mut parts: Vec<(Range<usize>, bool)> = Vec::new();
    for (at, cluster) in text.grapheme_indices(true) {
        let kind = is_emoji(cluster);
        match parts.last_mut() {
            Some((range, last)) if *last == kind => range.end += cluster.len(),
            _ => parts.push((at..at + cluster.len(), kind)),
        }
    }
    parts.into_iter().map(|(range, kind)| (&text[range], kind)).collect()
}

/// Signs that are letters of a text more often than pictures: ©, ®, ™, ‼ and the like.
fn is_sign(cluster: &str) -> bool {
    cluster.chars().next().is_some_and(|first| u32::from(first) < 0x2190)
}

/// Words for placeholders, which the text does not have: `XA`, `XB` and so on. Models copy such words.
pub fn words_for(text: &str, count: usize) -> Vec<String> {
    let name = |mut number: usize| {
        let mut letters = Vec::new();
        loop {
            letters.push(char::from(b'A' + (number % 26) as u8));
            number /= 26;
            if number == 0 {
                break;
            }
            number -= 1;
        }
        std::iter::once('X').chain(letters.into_iter().rev()).collect::<String>()
    };
    (0..).map(name).filter(|word| !text.contains(word.as_str())).take(count).collect()
}

/// The place of a stand-in in a translation, best where it is a word of its own. Models add endings to it, or another word.
///
/// * `taken`: places of other stand-ins
pub fn find(word: &str, translation: &str, taken: &[Range<usize>]) -> Option<Range<usize>> {
    let places = translation.match_indices(word).map(|(at, _)| at..at + word.len());
    let free =
        places.filter(|place| taken.iter().all(|other| place.end <= other.start || place.start >= other.end));
    let rank = |place: &Range<usize>| {
        let starts = !translation[..place.start].ends_with(char::is_alphanumeric);
        let ends = !translation[place.end..].starts_with(char::is_alphanumeric);
        // the beginning of another stand-in comes last
        let longer = translation[place.end..].starts_with(|c: char| c.is_ascii_uppercase());
        (longer, !(starts && ends), !starts, place.start)
    };
    free.min_by_key(rank)
}

/// What a model made of stand-ins beyond their places: the letters that it adds to one (`XAB`), a second one, and words of
/// their kind that the text does not have (`XM`, `X`). They are no part of the translation.
///
/// * `places`: of stand-ins in the translation
pub fn leftovers(
    text: &str,
    words: &[&str],
    translation: &str,
    places: &[Range<usize>],
) -> Vec<Range<usize>> {
    static CAPITALS: LazyLock<Regex> =
        LazyLock::new(|| Regex::new("X[A-Z]{0,3}").expect("a regular expression"));
    static NUMERAL: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new("^(?:X[XLC]X{0,3}|X)(?:I[XV]|V?I{1,3}|V)$|^X[XLC]X{0,2}$").expect("a regular expression")
    });
    let is_whole = |range: &Range<usize>, text: &str| {
        !text[..range.start].ends_with(char::is_alphanumeric)
            && !text[range.end..].starts_with(char::is_alphanumeric)
    };
    let is_in_text =
        |word: &str| text.match_indices(word).any(|(at, _)| is_whole(&(at..at + word.len()), text));
    let mut found = Vec::new();
    for place in places {
        let rest = &translation[place.end..];
        let capitals = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_uppercase()).len();
        let next = places.iter().map(|other| other.start).filter(|&start| start >= place.end).min();
        let end = (place.end + capitals).min(next.unwrap_or(usize::MAX));
        // "XA-Datei" and "XAs" are words; "XAB" is none
        if end > place.end && !translation[end..].starts_with(char::is_lowercase) {
            found.push(place.end..end);
        }
    }
    for capitals in CAPITALS.find_iter(translation) {
        let (range, word) = (capitals.range(), capitals.as_str());
        let is_free = places.iter().all(|place| range.end <= place.start || place.end <= range.start);
        let is_ours = words.contains(&word) || !(is_in_text(word) || NUMERAL.is_match(word));
        if is_free && is_whole(&range, translation) && is_ours {
            // with the space before it
            let before = usize::from(translation[..range.start].ends_with(' '));
            found.push(range.start - before..range.end);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_of_stand_ins_is_found() {
        let left = |translation: &str, places: &[Range<usize>]| -> Vec<String> {
            let found = leftovers("Files XA and XB, size X2 of XL", &["XA", "XB"], translation, places);
            found.into_iter().map(|range| translation[range].to_owned()).collect()
        };
        assert_eq!(left("XA und XB", &[0..2, 7..9]), [""; 0]);
        assert_eq!(left("XAH und XBC.", &[0..2, 8..10]), ["H", "C"]);
        assert_eq!(left("XAXB", &[0..2, 2..4]), [""; 0]);
        assert_eq!(left("XAs, XB-Datei, XBar", &[0..2, 5..7]), [""; 0]);
        assert_eq!(left("XA und XM, XB X X XA.", &[0..2, 11..13]), [" XM", " X", " X", " XA"]);
        assert_eq!(left("XA XB XL XX XIV Xanten X2", &[0..2, 3..5]), [""; 0]);
    }

    #[test]
    fn placeholders_are_found() {
        for (text, want) in [
            ("Hello {name}, %1$s and %d of {{ total }}", &["{name}", "%1$s", "%d", "{{ total }}"][..]),
            (
                "See https://a.example/b_(c)?d=%20#e. Or (www.b.example)!",
                &["https://a.example/b_(c)?d=%20#e", "www.b.example"],
            ),
            ("Write to me.too@mail.example.org.", &["me.too@mail.example.org"]),
            (
                "%(count)s files, ${price}, %user.name%, %{x}, %@, %5.2f",
                &["%(count)s", "${price}", "%user.name%", "%{x}", "%@", "%5.2f"],
            ),
            ("From $5 to $10, $x_1$ and $\\alpha$", &["$x_1$", "$\\alpha$"]),
            ("100% sure, 5%discount, { no }, 20 % so, one ` only, R&D; no", &[]),
            ("Run `make install`, not ``a`` or `b\nc`", &["`make install`", "``a``"]),
            (
                "Bread &amp; milk, &#39;&#x20ac; and &lt;b class=a&gt;",
                &["&amp;", "&#39;", "&#x20ac;", "&lt;b class=a&gt;"],
            ),
        ] {
            let found: Vec<&str> = placeholders(text).into_iter().map(|range| &text[range]).collect();
            assert_eq!(found, want, "{text}");
        }
    }

    #[test]
    fn emoji_are_found() {
        assert_eq!(
            emoji("Hi 👋🏽👩‍👩‍👧 there ❤️ © 1 🇩🇪"),
            [
                ("Hi ", false),
                ("👋🏽👩‍👩‍👧", true),
                (" there ", false),
                ("❤️", true),
                (" © 1 ", false),
                ("🇩🇪", true)
            ]
        );
    }

    #[test]
    fn stand_ins_are_words_that_the_text_does_not_have() {
        assert_eq!(words_for("an XA and XC", 2), ["XB", "XD"]);
        assert_eq!(words_for("", 27).last().map(String::as_str), Some("XAA"));
        assert_eq!(find("XA", "XAB und XA-Datei", &[]), Some(8..10));
        assert_eq!(find("XA", "XAs", &[]), Some(0..2));
        assert_eq!(find("XA", "XB", &[]), None);
    }
}
