//! An explanation in 80 columns.

use std::fmt::Write;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;
use wordloom::explain::{Explanation, Numbers, Step, StepKind, short_number};
use wordloom_viewer::harmless;

use crate::CliError;
use crate::attend::Style;
use crate::output::Output;

/// Terminal columns.
const WIDTH: usize = 80;
/// Columns of a step's number.
const INDENT: usize = 4;
/// Columns of a name before its numbers.
const NAME: usize = 12;
/// Shown values of a vector.
const SHOWN: usize = 6;
/// Columns of a bar.
const BAR: usize = 16;
/// Rows of the table of keys; of more keys those with the largest weights are shown.
const ROWS: usize = 32;

pub fn print(explanation: &Explanation, style: &Style, output: &mut Output) -> Result<(), CliError> {
    let ink = Ink { colours: style.colours };
    header(explanation, ink, output)?;
    for (number, step) in (1..).zip(&explanation.steps) {
        output.line("")?;
        title(number, step, ink, output)?;
        for line in wrapped(step.why, WIDTH - INDENT) {
            output.line(&format!("{:INDENT$}{}", "", ink.quiet(&line)))?;
        }
        for line in wrapped(&step.formula, WIDTH - INDENT) {
            output.line(&format!("{:INDENT$}{}", "", ink.accent(&line)))?;
        }
        numbers(explanation, step, ink, output)?;
    }
    Ok(())
}

fn header(explanation: &Explanation, ink: Ink, output: &mut Output) -> Result<(), CliError> {
    let Explanation { head, query, sizes, .. } = explanation;
    let label = harmless(&query.label, 40);
    output.line(&ink.strong(&format!("{head}: what “{label}” (#{}) attends to", query.position)))?;
    for line in wrapped(explanation.origin, WIDTH) {
        output.line(&ink.quiet(&line))?;
    }
    if let Some(produces) = &explanation.produces {
        let produced = harmless(&produces.label, 40);
        for line in
            wrapped(&format!("The decoder has read “{label}” and is about to produce “{produced}”."), WIDTH)
        {
            output.line(&line)?;
        }
    }
    let norm = if explanation.norm_first { "before" } else { "after" };
    let sizes = format!(
        "d_model {}, {} heads of d_k {} and d_v {}, inner width {}, norm {norm} the block",
        sizes.d_model, sizes.heads, sizes.d_k, sizes.d_v, sizes.ffn_width
    );
    wrapped(&sizes, WIDTH).iter().try_for_each(|line| output.line(&ink.quiet(line)))
}

fn title(number: usize, step: &Step, ink: Ink, output: &mut Output) -> Result<(), CliError> {
    let left = format!("{number:>2}  {}", step.title);
    let gap = WIDTH.saturating_sub(left.width() + step.section.width()).max(2);
    output.line(&format!("{}{:gap$}{}", ink.strong(&left), "", ink.quiet(step.section)))
}

fn numbers(explanation: &Explanation, step: &Step, ink: Ink, output: &mut Output) -> Result<(), CliError> {
    match step.kind {
        // the table after the softmax has them, key by key
        StepKind::Products | StepKind::Scale | StepKind::Mask => {
            step.numbers.iter().try_for_each(|numbers| output.line(&spread(numbers)))
        }
        StepKind::Softmax => table(explanation, ink, output),
        StepKind::Keys => rows(explanation, step, output),
        StepKind::Logits => candidates(explanation, ink, output),
        _ => step.numbers.iter().try_for_each(|numbers| match numbers.shape[..] {
            [_, _] => output.line(&summary(numbers)),
            _ => output.line(&vector(&numbers.name, &numbers.values)),
        }),
    }
}

/// Smallest and largest value.
fn spread(numbers: &Numbers) -> String {
    let finite = numbers.values.iter().copied().filter(|value| value.is_finite());
    let smallest = finite.clone().fold(f32::INFINITY, f32::min);
    let largest = finite.fold(f32::NEG_INFINITY, f32::max);
    let hidden = numbers.values.iter().filter(|value| value.is_infinite()).count();
    let hidden = if hidden > 0 { format!(", {hidden} hidden") } else { String::new() };
    format!(
        "{:INDENT$}{:NAME$}{} to {}{hidden}",
        "",
        numbers.name,
        short_number(smallest),
        short_number(largest)
    )
}

fn summary(numbers: &Numbers) -> String {
    let sizes: Vec<String> = numbers.shape.iter().map(usize::to_string).collect();
    format!(
        "{:INDENT$}{:NAME$}[{}], length {}",
        "",
        numbers.name,
        sizes.join(", "),
        short_number(norm(&numbers.values))
    )
}

