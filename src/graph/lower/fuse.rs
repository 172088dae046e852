//! Fusions: replaces neighbouring launches by one. Only kernels for hardware GPUs have fused forms. A form that is passed over
//! on the device is not used.

use super::launch::{Binding, Launch};
use crate::kernels::{Access, Dispatch, PassedOver, normalized_linear, output_layer};

/// Fuses launches. `is_state` tells whether a binding outlives the list.
pub(super) fn fuse(
    launches: Vec<Launch>,
    passed_over: &PassedOver,
    is_state: impl Fn(Binding) -> bool,
) -> Vec<Launch> {
    norm_and_linear(logits_and_notes(launches, passed_over), passed_over, is_state)
}

/// Fuses the output layer, which may be in parts, with the notes on chunks of its logits.
fn logits_and_notes(launches: Vec<Launch>, passed_over: &PassedOver) -> Vec<Launch> {
    let mut fused: Vec<Launch> = Vec::with_capacity(launches.len());
    for launch in launches {
        let makes_input = |before: &Launch| {
            let mut accesses = before.accesses();
            accesses.any(|(bound, access)| access == Access::Write && launch.bindings.first() == Some(&bound))
        };
        let layer = fused.iter().rposition(|before| !makes_input(before)).map_or(0, |other| other + 1);
        match with_notes(&fused[layer..], &launch, passed_over) {
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
fn norm_and_linear(
    launches: Vec<Launch>,
    passed_over: &PassedOver,
    is_state: impl Fn(Binding) -> bool,
) -> Vec<Launch> {
    let mut fused = Vec::with_capacity(launches.len());
    let mut rest = &launches[..];
    while let [launch, after @ ..] = rest {
        let output = |launch: &Launch| launch.bindings.last().copied().unwrap_or(Binding::Nothing);
        let parts = after.iter().take_while(|part| output(part) == output(&after[0])).count();
        let (layer, others) = after.split_at(parts);
        let normalized = output(launch);
        let keeps = is_state(normalized) || others.iter().any(|other| other.bindings.contains(&normalized));
        match with_norm(launch, layer, keeps, passed_over) {
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
fn with_notes(layer: &[Launch], notes: &Launch, passed_over: &PassedOver) -> Option<Vec<Launch>> {
    let parts = layer.iter().map(|part| {
        let dispatch = trusted(output_layer::fuse(&part.dispatch, &notes.dispatch)?, passed_over)?;
        let [x, weight, bias, _, logits] = part.bindings[..] else { return None };
        let [_, bans, search, chunks] = notes.bindings[..] else { return None };
        let bindings = vec![x, weight, bias, bans, search, logits, chunks];
        Some(Launch { place: part.place.clone(), dispatch, bindings })
    });
    parts.collect::<Option<Vec<_>>>().filter(|parts| !parts.is_empty())
}

/// The launches of a layer that also normalize their inputs; `None` if a part cannot.
fn with_norm(norm: &Launch, layer: &[Launch], keeps: bool, passed_over: &PassedOver) -> Option<Vec<Launch>> {
    let parts = layer.iter().map(|part| {
        let dispatch = trusted(normalized_linear::fuse(&norm.dispatch, &part.dispatch, keeps)?, passed_over)?;
        let [x, residual, gamma, beta, normalized] = norm.bindings[..] else { return None };
        let [input, weight, bias, _, y] = part.bindings[..] else { return None };
        let bindings = vec![x, weight, bias, residual, gamma, beta, y, normalized];
        (input == normalized).then(|| Launch { place: part.place.clone(), dispatch, bindings })
    });
    parts.collect::<Option<Vec<_>>>().filter(|parts| !parts.is_empty())
}

/// The launch, if its kernel is not passed over.
fn trusted(dispatch: Dispatch, passed_over: &PassedOver) -> Option<Dispatch> {
    passed_over.flaws([dispatch.kernel].into_iter()).are_none().then_some(dispatch)
}
