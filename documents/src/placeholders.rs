//! Parts of a text that stay as they are: names in braces, formats of `printf`, code, addresses, emoji.

use std::ops::Range;
use std::sync::LazyLock;

use regex_lite::Regex;
use unicode_segmentation::UnicodeSegmentation;

/// Letters behind a per cent sign that only dates have.
const ONLY_IN_DATES: [char; 18] =
    ['Y', 'y', 'm', 'H', 'M', 'B', 'b', 'I', 'k', 'Z', 'T', 'R', 'D', 'P', 'U', 'W', 'V', 'w'];

/// Forms of placeholders, the longest first.
static FORMS: LazyLock<Regex> = LazyLock::new(|| {
    let printf = r"%(?:[0-9]+\$)?[-+0#']*(?:[0-9]+|\*)?(?:\.(?:[0-9]+|\*))?(?:hh|h|ll|l|L|q|j|z|t)?[diouxXeEfFgGaAcCsSpn@]";
    // several side by side, which would be a name between per cent signs: `%d%%`, `%s%s`
    let several = format!("(?:{printf}|%%){{2,}}");
    // a date, by one of the letters that only dates have: `%A, %d %B %Y`
    let date = r"(?:%[-_0^#EO]?[A-Za-z][-/.:, T]{1,2}){0,4}%[-_0^#EO]?[YymHMBbIkZTRDPUWVw](?:[-/.:, T]{1,2}%[-_0^#EO]?[A-Za-z])*";
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
        &several,
        r"%[A-Za-z_][A-Za-z0-9_.]+%",
        date,
        printf,
        // those of Qt and KDE
        "%L?[0-9]{1,2}",
        "%%",
        // templates of ERB and EJS, links of wikis, and formulas. None has another beginning inside: else a search from each of them
        // reads on to the line's end.
        r"<%[^<%\n]*%>",
        r"!?\[\[[^\[\]\n]+\]\]",
        r"\\\((?:[^\\\n]|\\[^()\n])+\\\)",
        r"\\\[(?:[^\\\n]|\\[^\[\]\n])+\\\]",
        // references of i18next and vue-i18n to other messages
        r"\$t\([^()\n]*\)",
        r"@(?:\.[a-z]+)?:(?:[A-Za-z_][A-Za-z0-9_]*(?:\.[A-Za-z0-9_]+)*|\{'[^'\n]*'\}|\([A-Za-z0-9_.]+\))",
        // emoji by name
        ":[a-z0-9_+-]*[a-z][a-z0-9_+-]*:",
        // formulas of TeX, by one of their signs: `$` alone is a price
        r"\$\$?(?:[^$\s][^$\n]*)?[\\^_][^$\n]*[^$\s]\$\$?",
    ];
    Regex::new(&forms.join("|")).expect("the forms are regular expressions")
});

/// What a text about programs has that is no word: addresses of files, times, colours, names of constants.
static CODE: LazyLock<Regex> = LazyLock::new(|| {
    let forms = [
        r"[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}",
        r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}(?::[0-9]{2}(?:\.[0-9]+)?)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?",
        "#(?:[0-9A-Fa-f]{8}|[0-9A-Fa-f]{6}|[0-9A-Fa-f]{3})",
        r#"[A-Za-z]:\\[^\s"<>|*?]*[A-Za-z0-9_]"#,
        r"(?:~|\.{1,2})?(?:/[A-Za-z0-9_.-]*[A-Za-z0-9_]){2,}",
        r"[A-Za-z0-9_-]{1,64}\.(?:png|jpe?g|gif|svg|pdf|docx?|xlsx?|pptx?|odt|zip|txt|csv|json|xml|html?|css|jsx?|tsx?|py|rs|md|ya?ml|toml|ini|log|mp[34]|exe|dll)",
        "[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+",
        r"v[0-9]+(?:\.[0-9]+)+",
        // options of commands, names of people and of arguments
        "--[a-z][a-z0-9]+(?:-[a-z0-9]+)*",
        "-[A-Za-z]",
        "@[A-Za-z][A-Za-z0-9_]*(?:-[A-Za-z0-9_]+)*",
        ":[a-z][a-z_]*[a-z]",
        // lines to fill in
        "_{3,}|={3,}|~{3,}|-{4,}",
    ];
    Regex::new(&forms.join("|")).expect("the forms are regular expressions")
});

/// Dates of Java, ICU and the like, and other letters with signs between: `yyyy-MM-dd HH:mm`.
static DATES: LazyLock<Regex> = LazyLock::new(|| {
    let field = "(?:yyyy|yy?|M{1,4}|d{1,2}|E{1,4}|HH?|hh?|mm?|ss?|S{1,3}|a)";
    Regex::new(&format!(r"\b{field}(?:[-/.:, ]{{1,2}}{field})+\b")).expect("a regular expression")
});

