//! The search on the device: greedy or beam search take their step, and the tables of reordered beams follow.
//!
//! What the device has to know of a sentence's search is a block of words
//! ([`SentenceState`](super::search_state::SentenceState)); the searches of a batch lie side by side. A step writes a record
//! of what it saw, which the host follows.

use super::search_state::{HEADER, RING, SearchShape};
use super::vocabulary_chunks::Chunks;
use super::{Access, AdapterClass, Dispatch, Kernel, fold};
use crate::scores::NO_TOKEN;

/// Greedy search; one invocation per sentence: for software adapters.
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

/// Greedy search; one workgroup per sentence: for GPUs.
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
        /// Rows, as many as sentences.
        pub rows: u32,
        /// Chunks of a row of logits.
        pub chunks: u32,
        /// 1.
        pub candidates: u32,
        /// Words of a sentence's block.
        pub block: u32,
        /// Slots of a row's cache.
        pub capacity: u32,
        /// Steps that the record holds.
        pub ring: u32,
        /// Row of the position table that the first token has.
        pub first_position: u32,
        /// The token that has a row of its own there.
        pub pad: u32,
    }
}

params! {
    /// Group 1 of `beam_step.wgsl`.
    pub struct BeamStepParams {
        /// Rows.
        pub rows: u32,
        /// Candidates of a row.
        pub candidates: u32,
        /// Words of a sentence's block.
        pub block: u32,
        /// End tokens that it has room for.
        pub ends: u32,
        /// Slots of a row's cache.
        pub capacity: u32,
        /// Steps that the record holds.
        pub ring: u32,
        /// Row of the position table that the first token has.
        pub first_position: u32,
        /// The token that has a row of its own there.
        pub pad: u32,
    }
}

params! {
    /// Group 1 of `reorder_slots.wgsl`.
    pub struct ReorderSlotsParams {
        /// Sentences.
        pub sentences: u32,
        /// Words of a sentence's block.
        pub block: u32,
        /// Where its rows' parents are among them.
        pub parents: u32,
        /// Slots of a row.
        pub capacity: u32,
    }
}

impl SearchShape {
    /// The launch of a greedy step, over the chunks of rows with `vocabulary` logits.
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

    /// The launch of a beam search's step, over the best candidates of each row.
    ///
    /// * storage: candidates, then as a greedy step
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

    /// The launch that reorders the tables of slots after a beam search's step.
    ///
    /// * storage: search, slots
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
