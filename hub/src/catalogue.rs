//! Models that can be had, with size, licence and published score.

use std::sync::LazyLock;

use serde::Deserialize;

use crate::{Language, code_for};

/// A model that can be had.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Offer {
    /// Name for `wordloom models get`.
    pub name: String,
    /// Languages that the model reads.
    pub from: Vec<String>,
    /// Languages that the model writes.
    pub to: Vec<String>,
    /// Bytes of the download, about.
    pub bytes: u64,
    /// Licence, as the publisher states it.
    pub licence: String,
    /// Score, as published.
    pub score: Option<Score>,
    /// Page that states licence and score.
    pub source: String,
}

/// A published score.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Score {
    /// BLEU, 0 to 100. Scores of different test sets cannot be compared.
    pub bleu: f32,
    /// Name of the test set.
    pub test: String,
}

impl Offer {
    /// The size in words: `about 26 MB`.
    pub fn size(&self) -> String {
        about(self.bytes)
    }

    fn has(&self, from: &Language, to: &Language) -> bool {
        code_for(&self.from, from).is_some() && code_for(&self.to, to).is_some()
    }
}

/// The command that gets models: `wordloom models get firefox:en-fr`.
pub fn command(offers: &[&Offer]) -> String {
    let names: Vec<&str> = offers.iter().map(|offer| &*offer.name).collect();
    format!("wordloom models get {}", names.join(" "))
}

/// A size in words: `about 26 MB`, `about 1.9 GB`.
pub fn about(bytes: u64) -> String {
    match bytes {
        0..995_000_000 => format!("about {} MB", (bytes as f64 / 1e6).round().max(1.0)),
        _ => format!("about {:.1} GB", bytes as f64 / 1e9),
    }
}

/// The catalogue that is part of the program. `data/make_catalogue.py` writes it.
pub fn catalogue() -> &'static [Offer] {
    static CATALOGUE: LazyLock<Vec<Offer>> = LazyLock::new(|| {
        let text = include_str!("../data/catalogue.json");
        serde_json::from_str(text).expect("a test reads the catalogue")
    });
    &CATALOGUE
}

/// The offers for exactly this pair, or for many languages with it, the smallest first.
pub fn offers(from: &Language, to: &Language) -> Vec<&'static Offer> {
    let mut found: Vec<&Offer> = catalogue().iter().filter(|offer| offer.has(from, to)).collect();
    found.sort_by_key(|offer| (offer.bytes, &*offer.name));
    found
}

/// The smallest way to translate a pair: one offer, or two through English, if that is smaller. `installed` says
/// whether a pair can be translated already.
pub fn suggest(
    from: &Language,
    to: &Language,
    installed: &dyn Fn(&Language, &Language) -> bool,
) -> Option<Vec<&'static Offer>> {
    let english = Language::english();
    let one = offers(from, to).first().map(|offer| vec![*offer]);
    if from.fits(&english) || to.fits(&english) {
        return one;
    }
    let half = |from: &Language, to: &Language| match installed(from, to) {
        true => Some(None),
        false => offers(from, to).first().map(|offer| Some(*offer)),
    };
    let two = half(from, &english).zip(half(&english, to));
    let two = two.map(|(first, second)| first.into_iter().chain(second).collect::<Vec<_>>());
    let bytes = |offers: &Vec<&Offer>| offers.iter().map(|offer| offer.bytes).sum::<u64>();
    // one model of the pair loses less than two, so it is taken unless it is of another order of size
    one.into_iter().chain(two).min_by_key(|offers| bytes(offers) / if offers.len() == 1 { 8 } else { 1 })
}

/// The languages that models of the catalogue read.
pub fn offered_sources() -> Vec<Language> {
    let codes = catalogue().iter().flat_map(|offer| &offer.from);
    let languages: std::collections::BTreeSet<Language> =
        codes.filter_map(|code| Language::of_model(code)).map(Language::without_details).collect();
    languages.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ModelReference;

    fn language(code: &str) -> Language {
        code.parse().expect("a code")
    }

    #[test]
    fn every_offer_can_be_named_and_has_languages_and_a_source() {
        assert!(catalogue().len() > 100);
        for offer in catalogue() {
            let reference = ModelReference::parse_name(&offer.name).expect("a name");
            assert!(!matches!(reference, ModelReference::Folder(_)), "{}", offer.name);
            for code in offer.from.iter().chain(&offer.to) {
                assert!(Language::of_model(code).is_some(), "{}: {code}", offer.name);
            }
            assert!(offer.source.starts_with("https://") && !offer.licence.is_empty(), "{}", offer.name);
            assert!((1_000_000..10_000_000_000).contains(&offer.bytes), "{}", offer.name);
            assert!(
                offer.score.as_ref().is_none_or(|score| (1.0..100.0).contains(&score.bleu)),
                "{}",
                offer.name
            );
        }
    }

    #[test]
    fn the_smallest_way_is_suggested() {
        let nothing = |_: &Language, _: &Language| false;
        let names = |from: &str, to: &str, installed: &dyn Fn(&Language, &Language) -> bool| {
            let found = suggest(&language(from), &language(to), installed).unwrap_or_default();
            found.iter().map(|offer| &*offer.name).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(names("en", "fr", &nothing), "firefox:en-fr");
        assert_eq!(names("de", "fr", &nothing), "Helsinki-NLP/opus-mt-de-fr", "300 MB, but direct");
        assert_eq!(names("ko", "fr", &nothing), "firefox:ko-en firefox:en-fr");
        let half = |from: &Language, to: &Language| from.base() == "ko" && to.base() == "en";
        assert_eq!(names("ko", "fr", &half), "firefox:en-fr");
        assert_eq!(names("en", "zu", &nothing), "facebook/m2m100_418M");
        assert_eq!(names("en", "fur", &nothing), "");
    }

    #[test]
    fn sizes_are_in_words() {
        assert_eq!(
            [300_400_000, 25_800_000, 1_940_000_000].map(about),
            ["about 300 MB", "about 26 MB", "about 1.9 GB",]
        );
    }
}
