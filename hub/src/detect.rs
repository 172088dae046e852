//! The language of a text.
//!
//! Two detectors answer. `whichlang` knows sixteen languages and is right about short sentences; it cannot say how sure it
//! is. `whatlang` knows seventy and can be restricted. If they agree, the answer is certain. `docs/performance.md` has
//! measurements of both, and of `lingua`, whose tables take 99 MB for twenty languages.

use whatlang::{Detector, Lang, Script};

use crate::Language;

/// A detected language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detected {
    /// The language.
    pub language: Language,
    /// How far the answer can be relied on.
    pub certainty: Certainty,
    /// The other detector's answer, if it is another one.
    pub other: Option<Language>,
}

/// How far a detected language can be relied on. `docs/performance.md` has the shares of right answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Certainty {
    /// The detectors agree, or the script leaves no choice.
    Certain,
    /// The detectors differ about two words or more.
    Likely,
    /// A single word of a script that many languages have.
    Guess,
}

/// Characters of a text that are looked at.
const SAMPLE: usize = 4000;
/// Words of a text from which on `whichlang` alone is certain enough.
const MANY_WORDS: usize = 5;
/// Confidence of `whatlang` from which on a text is in its language, and not in that of `whichlang`.
const SURELY_OTHER: f64 = 0.9;
/// Confidence from which on that may be.
const PERHAPS_OTHER: f64 = 0.6;
/// Cyrillic letters that Russian does not have.
const NOT_RUSSIAN: &str = "іїєґўјљњћђџѓќѕІЇЄҐЎЈЉЊЋЂЏЃЌЅ";

/// Detects the language of a text among the candidates. `None` if the text has no letters, or no candidate can be told.
///
/// ```
/// use wordloom_hub::{Language, detect};
///
/// let candidates = ["en", "de", "fr"].map(|code| code.parse::<Language>().expect("a code"));
/// let found = detect("Where is the train station?", &candidates).expect("it has letters");
/// assert_eq!(found.language.base(), "en");
/// ```
pub fn detect(text: &str, candidates: &[Language]) -> Option<Detected> {
    let end = text.char_indices().nth(SAMPLE).map_or(text.len(), |(end, _)| end);
    let text = &text[..end];
    let script = whatlang::detect_script(text)?;
    let is_candidate = |language: &Language| candidates.iter().any(|other| other.base() == language.base());
    let not_russian = text.contains(|letter| NOT_RUSSIAN.contains(letter));
    let possible = |language: &Language| is_candidate(language) && !(not_russian && language.base() == "ru");
    let weighted = Some(of_weights(text)).filter(possible);
    let counted = of_counts(text, &possible);
    let words = text.split_whitespace().count();
    let guessed = words <= 1 && SHARED.contains(&script);
    let detected = |language, certain: bool, other| {
        let certainty = match (guessed, certain) {
            (true, _) => Certainty::Guess,
            (false, true) => Certainty::Certain,
            (false, false) => Certainty::Likely,
        };
        Some(Detected { language, certainty, other })
    };
    match (weighted, counted) {
        (Some(one), Some(Counted { language, .. })) if one == language => detected(one, true, None),
        // other scripts have few languages, and most of them one
        (_, Some(Counted { language, reliable, .. })) if !SHARED.contains(&script) => {
            detected(language, reliable, None)
        }
        (Some(one), Some(Counted { language, .. })) if WEIGHTED.contains(&language.base()) => {
            detected(one, words >= MANY_WORDS, Some(language))
        }
        // the weights do not know the other's language, and so cannot have found it
        (Some(one), Some(Counted { language, reliable, .. })) => {
            let between = of_counts(text, &|other| *other == one || *other == language);
            let confidence = between.map_or(0.0, |found| found.confidence);
            match confidence >= SURELY_OTHER {
                true => detected(language, reliable, Some(one)),
                false => detected(one, words >= MANY_WORDS && confidence < PERHAPS_OTHER, Some(language)),
            }
        }
        (Some(language), None) => detected(language, words >= MANY_WORDS, None),
        (None, Some(Counted { language, reliable, .. })) => detected(language, reliable, None),
        (None, None) => None,
    }
}

/// The answer of `whatlang`.
struct Counted {
    language: Language,
    confidence: f64,
    reliable: bool,
}

