//! The launches of a layer on a GPU, and how many of them must wait for each other.

use std::collections::HashMap;

use wordloom::graph::{Access, Binding, LaunchList, Value};

/// Length of the longest chain of launches of which each reads what an earlier one wrote. Launches that write parts of one value do
/// not wait for each other.
pub fn longest_chain(list: &LaunchList) -> usize {
    let mut depths: HashMap<Value, usize> = HashMap::new();
    let mut longest = 0;
    for launch in &list.launches {
        let bound = || {
            launch.accesses().filter_map(|(binding, access)| match binding {
                Binding::Value(value) => Some((value, access)),
                Binding::Weight { .. } | Binding::Nothing => None,
            })
        };
        let read = bound().filter(|(_, access)| *access == Access::Read);
        let depth = 1 + read.filter_map(|(value, _)| depths.get(&value)).copied().max().unwrap_or(0);
        for (value, _) in bound().filter(|(_, access)| *access == Access::Write) {
            let known = depths.entry(value).or_default();
            *known = depth.max(*known);
        }
        longest = longest.max(depth);
    }
    longest
}
