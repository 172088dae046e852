//! The numbers of a head as JSON.

use serde_json::{Value, json};
use wordloom::trace::statistics::HeadStatistics;

/// Kind, layer, head, label and all numbers of a head.
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
        "components": (numbers.full_rank > 0).then_some(numbers.components),
        "full_rank": (numbers.full_rank > 0).then_some(numbers.full_rank),
        "spectrum": numbers.spectrum,
    })
}
