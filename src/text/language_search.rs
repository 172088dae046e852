//! The search for a language among a model's codes, by code or by name.

use super::language_names::NAMES;
use crate::sorting;

/// The result of a search.
pub(super) enum Found<'a> {
    /// The only code that fits.
    One(&'a str),
    /// A phrase with similar codes, or with the codes that all fit.
    Near(String),
}

/// Codes in a message.
const SHOWN: usize = 6;
/// Similarity (Jaro-Winkler) from which a code or a name is near.
const NEAR: f64 = 0.84;

/// Finds the language that the caller calls `wanted`: exactly a model's code, a code of ISO 639 for it, or its name in
/// English or in itself. A name that fits several codes, which differ in script, fits none.
pub(super) fn find<'a>(wanted: &str, codes: &[&'a str]) -> Found<'a> {
    if let Some(code) = codes.iter().find(|code| **code == wanted) {
        return Found::One(code);
    }
    let folded = wanted.to_lowercase();
    let fitting: Vec<&str> = match rows(&folded) {
        rows if rows.is_empty() => Vec::new(),
        rows => {
            codes.iter().copied().filter(|code| rows.iter().any(|row| row.has_code(base(code)))).collect()
        }
    };
    match fitting[..] {
        [code] => Found::One(code),
        [] => Found::Near(near(&folded, codes)),
        _ => Found::Near(format!("several fit: {}", described(&fitting))),
    }
}

/// Whether two names or codes mean the same language.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    one == other || rows(&one.to_lowercase()).iter().any(|row| row.has(&other.to_lowercase()))
}

/// Whether this is the name or the code of a single language.
pub(super) fn is_known(language: &str) -> bool {
    !rows(&language.to_lowercase()).is_empty()
}

/// A language of the table.
#[derive(Clone, Copy)]
struct Row<'a> {
    codes: &'a str,
    names: &'a str,
}

impl Row<'_> {
    fn has_code(&self, code: &str) -> bool {
        self.codes.split(' ').any(|known| known == code)
    }

    /// Whether it has this code or name, in small letters.
    fn has(&self, folded: &str) -> bool {
        self.has_code(folded) || self.names.split('|').any(|name| name.to_lowercase() == folded)
    }
}

fn table() -> impl Iterator<Item = Row<'static>> {
    NAMES.lines().filter_map(|line| line.split_once('|')).map(|(codes, names)| Row { codes, names })
}

/// The languages with this code or name, in small letters.
fn rows(folded: &str) -> Vec<Row<'static>> {
    table().filter(|row| row.has(folded)).collect()
}

/// The language in a code, without script or country.
fn base(code: &str) -> &str {
    code.split(['_', '-', '.', '@']).next().unwrap_or(code)
}

/// Similar codes as a phrase; the first codes if there is none.
fn near(folded: &str, codes: &[&str]) -> String {
    const LONGEST: usize = 64;
    let folded = folded.trim_start_matches('_');
    let start: String = folded.chars().take(LONGEST).collect();
    let like = |other: &str| strsim::jaro_winkler(&start, &other.to_lowercase());
    let mut ranked: Vec<(f64, &str)> = codes
        .iter()
        .map(|&code| {
            // `en` is near `english`, and `de_AT` near `de_DE`
            let same = base(code) == base(&start) && !start.is_empty();
            let names = table().filter(|row| row.has_code(base(code))).flat_map(|row| row.names.split('|'));
            let best = names.map(like).fold(like(code), f64::max);
            (if same { 1.0 } else { best }, code)
        })
        .filter(|&(likeness, _)| likeness >= NEAR)
        .collect();
    sorting::sort_by(&mut ranked, |(one, _), (other, _)| other.total_cmp(one));
    let ranked: Vec<&str> = ranked.into_iter().map(|(_, code)| code).take(SHOWN).collect();
    if ranked.is_empty() {
        let some = codes.iter().take(SHOWN).copied().collect::<Vec<_>>().join(", ");
        let more = if codes.len() > SHOWN { ", …" } else { "" };
        return format!("it has {some}{more}");
    }
    format!("near it: {}", described(&ranked))
}

/// Codes with their English names.
fn described(codes: &[&str]) -> String {
    let one = |code: &&str| {
        let name = table().find(|row| row.has_code(base(code))).and_then(|row| row.names.split('|').next());
        name.map_or_else(|| (*code).to_owned(), |name| format!("{code} ({name})"))
    };
    codes.iter().take(SHOWN).map(one).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{Found, base, find, is_same, table};
    use crate::text::language_codes::{M2M_100, MBART_50, NLLB};

    fn found(wanted: &str, codes: &str) -> Result<String, String> {
        let codes: Vec<&str> = codes.split_whitespace().collect();
        match find(wanted, &codes) {
            Found::One(code) => Ok(code.to_owned()),
            Found::Near(near) => Err(near),
        }
    }

    #[test]
    fn a_language_has_names_and_codes() {
        for wanted in ["German", "german", "Deutsch", "de", "deu", "ger"] {
            assert_eq!(found(wanted, NLLB).as_deref(), Ok("deu_Latn"), "{wanted}");
            assert_eq!(found(wanted, MBART_50).as_deref(), Ok("de_DE"), "{wanted}");
            assert_eq!(found(wanted, M2M_100).as_deref(), Ok("de"), "{wanted}");
        }
        assert_eq!(found("français", NLLB).as_deref(), Ok("fra_Latn"));
        assert_eq!(found("РУССКИЙ", NLLB).as_deref(), Ok("rus_Cyrl"));
        assert_eq!(found("Farsi", NLLB).as_deref(), Ok("pes_Arab"));
        assert_eq!(found("中文", MBART_50).as_deref(), Ok("zh_CN"));
        let several = found("Chinese", NLLB).unwrap_err();
        assert_eq!(several, "several fit: zho_Hans (Chinese), zho_Hant (Chinese)");
        assert!(is_same("German", "deu") && is_same("de", "deu") && is_same("x", "x"));
        assert!(!is_same("de", "en") && !is_same("x", "y"));
    }

    #[test]
    fn what_is_near_is_near() {
        assert_eq!(found("Germen", NLLB).unwrap_err(), "near it: deu_Latn (German)");
        assert!(found("de_AT", MBART_50).unwrap_err().starts_with("near it: de_DE (German)"));
        assert!(found("Frensh", NLLB).unwrap_err().starts_with("near it: fra_Latn (French)"));
        assert_eq!(found("Klingon", "de en fr").unwrap_err(), "it has de, en, fr");
        found(&"x".repeat(100_000), NLLB).unwrap_err();
    }

    #[test]
    fn every_language_of_the_models_has_a_name_and_no_code_has_two() {
        let mut codes = HashSet::new();
        for row in table() {
            for code in row.codes.split(' ') {
                assert!(codes.insert(code), "{code}");
            }
        }
        for code in [NLLB, M2M_100, MBART_50].into_iter().flat_map(str::split_whitespace) {
            assert!(codes.contains(base(code)), "{code}");
        }
    }
}
