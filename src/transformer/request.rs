//! What is generated for, and how a generation reports its progress.

use crate::decode::{BatchSearch, DecodeOptions, Hypothesis};

/// One source sentence, and how to decode it.
#[derive(Clone, Debug, PartialEq)]
pub struct GenerateRequest {
    /// Source token ids, with whatever special tokens the model expects.
    pub input_ids: Vec<u32>,
    /// The search.
    pub options: DecodeOptions,
}

/// What a generation tells those who watch it.
pub enum Progress<'a> {
    /// A batch is about to take its next step, or the next few where the device takes them by itself.
    Step {
        /// Those that have its rows now, as places among all that were given.
        requests: &'a [usize],
        /// Its searches, in the same order.
        search: &'a BatchSearch,
    },
    /// Requests are done: the last of a batch, or one whose rows another takes over.
    Finished {
        /// As places among all that were given.
        requests: &'a [usize],
        /// Their hypotheses, in the same order, best first.
        hypotheses: &'a [Vec<Hypothesis>],
    },
}
