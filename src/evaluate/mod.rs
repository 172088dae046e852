//! BLEU and chrF of a whole file, as sacreBLEU 2.6 computes them by default; ROUGE, as `rouge-score` 0.1.2 computes it; and
//! words that translations must have.

mod bleu;
mod chrf;
mod required;
mod rouge;
mod tokenize_13a;

use std::collections::HashMap;
use std::hash::Hash;

pub use bleu::{Bleu, bleu};
pub use chrf::{Chrf, chrf};
pub use required::Required;
pub use rouge::{Rouge, RougeScore, rouge};
pub use tokenize_13a::tokenize_13a;

/// Hypotheses and references that cannot be compared.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum EvaluateError {
    #[error("there are no hypotheses; give at least one line")]
    NoLines,
    #[error("there is no reference to compare with; give at least one")]
    NoReferences,
    /// `reference` counts from 1.
    #[error(
        "number of hypotheses: {hypotheses}; lines of reference {reference}: {lines}; each hypothesis needs its line in each"
    )]
    LineCounts { hypotheses: usize, reference: usize, lines: usize },
    /// `line` counts from 1.
    #[error(
        "line {line} has {hypothesis} words, and its reference {reference}; ROUGE-L takes texts whose product is {most} at most"
    )]
    TooLong { line: usize, hypothesis: usize, reference: usize, most: u64 },
}

/// Checks that there are hypotheses, and that each reference has as many lines.
fn check(hypotheses: &[&str], references: &[Vec<&str>]) -> Result<(), EvaluateError> {
    if hypotheses.is_empty() {
        return Err(EvaluateError::NoLines);
    }
    if references.is_empty() {
        return Err(EvaluateError::NoReferences);
    }
    match references.iter().position(|lines| lines.len() != hypotheses.len()) {
        None => Ok(()),
        Some(index) => Err(EvaluateError::LineCounts {
            hypotheses: hypotheses.len(),
            reference: index + 1,
            lines: references[index].len(),
        }),
    }
}

/// How often each n-gram occurs.
type Counts<'a, T> = HashMap<&'a [T], u64>;

fn count<T: Eq + Hash>(items: &[T], order: usize) -> Counts<'_, T> {
    let mut counts = Counts::new();
    for gram in items.windows(order) {
        *counts.entry(gram).or_default() += 1;
    }
    counts
}

/// Number of common n-grams: each counts with the smaller of its two counts.
fn matches<T: Eq + Hash>(hypothesis: &Counts<'_, T>, reference: &Counts<'_, T>) -> u64 {
    hypothesis.iter().map(|(gram, &count)| count.min(reference.get(gram).copied().unwrap_or(0))).sum()
}

/// White space as Python's `str.split` defines it: Unicode's, and four ASCII separators.
fn is_space(character: char) -> bool {
    character.is_whitespace() || ('\u{1c}'..='\u{1f}').contains(&character)
}
