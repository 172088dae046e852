use crate::graph::{Graph, Session, State, StateTable};
use crate::model::config::ModelConfig;
use crate::model::embedding::Tokens;
use crate::model::{Sequences, Visible};

/// Sequences that a program reads as a whole.
pub(super) struct InputStates {
    /// Padded length in tokens.
    pub length: usize,
    tokens: State,
    positions: State,
    mask: State,
}

impl InputStates {
    pub fn new(states: &mut StateTable, name: &str, (batch, length): (usize, usize)) -> Self {
        Self {
            length,
            tokens: states.u32(format!("{name} tokens"), batch * length, 1),
            positions: states.u32(format!("{name} positions"), batch * length, 1),
            mask: states.u32(format!("{name} mask"), batch, length),
        }
    }

    pub fn values(&self, g: &mut Graph, batch: usize) -> (Tokens, Sequences) {
        let tokens = Tokens { ids: g.state(self.tokens), positions: g.state(self.positions), types: None };
        (tokens, Sequences { batch, length: self.length, visible: Visible::Mask(g.state(self.mask)) })
    }

    /// Writes the number of tokens of one sequence, for programs that read the encoder's output.
    pub fn write_mask(&self, session: &mut Session, sequence: usize, tokens: usize) {
        let mask: Vec<u32> = (0..self.length).map(|token| u32::from(token < tokens)).collect();
        session.write_rows(self.mask, sequence, &mask);
    }

    /// Pads sequences and writes them.
    pub fn write<'a>(
        &self,
        session: &mut Session,
        config: &ModelConfig,
        sequences: impl ExactSizeIterator<Item = &'a [u32]>,
    ) {
        let elements = sequences.len() * self.length;
        let (mut tokens, mut mask) = (vec![config.tokens.pad; elements], vec![0; elements]);
        for (row, sequence) in sequences.enumerate() {
            let first = row * self.length;
            tokens[first..][..sequence.len()].copy_from_slice(sequence);
            mask[first..][..sequence.len()].fill(1);
        }
        self.write_padded(session, config, &tokens, &mask);
    }

    /// Writes padded sequences.
    pub fn write_padded(&self, session: &mut Session, config: &ModelConfig, tokens: &[u32], mask: &[u32]) {
        let positions: Vec<u32> =
            tokens.chunks_exact(self.length).flat_map(|tokens| config.position_rows(tokens)).collect();
        session.write(self.tokens, tokens);
        session.write(self.positions, &positions);
        session.write(self.mask, mask);
    }
}
