//! BLEU (Papineni et al. 2002), over a whole file.

use super::{Counts, EvaluateError, check, count, is_space, matches, tokenize_13a};

const ORDERS: usize = 4;

/// BLEU and its parts. Arrays are indexed by n-gram order from 1; words are tokens of [`tokenize_13a`].
#[derive(Debug, Clone, PartialEq)]
pub struct Bleu {
    /// 0 to 100.
    pub score: f64,
    /// Precisions in per cent; smoothed for an order without a match.
    pub precisions: [f64; ORDERS],
    /// N-grams of the hypotheses that also occur in a reference.
    pub matches: [u64; ORDERS],
    /// N-grams of the hypotheses.
    pub totals: [u64; ORDERS],
    /// Factor of the score: 1, or less if the hypotheses are shorter than the references.
    pub brevity_penalty: f64,
    /// Words of the hypotheses.
    pub hypothesis_length: u64,
    /// Words of the references. For each line, the reference of the closest length counts; of two equally close, the shorter.
    pub reference_length: u64,
}

impl Bleu {
    /// The metric's signature, as sacreBLEU writes it.
    pub fn signature(references: usize) -> String {
        format!("nrefs:{references}|case:mixed|eff:no|tok:13a|smooth:exp")
    }
}

/// BLEU of lines against one or several references with as many lines, as `sacrebleu.corpus_bleu` computes it: tokens of
/// mteval-v13a, cased, up to 4-grams. The first order without a match counts as half an n-gram, the next as a quarter (Chen
/// and Cherry 2014, method 3).
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

/// Each n-gram with its largest count in any reference.
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

/// Zeros if nothing matches. Also zeros from the first order on for which every hypothesis is too short.
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
