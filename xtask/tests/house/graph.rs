//! A graph of uses.

use std::collections::{BTreeMap, BTreeSet};

/// A path for each pair of user and used module.
#[derive(Default)]
pub struct Graph {
    arrows: BTreeMap<(String, String), String>,
}

impl Graph {
    /// Adds an arrow, unless it leads to its own start.
    pub fn add(&mut self, from: &str, to: &str, path: &str) {
        if from != to {
            self.arrows.entry((from.into(), to.into())).or_insert_with(|| path.into());
        }
    }

    /// The arrows for which `wanted` is true, one per line.
    pub fn lines(&self, wanted: impl Fn(&str, &str) -> bool) -> Vec<String> {
        let wanted = self.arrows.iter().filter(|((from, to), _)| wanted(from, to));
        wanted.map(|((from, to), path)| format!("{from} -> {to} ({path})")).collect()
    }

    /// For each cycle, its arrows, one per line.
    pub fn cycles(&self) -> Vec<String> {
        let names: BTreeSet<&str> = self.arrows.keys().map(|(from, _)| from.as_str()).collect();
        let reached: BTreeMap<&str, BTreeSet<&str>> =
            names.iter().map(|name| (*name, self.reached(name))).collect();
        let both = |a: &str, b: &str| {
            reached.get(a).is_some_and(|from_a| from_a.contains(b))
                && reached.get(b).is_some_and(|from_b| from_b.contains(a))
        };
        let mut cycles = Vec::new();
        let mut seen = BTreeSet::new();
        for &name in names.iter().filter(|name| both(name, name)) {
            if seen.insert(name) {
                seen.extend(names.iter().filter(|other| both(name, other)));
                cycles.push(self.lines(|from, to| both(name, from) && both(name, to)).join("\n"));
            }
        }
        cycles
    }

    /// The nodes that can be reached from `start` by at least one arrow.
    fn reached(&self, start: &str) -> BTreeSet<&str> {
        let mut reached = BTreeSet::new();
        let mut open = vec![start];
        while let Some(name) = open.pop() {
            let next = self.arrows.keys().filter(|(from, _)| from == name).map(|(_, to)| to.as_str());
            for to in next {
                if reached.insert(to) {
                    open.push(to);
                }
            }
        }
        reached
    }
}
