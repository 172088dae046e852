use crate::decode::StepRequest;
use crate::graph::{Session, State, StateTable};
use crate::model::config::ModelConfig;

/// Inputs of a step for each row; u32.
#[derive(Clone, Copy)]
pub(super) struct RowStates {
    /// `[rows, 1]`
    pub tokens: State,
    /// `[rows, 1]`, row of the position table
    pub positions: State,
    /// `[rows, 1]`, slot of the new key and value
    pub cache_slots: State,
    /// `[rows, capacity]`, slots of the row's history
    pub slots: State,
    /// `[rows, 1]`, length of the history
    pub key_counts: State,
}

/// The rows on the host, with buffers: a step allocates nothing.
pub(super) struct Rows {
    states: RowStates,
    capacity: usize,
    /// For each row, the prompt's length - 1.
    histories: Vec<usize>,
    positions: Vec<u32>,
    cache_slots: Vec<u32>,
    key_counts: Vec<u32>,
    slots: Vec<u32>,
    previous_slots: Vec<u32>,
}

impl RowStates {
    pub fn new(states: &mut StateTable, rows: usize, capacity: usize) -> Self {
        Self {
            tokens: states.u32("tokens", rows, 1),
            positions: states.u32("positions", rows, 1),
            cache_slots: states.u32("cache slots", rows, 1),
            slots: states.u32("slots", rows, capacity),
            key_counts: states.u32("key counts", rows, 1),
        }
    }
}

impl Rows {
    pub fn new(states: RowStates, capacity: usize) -> Self {
        Self {
            states,
            capacity,
            histories: Vec::new(),
            positions: Vec::new(),
            cache_slots: Vec::new(),
            key_counts: Vec::new(),
            slots: Vec::new(),
            previous_slots: Vec::new(),
        }
    }

    /// Gives every row its own part of the cache; rows of a sentence share the prompt's slots.
    pub fn reset(
        &mut self,
        session: &mut Session,
        histories: impl ExactSizeIterator<Item = usize>,
        rows_each: usize,
    ) {
        let capacity = self.capacity;
        let Self { slots, histories: rows, .. } = self;
        slots.clear();
        slots.extend(0..(histories.len() * rows_each * capacity) as u32);
        rows.clear();
        for (sentence, length) in histories.enumerate() {
            let first = sentence * rows_each;
            rows.extend(std::iter::repeat_n(length, rows_each));
            for row in first + 1..first + rows_each {
                slots.copy_within(first * capacity..first * capacity + length, row * capacity);
            }
        }
        session.write(self.states.slots, slots);
    }

    /// Starts the rows of a sentence anew, with a prompt of one token.
    pub fn seat(
        &mut self,
        session: &mut Session,
        config: &ModelConfig,
        sentence: usize,
        rows_each: usize,
        prompt: &[u32],
    ) {
        let capacity = self.capacity;
        let (first, token) = (sentence * rows_each, prompt[0]);
        let own = (first * capacity) as u32..((first + rows_each) * capacity) as u32;
        for (slot, own) in self.slots[first * capacity..].iter_mut().zip(own) {
            *slot = own;
        }
        session.write_rows(self.states.slots, first, &self.slots[first * capacity..][..rows_each * capacity]);
        let rows = first..first + rows_each;
        let first_slots: Vec<u32> = rows.map(|row| (row * capacity) as u32).collect();
        session.write_rows(self.states.cache_slots, first, &first_slots);
        for (state, value) in [
            (self.states.tokens, token),
            (self.states.positions, config.positions.row(0, token)),
            (self.states.key_counts, 1),
        ] {
            session.write_rows(state, first, &vec![value; rows_each]);
        }
    }

    /// Writes the inputs of the next step. Beams are reordered in the table of slots; the caches are not copied.
    pub fn write(&mut self, session: &mut Session, config: &ModelConfig, step: &StepRequest<'_>) {
        let capacity = self.capacity;
        if step.parents.iter().enumerate().any(|(row, &parent)| parent as usize != row) {
            self.previous_slots.clone_from(&self.slots);
            for (row, &parent) in step.parents.iter().enumerate() {
                let length = (self.histories[row] + step.positions[row]).min(capacity);
                let parent = parent as usize * capacity;
                self.slots[row * capacity..][..length]
                    .copy_from_slice(&self.previous_slots[parent..][..length]);
            }
            session.write(self.states.slots, &self.slots);
        }
        self.positions.clear();
        self.key_counts.clear();
        self.cache_slots.clear();
        for (row, (&token, history)) in step.tokens.iter().zip(&self.histories).enumerate() {
            // rows of finished sentences, whose prompts may have been longer, stay within the cache
            let before = history + step.positions[row];
            let before = before.min(capacity - 1).min(config.positions.count() - 1);
            self.positions.push(config.positions.row(before, token));
            self.key_counts.push(before as u32 + 1);
            self.cache_slots.push((row * capacity + before) as u32);
        }
        session.write(self.states.tokens, step.tokens);
        session.write(self.states.positions, &self.positions);
        session.write(self.states.key_counts, &self.key_counts);
        session.write(self.states.cache_slots, &self.cache_slots);
    }
}
