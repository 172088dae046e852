//! From runs to verdicts: means over seeds, differences from the reference with the same seed.

use serde::Serialize;

use super::rows::Row;
use crate::study::miniature::Miniature;
use crate::study::runs::RunRecord;
use crate::study::statistics::{Direction, Summary, Verdict};

/// Smaller differences count as none: dev loss in nats per token, BLEU.
pub const MARGINS: [f64; 2] = [0.02, 0.5];
/// BLEU below which a model has not begun to translate: differences then say nothing.
pub const LEAST_BLEU: f64 = 1.0;
/// Names of the two measured numbers.
pub const METRICS: [&str; 2] = ["dev loss", "BLEU"];

/// All rows, also those without runs.
pub struct Results {
    pub rows: Vec<RowResult>,
    pub seeds: u64,
    /// The runs of these rows and seeds, in the order of rows.
    pub runs: Vec<RunRecord>,
}

#[derive(Clone, Debug, Serialize)]
pub struct RowResult {
    pub name: &'static str,
    pub changed: &'static str,
    pub reference: &'static str,
    pub claim: &'static str,
    pub source: &'static str,
    pub miniature: Miniature,
    pub parameters: Option<u64>,
    pub tokens_per_second: Option<f64>,
    pub runs: usize,
    pub diverged: usize,
    /// Of dev loss and BLEU.
    pub metrics: [Metric; 2],
}

/// One of the two measured numbers of a row.
#[derive(Clone, Debug, Serialize)]
pub struct Metric {
    pub predicted: Direction,
    /// The paper's difference: ln perplexity, or BLEU.
    pub paper: Option<f64>,
    pub measured: Option<Summary>,
    /// Differences from the reference, a run of the same seed.
    pub differences: Vec<f64>,
    pub difference: Option<Summary>,
    /// Of 95 %.
    pub interval: Option<[f64; 2]>,
    /// `None` for the base, and without runs.
    pub verdict: Option<Verdict>,
}

impl Results {
    pub fn of(rows: &[Row], finished: &[RunRecord], seeds: u64) -> Self {
        let of_row = |name: &str| -> Vec<&RunRecord> {
            let is_of = |run: &&RunRecord| run.row == name && run.seed <= seeds;
            let mut runs: Vec<&RunRecord> = finished.iter().filter(is_of).collect();
            runs.sort_by_key(|run| run.seed);
            runs
        };
        let runs = rows.iter().flat_map(|row| of_row(row.name)).cloned().collect();
        let rows = rows.iter().map(|row| RowResult::of(row, &of_row(row.name), &of_row(row.reference)));
        Self { rows: rows.collect(), seeds, runs }
    }

    /// Number of runs when the study is finished.
    pub fn wanted(&self) -> usize {
        self.rows.len() * self.seeds as usize
    }

    /// Number of verdicts of a kind, over rows and both numbers.
    pub fn count(&self, verdict: Verdict) -> usize {
        let all = self.rows.iter().flat_map(|row| &row.metrics);
        all.filter(|metric| metric.verdict == Some(verdict)).count()
    }
}

impl RowResult {
    fn of(row: &Row, runs: &[&RunRecord], references: &[&RunRecord]) -> Self {
        let mean = |value: fn(&RunRecord) -> f64| {
            Summary::of(&runs.iter().map(|run| value(run)).collect::<Vec<_>>()).map(|all| all.mean)
        };
        Self {
            name: row.name,
            changed: row.changed,
            reference: row.reference,
            claim: row.claim,
            source: row.source,
            miniature: row.miniature,
            parameters: runs.first().map(|run| run.outcome.parameters),
            tokens_per_second: mean(|run| run.outcome.tokens_per_second),
            runs: runs.len(),
            diverged: runs.iter().filter(|run| run.outcome.diverged_at.is_some()).count(),
            metrics: [0, 1].map(|metric| Metric::of(metric, row, runs, references)),
        }
    }

    /// Whether it is compared with another row.
    pub fn is_compared(&self) -> bool {
        self.name != self.reference
    }
}

/// Dev loss (0) or BLEU (1) of a run that did not diverge.
fn value(metric: usize, run: &RunRecord) -> Option<f64> {
    [run.outcome.dev_loss, run.outcome.bleu][metric]
}

