//! The study as a page, as Markdown, and its numbers as CSV and JSON.

use std::fmt::Write;
use std::path::Path;

use serde_json::json;
use wordloom::precision::Products;
use wordloom::readable::{duration, grouped};
use wordloom::train::write::write_files;

use super::plan::Plan;
use super::results::{LEAST_BLEU, MARGINS, METRICS, Metric, Results, RowResult};
use super::rows::PAPER_MARGINS;
use crate::CliError;
use crate::study::differences::{Line, differences, signed};
use crate::study::miniature::Numbers;
use crate::study::report::{Cell, Figure, Report, Table};
use crate::study::statistics::{Summary, Verdict};
use crate::train::text::typed;

/// Digits after the point of dev loss and BLEU.
const DIGITS: [usize; 2] = [3, 1];

/// Writes all pages; none of them is half of one.
pub fn write(
    out: &Path,
    plan: &Plan,
    results: &Results,
    about: (&Numbers, &[String]),
) -> Result<(), CliError> {
    let report = report(plan, results, about);
    let json = json!({ "rows": results.rows, "runs": results.runs, "command": report.command });
    let files = [
        ("html", report.html()),
        ("md", report.markdown()),
        ("csv", csv(results)),
        ("json", format!("{json:#}\n")),
    ]
    .map(|(ending, content)| (format!("{}.{ending}", plan.name), content));
    Ok(write_files(out, files.iter().map(|(name, content)| (&**name, content.as_bytes())))?)
}

fn report(plan: &Plan, results: &Results, (numbers, notes): (&Numbers, &[String])) -> Report {
    let (done, wanted) = (results.runs.len(), results.wanted());
    let state = match done == wanted {
        true => format!("{done} runs"),
        false => format!("{done} of {wanted} runs; not finished"),
    };
    let data = notes.iter().cloned().chain([format!(
        "runs.jsonl: a line for every run. {0}.csv: the runs. {0}.json: runs, differences, verdicts.",
        plan.name
    )]);
    Report {
        title: plan.title.to_owned(),
        state,
        claim: plan.claim.to_owned(),
        source: plan.source.to_owned(),
        method: method(results, numbers),
        facts: facts(results),
        figures: [0, 1].map(|metric| figure(results, metric)).into(),
        table: table(results),
        against: plan.against.iter().map(|&line| line.to_owned()).collect(),
        data: data.collect(),
        command: typed(std::iter::once("wordloom".to_owned()).chain(std::env::args().skip(1))),
    }
}

fn facts(results: &Results) -> Vec<[String; 3]> {
    let runs = &results.runs;
    let seconds: f64 = runs.iter().map(|run| run.outcome.seconds).sum();
    let tokens = runs.iter().map(|run| run.outcome.tokens).max().unwrap_or_default();
    let mut devices: Vec<&str> = runs.iter().map(|run| &*run.device).collect();
    devices.sort_unstable();
    devices.dedup();
    let count = |verdict| results.count(verdict).to_string();
    let rows = results.rows.iter().filter(|row| row.is_compared()).count();
    let of = format!("of {} predictions", 2 * rows);
    [
        ["Seen here", &count(Verdict::Seen), &of],
        ["Not seen here", &count(Verdict::NotSeen), "the other direction, or no difference"],
        ["Not decidable", &count(Verdict::NotDecidable), "within the spread of seeds"],
        ["Seeds", &results.seeds.to_string(), "for each row"],
        ["Target tokens", &grouped(tokens), "in each run"],
        ["Training", &duration(seconds), &devices.join(", ")],
    ]
    .map(|fact| fact.map(str::to_owned))
    .into()
}

fn method(results: &Results, numbers: &Numbers) -> Vec<String> {
    let [loss, bleu] = MARGINS;
    let [paper_loss, paper_bleu] = PAPER_MARGINS;
    let has_numbers = results.rows.iter().any(|row| row.metrics.iter().any(|metric| metric.paper.is_some()));
    let predictions = match has_numbers {
        true => format!(
            "Predictions are the signs of the paper's differences from its base: ln perplexity (below {paper_loss} is none), and BLEU \
             (below {paper_bleu} is none)."
        ),
        false => "Predictions are the directions that the text gives; it has no such models.".to_owned(),
    };
    vec![
        format!(
            "The base has d_model 128, d_ff 512, 8 heads, 3 + 3 layers: a quarter of the paper's widths, half of its layers. \
             Each row changes one thing. {} target tokens in batches of {}, {} seeds.",
            grouped(numbers.tokens),
            numbers.batch_tokens,
            results.seeds
        ),
        format!(
            "The paper's recipe in {}: Adam (0.9, 0.98, 10⁻⁹), no clipping, {} steps of warm-up to a peak of {:e} · √(128 / d_model), then \
             the inverse square root of the step; and a linear fall over the last 30 %, which the paper does not have. Without \
             warm-up the rate is at its peak from the first step.",
            match numbers.products {
                Products::F32 => "f32",
                Products::Bf16 => "f32 with products in bf16",
            },
            numbers.warmup(),
            numbers.peak
        ),
        "One vocabulary for all. Weights, order of the data and dropout follow from the seed, so that all rows of a seed see \
         the same batches. A row is compared with its reference seed by seed."
            .to_owned(),
        "Dev loss: nats per target token of the whole dev set, without label smoothing. BLEU: the engine's greedy search on the \
         whole dev set. Last weights, no averaging."
            .to_owned(),
        predictions,
        format!(
            "Seen: the interval of 95 % of the differences (Student) lies on the predicted side of 0; for “same”, within ±{loss} nats \
             or ±{bleu} BLEU. Not seen: it lies on the other side, or, if a difference was predicted, within these margins. All else \
             is not decidable, nor is BLEU below {LEAST_BLEU} on both sides."
        ),
    ]
}

