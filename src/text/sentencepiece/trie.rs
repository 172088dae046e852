//! A byte trie, which finds all pieces at a position of a text.

use std::collections::VecDeque;

/// Marks a node at which no key ends.
const NO_VALUE: u32 = u32::MAX;

/// A map from byte strings to `u32` that finds all prefixes of a text in one walk.
///
/// Nodes are numbered breadth first, so the children of node `n` are the consecutive nodes
/// `first_child[n]..first_child[n + 1]`, sorted by label: two words and a byte per node, no pointers.
#[derive(Clone, Debug)]
pub(in crate::text) struct Trie {
    first_child: Vec<u32>,
    /// The byte on the edge to each node; the root's is unused.
    labels: Vec<u8>,
    values: Vec<u32>,
}

impl Trie {
    /// Builds the trie in time and memory linear in the total length of the keys. Of equal keys, one wins.
    pub(in crate::text) fn new<'a>(keys: impl IntoIterator<Item = (&'a str, u32)>) -> Self {
        let mut keys: Vec<(&[u8], u32)> =
            keys.into_iter().map(|(key, value)| (key.as_bytes(), value)).collect();
        keys.sort_unstable();

        let mut trie = Self { first_child: Vec::new(), labels: vec![0], values: Vec::new() };
        // nodes to be expanded: the keys below each, and the length of their common prefix
        let mut pending = VecDeque::from([(keys.as_slice(), 0)]);
        while let Some((keys, depth)) = pending.pop_front() {
            let ending = keys.iter().take_while(|(key, _)| key.len() == depth).count();
            trie.values.push(keys[..ending].last().map_or(NO_VALUE, |&(_, value)| value));
            trie.first_child.push(trie.labels.len() as u32);
            for below in keys[ending..].chunk_by(|(a, _), (b, _)| a[depth] == b[depth]) {
                trie.labels.push(below[0].0[depth]);
                pending.push_back((below, depth + 1));
            }
        }
        trie.first_child.push(trie.labels.len() as u32);
        trie
    }

    fn child(&self, node: usize, label: u8) -> Option<usize> {
        let (first, end) = (self.first_child[node] as usize, self.first_child[node + 1] as usize);
        let index = self.labels[first..end].binary_search(&label).ok()?;
        Some(first + index)
    }

    /// Every non-empty key that `text` begins with, shortest first: `(length in bytes, value)`.
    pub(in crate::text) fn prefixes(&self, text: &str) -> impl Iterator<Item = (usize, u32)> {
        let mut node = 0;
        text.bytes()
            .enumerate()
            .map_while(move |(index, byte)| {
                node = self.child(node, byte)?;
                Some((index + 1, self.values[node]))
            })
            .filter(|&(_, value)| value != NO_VALUE)
    }

    /// Length in bytes of the longest non-empty key that `text` begins with.
    pub(super) fn longest_prefix(&self, text: &str) -> Option<usize> {
        self.prefixes(text).last().map(|(length, _)| length)
    }

    /// The value of exactly this key.
    pub(super) fn get(&self, key: &str) -> Option<u32> {
        let node = key.bytes().try_fold(0, |node, byte| self.child(node, byte))?;
        Some(self.values[node]).filter(|&value| value != NO_VALUE)
    }
}
