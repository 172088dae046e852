//! Segmentation by byte-pair encoding.  Sennrich et al. 2016, "Neural Machine Translation of Rare Words with
//! Subword Units", section 3.2.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, HashMap};

use super::Segment;
use super::pieces::Pieces;
use super::proto::PieceKind;

/// The C++ library splits unused pieces up to this depth of nested merges.
const MAX_RESEGMENT_DEPTH: usize = 100;

const NONE: usize = usize::MAX;

/// A part of the text in a doubly linked list. A merge extends the left symbol and empties the right one.
struct Symbol {
    start: usize,
    bytes: usize,
    previous: usize,
    next: usize,
    /// Whether it is a user-defined piece, which is never merged.
    frozen: bool,
}

/// A possible merge. Order: the piece's score, then the leftmost position.
struct Merge {
    score: f32,
    left: usize,
    right: usize,
    /// Length of the merged text. If it differs from both sides' length, the merge is out of date.
    bytes: usize,
}

impl Ord for Merge {
    fn cmp(&self, other: &Self) -> Ordering {
        self.score.total_cmp(&other.score).then(other.left.cmp(&self.left))
    }
}

impl PartialOrd for Merge {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Merge {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Merge {}

/// Merges neighbours, best first, until no pair is a piece: `bpe::Model::SampleEncode` without dropout, in `O(n log n)`.
pub(super) fn segment(pieces: &Pieces, text: &str) -> Vec<Segment> {
    let mut merger = Merger {
        pieces,
        text,
        symbols: split(pieces, text),
        agenda: BinaryHeap::new(),
        splits: HashMap::new(),
    };
    merger.run();

    let mut segments = Vec::with_capacity(text.len() / 4 + 1);
    let mut index = if merger.symbols.is_empty() { NONE } else { 0 };
    while index != NONE {
        let symbol = &merger.symbols[index];
        merger.resegment(symbol.start, symbol.bytes, 0, &mut segments);
        index = symbol.next;
    }
    segments
}

/// The initial symbols: user-defined pieces and single characters.
fn split(pieces: &Pieces, text: &str) -> Vec<Symbol> {
    let mut symbols = Vec::with_capacity(text.len());
    let mut start = 0;
    while let Some(character) = text[start..].chars().next() {
        let user_defined = pieces.user_defined.longest_prefix(&text[start..]);
        let bytes = user_defined.unwrap_or(character.len_utf8());
        let index = symbols.len();
        let next = if start + bytes < text.len() { index + 1 } else { NONE };
        symbols.push(Symbol {
            start,
            bytes,
            previous: index.checked_sub(1).unwrap_or(NONE),
            next,
            frozen: user_defined.is_some(),
        });
        start += bytes;
    }
    symbols
}

struct Merger<'a> {
    pieces: &'a Pieces,
    text: &'a str,
    symbols: Vec<Symbol>,
    agenda: BinaryHeap<Merge>,
    /// Unused pieces that were merged, each with the length of its last left part.
    splits: HashMap<&'a str, usize>,
}

impl Merger<'_> {
    fn run(&mut self) {
        for right in 1..self.symbols.len() {
            self.consider(right - 1, right);
        }
        while let Some(Merge { left, right, bytes, .. }) = self.agenda.pop() {
            let (left_bytes, right_bytes) = (self.symbols[left].bytes, self.symbols[right].bytes);
            if left_bytes == 0 || right_bytes == 0 || left_bytes + right_bytes != bytes {
                continue;
            }
            let next = self.symbols[right].next;
            self.symbols[right].bytes = 0;
            self.symbols[left].bytes = bytes;
            self.symbols[left].next = next;
            if next != NONE {
                self.symbols[next].previous = left;
            }
            self.consider(self.symbols[left].previous, left);
            self.consider(left, next);
        }
    }

    /// Adds a merge to the agenda if the two symbols are a piece.
    fn consider(&mut self, left: usize, right: usize) {
        if left == NONE || right == NONE || self.symbols[left].frozen || self.symbols[right].frozen {
            return;
        }
        let Symbol { start, bytes: left_bytes, .. } = self.symbols[left];
        let bytes = left_bytes + self.symbols[right].bytes;
        let merged = &self.text[start..start + bytes];
        let Some(id) = self.pieces.trie.get(merged) else {
            return;
        };
        if self.pieces[id].kind == PieceKind::Unused {
            self.splits.insert(merged, left_bytes);
        }
        self.agenda.push(Merge { score: self.pieces[id].score, left, right, bytes });
    }

    /// Emits a symbol; splits unused pieces again.
    fn resegment(&self, start: usize, bytes: usize, depth: usize, segments: &mut Vec<Segment>) {
        let range = start..start + bytes;
        let symbol = &self.text[range.clone()];
        let id = self.pieces.trie.get(symbol);
        if depth <= MAX_RESEGMENT_DEPTH && id.is_some_and(|id| self.pieces[id].kind == PieceKind::Unused) {
            if let Some(&left) = self.splits.get(symbol) {
                self.resegment(start, left, depth + 1, segments);
                self.resegment(start + left, bytes - left, depth + 1, segments);
            } else {
                segments.push(Segment { range, id: None });
            }
        } else {
            segments.push(Segment { range, id });
        }
    }
}
