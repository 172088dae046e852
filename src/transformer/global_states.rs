//! The tokens of sources that see all tokens and are seen by all, as states of a session.

use crate::graph::{Graph, Session, State, StateTable};
use crate::model::GlobalTokens;
use crate::model::config::ModelConfig;
use crate::model::{Globals, SelfAttentionError};

/// The states behind [`GlobalTokens`].
#[derive(Clone)]
pub(super) struct GlobalStates {
    most: usize,
    length: usize,
    /// Tokens of the batch, padding included.
    tokens: usize,
    others: State,
    rows: State,
    numbers: State,
    merged: State,
}

impl GlobalStates {
    /// * `most`: room for the global tokens of a sequence
    pub fn new(
        states: &mut StateTable,
        name: &str,
        (batch, length): (usize, usize),
        most: usize,
    ) -> Option<Self> {
        (most > 0).then(|| Self {
            most,
            length,
            tokens: batch * length,
            others: states.u32(format!("{name} tokens that are not global"), batch, length),
            rows: states.u32(format!("{name} global tokens"), batch, 2 + most),
            numbers: states.u32(format!("{name} numbers of global tokens"), batch * most, 1),
            merged: states.u32(format!("{name} rows with global tokens"), batch * length, 1),
        })
    }

    pub fn values(&self, g: &mut Graph) -> GlobalTokens {
        GlobalTokens {
            most: self.most,
            most_sides: self.most,
            others: g.state(self.others),
            rows: g.state(self.rows),
            numbers: g.state(self.numbers),
            merged: g.state(self.merged),
        }
    }

    /// Writes the global tokens of each sequence; masked ones are left out. Panics if a sequence has more than `most`.
    ///
    /// * `mask`: `[sequences, length]`
    pub fn write(&self, session: &mut Session, mask: &[u32], globals: &[Vec<usize>]) {
        let &Self { most, length, tokens, .. } = self;
        let mut others = mask.to_vec();
        let mut rows = vec![0; globals.len() * (2 + most)];
        let mut numbers = vec![0; globals.len() * most];
        let mut merged: Vec<u32> = (0..(globals.len() * length) as u32).collect();
        for (sequence, globals) in globals.iter().enumerate() {
            let first = sequence * length;
            let mut count = 0;
            for row in globals.iter().map(|token| first + token).filter(|&row| mask[row] != 0) {
                others[row] = 0;
                rows[sequence * (2 + most) + 2 + count] = row as u32;
                numbers[sequence * most + count] = row as u32;
                merged[row] = (tokens + sequence * most + count) as u32;
                count += 1;
            }
            rows[sequence * (2 + most)] = count as u32;
        }
        for (state, data) in
            [(self.others, others), (self.rows, rows), (self.numbers, numbers), (self.merged, merged)]
        {
            session.write(state, &data);
        }
    }
}

/// Room for the global tokens of sources that name `requested` tokens each; 0 if no layer has global tokens.
pub(super) fn most_globals<'a>(config: &ModelConfig, requested: impl Iterator<Item = &'a [usize]>) -> usize {
    match config.encoder_globals() {
        Globals::None => 0,
        Globals::Tokens(tokens) => tokens.len(),
        // similar batches share a session
        Globals::Requested => match requested.map(<[usize]>::len).max().unwrap_or(0) {
            0 => 0,
            most => most.next_power_of_two(),
        },
    }
}

/// The global tokens of a source that names `requested`.
pub(super) fn globals_of<'a>(config: &'a ModelConfig, requested: &'a [usize]) -> &'a [usize] {
    match config.encoder_globals() {
        Globals::None => &[],
        Globals::Tokens(tokens) => tokens,
        Globals::Requested => requested,
    }
}

/// Checks that all layers can attend to a source of `length` tokens with these global tokens.
pub(super) fn check_attention(
    config: &ModelConfig,
    requested: &[usize],
    length: usize,
) -> Result<(), SelfAttentionError> {
    config.encoder_kinds.iter().try_for_each(|kind| kind.check_length(length))?;
    if !requested.is_empty() && *config.encoder_globals() != Globals::Requested {
        return Err(SelfAttentionError::NoGlobals { model_type: config.family.model_type() });
    }
    match globals_of(config, requested).iter().find(|&&token| token >= length) {
        None => Ok(()),
        Some(&token) => Err(SelfAttentionError::GlobalBeyond { token, length }),
    }
}
