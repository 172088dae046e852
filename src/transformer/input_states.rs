use super::block_states::BlockStates;
use super::end_states::{EndStates, Extent};
use super::global_states::{GlobalStates, globals_of};
use crate::graph::{Graph, Session, State, StateTable};
use crate::model::config::ModelConfig;
use crate::model::embedding::Tokens;
use crate::model::{Sequences, Visible};
use crate::shape::Shape;

/// Tokens of a source, and the global tokens that it names.
pub(super) type Source<'a> = (&'a [u32], &'a [usize]);

/// Sequences that a program reads as a whole.
#[derive(Clone)]
pub(super) struct InputStates {
    /// Padded length in tokens.
    pub length: usize,
    tokens: State,
    positions: State,
    mask: State,
    globals: Option<GlobalStates>,
    blocks: Option<BlockStates>,
    ends: Option<EndStates>,
    /// Whether an encoder reads them.
    is_source: bool,
}

impl InputStates {
    pub fn new(states: &mut StateTable, name: &str, (batch, length): (usize, usize)) -> Self {
        Self {
            length,
            tokens: states.u32(format!("{name} tokens"), batch * length, 1),
            positions: states.u32(format!("{name} positions"), batch * length, 1),
            mask: states.u32(format!("{name} mask"), batch, length),
            globals: None,
            blocks: None,
            ends: None,
            is_source: false,
        }
    }

    /// Sequences of an encoder.
    ///
    /// * `globals`: room for each sequence's global tokens
    /// * `extent`: the lengths that decide about blocks
    pub fn of_source(
        states: &mut StateTable,
        name: &str,
        (batch, length): (usize, usize),
        (config, globals): (&ModelConfig, usize),
        extent: Extent,
    ) -> Self {
        let input = Self::new(states, name, (batch, length));
        let globals = GlobalStates::new(states, name, (batch, length), globals);
        let blocks = BlockStates::new(states, name, (batch, length), config);
        let ends = EndStates::new(states, name, (batch, length), config, extent);
        Self { globals, blocks, ends, is_source: true, ..input }
    }

    /// The states of fewer or shorter sequences, in the same memory.
    ///
    /// # Panics
    /// If there is no room for them, or if layers see another padded length.
    pub fn part(&self, batch: usize, length: usize) -> Self {
        let Self { tokens, positions, mask, globals, blocks, ends, is_source, .. } = self;
        if mask.shape == Shape::new(batch, length) {
            return self.clone();
        }
        assert!(globals.is_none() && blocks.is_none() && ends.is_none(), "layers that see the length");
        Self {
            length,
            tokens: tokens.part(batch * length, 1),
            positions: positions.part(batch * length, 1),
            mask: mask.part(batch, length),
            globals: None,
            blocks: None,
            ends: None,
            is_source: *is_source,
        }
    }

    pub fn values(&self, g: &mut Graph, batch: usize) -> (Tokens, Sequences) {
        let tokens = Tokens { ids: g.state(self.tokens), positions: g.state(self.positions), types: None };
        let visible = Visible::Mask(g.state(self.mask));
        let globals = self.globals.as_ref().map(|globals| globals.values(g));
        let blocks = self.blocks.as_ref().map(|blocks| blocks.values(g));
        let ends = self.ends.as_ref().map(|ends| ends.values(g));
        (tokens, Sequences { batch, length: self.length, visible, globals, ends, blocks })
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
        sequences: impl Iterator<Item = &'a [u32]>,
    ) {
        let sequences: Vec<Source<'_>> = sequences.map(|sequence| (sequence, &[][..])).collect();
        self.write_source(session, config, &sequences);
    }

    /// Pads sequences and writes them.
    pub fn write_source(&self, session: &mut Session, config: &ModelConfig, sequences: &[Source<'_>]) {
        let elements = sequences.len() * self.length;
        let (mut tokens, mut mask) = (vec![config.tokens.pad; elements], vec![0; elements]);
        let mut globals = Vec::new();
        for (row, (sequence, requested)) in sequences.iter().enumerate() {
            let first = row * self.length;
            tokens[first..][..sequence.len()].copy_from_slice(sequence);
            mask[first..][..sequence.len()].fill(1);
            if self.globals.is_some() {
                globals.push(globals_of(config, requested).to_vec());
            }
        }
        self.write_padded(session, config, &tokens, &mask);
        self.write_globals(session, &mask, &globals);
    }

    /// Writes padded sequences.
    pub fn write_padded(&self, session: &mut Session, config: &ModelConfig, tokens: &[u32], mask: &[u32]) {
        let positions = if self.is_source { config.source_positions() } else { &config.positions };
        let positions: Vec<u32> =
            tokens.chunks_exact(self.length).flat_map(|tokens| positions.rows(tokens)).collect();
        session.write(self.tokens, tokens);
        session.write(self.positions, &positions);
        session.write(self.mask, mask);
        if let Some(blocks) = &self.blocks {
            blocks.write(session, mask);
        }
        if let Some(ends) = &self.ends {
            ends.write(session, mask);
        }
    }

    /// Writes the global tokens of padded sequences.
    pub fn write_globals(&self, session: &mut Session, mask: &[u32], globals: &[Vec<usize>]) {
        if let Some(states) = &self.globals {
            states.write(session, mask, globals);
        }
    }
}
