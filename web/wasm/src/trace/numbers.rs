//! The numbers of a head, with JavaScript's names.

use serde::Serialize;
use wordloom::trace::statistics::Numbers;

use super::weights::Weights;
use super::which::Which;
use crate::failure::Failure;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
pub struct HeadNumbers {
    layer: usize,
    head: usize,
    label: String,
    entropy: f64,
    relative_entropy: f64,
    distance: f64,
    diagonal: f64,
    previous: f64,
    next: f64,
    special: f64,
    punctuation: f64,
    rare: f64,
    confidence: f64,
    components: usize,
    full_rank: usize,
    spectrum: Vec<f64>,
}

pub async fn of_head(weights: &Weights, which: Which) -> Result<HeadNumbers, Failure> {
    let [layer, head] = which.head()?;
    let keys = weights.sentence(which.sentence)?.key_tokens(which.kind);
    let map = weights.derive(which).await?;
    let numbers = Numbers::of_head(&map, 0, &keys);
    Ok(HeadNumbers {
        layer,
        head,
        label: numbers.label(which.kind).to_string(),
        entropy: numbers.entropy,
        relative_entropy: numbers.relative_entropy,
        distance: numbers.distance,
        diagonal: numbers.diagonal,
        previous: numbers.previous,
        next: numbers.next,
        special: numbers.special,
        punctuation: numbers.punctuation,
        rare: numbers.rare,
        confidence: numbers.confidence,
        components: numbers.components,
        full_rank: numbers.full_rank,
        spectrum: numbers.spectrum,
    })
}
