use serde_json::{Value, json};
use wordloom::trace::statistics::HeadStatistics;
use wordloom::trace::{CombinedHeads, Depth, Trace};
use wordloom_viewer::head;

use crate::CliError;
use crate::output::Output;

pub fn table(trace: &Trace, output: &mut Output) -> Result<(), CliError> {
    output.line(
        "kind    layer head  entropy  rel.  dist.  diag. prev. next  end   punct. rare  conf.  components     looks like",
    )?;
    for head in trace.statistics() {
        let HeadStatistics { kind, layer, head: index, numbers } = &head;
        let components = match numbers.full_rank {
            0 => "-".to_owned(), // too large
            full => format!("{}/{full}", numbers.components),
        };
        let curve = sparkline(&numbers.spectrum);
        output.line(&format!(
            "{:<7} {layer:>5} {index:>4} {:>8.3} {:>5.2} {:>6.2}  {:>5.2} {:>5.2} {:>5.2} {:>5.2} {:>6.2} {:>5.2} {:>5.2}  {components:<7} {curve} {}",
            kind.to_string(),
            numbers.entropy,
            numbers.relative_entropy,
            numbers.distance,
            numbers.diagonal,
            numbers.previous,
            numbers.next,
            numbers.special,
            numbers.punctuation,
            numbers.rare,
            numbers.confidence,
            head.label(),
        ))?;
    }
    // these numbers are of one sentence, not means
    for (number, sentence) in (1..).zip(&trace.sentences) {
        let of = if trace.sentences.len() > 1 { format!(" of sentence {number}") } else { String::new() };
        output.line(&format!("\nheads combined{of}"))?;
        for CombinedHeads { kind, layer, components, full_rank } in sentence.combined_heads() {
            output
                .line(&format!("{:<7} {layer:>5}  components {components}/{full_rank}", kind.to_string()))?;
        }
        if !sentence.depth.is_empty() {
            output.line(&format!(
                "\nresidual stream{of}, after so many layers (spread 0: all tokens are the same)"
            ))?;
        }
        for Depth { stack, layer, components, full_rank, spread } in &sentence.depth {
            let components = components.map_or_else(|| "–".to_owned(), |count| count.to_string());
            let components = format!("{components}/{full_rank}");
            output.line(&format!(
                "{:<7} {layer:>5}  components {components:<8} spread {spread:.3}",
                stack.name()
            ))?;
        }
    }
    Ok(())
}

/// Characters of a curve.
const CURVE: usize = 6;

/// A curve of shares, 0 to 1, at equal distances: of the first sixth of the components, of two sixths, and so on.
fn sparkline(shares: &[f64]) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let bar = |point: usize| {
        let count = (point * shares.len()).div_ceil(CURVE);
        let share = count.checked_sub(1).and_then(|last| shares.get(last)).copied().unwrap_or(0.0);
        BARS[((share * 8.0).ceil() as usize).clamp(1, 8) - 1]
    };
    (1..=CURVE).map(bar).collect()
}

pub fn json(trace: &Trace) -> Result<String, CliError> {
    let heads: Vec<Value> = trace.statistics().iter().map(head).collect();
    let layers = trace.sentences.iter().map(|sentence| {
        let combined = sentence.combined_heads().into_iter();
        let combined = combined.map(|CombinedHeads { kind, layer, components, full_rank }| {
            json!({ "kind": kind, "layer": layer, "components": components, "full_rank": full_rank })
        });
        json!({ "heads_combined": combined.collect::<Vec<Value>>(), "residual_stream": sentence.depth })
    });
    let layers: Vec<Value> = layers.collect();
    Ok(json!({ "model": trace.model, "heads": heads, "sentences": layers }).to_string())
}
