//! Assigns a buffer to each value.
//!
//! A value needs its buffer from the first step that touches it to the last. Values whose times do not overlap share
//! *whole* buffers, largest first (Pisarchyk & Lee 2020, "Efficient Memory Management for Deep Neural Net Inference",
//! by size). Parts of one buffer would not do: WebGPU refuses one buffer as input and output of a dispatch, even in
//! disjoint ranges. A step is a node on the CPU and a launch on a GPU.

use crate::sorting;
use std::cmp::Reverse;

use super::values::{Home, Value, ValueInfo};

#[derive(Clone, Debug)]
pub(super) struct Buffers {
    /// Buffer of each value; `None` for states and for values that no step touches.
    pub of_value: Vec<Option<usize>>,
    /// Sizes of the buffers, elements of 4 bytes.
    pub elements: Vec<usize>,
}

impl Buffers {
    /// `steps`: the values that each step touches.
    pub fn share(values: &[ValueInfo], steps: impl Iterator<Item = impl Iterator<Item = Value>>) -> Self {
        let mut lifetimes: Vec<Option<Lifetime>> = vec![None; values.len()];
        for (time, touched) in steps.enumerate() {
            for value in touched.filter(|value| values[value.0].home == Home::Planned) {
                let elements = values[value.0].stored_elements();
                let new = Lifetime { value, first: time, last: time, elements };
                lifetimes[value.0].get_or_insert(new).last = time;
            }
        }
        let mut lifetimes: Vec<Lifetime> = lifetimes.into_iter().flatten().collect();
        sorting::sort_by_key(&mut lifetimes, |lifetime| (Reverse(lifetime.elements), lifetime.first));

        let mut buffers = Self { of_value: vec![None; values.len()], elements: Vec::new() };
        let mut tenants: Vec<Vec<Lifetime>> = Vec::new();
        for lifetime in lifetimes {
            let free =
                tenants.iter().position(|others| !others.iter().any(|other| other.overlaps(&lifetime)));
            let buffer = free.unwrap_or_else(|| {
                buffers.elements.push(lifetime.elements); // the largest tenant comes first
                tenants.push(Vec::new());
                tenants.len() - 1
            });
            buffers.of_value[lifetime.value.0] = Some(buffer);
            tenants[buffer].push(lifetime);
        }
        buffers
    }
}

/// First and last step of a value, both inclusive: a step's output must not share a buffer with its inputs.
#[derive(Clone, Copy, Debug)]
struct Lifetime {
    value: Value,
    first: usize,
    last: usize,
    elements: usize,
}

impl Lifetime {
    fn overlaps(&self, other: &Self) -> bool {
        self.first <= other.last && other.first <= self.last
    }
}
