//! What was measured, beside what the literature says.

use std::time::Duration;

use serde::Serialize;
use wordloom::Device;

use super::fit::{Crossing, crossing, exponent};
use super::kinds::Kind;
use super::measure::Cell;
use crate::CliError;
use crate::bench::host;
use crate::bench::models::DeviceShape;
use crate::output::Output;
use crate::table::{number, optional, table};

#[derive(Serialize)]
pub struct Report {
    version: &'static str,
    date: String,
    device: DeviceShape,
    limit_seconds: f64,
    pub kinds: Vec<Row>,
    /// Where recurrence becomes faster than self-attention, by width.
    pub crossings: Vec<Crossed>,
    pub cells: Vec<Cell>,
}

/// A kind of layer.
#[derive(Serialize)]
pub struct Row {
    pub name: &'static str,
    pub about: &'static str,
    pub complexity: &'static str,
    pub sequential: &'static str,
    pub path_length: &'static str,
    pub source: &'static str,
    pub time_by_length: Option<Fit>,
    /// As time, of the processor: it varies less on a busy machine.
    pub cpu_time_by_length: Option<Fit>,
    pub multiplications_by_length: Option<Fit>,
    pub time_by_width: Option<Fit>,
    /// Length of the longest sequence whose launches and paths were looked at.
    pub longest: Option<usize>,
    pub chain: Option<usize>,
    pub path: Option<usize>,
}

/// The exponent of a power law, and what it was fitted to.
#[derive(Clone, Copy, Serialize)]
pub struct Fit {
    pub exponent: f64,
    /// Smallest and largest length or width.
    pub from: usize,
    pub to: usize,
    /// The fixed width or length.
    pub at: usize,
}

#[derive(Serialize)]
pub struct Crossed {
    pub width: usize,
    /// Tokens up to which self-attention is faster.
    pub length: Option<f64>,
    /// Measured lengths.
    pub from: usize,
    pub to: usize,
    /// The faster kind, if they do not cross.
    pub faster: Option<&'static str>,
}

/// Kinds whose times are compared.
const COMPARED: [&str; 2] = ["self-attention", "recurrent"];
/// Shortest length of a fit: below, what does not grow with the length has a share.
const LONG: usize = 2048;
/// Width of a fit, if it was measured.
const WIDTH: usize = 512;