/// Dates as a program writes them, with a field of two letters at least.
fn dates(text: &str) -> impl Iterator<Item = Range<usize>> {
    const FIELDS: [&str; 6] = ["yy", "MM", "dd", "HH", "hh", "mm"];
    let is_date = |part: &str| FIELDS.iter().any(|field| part.contains(field));
    let has_date = is_date(text);
    let found = has_date.then(|| DATES.find_iter(text)).into_iter().flatten();
    found.filter(move |found| is_date(found.as_str())).map(|found| found.range())
}

/// Code that is no part of a longer word.
fn code(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    let is_before = |byte: u8| byte.is_ascii_hexdigit() || !byte.is_ascii_alphanumeric();
    let is_sign = |at: usize| match bytes[at] {
        b'/' | b'\\' | b'_' | b'#' | b'@' | b'=' | b'~' => true,
        b'.' => bytes.get(at + 1).is_some_and(u8::is_ascii_alphanumeric),
        b'-' => bytes[..at].last().is_none_or(|&before| is_before(before)),
        b':' => bytes[..at].last().is_none_or(|before| !before.is_ascii_alphanumeric()),
        _ => false,
    };
    // most texts have none of it, and are read without the forms
    if !(0..bytes.len()).any(is_sign) {
        return Vec::new();
    }
    let is_word = |c: char| c.is_alphanumeric() || "/\\_#-@".contains(c);
    let is_whole = |range: &Range<usize>| {
        let (before, behind) = (&text[..range.start], &text[range.end..]);
        // a word that is all of a text, a part of "a::b", and a dash before direct speech are none
        let is_none = match text.as_bytes()[range.start] {
            b'@' => range.len() == text.len(),
            b':' => before.ends_with(':') || behind.starts_with(':'),
            b'-' => !before.ends_with(|c: char| c.is_whitespace() || "'([,=|‘“`".contains(c)),
            _ => false,
        };
        !is_none && !before.ends_with(is_word) && !behind.starts_with(is_word)
    };
    CODE.find_iter(text).map(|found| found.range()).filter(is_whole).collect()
}

/// Whether a whole value is code: an id, a key, a name of a variable. A sentence, or a word of a language, is none.
pub fn is_code(value: &str) -> bool {
    static VALUE: LazyLock<Regex> = LazyLock::new(|| {
        let forms = [
            // letters and numbers with signs between: `abc-123`, `v1.2`
            "[A-Za-z0-9]*[0-9][A-Za-z0-9]*(?:[-_.:][A-Za-z0-9]+)+",
            "[A-Za-z0-9]+(?:[-_.:][A-Za-z0-9]+)*[-_.:][A-Za-z0-9]*[0-9][A-Za-z0-9]*",
            "[A-Za-z0-9]+(?:_[A-Za-z0-9]+)+",
            "[a-z][A-Za-z0-9]*(?:\\.[A-Za-z0-9]+)+",
            "[a-z]+(?:[A-Z][a-z0-9]+)+",
        ];
        Regex::new(&format!("^(?:{})$", forms.join("|"))).expect("a regular expression")
    });
    const LONGEST: usize = 200;
    let value = value.trim();
    value.len() <= LONGEST && (VALUE.is_match(value) || dates(value).any(|date| date.len() == value.len()))
}

/// The places of placeholders in a text, in bytes.
pub fn placeholders(text: &str) -> Vec<Range<usize>> {
    let mut found = forms(text);
    let is_free = |range: &Range<usize>| {
        let next = found.partition_point(|other| other.end <= range.start);
        found.get(next).is_none_or(|other| range.end <= other.start)
    };
    let mut code: Vec<Range<usize>> = code(text).into_iter().filter(is_free).collect();
    code.extend(dates(text).filter(is_free));
    code.sort_unstable_by_key(|range| range.start);
    code.dedup_by(|next, before| next.start < before.end);
    if !code.is_empty() {
        found.extend(code);
        found.sort_unstable_by_key(|range| range.start);
    }
    found
}

/// The places of placeholders by their forms.
fn forms(text: &str) -> Vec<Range<usize>> {
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
    // a per cent sign of the text: "5%discount", "5%20"
    let is_percent = |range: &Range<usize>| {
        let part = &text[range.clone()];
        let is_number = part.ends_with(|c: char| c.is_ascii_digit());
        part.starts_with('%')
            && part != "%%"
            && text[..range.start].ends_with(|c: char| c.is_ascii_digit())
            && (is_number || text[range.end..].starts_with(char::is_alphabetic))
    };
    // what is not between spaces or punctuation is no emoji: "std::cout::x"
    let is_name = |range: &Range<usize>| {
        let is_part = |c: char| c.is_alphanumeric() || c == ':';
        text[range.clone()].starts_with(':')
            && (text[..range.start].ends_with(is_part) || text[range.end..].starts_with(is_part))
    };
    // a word behind a per cent sign: "%Yes"
    let is_word = |range: &Range<usize>| {
        let is_date = text[range.clone()].ends_with(ONLY_IN_DATES);
        text[range.clone()].starts_with('%') && is_date && text[range.end..].starts_with(char::is_alphabetic)
    };
    let is_placeholder = |range: &Range<usize>| !is_percent(range) && !is_name(range) && !is_word(range);
    side_by_side(found.filter(is_placeholder))
}

