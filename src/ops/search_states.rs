//! The state of a search on the device.

use crate::graph::{Graph, GraphError, State, Value};
use crate::kernels::search_state::{RING, SearchShape};
use crate::shape::{Dtype, Shape};

/// The state of a search on the device; all u32.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SearchTable<T> {
    /// `[sentences, block]`
    pub search: T,
    /// `[rows, 1]`: input token of each row
    pub tokens: T,
    /// `[rows, 1]`: row of the position table
    pub positions: T,
    /// `[rows, 1]`: number of visible keys
    pub key_counts: T,
    /// `[rows, 1]`: cache slot of the row's key and value
    pub cache_slots: T,
    /// `[rows, capacity]`: cache slots of each row's history
    pub slots: T,
    /// `[rows * capacity, 1]`: token of each slot
    pub slot_tokens: T,
    /// `[ring * rows, 2 * candidates + 1]`: candidates of the last steps, for the host
    pub record: T,
    /// `[1, words]`: lists of banned tokens
    pub bans: T,
    /// `[1, words]`: banned phrases
    pub phrases: T,
}

/// As states of a session.
pub type SearchStates = SearchTable<State>;

impl SearchStates {
    /// The states as values of a graph; checks their shapes.
    pub(super) fn values(
        &self,
        g: &mut Graph,
        op: &'static str,
        search: &SearchShape,
    ) -> Result<SearchTable<Value>, GraphError> {
        let rows = search.rows();
        let mut fit = |what, state: State, want| {
            let value = g.state(state);
            g.expect(op, what, value, want, Dtype::U32)?;
            Ok(value)
        };
        let column = Shape::new(rows, 1);
        Ok(SearchTable {
            search: fit("search", self.search, Shape::new(search.sentences, search.block()))?,
            tokens: fit("tokens", self.tokens, column)?,
            positions: fit("positions", self.positions, column)?,
            key_counts: fit("key_counts", self.key_counts, column)?,
            cache_slots: fit("cache_slots", self.cache_slots, column)?,
            slots: fit("slots", self.slots, Shape::new(rows, search.capacity))?,
            slot_tokens: fit("slot_tokens", self.slot_tokens, Shape::new(rows * search.capacity, 1))?,
            record: fit("record", self.record, Shape::new(RING * rows, search.record_width()))?,
            bans: fit("bans", self.bans, self.bans.shape)?,
            phrases: fit("phrases", self.phrases, self.phrases.shape)?,
        })
    }
}

impl SearchTable<Value> {
    /// Values that a search step changes, in the order of its kernel's bindings. A step reads all of them except the
    /// record.
    pub(super) fn of_step(&self) -> [Value; 7] {
        let Self { search, tokens, positions, key_counts, cache_slots, slot_tokens, record, .. } = *self;
        [search, tokens, positions, key_counts, cache_slots, slot_tokens, record]
    }
}
