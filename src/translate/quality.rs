//! How far a translation can be trusted: an estimate from the search alone, without a reference.

use std::collections::HashSet;

use super::translation::Sentence;

/// Words that an alarm needs: shorter sentences repeat and copy rightly ("Ja, ja", "Tom!").
const WORDS_OF_ALARM: usize = 3;
/// Largest number of words of a phrase that counts as repeated.
const LONGEST_PHRASE: usize = 4;
/// Trust of a sentence with an alarm, at most. Alarms are too rare in held-out data for a fit.
const TRUST_WITH_ALARM: f32 = 0.25;

/// An estimate of the quality of a sentence's best translation.
///
/// [`trust`](Self::trust) was calibrated for the default model; see `docs/quality.md`. For other models, it orders sentences.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize)]
pub struct Quality {
    /// Expected chrF of the translation, 0 to 1.
    pub trust: f32,
    /// Mean log-probability of its tokens, the end token included, and those of a glossary's terms left out.
    pub log_probability: f32,
    /// Share of the source's words that a word of the translation is linked to, 0 to 1. `None` without an
    /// [alignment](super::SentenceAlignment), or if the source has no word.
    pub coverage: Option<f32>,
    /// More than half of its words stand in the source as they are.
    pub copies: bool,
    /// A word comes three times in a row, or a phrase twice, and not so in the source.
    pub repeats: bool,
    /// The maximal length ended it.
    pub cut: bool,
}

impl Quality {
    /// Trust below which a person should look at a translation.
    pub const LOW: f32 = 0.4;

    /// The estimate for a sentence. `None` if it has no translation.
    ///
    /// Coverage takes part if the sentence has an alignment; see [`TranslateOptions::alignments`](super::TranslateOptions::alignments).
    pub fn of(sentence: &Sentence) -> Option<Self> {
        let best = sentence.hypotheses.first()?;
        let steps = &best.search.step_logprobs;
        let before = best.search.tokens.len().saturating_sub(steps.len()); // tokens of the prompt
        let is_own = |step: usize| best.prescribed.iter().all(|place| !place.contains(&(before + step)));
        let own = || steps.iter().enumerate().filter(|&(step, _)| is_own(step)).map(|(_, step)| step);
        let log_probability = own().sum::<f32>() / own().count().max(1) as f32;
        let [source, target] = [words(&sentence.source), words(&best.text)];
        let mut quality = Self {
            trust: 0.0,
            log_probability,
            coverage: coverage(sentence),
            copies: copies(&source, &target),
            repeats: repeats(&target) && !repeats(&source),
            cut: best.reached_max_length,
        };
        quality.trust = quality.estimate();
        Some(quality)
    }

    /// Whether anything is wrong for sure, or nearly so.
    pub fn has_alarm(&self) -> bool {
        self.copies || self.repeats || self.cut
    }

    /// Whether a person should look at the translation.
    pub fn is_low(&self) -> bool {
        self.trust < Self::LOW
    }

    /// A logistic model, fitted by `benches/quality.py`.
    fn estimate(&self) -> f32 {
        let [bias, log_probability, coverage] = WEIGHTS;
        let covered = self.coverage.unwrap_or(USUAL_COVERAGE);
        let logit = bias + log_probability * self.log_probability + coverage * covered;
        let trust = 1.0 / (1.0 + (-logit).exp());
        if self.has_alarm() { trust.min(TRUST_WITH_ALARM) } else { trust }
    }
}

/// Weights of 1, of the mean log-probability and of coverage.
const WEIGHTS: [f32; 3] = [1.4958, 4.2204, 0.4644];
/// Mean coverage of the data, for sentences whose coverage is unknown.
const USUAL_COVERAGE: f32 = 0.9294;

/// Share of the source's words with a link.
fn coverage(sentence: &Sentence) -> Option<f32> {
    let alignment = sentence.alignment.as_ref().filter(|alignment| alignment.words.layer.is_some())?;
    let linked: HashSet<usize> = alignment.words.links.iter().map(|&(source, _)| source).collect();
    let is_word = |word: &str| word.contains(char::is_alphanumeric);
    let counted = sentence.source.split_whitespace().enumerate().filter(|(_, word)| is_word(word));
    let (count, covered) = counted.fold((0, 0), |(count, covered), (index, _)| {
        (count + 1, covered + usize::from(linked.contains(&index)))
    });
    (count > 0).then(|| covered as f32 / count as f32)
}

/// Words without the punctuation around them, in lower case.
fn words(text: &str) -> Vec<String> {
    let bare = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).to_lowercase();
    text.split_whitespace().map(bare).filter(|word| !word.is_empty()).collect()
}

fn copies(source: &[String], target: &[String]) -> bool {
    let known: HashSet<&String> = source.iter().collect();
    let copied = target.iter().filter(|word| known.contains(word)).count();
    target.len() >= WORDS_OF_ALARM && 2 * copied > target.len()
}

fn repeats(words: &[String]) -> bool {
    let phrase = |length: usize| {
        let times = if length == 1 { 3 } else { 2 };
        words
            .windows(length * times)
            .any(|run| run.chunks_exact(length).all(|phrase| phrase == &run[..length]))
    };
    words.len() >= WORDS_OF_ALARM && (1..=LONGEST_PHRASE).any(phrase)
}