/// The first values of a vector and its length.
fn vector(name: &str, values: &[f32]) -> String {
    let mut line = format!("{:INDENT$}{name:NAME$}", "");
    for &value in values.iter().take(SHOWN) {
        let _ = write!(line, "{:>8} ", short_number(value));
    }
    if values.len() > SHOWN {
        let _ = write!(line, "… ‖{}‖", short_number(norm(values)));
    }
    line.trim_end().to_owned()
}

fn norm(values: &[f32]) -> f32 {
    values.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt() as f32
}

/// Keys of the first few tokens.
fn rows(explanation: &Explanation, step: &Step, output: &mut Output) -> Result<(), CliError> {
    const KEYS: usize = 4;
    for numbers in &step.numbers {
        let [count, width] = numbers.shape[..] else { continue };
        for (key, row) in explanation.keys.iter().zip(numbers.values.chunks_exact(width.max(1))).take(KEYS) {
            output.line(&vector(&padded(&harmless(&key.label, 40), NAME - 1), row))?;
        }
        if count > KEYS {
            output.line(&format!("{:INDENT$}… {} more", "", count - KEYS))?;
        }
    }
    Ok(())
}

/// Product, score, masked score and weight of each key.
fn table(explanation: &Explanation, ink: Ink, output: &mut Output) -> Result<(), CliError> {
    let of = |kind, name| explanation.numbers(kind, name).map_or(&[][..], |numbers| &numbers.values[..]);
    let columns = [
        of(StepKind::Products, "q·k"),
        of(StepKind::Scale, "scores"),
        of(StepKind::Mask, "masked"),
        of(StepKind::Softmax, "weights"),
    ];
    let weights = columns[3];
    let largest = weights.iter().copied().fold(0.0, f32::max);
    let mut shown: Vec<usize> = (0..weights.len()).collect();
    if shown.len() > ROWS {
        shown.sort_by(|&a, &b| weights[b].total_cmp(&weights[a]));
        shown.truncate(ROWS);
        shown.sort_unstable();
    }
    let head =
        format!("{:INDENT$}{:<14}{:>9}{:>9}{:>9}{:>9}", "", "key", "q·k", "scaled", "masked", "weight");
    output.line(&ink.quiet(&head))?;
    for key in &shown {
        let mut line = format!("{:INDENT$}{}", "", padded(&harmless(&explanation.keys[*key].label, 40), 14));
        for column in columns {
            let _ = write!(line, "{:>9}", column.get(*key).copied().map_or_else(String::new, short_number));
        }
        let _ = write!(line, "  {}", ink.accent(&bar(weights[*key], largest)));
        output.line(line.trim_end())?;
    }
    let left = weights.len() - shown.len();
    if left > 0 {
        output.line(&format!("{:INDENT$}… {left} more with smaller weights", ""))?;
    }
    let sum: f32 = weights.iter().sum();
    output.line(&format!("{:INDENT$}{:<41}{:>9}", "", "sum", short_number(sum)))
}

fn candidates(explanation: &Explanation, ink: Ink, output: &mut Output) -> Result<(), CliError> {
    let largest = explanation.candidates.first().map_or(0.0, |first| first.probability);
    let head = format!("{:INDENT$}{:<14}{:>9}{:>13}", "", "token", "logit", "probability");
    output.line(&ink.quiet(&head))?;
    for candidate in &explanation.candidates {
        let label = padded(&harmless(candidate.piece.trim_start_matches('▁'), 40), 14);
        let bar = ink.accent(&bar(candidate.probability, largest));
        let (logit, probability) = (short_number(candidate.logit), short_number(candidate.probability));
        output.line(format!("{:INDENT$}{label}{logit:>9}{probability:>13}  {bar}", "").trim_end())?;
    }
    Ok(())
}

fn bar(value: f32, largest: f32) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let eighths = if largest > 0.0 { (value / largest * (BAR * 8) as f32).round() as usize } else { 0 };
    "█".repeat(eighths / 8) + EIGHTHS[eighths % 8]
}

/// A label in `width` columns, shortened or with spaces.
fn padded(label: &str, width: usize) -> String {
    let mut text = String::new();
    for letter in label.graphemes(true) {
        if text.width() + letter.width() >= width {
            text.push('…');
            break;
        }
        text.push_str(letter);
    }
    let gap = width.saturating_sub(text.width());
    text + &" ".repeat(gap)
}

/// Words in lines of at most `width` columns.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(line) = lines.last_mut() else { break };
        if !line.is_empty() && line.width() + 1 + word.width() > width {
            lines.push(word.to_owned());
            continue;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
    }
    lines
}

#[derive(Clone, Copy)]
struct Ink {
    colours: bool,
}

impl Ink {
    fn with(self, code: &str, text: &str) -> String {
        if self.colours { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn strong(self, text: &str) -> String {
        self.with("1", text)
    }

    fn quiet(self, text: &str) -> String {
        self.with("2", text)
    }

    fn accent(self, text: &str) -> String {
        self.with("36", text)
    }
}
