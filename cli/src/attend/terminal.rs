//! A heatmap in the terminal, in true colour or in plain characters.

use std::fmt::Write;
use std::io::IsTerminal;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::picture::{Picture, colour};
use crate::CliError;
use crate::output::Output;

const SHADES: [char; 10] = [' ', '.', ':', '-', '=', '+', '*', '#', '%', '@'];
/// Terminal columns of the longest row label.
const LONGEST_LABEL: usize = 20;
/// Terminal rows of the longest upright label.
const HIGHEST_LABEL: usize = 14;

/// Terminal columns of the widest cell with horizontal labels.
const WIDEST_CELL: usize = 10;

pub struct Style {
    pub colours: bool,
    /// Terminal columns.
    pub width: usize,
}

impl Style {
    /// Colours if standard output is a terminal and `NO_COLOR` is not set, or if `CLICOLOR_FORCE` is set.
    pub fn of_stdout() -> Self {
        let set = |name| std::env::var_os(name).is_some_and(|value| !value.is_empty() && value != "0");
        let dumb = std::env::var_os("TERM").is_some_and(|term| term == "dumb");
        let terminal = std::io::stdout().is_terminal() && !dumb;
        let colours = !set("NO_COLOR") && (terminal || set("CLICOLOR_FORCE"));
        let columns = std::env::var("COLUMNS").ok().and_then(|columns| columns.parse().ok());
        let of_terminal = || console::Term::stdout().size_checked().map(|(_, columns)| columns.into());
        Self { colours, width: columns.or_else(of_terminal).unwrap_or(100) }
    }
}

/// Most cells that are drawn one by one; a larger map is drawn in blocks.
const MOST_CELLS: usize = 60_000;

/// Draws one map. A map wider than the terminal is split into stripes, that of a long text is drawn small.
pub fn draw(picture: &Picture, style: &Style, output: &mut Output) -> Result<(), CliError> {
    output.line(&picture.title)?;
    if picture.cells() > MOST_CELLS {
        return draw_small(picture, style, output);
    }
    let rows: Vec<String> = picture.queries.iter().map(|label| shortened(label, LONGEST_LABEL)).collect();
    let left = rows.iter().map(|label| label.width()).max().unwrap_or(0);
    let room = style.width.saturating_sub(left + 2).max(8);
    let columns: Vec<String> = picture.keys.iter().map(|label| shortened(label, HIGHEST_LABEL)).collect();
    let widest = columns.iter().map(|label| label.width()).max().unwrap_or(0);
    let cell = (widest + 1).clamp(5, WIDEST_CELL);
    let (cell, upright) = if cell * columns.len() <= room { (cell, false) } else { (2, true) };
    let longest = if upright { HIGHEST_LABEL } else { cell - 1 };
    let columns: Vec<String> = columns.iter().map(|label| shortened(label, longest)).collect();
    let largest = picture.largest;
    let stripe = (room / cell).max(1);
    for first in (0..columns.len()).step_by(stripe) {
        let end = (first + stripe).min(columns.len());
        if first > 0 {
            output.line("")?;
        }
        for line in header(&columns[first..end], cell, upright) {
            output.line(format!("{:left$}  {line}", "").trim_end())?;
        }
        for (label, row) in rows.iter().zip(picture.rows()) {
            let mut line = format!("{}{label}  ", " ".repeat(left - label.width()));
            for &weight in &row[first..end] {
                draw_cell(&mut line, weight, largest, cell, style.colours);
            }
            output.line(line.trim_end())?;
        }
    }
    output.line(&scale(largest, left, style.colours))
}

