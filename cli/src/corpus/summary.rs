//! The report of a run, for people.

use wordloom::readable::{counted, grouped};
use wordloom_corpus::{Report, Summary};

use crate::CliError;
use crate::output::Output;
use crate::table::number;

/// Columns of the longest bar.
const BAR: f64 = 32.0;

pub fn print(output: &mut Output, summary: &Summary) -> Result<(), CliError> {
    let Summary { report, parts, run_rows, run_tokens, run_seconds, bad_row_files } = summary;
    let (rows, parts) = (counted(report.rows, "row"), counted(*parts, "part"));
    output.line(&format!("{rows} in {parts}"))?;
    let texts = report.texts();
    if texts > 0 {
        let share = 100.0 * report.duplicates as f64 / texts as f64;
        output.line(&format!(
            "    texts       {}, {} % of them translated before",
            grouped(texts),
            number(share)
        ))?;
        let (read, written) = (grouped(report.source_tokens), grouped(report.tokens));
        output.line(&format!("    tokens      {read} read, {written} written"))?;
    }
    for (name, count) in [("without text", report.nulls), ("cut", report.cut), ("bad", report.bad_rows)] {
        if count > 0 {
            output.line(&format!("    {name:<11} {}", grouped(count)))?;
        }
    }
    if *run_rows > 0 {
        let rate = |count: u64| number(count as f64 / run_seconds.max(0.001));
        let (rows, tokens) = (rate(*run_rows), rate(*run_tokens));
        output.line(&format!(
            "    speed       {rows} rows/s, {tokens} tokens/s in {} s",
            number(*run_seconds)
        ))?;
    }
    let lengths = Report::LENGTHS.map(|most| format!("to {most}"));
    let lengths = lengths.into_iter().chain(["more".into()]).zip(report.lengths);
    histogram(output, "texts by tokens", lengths)?;
    let tenths =
        (0..10).map(|tenth| format!("{:.1}–{:.1}", f64::from(tenth) / 10.0, f64::from(tenth + 1) / 10.0));
    histogram(output, "texts by trust", tenths.zip(report.trust))?;
    if let Some(file) = bad_row_files.first() {
        let others = bad_row_files.len() - 1;
        let more = match others {
            0 => String::new(),
            _ => format!(", and {} beside it", counted(others, "file")),
        };
        output.line(&format!("bad rows, with the reasons: {}{more}", file.display()))?;
    }
    output.flush()
}

fn histogram(
    output: &mut Output,
    title: &str,
    bins: impl Iterator<Item = (String, u64)>,
) -> Result<(), CliError> {
    let bins: Vec<(String, u64)> = bins.collect();
    let most = bins.iter().map(|(_, count)| *count).max().unwrap_or(0);
    if most == 0 {
        return Ok(());
    }
    output.line(title)?;
    for (name, count) in bins {
        let bar = "━".repeat((BAR * count as f64 / most as f64).ceil() as usize);
        output.line(format!("    {name:>7} {:>10} {bar}", grouped(count)).trim_end())?;
    }
    Ok(())
}