/// Joins placeholders without anything between: a model may part them.
fn side_by_side(found: impl Iterator<Item = Range<usize>>) -> Vec<Range<usize>> {
    let mut joined: Vec<Range<usize>> = Vec::new();
    for range in found {
        match joined.last_mut() {
            Some(last) if last.end == range.start => last.end = range.end,
            _ => joined.push(range),
        }
    }
    joined
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
        // "XA-Datei" and "XAs" are words; "XAB" is none, unless the text has it: `{size}GB`
        let is_in_text = text.contains(&translation[place.start..end]);
        if end > place.end && !is_in_text && !translation[end..].starts_with(char::is_lowercase) {
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
        let place: Range<usize> = 4..6;
        assert_eq!(leftovers("Only XAGB free", &["XA"], "Nur XAGB frei", &[place]), [0..0; 0]);
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
            (
                "%1 of %L2: 100%% of $t(files.name), @:menu.open @.lower:{'a b'}",
                &["%1", "%L2", "%%", "$t(files.name)", "@:menu.open", "@.lower:{'a b'}"],
            ),
            ("10%20, $t (x), me@: here, std::cout::x, 10:a:30", &[]),
            (
                "Open image.png in /usr/local/bin, C:\\Users\\me or ./a/b.txt. Set MAX_SIZE to #ff0000 (v1.2.3).",
                &[
                    "image.png",
                    "/usr/local/bin",
                    "C:\\Users\\me",
                    "./a/b.txt",
                    "MAX_SIZE",
                    "#ff0000",
                    "v1.2.3",
                ],
            ),
            (
                "At 2024-01-01T10:00:00Z 550e8400-e29b-41d4-a716-446655440000",
                &["2024-01-01T10:00:00Z", "550e8400-e29b-41d4-a716-446655440000"],
            ),
            ("He/she/they, 12/05/2024, and/or, E_xit, #hashtag, well-known. A.B", &[]),
            ("Ready :rocket: (:+1:), :a b: c", &[":rocket:"]),
            ("100% sure, 5%discount, { no }, 20 % so, one ` only, R&D; no", &[]),
            ("Run `make install`, not ``a`` or `b\nc`", &["`make install`", "``a``"]),
            (
                "Bread &amp; milk, &#39;&#x20ac; and &lt;b class=a&gt;",
                &["&amp;", "&#39;&#x20ac;", "&lt;b class=a&gt;"],
            ),
        ] {
            let found: Vec<&str> = placeholders(text).into_iter().map(|range| &text[range]).collect();
            assert_eq!(found, want, "{text}");
        }
    }

    #[test]
    fn arguments_options_and_names_are_found() {
        for (text, want) in [
            ("Done: %d%%, %s%s, %ld%s; %zd", &["%d%%", "%s%s", "%ld%s", "%zd"][..]),
            ("On %A, %d %B %Y or %Y-%m-%d at %H:%M", &["%A, %d %B %Y", "%Y-%m-%d", "%H:%M"]),
            ("%s, %s and 100 %Mehr, %Yes", &["%s", "%s"]),
            ("Write yyyy-MM-dd HH:mm, or MM/dd/yyyy", &["yyyy-MM-dd HH:mm", "MM/dd/yyyy"]),
            ("Welcome, :name! The :first_name (:id) 10:30 :p x:y :: :a", &[":name", ":first_name", ":id"]),
            ("Use '--all', --dry-run or -v (-x)", &["--all", "--dry-run", "-v", "-x"]),
            ("He said--and I know--that well-known -- thing - a \"--so", &[]),
            ("Thanks to @octocat and [@smith2020, p. 5]", &["@octocat", "@smith2020"]),
            ("See [[My note]] and ![[image.png]], not [one]", &["[[My note]]", "![[image.png]]"]),
            ("<%= name %> is here: \\(a + b\\)", &["<%= name %>", "\\(a + b\\)"]),
            ("Name: ____________ Date: ______", &["____________", "______"]),
            ("A ham, a. m., dummy, a hammer", &[]),
        ] {
            let found: Vec<&str> = placeholders(text).into_iter().map(|range| &text[range]).collect();
            assert_eq!(found, want, "{text}");
        }
        assert!(is_code("yyyy-MM-dd") && is_code("dd.MM.yyyy, HH:mm") && !is_code("Add, a, b"));
    }

    #[test]
    fn values_that_are_code_are_known() {
        for code in ["abc-123", "AB-12", "v1.2", "some_name", "app.menu.open", "someName", "en.json", "10:aa"]
        {
            assert!(is_code(code), "{code}");
        }
        for text in
            ["House", "e-mail", "and/or", "3D", "1st", "iOS", "Some name", "a.m.", "Top10", "T-Shirt", ""]
        {
            assert!(!is_code(text), "{text}");
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
