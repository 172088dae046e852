//! Text tables: names are aligned left, numbers right.

use crate::CliError;
use crate::output::Output;

/// Writes a header and rows; the first `names` columns are names.
pub fn table(
    output: &mut Output,
    names: usize,
    header: &[&str],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> Result<(), CliError> {
    let mut lines = vec![header.iter().map(|&title| title.to_owned()).collect()];
    lines.extend(rows);
    let width = |column: usize| {
        let cells = lines.iter().filter_map(|line: &Vec<String>| line.get(column));
        cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
    };
    let columns = lines.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns).map(width).collect();
    for line in &lines {
        let cells = line.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
            if column < names { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
        });
        output.line(cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    Ok(())
}

/// A number with about three digits.
pub fn number(value: f64) -> String {
    match value.abs() {
        large if large >= 99.95 => format!("{value:.0}"),
        medium if medium >= 9.995 => format!("{value:.1}"),
        small if small >= 0.9995 || small == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

pub fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), number)
}

pub fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{:.0} %", value * 100.0))
}

pub fn megabytes(bytes: u64) -> String {
    number(bytes as f64 / 1e6)
}
