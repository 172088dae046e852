//! ROUGE (Lin 2004), mean over the lines of a file.

use std::collections::{BTreeSet, HashMap};

use super::{EvaluateError, check, count, matches};

/// Largest product of the lengths of two token sequences whose longest common subsequence is computed: two texts of 65,000
/// tokens, and 512 MiB of decisions.
const MOST_CELLS: u64 = 1 << 32;

/// Precision, recall and their harmonic mean, 0 to 1.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct RougeScore {
    /// Matches as a share of the hypothesis.
    pub precision: f64,
    /// Matches as a share of the reference.
    pub recall: f64,
    /// 2 · precision · recall / (precision + recall).
    pub fmeasure: f64,
}

impl RougeScore {
    fn new(matches: u64, hypothesis: u64, reference: u64) -> Self {
        let precision = matches as f64 / hypothesis.max(1) as f64;
        let recall = matches as f64 / reference.max(1) as f64;
        let fmeasure = match precision + recall {
            sum if sum > 0.0 => 2.0 * precision * recall / sum,
            _ => 0.0,
        };
        Self { precision, recall, fmeasure }
    }
}

/// The four kinds of ROUGE, without stemming.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Rouge {
    /// Words in common.
    pub rouge_1: RougeScore,
    /// Pairs of neighbouring words in common.
    pub rouge_2: RougeScore,
    /// Longest common subsequence of the words, line breaks ignored.
    pub rouge_l: RougeScore,
    /// Union of the longest common subsequences of each line of the reference with every line of the hypothesis.
    pub rouge_l_sum: RougeScore,
}

impl Rouge {
    /// The kinds with their names in `rouge-score`.
    pub fn named(&self) -> [(&'static str, RougeScore); 4] {
        [
            ("rouge1", self.rouge_1),
            ("rouge2", self.rouge_2),
            ("rougeL", self.rouge_l),
            ("rougeLsum", self.rouge_l_sum),
        ]
    }

    fn scores_mut(&mut self) -> [&mut RougeScore; 4] {
        [&mut self.rouge_1, &mut self.rouge_2, &mut self.rouge_l, &mut self.rouge_l_sum]
    }
}

/// ROUGE of texts against one or several references each: the mean of what `RougeScorer.score_multi` of `rouge-score` 0.1.2
/// computes for each text without a stemmer. For each kind, a text's reference with the best F-measure counts. A text may have
/// several lines, which are the sentences of ROUGE-Lsum.
///
/// # Errors
/// Those of the other scores; [`EvaluateError::TooLong`] if a text and its reference have too many words.
pub fn rouge(hypotheses: &[&str], references: &[Vec<&str>]) -> Result<Rouge, EvaluateError> {
    check(hypotheses, references)?;
    let mut sums = Rouge::default();
    for (line, hypothesis) in hypotheses.iter().enumerate() {
        let mut best: Option<Rouge> = None;
        for lines in references {
            let mut scores = compare(hypothesis, lines[line], line + 1)?;
            match &mut best {
                None => best = Some(scores),
                Some(best) => {
                    for (best, score) in best.scores_mut().into_iter().zip(scores.scores_mut()) {
                        if score.fmeasure > best.fmeasure {
                            *best = *score;
                        }
                    }
                }
            }
        }
        for (sum, score) in sums.scores_mut().into_iter().zip(best.unwrap_or_default().scores_mut()) {
            sum.precision += score.precision;
            sum.recall += score.recall;
            sum.fmeasure += score.fmeasure;
        }
    }
    let count = hypotheses.len() as f64;
    for sum in sums.scores_mut() {
        *sum = RougeScore {
            precision: sum.precision / count,
            recall: sum.recall / count,
            fmeasure: sum.fmeasure / count,
        };
    }
    Ok(sums)
}

/// Words of a text as numbers; equal words have equal numbers.
#[derive(Default)]
struct Words {
    numbers: HashMap<String, u32>,
}

impl Words {
    /// Runs of ASCII letters and digits, in lower case.
    fn of(&mut self, text: &str) -> Vec<u32> {
        let lower = text.to_lowercase();
        let words = lower.split(|character: char| !character.is_ascii_alphanumeric());
        let mut number = |word: &str| {
            let next = self.numbers.len() as u32;
            *self.numbers.entry(word.to_owned()).or_insert(next)
        };
        words.filter(|word| !word.is_empty()).map(&mut number).collect()
    }

