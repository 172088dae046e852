use serde_json::{Value, json};
use wordloom::trace::statistics::HeadStatistics;
use wordloom::trace::{CombinedRank, Depth, Trace};

use crate::CliError;
use crate::output::Output;

pub fn table(trace: &Trace, output: &mut Output) -> Result<(), CliError> {
    output.line(
        "kind    layer head  entropy  rel.  dist.  diag. prev. next  end   punct. rare  conf.  rank     looks like",
    )?;
    for head in trace.statistics() {
        let HeadStatistics { kind, layer, head: index, numbers } = head;
        let rank = match numbers.full_rank {
            0 => "-".to_owned(), // too large
            full => format!("{}/{full}", numbers.rank),
        };
        output.line(&format!(
            "{:<7} {layer:>5} {index:>4} {:>8.3} {:>5.2} {:>6.2}  {:>5.2} {:>5.2} {:>5.2} {:>5.2} {:>6.2} {:>5.2} {:>5.2}  {rank:<8} {}",
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
        for CombinedRank { kind, layer, rank, full_rank } in sentence.combined_ranks() {
            output.line(&format!("{:<7} {layer:>5}  rank {rank}/{full_rank}", kind.to_string()))?;
        }
        if !sentence.depth.is_empty() {
            output.line(&format!(
                "\nresidual stream{of}, after so many layers (spread 0: all tokens are the same)"
            ))?;
        }
        for Depth { stack, layer, rank, full_rank, spread } in &sentence.depth {
            let rank = format!("{rank}/{full_rank}");
            output.line(&format!("{:<7} {layer:>5}  rank {rank:<8} spread {spread:.3}", stack.name()))?;
        }
    }
    Ok(())
}

pub fn json(trace: &Trace) -> Result<String, CliError> {
    let heads: Vec<Value> = trace.statistics().iter().map(head).collect();
    let layers = trace.sentences.iter().map(|sentence| {
        let combined = sentence.combined_ranks().into_iter();
        let combined = combined.map(|CombinedRank { kind, layer, rank, full_rank }| {
            json!({ "kind": kind, "layer": layer, "rank": rank, "full_rank": full_rank })
        });
        json!({ "heads_combined": combined.collect::<Vec<Value>>(), "residual_stream": sentence.depth })
    });
    let layers: Vec<Value> = layers.collect();
    Ok(json!({ "model": trace.model, "heads": heads, "sentences": layers }).to_string())
}

pub fn head(head: &HeadStatistics) -> Value {
    let HeadStatistics { kind, layer, head: index, numbers } = head;
    json!({
        "kind": kind,
        "layer": layer,
        "head": index,
        "label": head.label().to_string(),
        "queries": numbers.queries,
        "entropy": numbers.entropy,
        "relative_entropy": numbers.relative_entropy,
        "distance": numbers.distance,
        "diagonal": numbers.diagonal,
        "previous": numbers.previous,
        "next": numbers.next,
        "special": numbers.special,
        "punctuation": numbers.punctuation,
        "rare": numbers.rare,
        "confidence": numbers.confidence,
        "rank": (numbers.full_rank > 0).then_some(numbers.rank),
        "full_rank": (numbers.full_rank > 0).then_some(numbers.full_rank),
    })
}
