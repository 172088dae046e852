//! The blocks of sources whose sums their tokens see, as states of a session. Guo et al. 2022, "LongT5".

use crate::graph::{Graph, Session, State, StateTable};
use crate::model::TextBlocks;
use crate::model::config::ModelConfig;

/// The states behind [`TextBlocks`].
#[derive(Clone)]
pub(super) struct BlockStates {
    /// Tokens of a block.
    tokens: usize,
    most: usize,
    length: usize,
    ranges: State,
    rows: State,
}

impl BlockStates {
    /// `None` if the encoder knows no blocks, or the sequences are shorter than one.
    pub fn new(
        states: &mut StateTable,
        name: &str,
        (batch, length): (usize, usize),
        config: &ModelConfig,
    ) -> Option<Self> {
        let tokens = config.block_tokens?;
        let most = length / tokens;
        (most > 0).then(|| Self {
            tokens,
            most,
            length,
            ranges: states.u32(format!("{name} ranges of blocks"), batch * most, 2),
            rows: states.u32(format!("{name} blocks"), batch, 2 + most),
        })
    }

    pub fn values(&self, g: &mut Graph) -> TextBlocks {
        let &Self { tokens, most, ranges, rows, .. } = self;
        TextBlocks { tokens, most, ranges: g.state(ranges), rows: g.state(rows) }
    }

    /// Writes the blocks of each sequence. The last one has the tokens that are left over.
    ///
    /// * `mask`: `[sequences, length]`
    pub fn write(&self, session: &mut Session, mask: &[u32]) {
        let &Self { tokens, most, length, .. } = self;
        let (mut ranges, mut rows) = (Vec::new(), Vec::new());
        for (sequence, mask) in mask.chunks_exact(length).enumerate() {
            let first = sequence * length;
            // tokens up to the padding
            let end = mask.iter().rposition(|&seen| seen != 0).map_or(0, |last| last + 1);
            let count = end / tokens;
            rows.extend([count as u32, 0]);
            for block in 0..most {
                rows.push((sequence * most + block) as u32);
                let from = first + block * tokens;
                let to = match block + 1 {
                    _ if block >= count => from,
                    next if next == count => first + end,
                    _ => from + tokens,
                };
                ranges.extend([from as u32, to as u32]);
            }
        }
        session.write(self.ranges, &ranges);
        session.write(self.rows, &rows);
    }
}
