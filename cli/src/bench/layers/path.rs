//! Path lengths: the longest of the shortest ways of a signal between two positions, found by search in the graph of what each
//! position is computed from. A way counts the steps between positions, in a stack of as many layers as it takes.

use std::ops::Range;

/// The positions that one position of a layer's result is computed from.
pub struct Reads {
    /// Positions of the layer's input.
    pub inputs: Vec<Range<usize>>,
    /// Position of the layer's own result, in a recurrent layer.
    pub earlier: Option<usize>,
}

impl Reads {
    pub fn of(inputs: Range<usize>) -> Self {
        Self { inputs: vec![inputs], earlier: None }
    }
}

/// The longest way from the first, the middle and the last position to any that it reaches. Those at the ends are the farthest from
/// others.
pub fn longest_path(length: usize, reads: impl Fn(usize) -> Reads) -> usize {
    let reads: Vec<Reads> = (0..length).map(reads).collect();
    let mut sources = vec![0, length / 2, length - 1];
    sources.dedup();
    sources.into_iter().map(|source| farthest(source, &reads)).max().unwrap_or(0)
}

/// Steps of the search until no further position is reached.
fn farthest(source: usize, reads: &[Reads]) -> usize {
    let mut waiting: Vec<usize> = (0..reads.len()).filter(|&position| position != source).collect();
    // reached positions before each, so that a range is one subtraction
    let mut before = vec![0u32; reads.len() + 1];
    before[source + 1..].fill(1);
    for steps in 0.. {
        let sees = |range: &Range<usize>| before[range.end] > before[range.start];
        let reached = |&position: &usize| {
            let Reads { inputs, earlier } = &reads[position];
            inputs.iter().any(sees) || earlier.is_some_and(|earlier| sees(&(earlier..earlier + 1)))
        };
        let (new, rest): (Vec<usize>, Vec<usize>) = waiting.into_iter().partition(reached);
        if new.is_empty() {
            return steps;
        }
        // counts of the new ones are added from the first on
        let mut added = 0;
        let mut next = new.iter().peekable();
        for (position, before) in before.iter_mut().enumerate() {
            *before += added;
            if next.next_if(|&&new| new == position).is_some() {
                added += 1;
            }
        }
        waiting = rest;
    }
    unreachable!("each step reaches a position, or is the last")
}
