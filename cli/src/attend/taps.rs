//! The taps of a trace: which are there, and a list of them.

use wordloom::trace::Trace;

use crate::CliError;
use crate::output::Output;

/// Names that an error lists at most.
const NAMED: usize = 6;

/// Keeps only the taps that match. The error says what the trace has instead.
pub fn keep(trace: &mut Trace, patterns: &[String]) -> Result<(), String> {
    trace.keep_taps(patterns).map_err(|unknown| {
        let names = unknown.offered.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
        let more = if unknown.offered.len() > NAMED { ", …" } else { "" };
        match unknown.offered.is_empty() {
            true => "has no taps; attend --tap NAME -o FILE keeps some".to_owned(),
            false => format!("has no tap {:?}; it has {names}{more}", unknown.name),
        }
    })
}

/// Writes a line for each tap: its name, its shape, its least, mean and largest finite value. Sentences are apart.
pub fn list(trace: &Trace, output: &mut Output) -> Result<(), CliError> {
    for (index, sentence) in trace.sentences.iter().enumerate() {
        if index > 0 {
            output.line("")?;
        }
        let width = sentence.taps.iter().map(|tap| tap.name.len()).max().unwrap_or(0);
        for tap in &sentence.taps {
            let finite = || tap.values.iter().copied().filter(|value| value.is_finite());
            let count = finite().count().max(1) as f64;
            let mean = finite().map(f64::from).sum::<f64>() / count;
            let least = finite().fold(f32::INFINITY, f32::min);
            let most = finite().fold(f32::NEG_INFINITY, f32::max);
            let shape = tap.shape.iter().map(usize::to_string).collect::<Vec<_>>().join(" × ");
            let name = &tap.name;
            output.line(&format!("{name:width$}  {shape:14}  {least:.4} to {most:.4}, mean {mean:.4}"))?;
        }
    }
    output.flush()
}
