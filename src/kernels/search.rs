//! Kernels of a search on the device: a step of greedy or beam search, and the reordering of slot tables.
//!
//! The state of a sentence's search is a block of words ([`SentenceState`](super::search_state::SentenceState)); the
//! blocks of a batch are consecutive. A step writes a record, which the host follows.

use super::search_state::{HEADER, RING, SearchShape};
use super::vocabulary_chunks::Chunks;
use super::{Access, AdapterClass, Dispatch, Kernel, fold};
use crate::scores::NO_TOKEN;

/// Greedy search on software adapters; one invocation per sentence.
pub static GREEDY_STEP: Kernel = Kernel {
    name: "greedy_step",
    wgsl: wgsl!(
        "greedy_step"
            + "row_by_invocation"
            + "log_sum_exp"
            + "continue_row"
            + "search"
            + "candidate"
            + "masked"
            + "grid"
    ),
    storage: STEP_STORAGE,
    params: GreedyStepParams::FIELDS,
};

/// Greedy search on GPUs; one workgroup per sentence.
pub static GREEDY_STEP_WORKGROUP: Kernel = Kernel {
    name: "greedy_step_workgroup",
    wgsl: wgsl!(
        "greedy_step"
            + "row_by_workgroup"
            + "reduce"
            + "continue_row"
            + "search"
            + "candidate"
            + "masked"
            + "grid"
    ),
    storage: STEP_STORAGE,
    params: GreedyStepParams::FIELDS,
};

/// Beam search; one invocation per sentence.
pub static BEAM_STEP: Kernel = Kernel {
    name: "beam_step",
    wgsl: wgsl!("beam_step" + "continue_row" + "search" + "divide" + "masked" + "grid"),
    storage: STEP_STORAGE,
    params: BeamStepParams::FIELDS,
};

/// One invocation per position of each sentence.
pub static REORDER_SLOTS: Kernel = Kernel {
    name: "reorder_slots",
    wgsl: wgsl!("reorder_slots" + "search" + "grid"),
    storage: &[Access::Read, Access::Write],
    params: ReorderSlotsParams::FIELDS,
};

const STEP_STORAGE: &[Access] = &[
    Access::Read,
    Access::Write,
    Access::Write,
    Access::Write,
    Access::Write,
    Access::Write,
    Access::Write,
    Access::Write,
];

params! {
    /// Group 1 of `greedy_step.wgsl`.
    pub struct GreedyStepParams {
        /// Rows: one per sentence.
        pub rows: u32,
        /// Chunks of a row of logits.
        pub chunks: u32,
        /// Always 1.
        pub candidates: u32,
        /// Words of the state of a sentence.
        pub block: u32,
        /// Cache slots per row.
        pub capacity: u32,
        /// Capacity of the record, steps.
        pub ring: u32,
        /// First token's row of the position table.
        pub first_position: u32,
        /// Token whose row of the position table is its own id.
        pub pad: u32,
    }
}

params! {
    /// Group 1 of `beam_step.wgsl`.
    pub struct BeamStepParams {
        /// Rows.
        pub rows: u32,
        /// Candidates per row.
        pub candidates: u32,
        /// Words of the state of a sentence.
        pub block: u32,
        /// Capacity for end tokens.
        pub ends: u32,
        /// Cache slots per row.
        pub capacity: u32,
        /// Capacity of the record, steps.
        pub ring: u32,
        /// First token's row of the position table.
        pub first_position: u32,
        /// Token whose row of the position table is its own id.
        pub pad: u32,
    }
}

params! {
    /// Group 1 of `reorder_slots.wgsl`.
    pub struct ReorderSlotsParams {
        /// Sentences.
        pub sentences: u32,
        /// Words of the state of a sentence.
        pub block: u32,
        /// First word of the rows' parents in a block.
        pub parents: u32,
        /// Slots per row.
        pub capacity: u32,
    }
}

impl SearchShape {
    /// A step of greedy search, over the chunks of rows with `vocabulary` logits.
    ///
    /// * storage: chunks, search, tokens, positions, key counts, cache slots, tokens of the slots, record
    pub fn greedy_launch(&self, vocabulary: usize, class: AdapterClass) -> Dispatch {
        let params = GreedyStepParams {
            rows: self.rows() as u32,
            chunks: Chunks::of(vocabulary, class).count as u32,
            candidates: self.candidates as u32,
            block: self.block() as u32,
            capacity: self.capacity as u32,
            ring: RING as u32,
            first_position: self.first_position,
            pad: self.pad_position.unwrap_or(NO_TOKEN),
        };
        match class.is_software() {
            true => Dispatch::new(&GREEDY_STEP, Vec::new(), &params, fold(self.sentences, 8)),
            false => Dispatch::new(&GREEDY_STEP_WORKGROUP, Vec::new(), &params, fold(self.sentences, 1)),
        }
    }

    /// A step of beam search. Storage: the best candidates of each row, then as a greedy step.
    pub fn beam_launch(&self) -> Dispatch {
        let params = BeamStepParams {
            rows: self.rows() as u32,
            candidates: self.candidates as u32,
            block: self.block() as u32,
            ends: self.ends as u32,
            capacity: self.capacity as u32,
            ring: RING as u32,
            first_position: self.first_position,
            pad: self.pad_position.unwrap_or(NO_TOKEN),
        };
        Dispatch::new(&BEAM_STEP, self.beams_constant(), &params, fold(self.sentences, 8))
    }

    /// Reorders the tables of slots after a step of beam search. Storage: search, slots.
    pub fn reorder_launch(&self) -> Dispatch {
        let params = ReorderSlotsParams {
            sentences: self.sentences as u32,
            block: self.block() as u32,
            parents: (HEADER + self.ends + self.beams) as u32,
            capacity: self.capacity as u32,
        };
        let invocations = self.sentences * self.capacity;
        Dispatch::new(&REORDER_SLOTS, self.beams_constant(), &params, fold(invocations, 32))
    }

    fn beams_constant(&self) -> Vec<(&'static str, f64)> {
        vec![("BEAMS", self.beams as f64)]
    }
}
