//! The tokens of the first and of the last block of sources, as states of a session. Zaheer et al. 2020, "Big Bird".

use crate::graph::{Graph, Session, State, StateTable};
use crate::model::config::ModelConfig;
use crate::model::{GlobalTokens, TokenBlocks};

/// Which length decides where a source's last block is, and whether it has so few blocks that its tokens see all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Extent {
    /// Each source's own, so that its result does not depend on its batch.
    Own,
    /// That of the batch, padding included, as in Hugging Face's classes.
    Padded,
}

/// The states behind [`GlobalTokens`], for layers with blocks.
#[derive(Clone)]
pub(super) struct EndStates {
    blocks: TokenBlocks,
    extent: Extent,
    most: usize,
    most_sides: usize,
    length: usize,
    /// Tokens of the batch, padding included.
    tokens: usize,
    others: State,
    rows: State,
    numbers: State,
    merged: State,
}

impl EndStates {
    /// `None` if the encoder has no blocks, or the sequences so few that their tokens see all.
    pub fn new(
        states: &mut StateTable,
        name: &str,
        (batch, length): (usize, usize),
        config: &ModelConfig,
        extent: Extent,
    ) -> Option<Self> {
        let blocks = config.encoder_blocks()?;
        let most = blocks.end_tokens();
        let most_sides = match extent {
            Extent::Own => blocks.full_length(),
            Extent::Padded => most,
        };
        (length > blocks.full_length()).then(|| Self {
            blocks,
            extent,
            most,
            most_sides,
            length,
            tokens: batch * length,
            others: states.u32(format!("{name} tokens of inner blocks"), batch, length),
            rows: states.u32(format!("{name} tokens of outer blocks"), batch, 2 + most_sides),
            numbers: states.u32(format!("{name} numbers of tokens of outer blocks"), batch * most, 1),
            merged: states.u32(format!("{name} rows with tokens of outer blocks"), batch * length, 1),
        })
    }

    pub fn values(&self, g: &mut Graph) -> GlobalTokens {
        GlobalTokens {
            most: self.most,
            most_sides: self.most_sides,
            others: g.state(self.others),
            rows: g.state(self.rows),
            numbers: g.state(self.numbers),
            merged: g.state(self.merged),
        }
    }

    /// Writes the outer blocks of each sequence, without masked tokens. A sequence of few blocks has side keys only: all
    /// of its tokens.
    ///
    /// * `mask`: `[sequences, length]`, up to the last visible token if lengths are the sequences' own
    pub fn write(&self, session: &mut Session, mask: &[u32]) {
        let &Self { blocks, most, most_sides, length, tokens, .. } = self;
        let sequences = mask.len() / length;
        let mut others = mask.to_vec();
        let mut rows = vec![0; sequences * (2 + most_sides)];
        let mut numbers = vec![0; sequences * most];
        let mut merged: Vec<u32> = (0..mask.len() as u32).collect();
        for (sequence, mask) in mask.chunks_exact(length).enumerate() {
            let end = match self.extent {
                Extent::Own => mask.iter().rposition(|&seen| seen != 0).map_or(0, |last| last + 1),
                Extent::Padded => length,
            };
            let is_full = end <= blocks.full_length();
            let last = end.saturating_sub(1) / blocks.size * blocks.size;
            let is_side = |&token: &usize| is_full || token < blocks.size || token >= last;
            let sides: Vec<usize> = (0..end).filter(is_side).filter(|&token| mask[token] != 0).collect();
            let own = &mut rows[sequence * (2 + most_sides)..][..2 + most_sides];
            own[0] = sides.len() as u32;
            own[1] = sides.iter().filter(|&&token| !is_full && token < blocks.size).count() as u32;
            for (place, token) in sides.into_iter().enumerate() {
                let row = sequence * length + token;
                own[2 + place] = row as u32;
                others[row] = 0;
                if !is_full {
                    numbers[sequence * most + place] = row as u32;
                    merged[row] = (tokens + sequence * most + place) as u32;
                }
            }
        }
        for (state, data) in
            [(self.others, others), (self.rows, rows), (self.numbers, numbers), (self.merged, merged)]
        {
            session.write(state, &data);
        }
    }
}
