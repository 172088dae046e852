//! Text tables: names are aligned left, numbers right.

use crate::CliError;
use crate::output::Output;

pub struct Table {
    rows: Vec<Vec<String>>,
    /// Number of columns that are aligned left.
    names: usize,
}

impl Table {
    pub fn new(names: usize, header: &[&str]) -> Self {
        Self { rows: vec![header.iter().map(|&title| title.to_owned()).collect()], names }
    }

    pub fn row(&mut self, cells: Vec<String>) {
        self.rows.push(cells);
    }

    pub fn write(&self, output: &mut Output) -> Result<(), CliError> {
        let columns = self.rows.iter().map(Vec::len).max().unwrap_or(0);
        let width = |column: usize| {
            let cells = self.rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..columns).map(width).collect();
        for row in &self.rows {
            let cells = row.iter().zip(&widths).enumerate().map(|(column, (cell, &width))| {
                if column < self.names { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
            });
            output.line(cells.collect::<Vec<_>>().join("  ").trim_end())?;
        }
        Ok(())
    }
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

/// [`number`], or a dash for an unknown value.
pub fn optional(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), number)
}

/// A fraction in percent.
pub fn percent(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{:.0} %", value * 100.0))
}

/// Bytes in millions.
pub fn megabytes(bytes: u64) -> String {
    number(bytes as f64 / 1e6)
}