/// Draws blocks of cells: in colours two rows of blocks on a line, as halves of its characters.
fn draw_small(picture: &Picture, style: &Style, output: &mut Output) -> Result<(), CliError> {
    let longest = picture.queries.len().max(picture.keys.len());
    let left = longest.to_string().len();
    let room = style.width.saturating_sub(left + 2).clamp(8, 160);
    let size = longest.div_ceil(room);
    let blocks = picture.blocks(size);
    output.line(&format!(
        "{} x {} tokens; a cell is the largest of {size} x {size} weights, numbers count tokens",
        picture.queries.len(),
        picture.keys.len()
    ))?;
    let share =
        |weight: f32| if picture.largest > 0.0 { (weight / picture.largest).clamp(0.0, 1.0) } else { 0.0 };
    // a character is twice as high as wide: without colours, a line has the largest of two rows
    for (index, rows) in blocks.chunks(2).enumerate() {
        let [upper, lower] = [&rows[0], rows.last().unwrap_or(&rows[0])];
        let number = if index % 8 == 0 { (2 * index * size).to_string() } else { String::new() };
        let mut line = format!("{number:>left$}  ");
        for (&upper, &lower) in upper.iter().zip(lower) {
            match style.colours {
                true => {
                    let [[r, g, b], [r2, g2, b2]] = [upper, lower].map(|weight| colour(share(weight)));
                    let _ = write!(line, "\x1b[38;2;{r};{g};{b};48;2;{r2};{g2};{b2}m▀");
                }
                false => {
                    let place = share(upper.max(lower)) * (SHADES.len() - 1) as f32;
                    // a weight that is there is seen
                    let least = if upper.max(lower) > 0.0 { 1.0 } else { 0.0 };
                    line.push(SHADES[place.round().max(least) as usize]);
                }
            }
        }
        if style.colours {
            line.push_str("\x1b[0m");
        }
        output.line(line.trim_end())?;
    }
    output.line(&scale(picture.largest, left, style.colours))
}

fn draw_cell(line: &mut String, weight: f32, largest: f32, cell: usize, colours: bool) {
    let value = if largest > 0.0 { (weight / largest).clamp(0.0, 1.0) } else { 0.0 };
    if !colours {
        let shade = SHADES[(value * (SHADES.len() - 1) as f32).round() as usize];
        let filled = if cell > 2 { 4 } else { cell };
        line.extend(std::iter::repeat_n(shade, filled).chain(std::iter::repeat_n(' ', cell - filled)));
        return;
    }
    let [r, g, b] = colour(value);
    let number = match cell >= 5 && weight >= 0.005 {
        true => format!("{weight:.2}").trim_start_matches('0').to_owned(),
        false => String::new(),
    };
    // black on bright cells, white on dark ones
    let ink = if value > 0.55 { "30" } else { "97" };
    let _ = write!(line, "\x1b[48;2;{r};{g};{b};{ink}m{number:^cell$}\x1b[0m");
}

/// Labels of the columns, horizontal or upright; upright labels end at the map.
fn header(labels: &[String], cell: usize, upright: bool) -> Vec<String> {
    if !upright {
        let padded = labels.iter().map(|label| format!("{label}{}", " ".repeat(cell - label.width())));
        return vec![padded.collect()];
    }
    let letters: Vec<Vec<&str>> = labels.iter().map(|label| label.graphemes(true).collect()).collect();
    let height = letters.iter().map(Vec::len).max().unwrap_or(0);
    let line = |above: usize| {
        let letter = |letters: &Vec<&str>| {
            let letter = (above + letters.len()).checked_sub(height).map_or("", |place| letters[place]);
            format!("{letter}{}", " ".repeat(cell.saturating_sub(letter.width())))
        };
        letters.iter().map(letter).collect()
    };
    (0..height).map(line).collect()
}

fn scale(largest: f32, left: usize, colours: bool) -> String {
    let mut line = format!("{:left$}  0 ", "");
    for step in 0..=19 {
        let value = step as f32 / 19.0;
        match colours {
            true => draw_cell(&mut line, value * 0.001, 0.001, 1, true),
            false if step % 2 == 0 => line.push(SHADES[step / 2]),
            false => {}
        }
    }
    let _ = write!(line, " {largest:.2}");
    line
}

fn shortened(label: &str, longest: usize) -> String {
    if label.width() <= longest {
        return label.to_owned();
    }
    let mut width = 1;
    let fitting = label.graphemes(true).take_while(|letter| {
        width += letter.width();
        width <= longest
    });
    fitting.chain(["…"]).collect()
}