impl Report {
    pub fn new(device: &Device, limit: Duration, kinds: &[&'static Kind], cells: Vec<Cell>) -> Self {
        let rows = kinds.iter().map(|kind| row(kind, &cells)).collect();
        Self {
            version: env!("CARGO_PKG_VERSION"),
            date: host::date(),
            device: DeviceShape::of(device),
            limit_seconds: limit.as_secs_f64(),
            kinds: rows,
            crossings: widths(&cells).into_iter().filter_map(|width| crossed(&cells, width)).collect(),
            cells,
        }
    }

    pub fn widths(&self) -> Vec<usize> {
        widths(&self.cells)
    }

    /// Width of the plot that stands alone.
    pub fn main_width(&self) -> usize {
        main_width(&self.cells)
    }

    /// Measured lengths and milliseconds.
    pub fn times(&self, kind: &str, width: usize) -> Vec<[f64; 2]> {
        times(&self.cells, kind, width)
    }

    pub fn device(&self) -> String {
        self.device.text()
    }

    pub fn text(&self, output: &mut Output) -> Result<(), CliError> {
        output.line(&format!("wordloom  {}, {}", self.version, self.date))?;
        output.line(&format!("device    {}", self.device.text()))?;
        output
            .line("\nn tokens of width d; other letters: docs/costs.md; O(…) of the literature, exponents as measured")?;
        table(output, 2, &HEADER, self.kinds.iter().map(Row::cells))?;
        for width in self.widths() {
            output.line(&format!("\nmilliseconds, width {width}"))?;
            self.by_length(width, |cell| optional(cell.ms), output)?;
        }
        let width = self.main_width();
        output
            .line(&format!("\nmegabytes of weights, inputs, results and temporary values, width {width}"))?;
        self.by_length(width, |cell| number(cell.bytes as f64 / 1e6), output)?;
        output.line("")?;
        self.crossings.iter().try_for_each(|crossed| output.line(&crossed.text()))?;
        self.skipped().iter().try_for_each(|line| output.line(line))
    }

    fn by_length(
        &self,
        width: usize,
        value: impl Fn(&Cell) -> String,
        output: &mut Output,
    ) -> Result<(), CliError> {
        let mut lengths: Vec<usize> = self.cells.iter().map(|cell| cell.length).collect();
        lengths.sort_unstable();
        lengths.dedup();
        let numbers: Vec<String> = lengths.iter().map(usize::to_string).collect();
        let header: Vec<&str> = ["length"].into_iter().chain(numbers.iter().map(String::as_str)).collect();
        let rows = self.kinds.iter().map(|row| {
            let of = |&length: &usize| {
                let mut cells = self.cells.iter();
                let found =
                    cells.find(|cell| cell.kind == row.name && cell.length == length && cell.width == width);
                found.map_or_else(String::new, &value)
            };
            [row.name.to_owned()].into_iter().chain(lengths.iter().map(of)).collect()
        });
        table(output, 1, &header, rows)
    }

    /// A line for each kind and width with skipped cells.
    pub fn skipped(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for row in &self.kinds {
            for width in self.widths() {
                let cells = self.cells.iter().filter(|cell| cell.kind == row.name && cell.width == width);
                let skipped: Vec<(usize, &str)> =
                    cells.filter_map(|cell| Some((cell.length, cell.skipped.as_deref()?))).collect();
                let Some((_, reason)) = skipped.first() else { continue };
                let lengths: Vec<String> = skipped.iter().map(|(length, _)| length.to_string()).collect();
                let (name, lengths) = (row.name, lengths.join(", "));
                let which = if skipped.len() > 1 { "the first " } else { "" };
                lines.push(format!("skipped: {name}, width {width}, length {lengths}: {which}{reason}"));
            }
        }
        lines
    }
}

pub const HEADER: [&str; 10] = [
    "kind",
    "complexity",
    "time",
    "cpu time",
    "lengths",
    "time, by d",
    "sequential",
    "wait in turn",
    "path",
    "steps",
];

impl Row {
    /// Columns of [`HEADER`].
    pub fn cells(&self) -> Vec<String> {
        let power = |base: &str, fit: Option<Fit>| {
            fit.map_or_else(|| "–".to_owned(), |fit| format!("{base}^{:.2}", fit.exponent))
        };
        let lengths = self.time_by_length.map_or_else(String::new, |fit| format!("{}–{}", fit.from, fit.to));
        let at = |count: Option<usize>| match (count, self.longest) {
            (Some(count), Some(length)) => format!("{count} of n = {length}"),
            _ => "–".to_owned(),
        };
        vec![
            self.name.to_owned(),
            format!("O({})", self.complexity),
            power("n", self.time_by_length),
            power("n", self.cpu_time_by_length),
            lengths,
            power("d", self.time_by_width),
            format!("O({})", self.sequential),
            at(self.chain),
            format!("O({})", self.path_length),
            at(self.path),
        ]
    }
}

impl Crossed {
    pub fn text(&self) -> String {
        let Self { width, from, to, .. } = self;
        let [attention, recurrent] = COMPARED;
        match (self.length, self.faster) {
            (Some(length), _) => {
                format!(
                    "width {width}: {attention} is faster than {recurrent} up to about {length:.0} tokens"
                )
            }
            (None, Some(faster)) => {
                format!("width {width}: {faster} is faster at every measured length, {from} to {to}")
            }
            (None, None) => format!("width {width}: not compared"),
        }
    }
}

fn widths(cells: &[Cell]) -> Vec<usize> {
    let mut widths: Vec<usize> = cells.iter().map(|cell| cell.width).collect();
    widths.sort_unstable();
    widths.dedup();
    widths
}

fn main_width(cells: &[Cell]) -> usize {
    let widths = widths(cells);
    widths.iter().copied().find(|&width| width == WIDTH).or(widths.last().copied()).unwrap_or(WIDTH)
}

fn times(cells: &[Cell], kind: &str, width: usize) -> Vec<[f64; 2]> {
    let cells = cells.iter().filter(|cell| cell.kind == kind && cell.width == width);
    cells.filter_map(|cell| Some([cell.length as f64, cell.ms?])).collect()
}

fn row(kind: &Kind, cells: &[Cell]) -> Row {
    let [complexity, sequential, path_length] = kind.orders;
    let counted = cells.iter().filter(|cell| cell.kind == kind.name && cell.launches > 0);
    let longest = counted.max_by_key(|cell| cell.length);
    // at the usual width, or else the largest at which the kind has two times
    let wide = widths(cells).into_iter().rev();
    let width = std::iter::once(main_width(cells))
        .chain(wide)
        .find(|&width| times(cells, kind.name, width).len() > 1)
        .unwrap_or(main_width(cells));
    let measured = times(cells, kind.name, width);
    let long: Vec<[f64; 2]> = measured.iter().copied().filter(|point| point[0] >= LONG as f64).collect();
    let points = if long.len() > 1 { long } else { measured[measured.len().saturating_sub(3)..].to_vec() };
    let fitted = |value: fn(&Cell) -> Option<f64>| {
        let cells = cells.iter().filter(|cell| cell.kind == kind.name && cell.width == width);
        let cells = cells.filter(|cell| points.iter().any(|point| point[0] == cell.length as f64));
        let points: Vec<[f64; 2]> =
            cells.filter_map(|cell| Some([cell.length as f64, value(cell)?])).collect();
        fit(&points, width)
    };
    Row {
        name: kind.name,
        about: kind.about,
        complexity,
        sequential,
        path_length,
        source: kind.source,
        time_by_length: fit(&points, width),
        cpu_time_by_length: fitted(|cell| cell.cpu_ms),
        multiplications_by_length: fitted(|cell| Some(cell.multiplications as f64)),
        time_by_width: by_width(kind, cells),
        longest: longest.map(|cell| cell.length),
        chain: longest.map(|cell| cell.chain),
        path: longest.map(|cell| cell.path),
    }
}

fn fit(points: &[[f64; 2]], at: usize) -> Option<Fit> {
    let exponent = (exponent(points)? * 1e3).round() / 1e3;
    Some(Fit { exponent, from: points.first()?[0] as usize, to: points.last()?[0] as usize, at })
}

/// The exponent over widths, at the longest sequences that have the most widths.
fn by_width(kind: &Kind, cells: &[Cell]) -> Option<Fit> {
    let mut lengths: Vec<usize> = cells.iter().map(|cell| cell.length).collect();
    lengths.sort_unstable();
    lengths.dedup();
    let of = |length: usize| {
        let cells = cells.iter().filter(|cell| cell.kind == kind.name && cell.length == length);
        cells.filter_map(|cell| Some([cell.width as f64, cell.ms?])).collect::<Vec<_>>()
    };
    let length = lengths.into_iter().max_by_key(|&length| (of(length).len(), length))?;
    fit(&of(length), length)
}

fn crossed(cells: &[Cell], width: usize) -> Option<Crossed> {
    let [attention, recurrent] = COMPARED.map(|kind| times(cells, kind, width));
    let common = attention.iter().filter(|one| recurrent.iter().any(|other| other[0] == one[0]));
    let lengths: Vec<usize> = common.map(|point| point[0] as usize).collect();
    let (from, to) = (*lengths.first()?, *lengths.last()?);
    let (length, faster) = match crossing(&attention, &recurrent)? {
        Crossing::At(length) => (Some(length.round()), None),
        Crossing::None { first } => (None, Some(COMPARED[usize::from(!first)])),
    };
    Some(Crossed { width, length, from, to, faster })
}
