//! BLEU (Papineni et al. 2002), over a whole file.

use super::{Counts, EvaluateError, check, count, is_space, matches, tokenize_13a};

const ORDERS: usize = 4;

/// BLEU and what it is made of; arrays count orders from 1, words are tokens of [`tokenize_13a`].
#[derive(Debug, Clone, PartialEq)]
pub struct Bleu {
    /// 0 to 100.
    pub score: f64,
    /// In per cent, smoothed where an order has no match.
    pub precisions: [f64; ORDERS],
    /// N-grams of the hypotheses that a reference has, too.
    pub matches: [u64; ORDERS],
    /// N-grams of the hypotheses.
    pub totals: [u64; ORDERS],
    /// 1, and less where the hypotheses are shorter than the references.
    pub brevity_penalty: f64,
    /// Words of the hypotheses.
    pub hypothesis_length: u64,
    /// Words of the references: of each line's references the one closest in length, of two as close the shorter.
    pub reference_length: u64,
}

impl Bleu {
    /// What was computed, in the words of sacreBLEU's signatures.
    pub fn signature(references: usize) -> String {
        format!("nrefs:{references}|case:mixed|eff:no|tok:13a|smooth:exp")
    }
}

/// BLEU of lines against one or several references with as many lines each: tokenized as mteval-v13a does, cased, up
/// to 4-grams; the first order without any match counts as if half of an n-gram matched, the next a quarter (Chen and
/// Cherry 2014, method 3). As `sacrebleu.corpus_bleu`.
pub fn bleu(hypotheses: &[&str], references: &[Vec<&str>]) -> Result<Bleu, EvaluateError> {
    check(hypotheses, references)?;
    let (mut found, mut totals) = ([0; ORDERS], [0; ORDERS]);
    let (mut hypothesis_length, mut reference_length) = (0, 0);
    for (line, hypothesis) in hypotheses.iter().enumerate() {
        let hypothesis = words(hypothesis);
        let references: Vec<Vec<String>> = references.iter().map(|lines| words(lines[line])).collect();
        let length = hypothesis.len();
        hypothesis_length += length as u64;
        let lengths = references.iter().map(Vec::len);
        let closest = lengths.min_by_key(|&other| (other.abs_diff(length), other));
        reference_length += closest.unwrap_or(0) as u64;
        for order in 1..=ORDERS {
            let counts = count(&hypothesis, order);
            totals[order - 1] += counts.values().sum::<u64>();
            found[order - 1] += matches(&counts, &most(&references, order));
        }
    }
    let brevity_penalty = match hypothesis_length {
        0 if reference_length > 0 => 0.0,
        length if length < reference_length => (1.0 - reference_length as f64 / length as f64).exp(),
        _ => 1.0,
    };
    let precisions = precisions(&found, &totals);
    let logarithm: f64 = precisions.iter().map(|precision| precision.ln()).sum();
    Ok(Bleu {
        score: brevity_penalty * (logarithm / ORDERS as f64).exp(),
        precisions,
        matches: found,
        totals,
        brevity_penalty,
        hypothesis_length,
        reference_length,
    })
}

/// sacreBLEU drops white space at a line's end before it tokenizes.
fn words(line: &str) -> Vec<String> {
    tokenize_13a(line.trim_end_matches(is_space))
}

/// Each n-gram as often as in the reference that has it most often.
fn most(references: &[Vec<String>], order: usize) -> Counts<'_, String> {
    let mut most = Counts::new();
    for reference in references {
        for (gram, count) in count(reference, order) {
            let entry = most.entry(gram).or_default();
            *entry = count.max(*entry);
        }
    }
    most
}

/// Zeros where nothing at all matches, and from the first order on that no hypothesis is long enough for.
fn precisions(found: &[u64; ORDERS], totals: &[u64; ORDERS]) -> [f64; ORDERS] {
    let mut precisions = [0.0; ORDERS];
    if found.iter().all(|&count| count == 0) {
        return precisions;
    }
    let mut halved = 1.0;
    for ((precision, &found), &total) in precisions.iter_mut().zip(found).zip(totals) {
        *precision = match (found, total) {
            (_, 0) => break,
            (0, total) => {
                halved *= 2.0;
                100.0 / (halved * total as f64)
            }
            (found, total) => 100.0 * found as f64 / total as f64,
        };
    }
    precisions
}
