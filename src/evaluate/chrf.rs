//! chrF (Popović 2015), over a whole file.

use super::{EvaluateError, check, count, is_space, matches};

const ORDERS: usize = 6;
/// Weight of recall relative to precision: chrF2.
const BETA: f64 = 2.0;

/// The F-score of character n-grams.
#[derive(Debug, Clone, PartialEq)]
pub struct Chrf {
    /// 0 to 100.
    pub score: f64,
}

impl Chrf {
    /// The metric's signature, as sacreBLEU writes it.
    pub fn signature(references: usize) -> String {
        format!("nrefs:{references}|case:mixed|eff:yes|nc:6|nw:0|space:no")
    }
}

/// Counts of n-grams of one order, in a line or summed over lines.
#[derive(Clone, Copy, Default)]
struct Statistics {
    hypothesis: u64,
    reference: u64,
    matches: u64,
}

/// chrF2 of lines against one or several references of the same number of lines, as `sacrebleu.corpus_chrf` computes it:
/// characters (Unicode scalar values) without white space, cased, up to 6-grams, no words. Each line uses its best-scoring
/// reference. An order is left out if either side is too short for it.
pub fn chrf(hypotheses: &[&str], references: &[Vec<&str>]) -> Result<Chrf, EvaluateError> {
    check(hypotheses, references)?;
    let mut sums = [Statistics::default(); ORDERS];
    for (line, hypothesis) in hypotheses.iter().enumerate() {
        let hypothesis = characters(hypothesis);
        let mut best: Option<(f64, [Statistics; ORDERS])> = None;
        for reference in references {
            let statistics = compare(&hypothesis, &characters(reference[line]));
            let score = f_score(&statistics);
            if best.is_none_or(|(other, _)| score > other) {
                best = Some((score, statistics));
            }
        }
        for (sum, one) in sums.iter_mut().zip(best.into_iter().flat_map(|(_, statistics)| statistics)) {
            sum.hypothesis += one.hypothesis;
            sum.reference += one.reference;
            sum.matches += one.matches;
        }
    }
    Ok(Chrf { score: f_score(&sums) })
}

fn characters(line: &str) -> Vec<char> {
    line.chars().filter(|&character| !is_space(character)).collect()
}

/// A hypothesis' n-grams count only if the reference is long enough for that order.
fn compare(hypothesis: &[char], reference: &[char]) -> [Statistics; ORDERS] {
    std::array::from_fn(|index| {
        let order = index + 1;
        let grams = |characters: &[char]| (characters.len() + 1).saturating_sub(order) as u64;
        let of_reference = grams(reference);
        Statistics {
            hypothesis: if of_reference > 0 { grams(hypothesis) } else { 0 },
            reference: of_reference,
            matches: matches(&count(hypothesis, order), &count(reference, order)),
        }
    })
}

fn f_score(statistics: &[Statistics; ORDERS]) -> f64 {
    let (mut precision, mut recall, mut orders) = (0.0, 0.0, 0.0);
    for order in statistics.iter().filter(|order| order.hypothesis > 0 && order.reference > 0) {
        precision += order.matches as f64 / order.hypothesis as f64;
        recall += order.matches as f64 / order.reference as f64;
        orders += 1.0;
    }
    if precision + recall == 0.0 {
        return 0.0;
    }
    let (precision, recall) = (precision / orders, recall / orders);
    let factor = BETA * BETA;
    100.0 * (1.0 + factor) * precision * recall / (factor * precision + recall)
}