fn of_counts(text: &str, possible: &dyn Fn(&Language) -> bool) -> Option<Counted> {
    let language = |lang: Lang| Language::of_model(lang.code()).filter(possible);
    let allowed = Lang::all().iter().copied().filter(|lang| language(*lang).is_some()).collect();
    let found = Detector::with_allowlist(allowed).detect(text)?;
    Some(Counted {
        language: language(found.lang())?,
        confidence: found.confidence(),
        reliable: found.is_reliable(),
    })
}

/// Scripts of many languages.
const SHARED: [Script; 2] = [Script::Latin, Script::Cyrillic];
/// The languages of `whichlang`.
const WEIGHTED: [&str; 16] =
    ["ar", "zh", "de", "en", "fr", "hi", "it", "ja", "ko", "nl", "pt", "ru", "es", "sv", "tr", "vi"];

fn of_weights(text: &str) -> Language {
    let code = whichlang::detect_language(text).three_letter_code();
    Language::of_model(code).unwrap_or_else(Language::english)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offered_sources;

    fn found(text: &str) -> (String, Certainty) {
        let found = detect(text, &offered_sources()).unwrap_or_else(|| panic!("{text:?} has letters"));
        (found.language.base().to_owned(), found.certainty)
    }

    #[test]
    fn sentences_of_many_languages_are_told_apart() {
        for (code, text) in [
            ("en", "Where is the nearest train station?"),
            ("de", "Können Sie mir bitte sagen, wo der Bahnhof ist?"),
            ("fr", "Où se trouve la gare la plus proche ?"),
            ("es", "¿Dónde está la estación de tren más cercana?"),
            ("it", "Dove si trova la stazione ferroviaria più vicina?"),
            ("pt", "Você sabe onde fica a estação de trem mais próxima?"),
            ("nl", "Kunt u mij vertellen waar het dichtstbijzijnde station is?"),
            ("sv", "Var ligger den närmaste järnvägsstationen någonstans?"),
            ("pl", "Czy może mi pan powiedzieć, gdzie jest najbliższa stacja kolejowa?"),
            ("cs", "Můžete mi prosím říct, kde je nejbližší vlakové nádraží?"),
            ("fi", "Voisitteko kertoa minulle, missä lähin rautatieasema on?"),
            ("hu", "Meg tudná mondani, hol van a legközelebbi vasútállomás?"),
            ("tr", "En yakın tren istasyonunun nerede olduğunu söyler misiniz?"),
            ("ru", "Скажите, пожалуйста, где находится ближайший вокзал?"),
            ("uk", "Скажіть, будь ласка, де знаходиться найближчий вокзал?"),
            ("bg", "Можете ли да ми кажете къде е най-близката гара?"),
            ("da", "Kan du fortælle mig, hvor den nærmeste station er?"),
            ("el", "Πού είναι ο πλησιέστερος σταθμός τρένου;"),
            ("he", "איפה נמצאת תחנת הרכבת הקרובה?"),
            ("ar", "أين تقع أقرب محطة قطار؟"),
            ("hi", "सबसे नज़दीकी रेलवे स्टेशन कहाँ है?"),
            ("ko", "가장 가까운 기차역이 어디예요?"),
            ("ja", "一番近い駅はどこですか。"),
            ("zh", "最近的火车站在哪里?"),
        ] {
            assert_eq!(found(text).0, code, "{text}");
        }
    }

    #[test]
    fn a_script_of_one_language_is_enough() {
        for (code, text) in [("ko", "안녕"), ("el", "γειά"), ("ja", "ありがとう"), ("zh", "你好")]
        {
            assert_eq!(found(text), (code.to_owned(), Certainty::Certain), "{text}");
        }
    }

    #[test]
    fn a_word_is_not_certain_and_a_text_without_letters_is_nothing() {
        for text in ["Hi", "Taxi", "Hotel"] {
            assert_eq!(found(text).1, Certainty::Guess, "{text}");
        }
        for text in ["", " \n", "12:30", "?!", "😀"] {
            assert_eq!(detect(text, &offered_sources()), None, "{text:?}");
        }
    }

    #[test]
    fn only_candidates_are_found() {
        let german = [Language::of_model("de").expect("a code")];
        let found = detect("Where is the train station?", &german).expect("a candidate");
        assert_eq!(found.language.base(), "de");
        assert_eq!(detect("기차역", &german), None);
    }
}
