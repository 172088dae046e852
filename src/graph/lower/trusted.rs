//! Lowers nodes to kernels that the device computes right: those of its own class, or else of the other one.

use super::lowering::{Lowering, Target};
use crate::graph::build::Node;
use crate::kernels::{AdapterClass, Flaws};

/// Adds the launches of all nodes. If every class of an operator has a wrong kernel, the launches of the own class stay, and
/// [`Gpu::record`](crate::gpu::Gpu::record) refuses them.
pub(super) fn lower(nodes: &[Node], to: &mut Lowering<'_>, target: &Target) {
    let own = target.class;
    if target.passed_over.is_empty() {
        nodes.iter().for_each(|node| add(node, to, own));
        return;
    }
    let together: Vec<&Node> = nodes.iter().filter(|node| node.op.shares_class()).collect();
    let shared = better_class(&together, to, target);
    for node in nodes {
        let class = match node.op.shares_class() {
            true => shared,
            false => better_class(&[node], to, target),
        };
        add(node, to, class);
    }
}

fn add(node: &Node, to: &mut Lowering<'_>, class: AdapterClass) {
    to.class = class;
    to.place = node.place.clone();
    node.op.lower(to);
}

/// The class with fewer flaws; the device's own if they are equal.
fn better_class(nodes: &[&Node], to: &mut Lowering<'_>, target: &Target) -> AdapterClass {
    let own = target.class;
    let flaws = flaws_of(nodes, to, target, own);
    if flaws.are_none() || flaws <= flaws_of(nodes, to, target, own.other()) { own } else { own.other() }
}

/// The flaws of the nodes' kernels in a class, by a trial.
fn flaws_of(nodes: &[&Node], to: &mut Lowering<'_>, target: &Target, class: AdapterClass) -> Flaws {
    let (values, launches) = (to.values.len(), to.launches.len());
    nodes.iter().for_each(|node| add(node, to, class));
    let flaws = target.passed_over.flaws(to.launches[launches..].iter().map(|launch| launch.dispatch.kernel));
    to.values.truncate(values);
    to.launches.truncate(launches);
    flaws
}
