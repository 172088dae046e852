//! The language of texts.

use serde_json::{Value, json};
use wordloom_hub::{Certainty, Detected, Language, detect, offered_sources};

use super::super::engine::Pool;

/// A detected language, as clients read it.
pub struct Answer {
    pub language: Language,
    /// 0 to 100.
    pub confidence: f64,
    /// The second guess, with its confidence.
    pub other: Option<(Language, f64)>,
}

impl Answer {
    pub fn json(&self) -> Value {
        json!({ "confidence": self.confidence, "language": self.language.to_string() })
    }
}

/// Characters of a text that are looked at, of all texts together.
const SAMPLE: usize = 4000;

/// Detects the language that texts have together. Without letters it is English, with confidence 0, as LibreTranslate has it.
///
/// A single word is one of the languages that can be translated. Longer texts can also be in another one.
pub fn detected(texts: &[String], pool: &Pool) -> Answer {
    let lines = texts.iter().flat_map(|text| text.chars().chain(['\n']));
    let sample: String = lines.take(SAMPLE).collect();
    let [own, _] = pool.languages();
    let mut all = offered_sources();
    all.extend(own.iter().cloned());
    let anywhere = detect(&sample, &all);
    let found = match &anywhere {
        Some(Detected { certainty: Certainty::Guess, .. }) => detect(&sample, &own).or(anywhere),
        _ => anywhere,
    };
    let Some(Detected { language, certainty, other }) = found else {
        return Answer { language: Language::english(), confidence: 0.0, other: None };
    };
    // how often such answers are right, roughly
    let confidence = match certainty {
        Certainty::Certain => 99.0,
        Certainty::Likely => 80.0,
        Certainty::Guess => 50.0,
    };
    let other = other.map(|other| (other, (100.0 - confidence) / 2.0));
    Answer { language, confidence, other }
}