impl Metric {
    fn of(metric: usize, row: &Row, runs: &[&RunRecord], references: &[&RunRecord]) -> Self {
        let values: Vec<f64> = runs.iter().filter_map(|run| value(metric, run)).collect();
        let with_reference = runs.iter().filter_map(|run| {
            let reference = references.iter().find(|reference| reference.seed == run.seed)?;
            Some((value(metric, run), value(metric, reference)?))
        });
        let pairs: Vec<(Option<f64>, f64)> = with_reference.collect();
        let differences: Vec<f64> =
            pairs.iter().filter_map(|(value, reference)| Some((*value)? - reference)).collect();
        let difference = Summary::of(&differences);
        let predicted = row.predicted()[metric];
        let has_diverged = differences.len() < pairs.len();
        // a training without a result is the worst one, whatever other seeds say
        let says_nothing = metric == 1
            && pairs.iter().all(|(value, reference)| {
                value.is_some_and(|value| value < LEAST_BLEU) && *reference < LEAST_BLEU
            });
        let verdict = match (has_diverged, predicted, metric) {
            (true, Direction::Higher, 0) | (true, Direction::Lower, 1) => Verdict::Seen,
            (true, ..) => Verdict::NotSeen,
            (false, ..) if says_nothing => Verdict::NotDecidable,
            (false, ..) => Verdict::of(predicted, difference, MARGINS[metric]),
        };
        let is_compared = row.name != row.reference && !pairs.is_empty();
        Self {
            predicted,
            paper: row.paper_differences().map(|differences| differences[metric]),
            measured: Summary::of(&values),
            interval: difference.and_then(|all| all.interval()),
            difference,
            differences,
            verdict: is_compared.then_some(verdict),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rows;
    use super::*;
    use crate::study::miniature::Outcome;

    fn run(row: &str, seed: u64, result: Option<[f64; 2]>) -> RunRecord {
        let outcome = Outcome {
            parameters: 7,
            steps: 2,
            tokens: 100,
            dev_loss: result.map(|[loss, _]| loss),
            bleu: result.map(|[_, bleu]| bleu),
            seconds: 1.0,
            tokens_per_second: 100.0,
            diverged_at: result.is_none().then_some(2),
        };
        RunRecord { row: row.into(), seed, miniature: Miniature::BASE, device: "CPU".into(), outcome }
    }

    #[test]
    fn rows_are_compared_seed_by_seed() {
        let rows = rows::chosen(rows::table_3(), &["heads-1".into(), "post-norm-no-warmup".into()]).unwrap();
        let mut runs = Vec::new();
        for (seed, noise) in [(1, 0.0), (2, 0.5), (3, -0.5)] {
            runs.push(run("base", seed, Some([3.0 + noise, 10.0 - noise])));
            runs.push(run("heads-1", seed, Some([3.1 + 1.01 * noise, 10.2 - noise])));
            runs.push(run("post-norm-no-warmup", seed, (seed != 2).then_some([3.0 + noise, 10.0])));
        }
        let results = Results::of(&rows, &runs, 3);
        let names: Vec<&str> = results.rows.iter().map(|row| row.name).collect();
        assert_eq!(names, ["base", "heads-1", "post-norm-no-warmup"]);
        let [base, heads, post] = &results.rows[..] else { unreachable!("three rows") };
        assert!(base.metrics.iter().all(|metric| metric.verdict.is_none()));
        // the seeds differ by 0.5 nats, but the same seed of both rows by 0.1
        assert_eq!(heads.metrics[0].verdict, Some(Verdict::Seen));
        assert_eq!(heads.metrics[1].verdict, Some(Verdict::NotSeen));
        assert!((heads.metrics[0].difference.unwrap().mean - 0.1).abs() < 1e-9);
        assert_eq!((post.diverged, post.metrics[0].differences.len()), (1, 2));
        assert_eq!(post.metrics.each_ref().map(|metric| metric.verdict), [Some(Verdict::Seen); 2]);
        assert_eq!((results.wanted(), results.runs.len(), results.count(Verdict::Seen)), (9, 9, 3));
        // all translate nothing
        let failures: Vec<RunRecord> = (1..=3)
            .flat_map(|seed| ["base", "heads-1"].map(|row| run(row, seed, Some([6.0, 0.1]))))
            .collect();
        let results = Results::of(&rows[..2], &failures, 3);
        let verdicts = results.rows[1].metrics.each_ref().map(|metric| metric.verdict);
        assert_eq!(verdicts, [Some(Verdict::NotSeen), Some(Verdict::NotDecidable)]);
        // one seed decides nothing, and runs of other rows and seeds do not count
        let results = Results::of(&rows[..2], &runs, 1);
        assert_eq!(results.rows[1].metrics[0].verdict, Some(Verdict::NotDecidable));
        assert_eq!(results.runs.len(), 2);
    }
}
