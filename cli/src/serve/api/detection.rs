//! The language of texts.

use serde_json::{Value, json};
use wordloom_hub::{Certainty, Detected, Language};

use super::super::super::choice::Candidates;
use super::super::engine::Pool;

/// A detected language, as clients read it.
#[derive(Clone)]
pub struct Answer {
    pub language: Language,
    /// 0 to 100.
    pub confidence: f64,
    /// The second guess, with its confidence.
    pub other: Option<(Language, f64)>,
}

/// How often an answer about a single word is right, roughly.
const GUESSED: f64 = 50.0;

impl Answer {
    pub fn json(&self) -> Value {
        json!({ "confidence": self.confidence, "language": self.language.to_string() })
    }

    /// Whether there is no letter by which a language could be told.
    pub fn is_of_nothing(&self) -> bool {
        self.confidence == 0.0
    }
}

/// Characters of a text that are looked at, of all texts together.
pub const SAMPLE: usize = 4000;

/// Bytes from which on a text of a list says of itself that no model reads it. Shorter ones are often taken for another language.
const TELLING: usize = 20;

/// The languages that texts for a target can be in; without a target, all that are read or written here.
fn candidates(pool: &Pool, target: Option<&Language>) -> Candidates {
    let [mut own, written] = pool.languages();
    if target.is_none() {
        own.extend(written);
    }
    Candidates::new(own, target)
}

/// Detects the language that texts have together. Without letters it is English, with confidence 0, as LibreTranslate has it.
pub fn detected(texts: &[String], pool: &Pool, target: Option<&Language>) -> Answer {
    answer(texts, &candidates(pool, target))
}

/// Detects the language of each text.
///
/// A single word, a text without letters, and a short one that seems to be in a language that no model reads have the language of
/// all texts together.
pub fn detected_each(texts: &[String], pool: &Pool, target: &Language) -> Vec<Answer> {
    let candidates = candidates(pool, Some(target));
    let together = answer(texts, &candidates);
    let of_one = |text: &String| {
        let own = answer(std::slice::from_ref(text), &candidates);
        let tells =
            own.confidence > GUESSED && (text.trim().len() > TELLING || candidates.has(&own.language));
        if tells || together.confidence <= GUESSED { own } else { together.clone() }
    };
    texts.iter().map(of_one).collect()
}

fn answer(texts: &[String], candidates: &Candidates) -> Answer {
    let lines = texts.iter().flat_map(|text| text.chars().chain(['\n']));
    let sample: String = lines.take(SAMPLE).collect();
    let Some(Detected { language, certainty, other }) = candidates.detect(&sample) else {
        return Answer { language: Language::english(), confidence: 0.0, other: None };
    };
    // how often such answers are right, roughly
    let confidence = match certainty {
        Certainty::Certain => 99.0,
        Certainty::Likely => 80.0,
        Certainty::Guess => GUESSED,
    };
    let other = other.map(|other| (other, (100.0 - confidence) / 2.0));
    Answer { language, confidence, other }
}
