//! `wordloom bench --layers`: kinds of layers over lengths and widths, beside Table 1 of the paper.

mod builder;
mod chain;
mod depthwise;
mod fit;
mod gru;
mod kinds;
mod measure;
mod page;
mod path;
mod plot;
mod project;
mod report;
mod sparse;
mod unfold;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use wordloom::Device;

use super::{positive, show};
use crate::CliError;
use crate::output::{Output, cannot_write};
use builder::Size;
use kinds::{KINDS, Kind};
use measure::Meter;
use report::Report;

/// Which layers are measured. Help has to fit a screen: docs/performance.md has the hidden ones.
#[derive(clap::Args)]
#[group(skip)] // `bench` has `Arguments` of its own
pub struct Arguments {
    /// Attention, recurrence, convolution over lengths
    #[arg(long, conflicts_with_all = ["model", "config", "kernels", "attention", "training", "profile", "lines", "sentences"])]
    pub layers: bool,
    /// Draw --layers to a file .html or .svg
    #[arg(long, value_name = "FILE", requires = "layers")]
    plot: Option<PathBuf>,
    /// Kinds to measure
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', requires = "layers", hide = true)]
    kinds: Vec<String>,
    /// Tokens of a sequence
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        value_parser = positive,
        default_value = "64,128,256,512,1024,2048,4096,8192,16384",
        requires = "layers",
        hide = true
    )]
    lengths: Vec<usize>,
    /// Widths of a token
    #[arg(
        long,
        value_name = "N,…",
        value_delimiter = ',',
        value_parser = positive,
        default_value = "64,128,256,512,1024",
        requires = "layers",
        hide = true
    )]
    widths: Vec<usize>,
    /// Seconds of a run; a longer one is skipped
    #[arg(long, value_name = "X", value_parser = seconds, default_value = "2", requires = "layers", hide = true)]
    limit: Duration,
}

fn seconds(text: &str) -> Result<Duration, &'static str> {
    let number = text.parse().ok().filter(|number: &f64| (0.0..=1e6).contains(number));
    number.map(Duration::from_secs_f64).ok_or("a number of seconds is needed")
}

/// Largest length and width: sizes of their products are in range.
const MOST: usize = 1 << 20;

pub fn run(
    arguments: &Arguments,
    device: &Device,
    repeats: usize,
    json: bool,
    output: &mut Output,
) -> Result<(), CliError> {
    let draw = arguments.plot.as_deref().map(|path| Ok::<_, CliError>((path, format(path)?))).transpose()?;
    let kinds = chosen(&arguments.kinds)?;
    for (option, sizes) in [("--lengths", &arguments.lengths), ("--widths", &arguments.widths)] {
        if let Some(size) = sizes.iter().find(|&&size| size > MOST) {
            return Err(CliError::Usage(format!(
                "{option}: {size} is more than {MOST}, the most that is measured"
            )));
        }
    }
    if let Some(width) = arguments.widths.iter().find(|&&width| width > 64 && !width.is_multiple_of(64)) {
        let message = format!("--widths: {width} is no multiple of 64, the width of a head");
        return Err(CliError::Usage(message));
    }
    let (mut lengths, mut widths) = (arguments.lengths.clone(), arguments.widths.clone());
    for sizes in [&mut lengths, &mut widths] {
        sizes.sort_unstable();
        sizes.dedup();
    }
    let mut meter = Meter::new(device, arguments.limit, repeats, kinds.len() * lengths.len() * widths.len());
    let mut cells = Vec::new();
    for kind in &kinds {
        for &width in &widths {
            for &length in &lengths {
                cells.push(meter.measure(kind, Size { length, width })?);
            }
        }
    }
    drop(meter);
    let report = Report::new(device, arguments.limit, &kinds, cells);
    show(&report, Report::text, json, output)?;
    let Some((path, format)) = draw else { return Ok(()) };
    let picture = match format {
        Format::Html => page::page(&report),
        Format::Svg => plot::picture(&report),
    };
    fs::write(path, picture).map_err(|source| cannot_write(path, source))
}

fn chosen(names: &[String]) -> Result<Vec<&'static Kind>, CliError> {
    if names.is_empty() {
        return Ok(KINDS.iter().collect());
    }
    let known = || KINDS.iter().map(|kind| kind.name).collect::<Vec<_>>().join(", ");
    let one = |name: &String| {
        kinds::find(name).ok_or_else(|| {
            CliError::Usage(format!("--kinds: no kind is named {name:?}; there are {}", known()))
        })
    };
    names.iter().map(one).collect()
}

#[derive(Clone, Copy)]
enum Format {
    Html,
    Svg,
}

fn format(path: &Path) -> Result<Format, CliError> {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    match &*extension.to_ascii_lowercase() {
        "html" | "htm" => Ok(Format::Html),
        "svg" => Ok(Format::Svg),
        _ => {
            let path = path.display();
            Err(CliError::Usage(format!("--plot {path} has no known ending; use .html or .svg")))
        }
    }
}