fn table(results: &Results) -> Table {
    let columns = vec!["Row", "Claim", "Parameters", "Dev loss", "Prediction", "BLEU", "Prediction"];
    let is_new = |index: usize| index == 0 || results.rows[index - 1].claim != results.rows[index].claim;
    let rows = results.rows.iter().enumerate().map(|(index, row)| cells(row, is_new(index)));
    Table { columns, rows: rows.collect() }
}

/// The cells of a row. A claim about several rows stands in the first one.
fn cells(row: &RowResult, has_claim: bool) -> Vec<Cell> {
    let claim = match has_claim {
        true => Cell::new(row.claim, row.source),
        false => Cell::new("", row.source),
    };
    let mut cells = vec![
        Cell::new(row.name, row.changed).class("name"),
        claim,
        Cell::new(
            row.parameters.map_or("–".to_owned(), |count| format!("{:.2} M", count as f64 / 1e6)),
            row.tokens_per_second
                .map_or(String::new(), |speed| format!("{} tokens/s", grouped(speed as u64))),
        )
        .class("number"),
    ];
    for (index, metric) in row.metrics.iter().enumerate() {
        cells.extend(metric_cells(row, index, metric));
    }
    cells
}

/// The measured number with its difference, and the prediction with its verdict.
fn metric_cells(row: &RowResult, index: usize, metric: &Metric) -> [Cell; 2] {
    let digits = DIGITS[index];
    let diverged = (row.diverged > 0).then(|| format!("{} of {} diverged", row.diverged, row.runs));
    let beside = (row.is_compared() && row.reference != "base").then(|| format!("beside {}", row.reference));
    let difference = match (metric.difference, metric.interval) {
        _ if !row.is_compared() => None,
        (Some(all), Some([low, high])) => Some(format!(
            "{} ({} to {})",
            signed(all.mean, digits),
            signed(low, digits),
            signed(high, digits)
        )),
        (Some(all), None) => Some(signed(all.mean, digits)),
        (None, _) => None,
    };
    let note = [difference, beside, diverged].into_iter().flatten().collect::<Vec<_>>().join(", ");
    let text = metric.measured.map_or("–".to_owned(), |all| with_spread(&all, digits));
    let measured = Cell::new(text, note).class("measured");
    if !row.is_compared() {
        return [measured, Cell::default().class("empty")];
    }
    let paper = metric.paper.map(|paper| format!(" (paper {})", signed(paper, [2, 1][index])));
    let predicted = format!("{}{}", metric.predicted.name(), paper.unwrap_or_default());
    let prediction = match metric.verdict {
        None => Cell::new("–", predicted),
        Some(verdict) => Cell::new(verdict.name(), predicted).class(match verdict {
            Verdict::Seen => "seen",
            Verdict::NotSeen => "missed",
            Verdict::NotDecidable => "undecided",
        }),
    };
    [measured, prediction]
}

/// `3.120 ± 0.010 (n 3)`
fn with_spread(summary: &Summary, digits: usize) -> String {
    let Summary { n, mean, deviation } = summary;
    match deviation {
        Some(deviation) => format!("{mean:.digits$} ± {deviation:.digits$} (n {n})"),
        None => format!("{mean:.digits$} (n {n})"),
    }
}

fn figure(results: &Results, metric: usize) -> Figure {
    let lines: Vec<Line> = results
        .rows
        .iter()
        .filter(|row| row.is_compared())
        .map(|row| Line {
            name: row.name.to_owned(),
            seeds: row.metrics[metric].differences.clone(),
            paper: row.metrics[metric].paper,
            missing: if row.diverged > 0 { "diverged" } else { "–" },
        })
        .collect();
    let (title, better) = [("Dev loss", "left is better"), ("BLEU", "right is better")][metric];
    Figure {
        title: title.to_owned(),
        note: format!("beside the reference, {better}; ● mean with 95 %, ◇ paper"),
        svg: differences(METRICS[metric], &lines, [2, 1][metric]),
        ..Figure::default()
    }
}

fn csv(results: &Results) -> String {
    let mut text =
        "row,seed,parameters,steps,target_tokens,dev_loss,bleu,seconds,tokens_per_second,diverged_at\n"
            .to_owned();
    let optional = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
    for run in &results.runs {
        let outcome = &run.outcome;
        let _ = writeln!(
            text,
            "{},{},{},{},{},{},{},{:.1},{:.1},{}",
            run.row,
            run.seed,
            outcome.parameters,
            outcome.steps,
            outcome.tokens,
            optional(outcome.dev_loss),
            optional(outcome.bleu),
            outcome.seconds,
            outcome.tokens_per_second,
            outcome.diverged_at.map_or(String::new(), |step| step.to_string())
        );
    }
    text
}