    fn of_lines(&mut self, text: &str) -> Vec<Vec<u32>> {
        text.split('\n').filter(|line| !line.is_empty()).map(|line| self.of(line)).collect()
    }
}

fn compare(hypothesis: &str, reference: &str, line: usize) -> Result<Rouge, EvaluateError> {
    let mut words = Words::default();
    let (ours, theirs) = (words.of(hypothesis), words.of(reference));
    if ours.len() as u64 * theirs.len() as u64 > MOST_CELLS {
        return Err(EvaluateError::TooLong {
            line,
            hypothesis: ours.len(),
            reference: theirs.len(),
            most: MOST_CELLS,
        });
    }
    let common = common_length(&theirs, &ours);
    let (our_lines, their_lines) = (words.of_lines(hypothesis), words.of_lines(reference));
    Ok(Rouge {
        rouge_1: grams(&ours, &theirs, 1),
        rouge_2: grams(&ours, &theirs, 2),
        rouge_l: RougeScore::new(common, ours.len() as u64, theirs.len() as u64),
        rouge_l_sum: summary_level(&our_lines, &their_lines),
    })
}

fn grams(ours: &[u32], theirs: &[u32], order: usize) -> RougeScore {
    let number = |words: &[u32]| (words.len() + 1).saturating_sub(order) as u64;
    let found = matches(&count(ours, order), &count(theirs, order));
    RougeScore::new(found, number(ours), number(theirs))
}

/// Length of the longest common subsequence.
fn common_length(reference: &[u32], hypothesis: &[u32]) -> u64 {
    let mut row = vec![0u64; hypothesis.len() + 1];
    for one in reference {
        let mut diagonal = 0;
        for (at, other) in hypothesis.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if one == other { diagonal + 1 } else { above.max(row[at]) };
            diagonal = above;
        }
    }
    row.last().copied().unwrap_or(0)
}

/// ROUGE-Lsum, section 3.2 of the paper. A word counts at most as often as it occurs on either side, as in ROUGE 1.5.5.
fn summary_level(ours: &[Vec<u32>], theirs: &[Vec<u32>]) -> RougeScore {
    let (mut left_of_ours, mut left_of_theirs) = (occurrences(ours), occurrences(theirs));
    let mut hits = 0;
    for reference in theirs {
        let mut union = BTreeSet::new();
        for hypothesis in ours {
            union.extend(common_places(reference, hypothesis));
        }
        for place in union {
            let word = reference[place];
            if let (Some(ours @ 1..), Some(theirs @ 1..)) =
                (left_of_ours.get_mut(&word), left_of_theirs.get_mut(&word))
            {
                *ours -= 1;
                *theirs -= 1;
                hits += 1;
            }
        }
    }
    let length = |lines: &[Vec<u32>]| lines.iter().map(Vec::len).sum::<usize>() as u64;
    RougeScore::new(hits, length(ours), length(theirs))
}

fn occurrences(lines: &[Vec<u32>]) -> HashMap<u32, u64> {
    let mut counts = HashMap::new();
    for &word in lines.iter().flatten() {
        *counts.entry(word).or_default() += 1;
    }
    counts
}

/// Places in `reference` of one longest common subsequence: of several, the one that `rouge-score` finds, whose union with those
/// of other sentences decides the score. Only the direction of each step is kept, a bit.
fn common_places(reference: &[u32], hypothesis: &[u32]) -> Vec<usize> {
    let width = hypothesis.len();
    let mut goes_left = vec![0u64; (reference.len() * width).div_ceil(64)];
    let mut row = vec![0u32; width + 1];
    for (i, one) in reference.iter().enumerate() {
        let mut diagonal = 0;
        for (j, other) in hypothesis.iter().enumerate() {
            let (above, left) = (row[j + 1], row[j]);
            if left > above {
                let cell = i * width + j;
                goes_left[cell / 64] |= 1 << (cell % 64);
            }
            row[j + 1] = if one == other { diagonal + 1 } else { above.max(left) };
            diagonal = above;
        }
    }
    let (mut i, mut j) = (reference.len(), width);
    let mut places = Vec::new();
    while i > 0 && j > 0 {
        let cell = (i - 1) * width + j - 1;
        if reference[i - 1] == hypothesis[j - 1] {
            places.push(i - 1);
            (i, j) = (i - 1, j - 1);
        } else if goes_left[cell / 64] >> (cell % 64) & 1 == 1 {
            j -= 1;
        } else {
            i -= 1;
        }
    }
    places
}
