//! Fusions: replaces neighbouring launches by one. Only kernels for hardware GPUs have fused forms.

use super::launch::{Binding, Launch};
use crate::kernels::{Access, normalized_linear, output_layer};

/// Fuses launches. `is_state` tells whether a binding outlives the list.
pub(super) fn fuse(launches: Vec<Launch>, is_state: impl Fn(Binding) -> bool) -> Vec<Launch> {
    norm_and_linear(logits_and_notes(launches), is_state)
}

/// Fuses the output layer, which may be in parts, with the notes on chunks of its logits.
fn logits_and_notes(launches: Vec<Launch>) -> Vec<Launch> {
    let mut fused: Vec<Launch> = Vec::with_capacity(launches.len());
    for launch in launches {
        let makes_input = |before: &Launch| {
            let mut accesses = before.accesses();
            accesses.any(|(bound, access)| access == Access::Write && launch.bindings.first() == Some(&bound))
        };
        let layer = fused.iter().rposition(|before| !makes_input(before)).map_or(0, |other| other + 1);
        match with_notes(&fused[layer..], &launch) {
            Some(parts) => {
                fused.truncate(layer);
                fused.extend(parts);
            }
            None => fused.push(launch),
        }
    }
    fused
}

/// Fuses a norm with the linear layer after it, which may be in parts.
fn norm_and_linear(launches: Vec<Launch>, is_state: impl Fn(Binding) -> bool) -> Vec<Launch> {
    let mut fused = Vec::with_capacity(launches.len());
    let mut rest = &launches[..];
    while let [launch, after @ ..] = rest {
        let output = |launch: &Launch| launch.bindings.last().copied().unwrap_or(Binding::Nothing);
        let parts = after.iter().take_while(|part| output(part) == output(&after[0])).count();
        let (layer, others) = after.split_at(parts);
        let normalized = output(launch);
        let keeps = is_state(normalized) || others.iter().any(|other| other.bindings.contains(&normalized));
        match with_norm(launch, layer, keeps) {
            Some(parts) => {
                fused.extend(parts);
                rest = others;
            }
            None => {
                fused.push(launch.clone());
                rest = after;
            }
        }
    }
    fused
}

/// The launches of a layer that also note the best of their logits; `None` if a part cannot.
fn with_notes(layer: &[Launch], notes: &Launch) -> Option<Vec<Launch>> {
    let parts = layer.iter().map(|part| {
        let dispatch = output_layer::fuse(&part.dispatch, &notes.dispatch)?;
        let [x, weight, bias, _, logits] = part.bindings[..] else { return None };
        let [_, bans, search, chunks] = notes.bindings[..] else { return None };
        let bindings = vec![x, weight, bias, bans, search, logits, chunks];
        Some(Launch { place: part.place.clone(), dispatch, bindings })
    });
    parts.collect::<Option<Vec<_>>>().filter(|parts| !parts.is_empty())
}

/// The launches of a layer that also normalize their inputs; `None` if a part cannot.
fn with_norm(norm: &Launch, layer: &[Launch], keeps: bool) -> Option<Vec<Launch>> {
    let parts = layer.iter().map(|part| {
        let dispatch = normalized_linear::fuse(&norm.dispatch, &part.dispatch, keeps)?;
        let [x, residual, gamma, beta, normalized] = norm.bindings[..] else { return None };
        let [input, weight, bias, _, y] = part.bindings[..] else { return None };
        let bindings = vec![x, weight, bias, residual, gamma, beta, y, normalized];
        (input == normalized).then(|| Launch { place: part.place.clone(), dispatch, bindings })
    });
    parts.collect::<Option<Vec<_>>>().filter(|parts| !parts.is_empty())
}
