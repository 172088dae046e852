//! Full stops that do not end a sentence.

/// Abbreviations within a sentence, in lower case, without the last full stop: English, German, French, Spanish,
/// Italian, Portuguese. An abbreviation that usually ends the sentence before a capital (`etc.`, `usw.`, `art`, `max`)
/// is left out.
#[rustfmt::skip]
const ABBREVIATIONS: [&str; 62] = [
    "abb", "approx", "betr", "bsp", "bspw", "bzgl", "bzw", "ca", "capt", "cf", "cfr", "cmdr", "dgl", "dipl",
    "dott", "dr", "dra", "evtl", "frl", "geb", "ggf", "gov", "hr", "hrn", "hrsg", "inkl", "insb", "jr",
    "kap", "lt", "maj", "messrs", "mgr", "mlle", "mme", "mr", "mrs", "ms", "msgr", "mt", "nr", "prof",
    "profa", "resp", "rev", "sgt", "sog", "sr", "sra", "srta", "st", "sta", "ste", "u", "ud", "uds", "univ",
    "vgl", "viz", "vs", "zit", "zzgl",
];

/// Abbreviations before a number only: `No. 5`, `Fig. 3`, `Sept. 11`.
#[rustfmt::skip]
const BEFORE_NUMBERS: [&str; 36] = [
    "abs", "apr", "art", "aug", "bd", "ch", "chap", "dec", "dez", "eq", "feb", "febr", "fig", "figs", "jan",
    "jul", "jun", "mar", "n", "no", "nos", "nov", "num", "núm", "oct", "okt", "p", "pág", "pp", "s", "sec",
    "sect", "sep", "sept", "tel", "vol",
];

/// Words before a German ordinal, as in `der 2. Weltkrieg`.
#[rustfmt::skip]
const BEFORE_ORDINALS: [&str; 23] = [
    "ab", "am", "beim", "bis", "das", "dem", "den", "der", "des", "die", "ihr", "ihrem", "ihren", "im",
    "jedem", "jeden", "jeder", "mein", "sein", "seit", "vom", "zum", "zur",
];

/// Words after a German ordinal, as in `Montag, 3. Oktober`.
#[rustfmt::skip]
const AFTER_ORDINALS: [&str; 14] = [
    "Januar", "Jänner", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September", "Oktober",
    "November", "Dezember", "Jahrhundert",
];

/// Whether `before` (without a space at its end) and `after` are one sentence, although Unicode's rules end a sentence
/// between them.
pub(super) fn continues(before: &str, after: &str) -> bool {
    if after.starts_with(char::is_lowercase) {
        return true; // “Why?” he asked.
    }
    let Some(text) = before.strip_suffix('.') else {
        return false;
    };
    let mut words = last_words(text);
    let word = words.next().unwrap_or_default();
    if matches!(word.len(), 1..=2) && word.bytes().all(|byte| byte.is_ascii_digit()) {
        return is_ordinal(words, after);
    }
    let word = word.trim_start_matches(|character: char| !character.is_alphanumeric());
    let lower = word.to_lowercase();
    let number_follows = after.starts_with(char::is_numeric);
    is_dotted(word) || ABBREVIATIONS.contains(&&*lower) || number_follows && BEFORE_NUMBERS.contains(&&*lower)
}

/// The last few words in reverse order. Reads about enough text for an ordinal and two words before it.
fn last_words(text: &str) -> impl Iterator<Item = &str> {
    const MAX_BYTES: usize = 48;
    let start = text.ceil_char_boundary(text.len().saturating_sub(MAX_BYTES));
    text[start..].split_whitespace().rev()
}

/// Whether a number of one or two digits between these words is an ordinal, not the last word of a sentence.
fn is_ordinal<'a>(mut words_before: impl Iterator<Item = &'a str>, after: &str) -> bool {
    let next = after.split(|character: char| !character.is_alphabetic()).next().unwrap_or_default();
    let Some(previous) = words_before.next() else {
        return true; // an item of a numbered list
    };
    let english = previous == "am" && words_before.next() == Some("I"); // I am 45. She is 43.
    AFTER_ORDINALS.contains(&next) || BEFORE_ORDINALS.contains(&&*previous.to_lowercase()) && !english
}

/// Initials (`J.`, `J.R.R.`) and abbreviations of several words (`z.B.`, `e.g.`, `U.S.`), but not `5 p.m.`
fn is_dotted(word: &str) -> bool {
    let is_letter = |part: &str| part.chars().count() == 1 && part.chars().all(char::is_alphabetic);
    let several_or_capital = word.contains('.') || word.chars().all(char::is_uppercase);
    word.split('.').all(is_letter) && several_or_capital && !matches!(word, "a.m" | "p.m" | "A.M" | "P.M")
}
